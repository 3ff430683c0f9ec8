"""The format of a run on disk: an Apache Arrow IPC stream, one record batch after the other.

The head is the schema: column "t", "q.<coordinate>" and "v.<velocity>" for each name, then extra columns, all float64;
and under the key "dalembert" a JSON text with what `Header` holds. Each batch carries three texts:

    resume   JSON {name: [dtype, hex]}, numbers by which a run goes on bit for bit from the end of the batch
    notes    JSON, whatever else is to be known there (status, counters)
    crc32    of the columns and of these two texts

A batch that is cut or whose sum is wrong, and all after it, is the damaged tail. See docs/files.md.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, FileError, extra

FORMAT = 1  # raised when older programs could no longer read what is written
KEY = b"dalembert"
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # Arrow's mark for the end of a stream


@dataclass(frozen=True)
class Header:
    """What a run is of: names, parameters, options, and a fingerprint of the system."""

    system: str
    q_names: Sequence[str]
    v_names: Sequence[str]
    u_names: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name: numbers
    fingerprint: Mapping[str, float] = field(default_factory=dict)  # see fingerprint.py
    options: Mapping[str, Any] = field(default_factory=dict)  # of the run
    extra: Sequence[str] = ()  # columns besides t, q and v

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
    twice = {c for c in header.columns if header.columns.count(c) > 1}
    if twice:
        raise ArgumentError(f"columns {listed(twice)} would be in the file twice; give the extra ones other names.")
    text = to_json({"format": FORMAT, **asdict(header)})
    return pa.schema([(name, pa.float64()) for name in header.columns], metadata={KEY: text})


def head(header: Header) -> bytes:
    """The bytes a file begins with."""
    return schema(header).serialize().to_pybytes()


def header_of(schema: Any, path: Any) -> Header:
    """The header in a schema that was read."""
    found = (schema.metadata or {}).get(KEY)
    if found is None:
        raise FileError(f"'{path}' is an Arrow stream but not a run: its schema lacks the key 'dalembert'.")
    try:
        facts = json.loads(found)
        version = facts.pop("format")
        if version <= FORMAT:
            return Header(**facts)
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"'{path}' has a head that makes no sense ({error}); it was damaged or made by hand.") from None
    raise FileError(
        f"'{path}' has format {version}; this version of dalembert reads up to {FORMAT}. Install a newer one."
    )


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
