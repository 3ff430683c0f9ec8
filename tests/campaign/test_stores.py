"""A part of the campaign of killed and damaged stores, in a process of its own: its writers are forked and killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this platform")
@pytest.mark.parametrize("kind", ["arrow", "zarr", "run", "phases"])
def test_killed_and_damaged_stores_give_the_same_runs_or_are_refused(kind):
    """`python -m tests.campaign.stores --kills 50 --flips 400` makes more of them."""
    command = [sys.executable, "-m", "tests.campaign.stores", "--kills", "4", "--flips", "30", "--kinds", kind]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-3000:]}"
    assert "killed" in done.stdout
