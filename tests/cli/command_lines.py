"""What tests of the command line share."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "command_line.md"
HELD = ("--at", "A=0.6", "--speed", "A=2")


def process(*arguments, **options):
    """Run a command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *map(str, arguments)], capture_output=True, text=True, **options
    )
