"""Messages between the page and the session: JSON as text, and JSON with arrays as bytes.

A message of bytes is the length of its header (four bytes, little-endian), the header as JSON, and the arrays one after
another as 32-bit floats; `arrays` in the header has their names and shapes. A file from the page is a header and the
bytes of the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError

LARGEST_HEADER = 1 << 20  # bytes
DEEPEST = 32  # lists and objects in each other; those of the page are fewer than ten
Message = str | bytes


def text(message: Mapping[str, Any]) -> str:
    """A message as JSON; numbers that JSON has no word for are null."""
    return json.dumps(plain(message), allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def packed(message: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """A message with arrays as bytes."""
    values = {name: np.ascontiguousarray(x, dtype="<f4") for name, x in arrays.items()}
    head = {**message, "arrays": [[name, list(x.shape)] for name, x in values.items()]}
    header = text(head).encode()
    header += b" " * (-len(header) % 4)  # so that arrays begin at a multiple of four
    return b"".join([len(header).to_bytes(4, "little"), header, *(x.tobytes() for x in values.values())])


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """(header, what follows it) of a message of bytes.

    >>> unpacked(packed({"event": "pose"}, {"q": [1.0, 2.0]}))[0]
    {'event': 'pose', 'arrays': [['q', [2]]]}
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size > min(LARGEST_HEADER, len(data) - 4):
        raise ArgumentError(f"a message of {len(data)} bytes has no header; needed: its length, JSON, and the rest.")
    return parsed(data[4 : 4 + size]), data[4 + size :]


def arrays_of(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """(header, arrays) of a message that `packed` made."""
    header, rest = unpacked(data)
    out, start = {}, 0
    for name, shape in header.get("arrays", ()):
        count = math.prod(shape)
        out[name] = np.frombuffer(rest, dtype="<f4", count=count, offset=start).reshape(shape)
        start += 4 * count
    return header, out


def parsed(data: str | bytes) -> dict[str, Any]:
    """The JSON of a message."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ArgumentError("a message is no JSON.") from None
    if not isinstance(found, dict):
        raise ArgumentError("a message is no JSON object.")
    if _is_deep(found):
        raise ArgumentError(f"a message has lists or objects more than {DEEPEST} deep in each other; needed: fewer.")
    return found


def _is_deep(x: Any) -> bool:
    """Whether lists and objects are more than DEEPEST deep in each other."""
    level = [x]
    for _ in range(DEEPEST):
        level = [y for x in level if isinstance(x, (dict, list)) for y in (x.values() if isinstance(x, dict) else x)]
        if not level:
            return False
    return any(isinstance(x, (dict, list)) for x in level)


def plain(x: Any) -> Any:
    """Data of Python's own types; NaN and infinities are None."""
    if isinstance(x, (float, np.floating)):
        return float(x) if math.isfinite(x) else None
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    if isinstance(x, np.integer):
        return int(x)
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple, set)):
        return [plain(value) for value in x]
    return x
