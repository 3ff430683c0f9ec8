"""Values no argument should be given, and values that are one step from a good one."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np


class Hostile:
    """An object that raises whatever is asked of it."""

    def _refuse(self, *args: Any, **keywords: Any) -> Any:
        raise RuntimeError("hostile")

    __array__ = __float__ = __len__ = __iter__ = __getitem__ = __eq__ = __bool__ = __call__ = _refuse  # type: ignore
    __hash__ = object.__hash__


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


#: name: what makes the value, fresh for every call
BAD: dict[str, Callable[[], Any]] = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "negative": lambda: -1.0,
    "zero": lambda: 0.0,
    "integer zero": lambda: 0,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "1e-308": lambda: 1e-308,
    "2**70": lambda: 2**70,
    "-2**70": lambda: -(2**70),
    "10**400": lambda: 10**400,
    "complex": lambda: 1j,
    "NumPy complex": lambda: np.complex128(1 + 1j),
    "True": lambda: True,
    "NumPy True": lambda: np.True_,
    "None": lambda: None,
    "empty string": lambda: "",
    "string": lambda: "abc",
    "number in a string": lambda: "1",
    "bytes": lambda: b"x",
    "empty list": lambda: [],
    "empty tuple": lambda: (),
    "empty dict": lambda: {},
    "empty array": lambda: np.zeros(0),
    "list of nan": lambda: [float("nan")],
    "list of strings": lambda: ["a", "b", "c"],
    "ragged list": lambda: [1, [2, 3]],
    "three numbers": lambda: (1.0, 2.0, 3.0),
    "seven numbers": lambda: np.arange(7.0),
    "2 by 2": lambda: np.ones((2, 2)),
    "3 by 3": lambda: np.zeros((3, 3)),
    "nan array": lambda: np.full(3, np.nan),
    "huge array": lambda: np.full(3, 1e308),
    "float32": lambda: np.float32(0.5),
    "float32 array": lambda: np.ones(3, dtype=np.float32),
    "longdouble": lambda: np.longdouble(0.5),
    "longdouble array": lambda: np.ones(3, dtype=np.longdouble),
    "strided": lambda: np.arange(6.0)[::2],
    "reversed": lambda: np.arange(3.0)[::-1],
    "read-only": lambda: _read_only(np.ones(3)),
    "array of strings": lambda: np.array(["a", "b", "c"]),
    "array of None": lambda: np.array([None, None, None]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "array without axes": lambda: np.array(0.5),
    "masked number": lambda: np.ma.masked,
    "date": lambda: np.datetime64("2020-01-01"),
    "decimal": lambda: Decimal("0.5"),
    "fraction": lambda: Fraction(1, 2),
    "range": lambda: range(3),
    "iterator": lambda: iter([1.0, 2.0, 3.0]),
    "set": lambda: {1.0},
    "object": object,
    "hostile": Hostile,
    "type": lambda: int,
    "ellipsis": lambda: ...,
    "slice": lambda: slice(0, 1),
    "lambda": lambda: lambda: None,
    "lambda of anything": lambda: lambda *args, **keywords: "abc",
    "lambda that gives nan": lambda: lambda *args: float("nan"),
    "dict of nan": lambda: {"A": float("nan")},
    "dict of unknown names": lambda: {"nope": 1.0},
    "dict of numbers": lambda: {1: 2.0},
    "dict of strings": lambda: {"A": "x"},
    "dict of huge": lambda: {"A": 1e308},
    "free symbol": lambda: ca.SX.sym("x"),
    "symbols": lambda: ca.SX.sym("x", 3),
    "MX": lambda: ca.MX.sym("x"),
    "DM": lambda: ca.DM([1.0, 2.0, 3.0]),
    "module": lambda: np,
}


def _longer(x: Any) -> Any:
    return np.append(x, 1.0) if isinstance(x, np.ndarray) else type(x)([*x, *x[:1]])


def near(value: Any) -> dict[str, Callable[[], Any]]:
    """Values one step from a good one."""
    found: dict[str, Callable[[], Any]] = {}
    if isinstance(value, (list, tuple)) and value:
        found["one fewer"] = lambda: value[:-1]
        found["one more"] = lambda: _longer(value)
        found["nan among"] = lambda: type(value)([*value[:-1], float("nan")])
        found["None among"] = lambda: type(value)([None, *value[1:]])
        found["text among"] = lambda: type(value)([*value[:-1], "1"])
    if isinstance(value, np.ndarray) and value.size:
        found["one fewer"] = lambda: value[:-1]
        found["one more"] = lambda: _longer(value)
        found["nan array of its shape"] = lambda: np.full(value.shape, np.nan)
        found["huge array of its shape"] = lambda: np.full(value.shape, 1e308)
        found["float32 of its shape"] = lambda: value.astype(np.float32)
        found["complex of its shape"] = lambda: value + 0j
        found["strided of its shape"] = lambda: np.repeat(value, 2, axis=0)[::2]
        found["object of its shape"] = lambda: value.astype(object)
        found["longdouble of its shape"] = lambda: value.astype(np.longdouble)
    if isinstance(value, dict) and value:
        name = next(iter(value))
        found["a name misspelt"] = lambda: {**value, f"{name}x": value[name]}
        found["nan by name"] = lambda: {**value, name: float("nan")}
        found["text by name"] = lambda: {**value, name: "1"}
        found["None by name"] = lambda: {**value, name: None}
        found["complex by name"] = lambda: {**value, name: 1j}
    if isinstance(value, str):
        found["misspelt"] = lambda: value + "x"
        found["another case"] = value.upper
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        found["negated"] = lambda: -value
        found["as text"] = lambda: str(value)
        found["as an array"] = lambda: np.array([value])
        found["as a long double"] = lambda: np.longdouble(value)
        found["half as much"] = lambda: value / 2
    return found
