"""Files that were opened in a studio: copies in the folder of the cache, the last ones, to be opened again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dalembert.compiler.cache import kept
from dalembert.disk.atomic import replacing
from dalembert.errors import ArgumentError, FileError

MOST = 8  # files
FOLDER = "studio"
SKETCHED = "last_sketch.json"  # what was drawn last, saved or not


def keep(name: str, data: bytes) -> None:
    """Keep a copy of a file, and of no more than the last ones; where nothing can be written nothing is kept."""
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError, FileError):
        folder.mkdir(mode=0o700, exist_ok=True)
        with replacing(folder / name) as path:
            path.write_bytes(data)
        for old in _newest(folder)[MOST:]:
            old.unlink(missing_ok=True)


def names() -> list[str]:
    """Names of the files that are kept, the newest first."""
    folder = _folder()
    if folder is None or not folder.is_dir():
        return []
    return [path.name for path in _newest(folder)]


def content(name: str) -> bytes:
    """The bytes of a file that is kept."""
    folder = _folder()
    if folder is None or name not in names():
        raise ArgumentError(f"'{name}' is not kept any more; open the file itself.")
    return (folder / name).read_bytes()


def _folder() -> Path | None:
    cache = kept()[0]
    return None if cache is None else cache / FOLDER


def _newest(folder: Path) -> list[Path]:
    found = []
    for item in os.scandir(folder):
        with suppress(OSError):
            if item.is_file(follow_symlinks=False) and not item.name.startswith("."):
                found.append((item.stat().st_mtime_ns, Path(item.path)))
    return [path for _, path in sorted(found, reverse=True)]
