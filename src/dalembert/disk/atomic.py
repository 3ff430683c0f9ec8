"""Files that are either the old one or the new one, never something between.

What is being written has a name that begins with a dot and ends with ".part", and a lock, which ends with the process
that holds it: `sweep` removes those whose writers have died.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dalembert.disk.lock import lock_if_free
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
    temporary = Path(name)
    with _locked(handle):
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


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, which takes this name in one move when the block ends well.

    A folder of this name that has come meanwhile stays, and the new one is given up.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    with _locked(os.open(temporary, os.O_RDONLY) if hasattr(os, "O_DIRECTORY") else -1):
        try:
            temporary.chmod(0o777 & ~_mask())
            yield temporary
            with suppress(OSError):
                temporary.rename(path)
            if not path.is_dir():
                raise FileError(f"'{path}' cannot be made: something else has its name.")
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    _sync_folder(path.parent)


def sweep(folder: Path, name: str = "*") -> None:
    """Remove what processes that died have left of files and folders of a name (a pattern)."""
    for path in folder.glob(f".{name}.*.part"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                if lock_if_free(handle):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                os.close(handle)


def is_unfinished(path: Path) -> bool:
    """Whether a file or folder is one that is being written, or was when its process died."""
    return path.name.startswith(".") and path.name.endswith(".part")


@contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Hold the lock of an open file or folder; where there are no locks it is closed at once, to be movable."""
    held = handle >= 0 and lock_if_free(handle)
    if handle >= 0 and not held:
        os.close(handle)
    try:
        yield
    finally:
        if held:
            os.close(handle)


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
    return 0o666 & ~_mask()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the move itself last through a power cut, where the platform can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
