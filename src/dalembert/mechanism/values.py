"""Numbers of a description: plain, or expressions of declared parameters; checked when they are given."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DalembertError, DescriptionError
from dalembert.symbols import Scalar, all_numbers, array, snap, to_sx

_DOUBLE = np.dtype(float)


class Defaults:
    """The declared parameters and their default values; turns symbolic values into the numbers they have by default."""

    def __init__(self, symbols: dict[str, ca.SX] | None = None, values: dict[str, np.ndarray] | None = None) -> None:
        self.symbols: dict[str, ca.SX] = symbols or {}
        self.values: dict[str, np.ndarray] = values or {}
        self.points: dict[str, np.ndarray] = {}  # (3,) each, hard points of the drawing by name

    def at(self, p: np.ndarray) -> Defaults:
        """The same parameters with other values: p, all of them one after another."""
        ends = np.cumsum([x.size for x in self.values.values()])[:-1]
        parts = np.split(np.asarray(p, dtype=float), ends) if self.values else []
        given = zip(self.values.items(), parts)
        return Defaults(self.symbols, {name: x.reshape(np.shape(old)) for (name, old), x in given})

    def number(self, x: np.ndarray, what: str) -> np.ndarray:
        """x with every parameter at its default, as floats; refuses symbols that were not declared."""
        if all_numbers(x):
            return x.astype(float)
        f = ca.Function(
            "default", list(self.symbols.values()), [to_sx(x)], {"allow_free": True, "always_inline": False}
        )
        if f.has_free():
            raise DescriptionError(
                f"{what} uses the symbol {', '.join(sorted(f.get_free()))}, which is no parameter of this mechanism; "
                f"parameters are: {', '.join(self.symbols) or 'none'}. Declare it with add_parameter(name, value)."
            )
        return np.array(f(*self.values.values())).reshape(x.shape)

    def checked(self, value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
        """`value` as an object array of the shape, finite at the default parameters."""
        x = shaped(value, shape, what)
        if all(e.__class__ is float and isfinite(e) for e in x.ravel().tolist()):
            return x
        numbers = self.number(x, what)
        if not np.all(np.isfinite(numbers)):
            raise DescriptionError(f"{what} is {numbers.tolist()}; every number must be finite.")
        return x

    def scalar(self, value: Any, what: str, *, least: float | None = None) -> Any:
        """One float or Scalar, finite, and not below `least` at the default parameters."""
        x = value if value.__class__ is float and isfinite(value) else self.checked(value, (), what)[()]
        number = x if x.__class__ is float else float(self.number(array([x]), what)[0])
        if least is not None and number < least:
            raise DescriptionError(f"{what} is {number:g}; it must be at least {least:g}.")
        return x

    def rotation(self, value: Any, what: str) -> np.ndarray:
        """A (3, 3) rotation from a matrix or a SciPy Rotation, its rounding errors at 0 and ±1 removed."""
        R = self.checked(as_matrix(value), (3, 3), what)
        check_rotation(self.number(R, what), what)
        return snap(R, scale=1.0)


def check_rotation(R: np.ndarray, what: str, error: type[DalembertError] = DescriptionError) -> None:
    """Refuse a (3, 3) matrix that is no rotation."""
    a, b, c = R.tolist()
    products = (_dot(a, a) - 1, _dot(b, b) - 1, _dot(c, c) - 1, _dot(a, b), _dot(b, c), _dot(c, a))
    if not all(abs(x) <= 1e-9 for x in products):
        off = float(np.abs(products).max())
        raise error(
            f"{what} is not a rotation: R Rᵀ differs from the identity by {off:.2g}. "
            "Build one with da.rotation('z', angle) or SciPy's Rotation."
        )
    if _dot(c, [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]) < 0:
        raise error(f"{what} is a reflection (determinant −1), not a rotation; swap the sign of one column.")


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def shaped(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """`value` as an object array of the shape; a single element may stand for a scalar or a vector of one."""
    if value.__class__ is np.ndarray and value.dtype is _DOUBLE and value.shape == shape:
        return value.astype(object)
    if value.__class__ in (list, tuple) and shape == (len(value),) and set(map(type, value)) == {float}:
        return np.array(value, dtype=object)
    x = described(value, what, checks.words(shape))
    if x.size == 1 and shape in ((), (1,)):
        return x.reshape(shape)
    if x.shape != shape:
        raise DescriptionError(f"{what} has shape {x.shape}; needed: {checks.words(shape)}.")
    return x


def described(value: Any, what: str, needed: str = "numbers") -> np.ndarray:
    """`value` as an object array of floats and Scalars of any shape: the one door for numbers of a description."""
    if not _symbolic(value):
        return checks.reals(value, what, needed, error=DescriptionError).astype(object)
    try:
        x = array(value.tolist() if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError, NotImplementedError, RuntimeError, OverflowError) as error:
        raise DescriptionError(f"{what} is {checks.shown(value)}; needed: {needed}.") from error
    if not all(isinstance(e, Scalar) or checks.is_real(e) for e in x.ravel()):
        raise DescriptionError(f"{what} holds something that is neither a number nor an expression; needed: {needed}.")
    return x


def _symbolic(value: Any) -> bool:
    """Whether a value holds a CasADi expression, alone or in (nested) lists, tuples and object arrays."""
    if isinstance(value, (ca.SX, Scalar)):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(_symbolic(e) for e in value.ravel())
    return isinstance(value, (list, tuple)) and any(_symbolic(e) for e in value)


def as_matrix(value: Any) -> Any:
    """The matrix of a SciPy Rotation; anything else as it is."""
    return value.as_matrix() if callable(getattr(value, "as_matrix", None)) else value


def plain(x: np.ndarray) -> Any:
    """Floats where nothing is symbolic, else the object array."""
    return x.astype(float) if all_numbers(x) else x


def per_dof(value: Any, nv: int, defaults: Defaults, what: str, *, least: float | None = None) -> np.ndarray:
    """One number for every degree of freedom, or one for each: (nv,)."""
    if value.__class__ is float and isfinite(value) and (least is None or value >= least):
        return np.array([value] * nv, dtype=object)  # most are: the default 0.0
    values = described(value, what)
    if values.size == 1:
        values = np.array([values.reshape(())[()]] * nv, dtype=object)
    out = defaults.checked(values, (nv,), what)
    for x in out:
        defaults.scalar(x, what, least=least)
    return out


def is_exact_zero(x: Any) -> bool:
    """Whether a value is the number 0 (and not a symbol that may be 0)."""
    return not isinstance(x, Scalar) and float(x) == 0.0


def vector_of(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The values one after another."""
    return np.concatenate([np.atleast_1d(v) for v in values.values()]) if values else np.zeros(0)
