"""Reading runs from disk, up to the last batch that is whole.

Files may come from strangers. Sizes are checked before anything is made of them, and nothing but `FileError` is raised.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import FileError
from dalembert.simulation.files.format import END, Header, arrow, check_sum, header_of, parsed, senseless
from dalembert.simulation.files.messages import plain


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Contents of a file: t (N,), q (N, nq), v (N, nv), extra columns by name (N,)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    extra: dict[str, np.ndarray]
    header: Header
    resume: dict[str, np.ndarray]  # of the last whole batch
    all_notes: list[Any]  # of every whole batch
    complete: bool  # whether the file was closed
    size: int  # bytes up to the end of the last whole batch
    damaged: int  # bytes behind it that could not be read
    sizes: tuple[int, ...] = ()  # rows of every whole batch
    ends: tuple[int, ...] = ()  # where in the file the head and every whole batch end, bytes

    @property
    def batches(self) -> int:
        """Number of whole batches."""
        return len(self.all_notes)

    @property
    def notes(self) -> Any:
        """Notes of the last whole batch."""
        return self.all_notes[-1] if self.all_notes else None


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a file up to its last whole batch."""
    pa, path = arrow(), checks.path(path, "path")
    data = _content(path)
    with pa.BufferReader(data) as source:
        try:
            reader = pa.ipc.open_stream(source)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileError(
                f"'{path}' is not a run: it does not begin as an Arrow stream does ({error}). Needed: a file written "
                "by run.save(path) or simulate(record=path)."
            ) from None
        header = header_of(reader.schema, path)
        parts, good, complete = [np.empty((len(header.columns), 0))], source.tell(), False
        resume, notes, ends = "{}", [], [good]
        for end, columns, texts in _batches(data, reader, source, len(header.columns)):
            if columns is None:
                complete, good = True, end - len(END)
                break
            parts.append(columns)
            good, resume = end, texts["resume"]
            notes.append(parsed(texts["notes"], path, "note"))
            ends.append(end)
    x = np.concatenate(parts, axis=1)
    nq, nv = len(header.q_names), len(header.v_names)
    return Recording(
        x[0],
        np.ascontiguousarray(x[1 : 1 + nq].T),
        np.ascontiguousarray(x[1 + nq : 1 + nq + nv].T),
        dict(zip(header.extra, x[1 + nq + nv :])),
        header,
        _unpacked(resume, path),
        notes,
        complete,
        good,
        len(data) - good - (len(END) if complete else 0),
        tuple(part.shape[1] for part in parts[1:]),
        tuple(ends),
    )


def _content(path: Path) -> bytes:
    """The bytes of a file; not mapped: a file that is cut while it is read would end the process."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(f"'{path}' is a folder, pipe or device; needed: a file.")
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror}.") from error
    except MemoryError:
        raise FileError(f"'{path}' cannot be read: it is larger than the memory that is free.") from None
    if not data:
        raise FileError(f"'{path}' is empty; needed: a run written by run.save(path) or simulate(record=path).")
    return data


def _unpacked(text: str, path: Path) -> dict[str, np.ndarray]:
    """The vectors by which a run goes on."""
    found = parsed(text, path, "note")
    try:
        if not all(kind in ("<f8", "<i8") for kind, _ in found.values()):
            raise ValueError("numbers of another kind than float64 and int64")
        return {name: np.frombuffer(bytes.fromhex(x), kind).copy() for name, (kind, x) in found.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise senseless(path, "note", str(error)) from None


def _batches(
    data: bytes, reader: Any, source: Any, width: int
) -> Iterator[tuple[int, np.ndarray | None, dict[str, str]]]:
    """(where it ends, its columns, its texts) of each whole batch; None for columns at the mark of the end."""
    pa = arrow()
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(data))
    messages.read_next_message()  # the schema
    before = source.tell()
    while True:
        try:
            if not plain(messages.read_next_message(), width):
                return
            batch, found = reader.read_next_batch_with_custom_metadata()
            batch.validate(full=True)  # lengths against buffers: NumPy would read what is not there
            texts = {key.decode(): value.decode() for key, value in (found or {}).items()}
            columns = np.array([c.to_numpy() for c in batch.columns])
            whole = texts.get("crc32") == str(check_sum(columns, texts))
        except StopIteration:
            if data[before : before + len(END)] == END:  # else the file was cut between two batches
                yield before + len(END), None, {}
            return
        except (pa.ArrowException, OSError, ValueError, KeyError):
            return
        if not whole:
            return
        before = source.tell()
        yield before, columns, texts
