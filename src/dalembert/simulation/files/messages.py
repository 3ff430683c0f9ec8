"""Arrow's messages, looked at before Arrow unpacks them: sizes that lie and bodies that unpack to more are refused.

A message's metadata is a FlatBuffers table, read here by the positions of its fields (Arrow's Message.fbs):

    Message       version 0, header_type 1, header 2, bodyLength 3, custom_metadata 4
    RecordBatch   length 0, nodes 1, buffers 2, compression 3
"""

from __future__ import annotations

from struct import error as OutOfBounds
from struct import unpack_from
from typing import Any


def plain(message: Any, columns: int) -> bool:
    """Whether a message is a batch, not compressed, of as many rows of float64 as its body has room for."""
    if message.type != "record batch":
        return False
    data = memoryview(message.metadata)
    try:
        batch = _follow(data, _field(data, _follow(data, 0), 2))
        length, compression = _field(data, batch, 0), _field(data, batch, 3)
        rows = unpack_from("<q", data, length)[0] if length else 0
    except OutOfBounds:
        return False
    size = 0 if message.body is None else message.body.size
    return not compression and rows >= 0 and 8 * rows * columns <= size


def _follow(data: memoryview, at: int) -> int:
    """Where an offset leads."""
    return at + unpack_from("<I", data, at)[0]


def _field(data: memoryview, table: int, k: int) -> int:
    """Where field k of a table is; 0 if it is left out."""
    directory = table - unpack_from("<i", data, table)[0]
    entry = 4 + 2 * k
    if directory < 0 or entry >= unpack_from("<H", data, directory)[0]:
        return 0
    offset = unpack_from("<H", data, directory + entry)[0]
    return table + offset if offset else 0
