"""MuJoCo's compiler tried in a process of its own, whose end does not hurt: for files of strangers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dalembert.errors import ModelFileError

SECONDS = 60
BYTES = 4 * 2**30
#: what the process does: the same reading up to MuJoCo's model, within bounds; a refusal comes again in this process
SCRIPT = """
import sys
from pathlib import Path
try:
    import resource
    for what, most in ((resource.RLIMIT_AS, int(sys.argv[3])), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (most, most))
except (ImportError, ValueError, OSError):
    pass
from dalembert.errors import DalembertError
from dalembert.formats.mjcf.compiling import compiled
from dalembert.formats.mjcf.source import Source
from dalembert.formats.notes import Notes
try:
    notes = Notes()
    compiled(Source(Path(sys.argv[1]), notes, sys.argv[4] or None), notes, sys.argv[2] or None)
except DalembertError:
    pass
"""


def tried(path: Path, base: str | None, folder: str | os.PathLike[str] | None = None) -> None:
    """Refuse a file with which MuJoCo's compiler crashes, or takes too much time or memory."""
    command = [sys.executable, "-c", SCRIPT, str(path.absolute()), base or "", str(BYTES), os.fspath(folder or "")]
    bounds = f"in a process of its own, of {SECONDS} s and {BYTES >> 30} GB"
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelFileError(f"keeps MuJoCo's compiler busy without end ({bounds}).", str(path)) from None
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        how = f"signal {-done.returncode}" if done.returncode < 0 else last[0][:200]
        raise ModelFileError(f"makes MuJoCo's compiler fail {bounds}: {how}.", str(path))
