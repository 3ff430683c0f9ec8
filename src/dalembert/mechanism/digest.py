"""A digest of a description: equal digests mean equal equations, in any process.

It is that of the bytes which `pickling` makes of the elements and of their expressions. A description that holds a
function or a class of the user's own has none: Python keeps those by name, and the name says nothing of what they do.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.mechanism.pickling import PARTS
from dalembert.mechanism.values import Defaults

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

OF_MOTION = tuple(part for part in PARTS if part not in ("states", "notes", "points"))
KNOWN = {"dalembert", "numpy", "casadi", "builtins", "copyreg", "collections", "functools", "math", "_codecs"}
BY_NAME = (type, FunctionType, BuiltinFunctionType, MethodType)


class _Foreign(Exception):
    """Something whose meaning is not in its bytes."""


class _DigestWriter(pickle.Pickler):
    """Python asks it about everything but plain numbers, texts and containers, of which descriptions have most."""

    def __init__(self, file: Any):
        super().__init__(file, protocol=5)
        self.expressions: list[ca.SX] = []

    def reducer_override(self, x: Any) -> Any:
        """Arrays of numbers as bytes, records by their fields, expressions by their number: nothing is ever read."""
        if x.__class__ is np.ndarray:
            if x.dtype != object:
                return NotImplemented
            try:
                return bytes, (repr(x.shape).encode() + x.astype(float).tobytes(),)
            except TypeError:  # expressions in it
                return NotImplemented
        if isinstance(x, ca.SX):
            self.expressions.append(x)
            return int, (len(self.expressions),)
        if isinstance(x, BY_NAME):
            if str(x.__module__).partition(".")[0] not in KNOWN:
                raise _Foreign
            return NotImplemented
        if isinstance(x, Defaults):
            return str, ("parameters",)
        fields = getattr(x, "__dataclass_fields__", None)
        if fields is None:
            return NotImplemented
        return copyreg.__newobj__, (x.__class__,), tuple([getattr(x, name) for name in fields])  # type: ignore[attr-defined]


def description_digest(m: Mechanism) -> str | None:
    """Hexadecimal digest of all that the equations of a mechanism depend on; None where there is none."""
    file = io.BytesIO()
    writer = _DigestWriter(file)
    symbols = {**m.parameters.symbols, **m.inputs}
    try:
        writer.dump({part: getattr(m, part) for part in OF_MOTION})
        f = ca.Function("description", [*symbols.values(), *m.borrowed], writer.expressions, {"allow_free": True})
    except (_Foreign, pickle.PicklingError, AttributeError, TypeError, RecursionError):
        return None
    if f.has_free():
        return None
    found = sha256(file.getvalue())
    declared = [(name, x.tolist()) for name, x in m.parameters.values.items()]
    inputs = [(name, u.numel()) for name, u in m.inputs.items()]
    for text in (f.serialize(), repr(declared), repr(inputs), repr([x.numel() for x in m.borrowed])):
        found.update(text.encode() + b"\0")
    return found.hexdigest()
