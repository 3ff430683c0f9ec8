"""Traced numbers: NumPy object arrays whose elements are Python floats or CasADi scalars.

The recursions are plain NumPy code. Run on floats they compute; run on arrays that hold `Scalar`s they record a CasADi
`SX` graph. A product with an exact zero is the float 0.0 and a sum with it costs nothing, so the structural zeros
of a mechanism vanish while it is traced: a planar mechanism becomes planar code by itself.

`Scalar` exists for speed of tracing: CasADi's own operators resolve their overloads at every call (17 µs each),
`SX.binary` does not (2 µs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np

_binary, _unary = ca.SX.binary, ca.SX.unary
_EPS = float(np.finfo(float).eps)
_constants: dict[float, ca.SX] = {}


def _constant(x: float) -> ca.SX:
    """The SX of a float; constants recur, and making one costs as much as an operation."""
    sx = _constants.get(x)
    if sx is None:
        if len(_constants) > 10_000:
            _constants.clear()
        sx = _constants[x] = ca.SX(x)
    return sx


class Scalar:
    """One element of a traced expression."""

    __slots__ = ("sx",)

    def __init__(self, sx: ca.SX):
        self.sx = sx

    def __add__(self, other: Any) -> Any:
        if other.__class__ is Scalar:
            return Scalar(_binary(ca.OP_ADD, self.sx, other.sx))
        if other.__class__ is np.ndarray:
            return NotImplemented
        return self if other == 0 else Scalar(_binary(ca.OP_ADD, self.sx, _constant(float(other))))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is Scalar:
            return Scalar(_binary(ca.OP_SUB, self.sx, other.sx))
        if other.__class__ is np.ndarray:
            return NotImplemented
        return self if other == 0 else Scalar(_binary(ca.OP_SUB, self.sx, _constant(float(other))))

    def __rsub__(self, other: Any) -> Any:
        return -self if other == 0 else Scalar(_binary(ca.OP_SUB, _constant(float(other)), self.sx))

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is Scalar:
            return Scalar(_binary(ca.OP_MUL, self.sx, other.sx))
        if other.__class__ is np.ndarray:
            return NotImplemented
        if other == 0:
            return 0.0
        if other == 1:
            return self
        return -self if other == -1 else Scalar(_binary(ca.OP_MUL, self.sx, _constant(float(other))))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if other.__class__ is Scalar:
            return Scalar(_binary(ca.OP_DIV, self.sx, other.sx))
        if other.__class__ is np.ndarray:
            return NotImplemented
        return self if other == 1 else Scalar(_binary(ca.OP_DIV, self.sx, _constant(float(other))))

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if other == 0 else Scalar(_binary(ca.OP_DIV, _constant(float(other)), self.sx))

    def __neg__(self) -> Scalar:
        return Scalar(_unary(ca.OP_NEG, self.sx))

    def __pow__(self, n: int) -> Any:
        return Scalar(_unary(ca.OP_SQ, self.sx)) if n == 2 else Scalar(self.sx**n)

    def __repr__(self) -> str:
        return f"Scalar({self.sx})"


def array(x: Any) -> np.ndarray:
    """An object array of floats and Scalars from numbers, CasADi expressions, arrays or nested sequences of them.

    >>> L = ca.SX.sym("L")
    >>> array([0, 2 * L, 1.5])
    array([0.0, Scalar((2.*L)), 1.5], dtype=object)
    """
    if isinstance(x, np.ndarray):
        return x if x.dtype == object else x.astype(float).astype(object)
    if isinstance(x, (ca.SX, ca.DM)):
        return _from_casadi(x)
    if isinstance(x, (Sequence, Iterable)) and not isinstance(x, str):
        return np.array([element(e) if _is_scalar(e) else array(e) for e in x], dtype=object)
    return np.array(element(x), dtype=object)


def element(x: Any) -> Any:
    """A float or Scalar from a number or a 1×1 CasADi expression."""
    if isinstance(x, Scalar):
        return x
    if isinstance(x, ca.SX):
        return float(x) if x.is_constant() else Scalar(x)
    return float(x)


def _is_scalar(x: Any) -> bool:
    return not isinstance(x, (Sequence, np.ndarray)) and not (isinstance(x, (ca.SX, ca.DM)) and x.numel() != 1)


def _from_casadi(x: ca.SX | ca.DM) -> np.ndarray:
    """Columns become vectors, the rest stays a matrix."""
    rows, cols = x.shape
    flat = [element(x[i, j]) for i in range(rows) for j in range(cols)]
    out = np.empty(rows * cols, dtype=object)
    out[:] = flat
    return out.reshape(rows) if cols == 1 else out.reshape(rows, cols)


def to_sx(x: Any) -> ca.SX:
    """The dense SX of a scalar, vector or matrix of floats and Scalars; a vector becomes a column."""
    a = np.asarray(x, dtype=object)
    flat = [e.sx if e.__class__ is Scalar else _constant(float(e)) for e in a.T.ravel()]  # CasADi is column-major
    column = ca.vertcat(*flat) if flat else ca.SX(0, 1)
    return ca.densify(ca.reshape(column, *a.shape)) if a.ndim == 2 else ca.densify(column)


def symbols(name: str, n: int) -> tuple[ca.SX, np.ndarray]:
    """A column of n fresh symbols, as SX and as an object array."""
    sx, out = ca.SX.sym(name, n), np.empty(n, dtype=object)
    out[:] = [Scalar(x) for x in sx.elements()]  # type: ignore[arg-type]
    return sx, out


def zeros(*shape: int) -> np.ndarray:
    """An object array of exact zeros."""
    return np.full(shape, 0.0, dtype=object)


def eye(n: int) -> np.ndarray:
    """The identity as an object array."""
    return np.eye(n).astype(object)


def is_number(x: Any) -> bool:
    """Whether x, an element of a traced array, is a plain number."""
    return x.__class__ is not Scalar


def is_zero(x: Any) -> bool:
    """Whether x, an element of a traced array, is exactly zero whatever the state."""
    return x.__class__ is not Scalar and x == 0.0


def all_numbers(x: np.ndarray) -> bool:
    """Whether no element of the array is symbolic."""
    return Scalar not in set(map(type, x.ravel().tolist()))


def _function(op: int, numeric: Callable[[float], float]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        return Scalar(_unary(op, x.sx)) if x.__class__ is Scalar else float(numeric(x))

    return apply


sin = _function(ca.OP_SIN, np.sin)
cos = _function(ca.OP_COS, np.cos)
sqrt = _function(ca.OP_SQRT, np.sqrt)
log = _function(ca.OP_LOG, np.log)
exp = _function(ca.OP_EXP, np.exp)
atan = _function(ca.OP_ATAN, np.arctan)
tanh = _function(ca.OP_TANH, np.tanh)


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y)."""
    if is_number(y) and is_number(x):
        return float(np.arctan2(y, x))
    return Scalar(_binary(ca.OP_ATAN2, element_sx(y), element_sx(x)))


