"""Writing runs to disk, as they go or in one piece."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.disk.atomic import replacing
from dalembert.disk.lock import lock, nobody_writes, unlock
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.files.format import END, Header, arrow, check_sum, head, listed, schema, to_json
from dalembert.simulation.files.reading import Recording, read

SYNC = 1.0  # s between calls that make the disk keep what was written


class Recorder:
    """Writes a run to a file as it goes; every `append` is one batch that a crash cannot take back.

    An older file at `path` is refused, or with replace=True given up. `Recorder.resumed(path)` goes on after the last
    whole batch of an older one.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.arrow"
    >>> with Recorder(path, Header("pendulum", ["A"], ["A"])) as recorder:
    ...     recorder.append([0.0, 0.1], [[1.0], [0.99]], [[0.0], [-0.2]], resume={"numbers": np.array([1e-3])})
    >>> run = read(path)
    >>> run.t, run.q[:, 0], run.resume["numbers"], run.complete
    (array([0. , 0.1]), array([1.  , 0.99]), array([0.001]), True)
    """

    def __init__(self, path: str | os.PathLike[str], header: Header, *, replace: bool = False, sync: float = SYNC):
        self.path, self.sync = Path(path), sync
        try:
            with replacing(self.path, over=replace) as new:
                new.write_bytes(head(header))
        except FileExistsError:
            raise FileError(
                f"'{self.path}' exists; a new recording would take its place. Go on with it (resume), give another "
                "path, or remove it."
            ) from None
        self._open()
        self._lay_out(header, len(head(header)))

    @classmethod
    def resumed(cls, path: str | os.PathLike[str], *, sync: float = SYNC) -> tuple[Recorder, Recording]:
        """Go on with a file: the next `append` cuts its damaged tail (or its mark of the end); the rest stays."""
        self = cls.__new__(cls)
        self.path, self.sync = Path(path), sync
        self._open()
        try:
            recording = read(path)
        except BaseException:
            self._shut()
            raise
        self._lay_out(recording.header, recording.size)
        return self, recording

    def _open(self) -> None:
        """Open the file, which exists, and keep other writers away."""
        try:
            self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_APPEND), "ab", buffering=0)
        except OSError as error:
            raise FileError(f"'{self.path}' cannot be written: {error.strerror}.") from error
        try:
            lock(self._file, self.path)
        except BaseException:
            self._file.close()
            raise

    def _lay_out(self, header: Header, size: int) -> None:
        self.header, self._schema, self._start, self._good = header, schema(header), len(head(header)), size
        self._synced, self._tail = time.monotonic(), True

    def _shut(self) -> None:
        unlock(self._file)
        self._file.close()

    def append(
        self,
        t: Any,
        q: Any,
        v: Any,
        extra: Mapping[str, Any] | None = None,
        *,
        resume: Mapping[str, np.ndarray] | None = None,
        notes: Any = None,
    ) -> None:
        """Write one batch: t (n,), q (n, nq), v (n, nv) and the extra columns (n,); n may be 0.

        resume: float64 or int64 vectors, kept bit for bit. notes: what JSON can say.
        """
        if self._file.closed:
            raise ArgumentError(f"the recording '{self.path}' is closed; go on with it by Recorder.resumed(path).")
        self._write(self._message(self._columns(t, q, v, extra or {}), resume or {}, notes))
        if time.monotonic() - self._synced > self.sync:
            self.flush()

    def cut(self, recording: Recording, batches: int) -> None:
        """Go on after the first so many batches of the file that was taken up; the next `append` cuts the others."""
        self._good = recording.ends[batches]

    def flush(self) -> None:
        """Have the disk keep all that was written; happens by itself every `sync` seconds."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Mark the end and close the file."""
        if not self._file.closed:
            self._write(END)
            self.leave()

    def leave(self) -> None:
        """Close the file without the mark of the end; nothing happens where it is closed already."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._shut()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Without the mark of the end if the block raised."""
        if kind is None:
            self.close()
        else:
            self.leave()

    def _columns(self, t: Any, q: Any, v: Any, more: Mapping[str, Any]) -> np.ndarray:
        """(columns, n)."""
        h, t = self.header, np.asarray(t, dtype=float)
        if set(more) != set(h.extra):
            raise ArgumentError(f"extra columns are {listed(more)}; the file has {listed(h.extra)}.")
        parts = {"q": (q, len(h.q_names)), "v": (v, len(h.v_names))}
        rows = [t[None]]
        for name, (x, size) in parts.items():
            x = np.asarray(x, dtype=float) if size else np.empty((len(t), 0))
            if x.shape != (len(t), size):
                raise ArgumentError(f"{name} has shape {x.shape}; needed: {(len(t), size)}, as t and the names say.")
            rows.append(x.T)
        for name in h.extra:
            x = np.asarray(more[name], dtype=float)
            if x.shape != t.shape:
                raise ArgumentError(f"column '{name}' has shape {x.shape}; needed: {t.shape}, as t.")
            rows.append(x[None])
        return np.ascontiguousarray(np.concatenate(rows))

    def _message(self, columns: np.ndarray, resume: Mapping[str, np.ndarray], notes: Any) -> bytes:
        """One batch as Arrow writes it in a stream."""
        pa = arrow()
        texts = {"resume": json.dumps({k: _packed(k, x) for k, x in resume.items()}), "notes": to_json(notes)}
        texts["crc32"] = str(check_sum(columns, texts))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as writer:
            writer.write_batch(pa.record_batch(list(columns), schema=self._schema), custom_metadata=texts)
        return sink.getvalue().to_pybytes()[self._start : -len(END)]

    def _write(self, data: bytes) -> None:
        """All of the data, or none of it."""
        view = memoryview(data)
        try:
            if self._tail:
                self._file.truncate(self._good)
                self._tail = False
            while view:
                view = view[self._file.write(view) :]
        except BaseException:
            with suppress(OSError):
                self._file.truncate(self._good)
            raise
        self._good += len(data)


def write(
    path: str | os.PathLike[str],
    header: Header,
    t: Any,
    q: Any,
    v: Any,
    extra: Mapping[str, Any] | None = None,
    *,
    resume: Mapping[str, np.ndarray] | None = None,
    notes: Any = None,
) -> None:
    """A whole run in one go. An interruption leaves an older file at `path` as it was."""
    with nobody_writes(Path(path)), replacing(path) as new, Recorder(new, header, replace=True) as recorder:
        recorder.append(t, q, v, extra, resume=resume, notes=notes)


def _packed(name: str, x: Any) -> tuple[str, str]:
    x = np.asarray(x)
    if x.ndim != 1 or x.dtype not in (np.float64, np.int64):
        raise ArgumentError(f"resume vector '{name}' is {x.dtype} of shape {x.shape}; needed: float64 or int64, (n,).")
    little = x.astype(x.dtype.newbyteorder("<"))
    return little.dtype.str, little.tobytes().hex()
