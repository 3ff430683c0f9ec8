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
    fingerprint: Mapping[str, float] = field(default_factory=dict)  # of `dalembert.simulation.fingerprint`
    options: Mapping[str, Any] = field(default_factory=dict)  # of the run
    extra: Sequence[str] = ()  # columns besides t, q and v

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the file."""
        return ["t", *(f"q.{n}" for n in self.q_names), *(f"v.{n}" for n in self.v_names), *self.extra]

    def difference(self, other: Header) -> str:
        """Which of the names by which a run can be told from another differ; empty if none."""
        for what in ("system", "q_names", "v_names", "u_names", "extra"):
            mine, its = listed(getattr(self, what)), listed(getattr(other, what))
            if mine != its:
                return f"{what} is {mine} in one and {its} in the other"
        return ""


def arrow() -> Any:
    return extra("pyarrow", "files", "saving and loading runs")


def schema(header: Header) -> Any:
    pa = arrow()
    twice = {c for c in header.columns if header.columns.count(c) > 1}
    if twice:
        raise ArgumentError(f"columns {listed(twice)} would be in the file twice; give the extra ones other names.")
    text = to_json({"format": FORMAT, **asdict(header)})
    return pa.schema([(name, pa.float64()) for name in header.columns], metadata={KEY: text})


def head(header: Header) -> bytes:
    return schema(header).serialize().to_pybytes()


def header_of(schema: Any, path: Any) -> Header:
    found = (schema.metadata or {}).get(KEY)
    if found is None:
        raise FileError(f"'{path}' is an Arrow stream but not a run: its schema lacks the key 'dalembert'.")
    facts = json.loads(found)
    version = facts.pop("format")
    if version > FORMAT:
        raise FileError(
            f"'{path}' has format {version}; this version of dalembert reads up to {FORMAT}. Install a newer one."
        )
    return Header(**facts)


def check_sum(columns: np.ndarray, texts: Mapping[str, str]) -> int:
    start = zlib.crc32((texts["resume"] + texts["notes"]).encode())
    return zlib.crc32(np.ascontiguousarray(columns).tobytes(), start) if columns.size else start


def to_json(x: Any) -> str:
    return json.dumps(x, default=lambda y: y.tolist() if hasattr(y, "tolist") else repr(y), ensure_ascii=False)


def listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(names) or "none"
