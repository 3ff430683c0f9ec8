"""Reading runs from disk, up to the last batch that is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import FileError
from dalembert.simulation.files.format import END, Header, arrow, check_sum, header_of


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """What a file holds. t (N,), q (N, nq), v (N, nv), extra columns by name (N,)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    extra: dict[str, np.ndarray]
    header: Header
    resume: dict[str, np.ndarray]  # of the last whole batch
    notes: Any  # of the last whole batch
    batches: int
    complete: bool  # whether the file was closed
    size: int  # bytes up to the end of the last whole batch
    damaged: int  # bytes behind it that could not be read


def read(path: str | os.PathLike[str]) -> Recording:
    """What a file holds, up to its last whole batch."""
    pa, path = arrow(), checks.path(path, "path")
    try:
        data = path.read_bytes()  # not mapped: a file that is cut while it is read would end the process
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror}.") from error
    size = len(data)
    if size == 0:
        raise FileError(f"'{path}' is empty; needed: a run written by run.save(path) or simulate(record=path).")
    with pa.BufferReader(data) as source:
        try:
            reader = pa.ipc.open_stream(source)
        except (pa.ArrowInvalid, OSError) as error:
            raise FileError(
                f"'{path}' is not a run: it does not begin as an Arrow stream does ({error}). Needed: a file written "
                "by run.save(path) or simulate(record=path)."
            ) from None
        header = header_of(reader.schema, path)
        parts, good, last, complete = [np.empty((len(header.columns), 0))], source.tell(), _NO_TEXTS, False
        for end, columns, texts in _batches(reader, source):
            if columns is None:
                complete, good = True, end - len(END)
                break
            parts.append(columns)
            good, last = end, texts
    x = np.concatenate(parts, axis=1)
    nq, nv = len(header.q_names), len(header.v_names)
    return Recording(
        x[0],
        np.ascontiguousarray(x[1 : 1 + nq].T),
        np.ascontiguousarray(x[1 + nq : 1 + nq + nv].T),
        dict(zip(header.extra, x[1 + nq + nv :])),
        header,
        {
            name: np.frombuffer(bytes.fromhex(data), kind).copy()
            for name, (kind, data) in json.loads(last["resume"]).items()
        },
        json.loads(last["notes"]),
        len(parts) - 1,
        complete,
        good,
        size - good - (len(END) if complete else 0),
    )


_NO_TEXTS = {"resume": "{}", "notes": "null"}


def _batches(reader: Any, source: Any) -> Iterator[tuple[int, np.ndarray | None, dict[str, str]]]:
    """(where it ends, its columns, its texts) of each whole batch; None for columns at the mark of the end."""
    pa = arrow()
    before = source.tell()
    while True:
        try:
            batch, found = reader.read_next_batch_with_custom_metadata()
            batch.validate(full=True)  # lengths against buffers: NumPy would read what is not there
            texts = {key.decode(): value.decode() for key, value in (found or {}).items()}
            columns = np.array([c.to_numpy() for c in batch.columns])
            whole = texts.get("crc32") == str(check_sum(columns, texts))
        except StopIteration:
            if source.tell() == before + len(END):  # else the file was cut between two batches
                yield source.tell(), None, {}
            return
        except (pa.ArrowException, OSError, ValueError, KeyError):
            return
        if not whole:
            return
        before = source.tell()
        yield before, columns, texts