def element_sx(x: Any) -> ca.SX:
    """The SX of one element."""
    return x.sx if x.__class__ is Scalar else _constant(float(x))


def minimum(x: Any, y: Any) -> Any:
    """min(x, y); NaN where either is."""
    if is_number(x) and is_number(y):
        return min(x, y)
    return Scalar(_binary(ca.OP_FMIN, element_sx(x), element_sx(y)))


def positive_part(x: Any) -> Any:
    """max(x, 0)."""
    return Scalar(ca.fmax(x.sx, 0)) if x.__class__ is Scalar else max(float(x), 0.0)


def lesser(x: Any, y: Any) -> Any:
    """min(x, y)."""
    return where_less(x - y, 0.0, lambda: x, lambda: y)


def where_less(x: Any, bound: float, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then()` where x < bound, else `otherwise()`; traced, both are recorded and one is selected, NaN-free."""
    if is_number(x):
        return then() if x < bound else otherwise()
    return Scalar(ca.if_else(x.sx < bound, element_sx(then()), element_sx(otherwise())))


def snap(x: np.ndarray, scale: float | None = None, *, rounding: float = 4.0, least: float = 0.0) -> np.ndarray:
    """Numbers within rounding of zero made exactly zero, those within rounding of ±scale made ±scale.

    cos(π/2) is 6e-17 in floating point; left alone, it would keep a whole column of a rotation alive in the code.
    `rounding`: units in the last place of `scale`, or of the largest number, at least of `least`.
    """
    flat = x.ravel().tolist()
    size = scale if scale is not None else max((abs(e) for e in flat if is_number(e)), default=0.0)
    tiny = rounding * _EPS * max(size, least)
    for k, e in enumerate(flat):
        if is_number(e):
            if abs(e) <= tiny:
                flat[k] = 0.0
            elif scale is not None and abs(abs(e) - scale) <= tiny:
                flat[k] = scale if e > 0 else -scale
    out = np.empty(len(flat), dtype=x.dtype)
    out[:] = flat
    return out.reshape(x.shape)
