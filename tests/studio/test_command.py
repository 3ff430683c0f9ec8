"""`dalembert view` without a file opens the studio, and ends with Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

pytest.importorskip("websockets", reason="websockets is not installed (extra `studio`)")
pytest.importorskip("click", reason="click is not installed (extra `cli`)")


def test_view_serves_a_page_until_it_is_interrupted():
    command = [sys.executable, "-m", "dalembert", "view", "four_bar", "--at", "A=0.9", "--no-open"]
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        url = p.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)
        with urlopen(url, timeout=20) as page:
            assert b"dalembert studio" in page.read()
        p.send_signal(signal.SIGINT)
        assert p.wait(20) == 0
        assert "Traceback" not in p.stderr.read()
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
        p.stderr.close()
