"""Throw away Numba's compiled kernels when the source they were made from has changed.

Numba keys its cache by the file a kernel stands in and does not see that a kernel it calls, in another file, has
changed. The stamp beside the cached files is a digest of every source file with kernels; when it differs,
they are removed.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from dalembert.sources import PACKAGE, digest

#: the folders with Numba code
FOLDERS = ("native", "linalg", "formulations", "integrators", "control/native")


def discard_stale_kernels(package: Path = PACKAGE, folders: tuple[str, ...] = FOLDERS) -> bool:
    """Compare the stamp, remove what is stale and stamp anew. Returns whether anything had changed."""
    places = [package / folder for folder in folders]
    found = digest(places).hex()
    stamp = package / "__pycache__" / "kernels.sha256"
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == found:
            return False
        for place in places:
            for cached in (*place.glob("__pycache__/*.nbi"), *place.glob("__pycache__/*.nbc")):
                cached.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(found)
    return True
