"""Files that are either the old one or the new one, never something between."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dalembert.errors import FileError


@contextmanager
def replacing(path: str | os.PathLike[str], *, over: bool = True) -> Iterator[Path]:
    """A temporary path beside `path`. When the block ends well its file takes the place of `path`, in one move.

    If the block raises, or the process dies in it, the older file stays as it was. A link is followed; what is no
    regular file is refused. With over=False an older file raises FileExistsError, also one that came meanwhile.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "notes.txt"
    ...     with replacing(target) as new:
    ...         _ = new.write_text("whole")
    ...     target.read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise FileError(f"'{path}' is a folder, pipe or device; needed: the name of a file.")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.chmod(_usual_mode(target))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if over or not _linked(temporary, target):
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _linked(temporary: Path, target: Path) -> bool:
    """Give the file its name unless there is one of that name; False where the file system has no links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError(17, "File exists", str(target)) from None
        return False
    temporary.unlink()
    return True


def _usual_mode(target: Path) -> int:
    """Permissions of the older file, else those a new one would get: mkstemp's are for one's own eyes only."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the move itself last through a power cut, where the platform can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
