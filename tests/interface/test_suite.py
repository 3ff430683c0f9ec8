"""The suite itself: its workers share one cache of compiled code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def test_workers_of_a_session_share_a_cache_that_ends_with_it(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_cache.py").write_text(
        "import os, pathlib, pytest\n"
        "@pytest.mark.parametrize('k', range(8))\n"
        "def test_one(k, worker_id, tmp_path_factory):\n"
        f"    with open({str(tmp_path / 'seen')!r}, 'a') as file:\n"
        "        print(worker_id, os.environ['DALEMBERT_CACHE'], file=file)\n"
        "    assert pathlib.Path(os.environ['DALEMBERT_CACHE']).is_dir()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "each", "-p", "no:cacheprovider", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "PYTEST_ADDOPTS": ""})
    workers, folders = zip(*(line.split() for line in (tmp_path / "seen").read_text().splitlines()))
    assert len(set(workers)) == 2
    assert len(set(folders)) == 1
    assert folders[0] != os.environ["DALEMBERT_CACHE"]
    assert not Path(folders[0]).exists()
