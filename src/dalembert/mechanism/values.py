"""Numbers of a description: plain, or expressions of declared parameters; checked when they are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError
from dalembert.symbols import Scalar, all_numbers, array, snap, to_sx


class Defaults:
    """The declared parameters and their default values; turns symbolic values into the numbers they have by default."""

    def __init__(self) -> None:
        self.symbols: dict[str, ca.SX] = {}
        self.values: dict[str, np.ndarray] = {}

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
        numbers = self.number(x, what)
        if not np.all(np.isfinite(numbers)):
            raise DescriptionError(f"{what} is {_show(numbers)}; every number must be finite.")
        return x

    def scalar(self, value: Any, what: str, *, least: float | None = None) -> Any:
        """One float or Scalar, finite, and not below `least` at the default parameters."""
        x = self.checked(value, (), what)[()]
        number = float(self.number(array([x]), what)[0])
        if least is not None and number < least:
            raise DescriptionError(f"{what} is {number:g}; it must be at least {least:g}.")
        return x

    def rotation(self, value: Any, what: str) -> np.ndarray:
        """A (3, 3) rotation from a matrix or a SciPy Rotation, its rounding errors at 0 and ±1 removed."""
        if hasattr(value, "as_matrix"):
            value = value.as_matrix()
        R = self.checked(value, (3, 3), what)
        numbers = self.number(R, what)
        error = float(np.abs(numbers @ numbers.T - np.eye(3)).max())
        if error > 1e-9:
            raise DescriptionError(
                f"{what} is not a rotation: R Rᵀ differs from the identity by {error:.2g}. "
                "Build one with da.rotation('z', angle) or SciPy's Rotation."
            )
        if np.linalg.det(numbers) < 0:
            raise DescriptionError(
                f"{what} is a reflection (determinant −1), not a rotation; swap the sign of one column."
            )
        return snap(R, scale=1.0)


def shaped(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """`value` as an object array of the shape; a single element may stand for a scalar or a vector of one."""
    try:
        x = array(value)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise DescriptionError(f"{what} is {value!r}; needed: {_words(shape)}.") from error
    if x.size == 1 and shape in ((), (1,)):
        return x.reshape(shape)
    if x.shape != shape:
        raise DescriptionError(f"{what} has shape {x.shape}; needed: {_words(shape)}.")
    return x


def _words(shape: tuple[int, ...]) -> str:
    return {(): "one number", (3,): "three numbers", (3, 3): "a 3×3 matrix"}.get(shape, f"numbers of shape {shape}")


def _show(x: np.ndarray) -> str:
    return str(x.tolist())


def plain(x: np.ndarray) -> Any:
    """Floats where nothing is symbolic, else the object array."""
    return x.astype(float) if all_numbers(x) else x


def per_dof(value: Any, nv: int, defaults: Defaults, what: str, *, least: float | None = None) -> np.ndarray:
    """One number for every degree of freedom, or one for each: (nv,)."""
    values = array(value)
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
