"""Object code kept on disk between processes.

A file is named by the SHA-256 of everything its content depends on, and begins with the SHA-256 of its
content, so a file that is damaged or half written is seen and made anew. The name is part of the content: a file
under another name is not used. Files are written beside their place and moved into it, so that any number of
processes may read and write. The least recently used go when the folder grows beyond `LIMIT`. Code is only ever
loaded from a folder and from files of the user's own that nobody else may write to. Trouble with the disk never
stops a computation: without cache it compiles.

The folder is `$DALEMBERT_CACHE`, else the platform's place for caches; `DALEMBERT_CACHE=off` does without.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..sources import digest

LIMIT = 256 * 2**20  # bytes
SPARED = 0.1  # of these: what this process may write until it looks through the folder again
_MAGIC = b"dalembert object code 2\n"
_SUFFIX = ".bin"


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """Contents of an entry: numbers about the code, and the object files."""

    facts: dict[str, Any]
    objects: list[bytes]


def key(*parts: str | bytes) -> str:
    """Name of an entry that depends on `parts` and on the source of this package."""
    found = hashlib.sha256(_own_source())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


def read(name: str) -> CacheEntry | None:
    """The entry, or None if it is absent, damaged or out of reach."""
    folder = _folder()
    if folder is None:
        return None
    path = folder / (name + _SUFFIX)
    try:
        entry = _entry(_own_bytes(path), name)
        if entry is None:
            path.unlink(missing_ok=True)
        elif time.time() - path.stat().st_mtime > 3600:  # the time of last use, good to an hour
            os.utime(path)
    except OSError:
        return None
    return entry


def _own_bytes(path: Path) -> bytes:
    """Bytes of a file; None unless it is a plain file of the user that nobody else may write."""
    how = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))  # a pipe would be waited for
    descriptor = os.open(path, os.O_RDONLY | sum(how))
    try:  # no file object: a job that is cancelled between its making and `with` would leave it open
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or _trouble(found):
            return b""
        return b"".join(iter(lambda: os.read(descriptor, max(found.st_size, 1)), b""))
    finally:
        os.close(descriptor)


def _entry(data: bytes, name: str) -> CacheEntry | None:
    """The entry of this name that was written as `data`, None where it is damaged or another one."""
    start, body = len(_MAGIC), data[len(_MAGIC) + 32 :]
    if data[:start] != _MAGIC or data[start : start + 32] != hashlib.sha256(body).digest():
        return None
    head, _, rest = body.partition(b"\n")
    facts = json.loads(head)
    if facts.pop("name") != name:
        return None
    objects, start = [], 0
    for size in facts.pop("sizes"):
        objects.append(rest[start : start + size])
        start += size
    return CacheEntry(facts, objects)


def write(name: str, facts: dict[str, Any], objects: Sequence[bytes]) -> None:
    """Keep an entry if possible."""
    folder = _folder()
    if folder is None:
        return
    import tempfile

    head = json.dumps({**facts, "name": name, "sizes": [len(code) for code in objects]}).encode()
    body = b"\n".join([head, b"".join(objects)])
    whole, temporary = _MAGIC + hashlib.sha256(body).digest() + body, None
    _room[folder] = _room.get(folder, 0.0) - len(whole)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            file.write(whole)
        os.replace(temporary, folder / (name + _SUFFIX))
        temporary = None
        if _room[folder] < 0.0:
            _evict(folder)
    except OSError:
        pass  # full or read-only disk
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def kept() -> tuple[Path | None, list[int]]:
    """The cache's folder, None where there is none, and the size (bytes) of each entry."""
    folder, sizes = _folder(), []
    for item in [] if folder is None else os.scandir(folder):
        if item.name.endswith(_SUFFIX):
            with suppress(OSError):  # another process removed it
                sizes.append(item.stat().st_size)
    return folder, sizes


def clear() -> tuple[int, int]:
    """Remove every entry; gives how many there were, and their bytes."""
    folder, count, freed = _folder(), 0, 0
    for item in [] if folder is None else os.scandir(folder):
        if item.name.endswith(_SUFFIX):
            with suppress(OSError):
                size = item.stat().st_size
                os.unlink(item.path)
                count, freed = count + 1, freed + size
    return count, freed


_room: dict[Path, float] = {}  # bytes that may be written to a folder until it is looked through again


def _evict(folder: Path) -> None:
    """Remove the least recently used entries beyond `LIMIT`, and what interrupted writers left.

    To look through thousands of entries takes a tenth of a second, so it is not done for every one that is written; and
    where some must go, more of them make room for the next ones.
    """
    entries = []
    for item in os.scandir(folder):
        try:
            stat = item.stat()
            if item.name.endswith(".tmp") and time.time() - stat.st_mtime > 3600:
                os.unlink(item.path)
            elif item.name.endswith(_SUFFIX):
                entries.append((stat.st_mtime, stat.st_size, item.path))
        except OSError:
            continue  # another process removed it
    total = sum(size for _, size, _ in entries)
    most = (1.0 - SPARED) * LIMIT if total > LIMIT else LIMIT
    for _, size, path in sorted(entries):
        if total <= most:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
    _room[folder] = min(LIMIT - total, SPARED * LIMIT)


def _folder() -> Path | None:
    """The cache's folder, made if need be; None if there is to be no cache."""
    return _prepared(os.environ.get("DALEMBERT_CACHE"), os.environ.get("XDG_CACHE_HOME"))


@cache
def _prepared(ours: str | None, xdg: str | None) -> Path | None:
    if ours is not None and ours.lower() in ("off", "0", "no", "none"):
        return None
    try:
        folder = (Path(ours) if ours else _usual(xdg)).absolute()  # as it is now: os.chdir may follow
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: no home
        _warn(f"the cache folder cannot be made ({error})")
        return None
    if trouble := _trouble(found):
        _warn(f"the cache folder '{folder}' {trouble}")
        return None
    return folder


def _trouble(found: os.stat_result) -> str:
    """Why a file or folder cannot be trusted; empty where it can."""
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid != os.getuid():
        return f"belongs to another user (uid {found.st_uid})"
    return f"can be written by others (mode {found.st_mode & 0o777:o})" if found.st_mode & 0o022 else ""


def _usual(xdg: str | None) -> Path:
    if xdg:
        return Path(xdg) / "dalembert"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "dalembert" / "Cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "dalembert"


def _warn(reason: str) -> None:
    warnings.warn(
        f"{reason}; compiled code is not kept. Make the folder your own (mode 700) or set DALEMBERT_CACHE to another, "
        "or to 'off'",
        stacklevel=2,
    )


@cache
def _own_source() -> bytes:
    """Hash of this package: what it compiles depends on how it compiles."""
    return digest([Path(__file__).parent])
