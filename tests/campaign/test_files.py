"""A part of the campaign of changed files, in a process of its own whose end would be seen."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("seed", [19, 20])
def test_changed_files_are_read_or_refused_cleanly(tmp_path, seed):
    """`python -m tests.campaign.files` makes more of them."""
    command = [sys.executable, "-m", "tests.campaign.files", "1000", "--seed", str(seed), "--folder", tmp_path]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=900)
    case = tmp_path / "case"
    assert done.returncode == 0, (
        f"{case.read_text() if case.exists() else ''}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    )
    read, refused = (sum(map(int, re.findall(rf"(\d+) \w+ {word}", done.stdout))) for word in ("read", "refused"))
    assert min(read, refused) > 150  # the changes hit, and not only the head
