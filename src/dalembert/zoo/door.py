"""The door of the zoo: arguments are checked by their annotations before anything is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.mechanism import Mechanism

F = TypeVar("F", bound=Callable[..., Any])
Times = ArrayLike  #: a time or an array of times
Triple = Sequence[float]  #: three numbers
MOST = 10_000  # parts of a chain or ladder, or turns of a branch: more is a slip of the pen


def checked(f: F) -> F:
    """f with its arguments converted and refused by their annotations, and no result that is not finite.

    float, int, bool and sequences of them are known; an int is at least 1, except a branch or elbow, which is +1 or −1.
    Other annotations pass: what they hold is checked where it is used.
    """
    parameters = signature(f).parameters
    kinds = {name: str(p.annotation) for name, p in parameters.items()}

    @wraps(f)
    def call(*args: Any, **keywords: Any) -> Any:
        bound = signature(f).bind(*args, **keywords)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _argument(value, kinds[name], parameters[name], f"{name} of {f.__name__}")
        try:
            with np.errstate(all="ignore"):
                result = f(*bound.args, **bound.kwargs)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise ArgumentError(f"{f.__name__} cannot be computed with these numbers ({error}).") from error
        if not isinstance(result, Mechanism) and not _finite(result):
            raise ArgumentError(f"{f.__name__} has no finite value for these numbers; check lengths, angles and signs.")
        return result

    return call  # type: ignore[return-value]


def _argument(value: Any, kind: str, parameter: Parameter, what: str) -> Any:
    if kind == "float" or (kind == "float | None" and value is not None):
        return checks.number(value, what)
    if kind == "bool":
        return checks.flag(value, what)
    if kind == "int":
        return _sign(value, what) if parameter.name == "branch" else checks.whole(value, what, least=1, most=MOST)
    if kind in ("Sequence[float]", "Triple") or kind.startswith("tuple[float"):
        n = 3 if kind == "Triple" else len(parameter.default)
        return tuple(checks.vector(value, n, what).tolist())
    if kind.startswith("tuple[int"):
        n = len(parameter.default)
        if not isinstance(value, (tuple, list)) or len(value) != n:
            raise ArgumentError(f"{what} is {checks.shown(value)}; needed: {n} of +1 or −1.")
        return tuple(_sign(x, what) for x in value)
    if kind == "Sequence[str]":
        if not isinstance(value, (tuple, list)) or not value:
            raise ArgumentError(
                f"{what} is {checks.shown(value)}; needed: a list of names such as {parameter.default}."
            )
        return tuple(value)
    return checks.array(value, None, what) if kind == "Times" else value


def _sign(value: Any, what: str) -> int:
    if checks.whole(value, what) not in (1, -1):
        raise ArgumentError(f"{what} is {value}; needed: +1 or −1.")
    return int(value)


def _finite(result: Any) -> bool:
    if isinstance(result, Mapping):
        return all(_finite(x) for x in result.values())
    if isinstance(result, tuple):
        return all(_finite(x) for x in result)
    try:
        return bool(np.all(np.isfinite(result)))
    except TypeError:  # a rotation
        return True
