"""The format of a run on disk: an Apache Arrow IPC stream, one record batch after the other.

The head is the schema: column "t", "q.<coordinate>" and "v.<velocity>" for each name, then extra columns, all float64;
under the key "dalembert" a JSON text with what `Header` holds, and under "crc32" that of this text. Each batch carries
three texts:

    resume   JSON {name: [dtype, hex]}, numbers by which a run goes on bit for bit from the end of the batch
    notes    JSON, whatever else is to be known there (status, counters)
    crc32    of the columns and of these two texts

A batch that is cut or whose sum is wrong, and all after it, is the damaged tail. See docs/files.md.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, FileError, extra

FORMAT = 3  # raised when older programs could no longer read what is written
KEY, SUM = b"dalembert", b"crc32"
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # Arrow's mark for the end of a stream


@dataclass(frozen=True)
class Header:
    """Header of a run file: names, parameters, options, and a fingerprint of the system."""

    system: str
    q_names: Sequence[str]
    v_names: Sequence[str]
    u_names: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name: numbers
    fingerprint: Mapping[str, float] = field(default_factory=dict)  # see fingerprint.py
    options: Mapping[str, Any] = field(default_factory=dict)  # of the run
    extra: Sequence[str] = ()  # columns besides t, q and v
    description: Mapping[str, Any] = field(default_factory=dict)  # {where: text or numbers} of the mechanism

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the file."""
        return ["t", *(f"q.{n}" for n in self.q_names), *(f"v.{n}" for n in self.v_names), *self.extra]


def arrow() -> Any:
    """PyArrow."""
    return extra("pyarrow", "files", "saving and loading runs")


def schema(header: Header) -> Any:
    """Columns and header as Arrow's schema."""
    pa = arrow()
    twice = [c for c, count in Counter(header.columns).items() if count > 1]
    if twice:
        raise ArgumentError(f"columns {listed(twice)} would be in the file twice; give the extra ones other names.")
    text = to_json({"format": FORMAT, **asdict(header)})
    about = {KEY: text, SUM: str(zlib.crc32(text.encode()))}
    return pa.schema([(name, pa.float64()) for name in header.columns], metadata=about)


def head(header: Header) -> bytes:
    """The bytes a file begins with."""
    return schema(header).serialize().to_pybytes()


def header_of(schema: Any, path: Any) -> Header:
    """The header in a schema that was read, with columns as it says."""
    found = (schema.metadata or {}).get(KEY)
    if found is None:
        raise FileError(f"'{path}' is an Arrow stream but not a run: its schema lacks the key 'dalembert'.")
    facts = parsed(found, path, "head")
    version = facts.pop("format", None) if isinstance(facts, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise senseless(path, "head", "it has no number of its format")
    if version != FORMAT:
        repair = (
            "Install a newer one" if version > FORMAT else "Older files say too little of their system; record it anew"
        )
        raise FileError(f"'{path}' has format {version}; this version of dalembert reads {FORMAT}. {repair}.")
    if schema.metadata.get(SUM) != str(zlib.crc32(found)).encode():
        raise senseless(path, "head", "its checksum is not that of its text")
    try:
        header = Header(**facts)
    except TypeError as error:
        raise senseless(path, "head", str(error)) from None
    _check(header, path)
    try:
        columns = [(f.name, str(f.type)) for f in schema]
    except ValueError:  # a name that is no UTF-8
        columns = []
    if columns != [(name, "double") for name in header.columns]:
        raise senseless(path, "head", "its columns are not those it names")
    return header


def _check(header: Header, path: Any) -> None:
    """Names are texts, tables are tables, numbers of the fingerprint are numbers."""
    names = header.q_names, header.v_names, header.u_names, header.extra
    tables = header.parameters, header.fingerprint, header.description, header.options
    if not isinstance(header.system, str) or not all(isinstance(t, dict) for t in tables):
        raise senseless(path, "head", "the system, its parameters, fingerprint or options are of the wrong kind")
    if not all(isinstance(x, list) and all(isinstance(name, str) for name in x) for x in names):
        raise senseless(path, "head", "names are not lists of texts")
    if len(set(header.columns)) < len(header.columns):
        raise senseless(path, "head", "columns are there twice")
    if not all(is_number(x) for x in header.fingerprint.values()):
        raise senseless(path, "head", "the fingerprint holds something that is no number")


def is_number(x: Any) -> bool:
    """Whether JSON gave a number that a float holds; NaN and infinities are among them."""
    return isinstance(x, float) or (isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**63)


def parsed(text: str | bytes, path: Any, what: str) -> Any:
    """The object of a JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise senseless(path, what, str(error)) from None


def senseless(path: Any, what: str, why: str) -> FileError:
    """The error for a part of a file that says what no run says."""
    return FileError(f"'{path}' has a {what} that makes no sense ({why[:200]}); it was damaged or made by hand.")


def check_sum(columns: np.ndarray, texts: Mapping[str, str]) -> int:
    """CRC-32 of a batch."""
    start = zlib.crc32((texts["resume"] + texts["notes"]).encode())
    return zlib.crc32(np.ascontiguousarray(columns).tobytes(), start) if columns.size else start


def to_json(x: Any) -> str:
    """JSON of what has numbers, arrays and texts in it; of anything else its repr."""
    return json.dumps(x, default=lambda y: y.tolist() if hasattr(y, "tolist") else repr(y), ensure_ascii=False)


def listed(names: Any) -> str:
    """Names as a sentence has them."""
    return names if isinstance(names, str) else ", ".join(names) or "none"
