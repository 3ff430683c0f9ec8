"""One writer at a time: a lock on the file itself, which ends with the process that holds it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dalembert.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: a file that is open for writing is not replaced there
    fcntl = None  # type: ignore[assignment]


def lock(file: Any, path: Any) -> None:
    """Take the lock of an open file, or say that another writer has it. File systems without locks are trusted."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise FileError(
                f"'{path}' is being written by another recording, of this process or another one. Wait for its end, or "
                "give another path."
            ) from None


def lock_if_free(handle: int) -> bool:
    """Take the lock of an open file or folder if nobody has it; False also where there are no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unlock(file: Any) -> None:
    """Give it back, for processes too that were forked meanwhile and hold the file open."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


@contextmanager
def nobody_writes(path: Path) -> Iterator[None]:
    """Refuse a file that a recording is writing."""
    if not path.is_file():
        yield
        return
    with path.open("rb") as file:
        lock(file, path)
        yield
