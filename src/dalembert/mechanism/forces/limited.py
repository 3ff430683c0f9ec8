"""Limits of the forces that drives can exert."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.symbols import minimum


def limited(force: Any, limits: np.ndarray) -> Any:
    """A force held between (lower, upper)."""
    lower, upper = limits
    if np.isfinite(upper):
        force = minimum(force, float(upper))
    return -minimum(-force, -float(lower)) if np.isfinite(lower) else force


def force_limits(limits: Any, what: str) -> np.ndarray:
    """(lower, upper) of a force as users give it, infinite where none are given."""
    if limits is None:
        return np.array([-np.inf, np.inf])
    x = checks.array(limits, (2,), f"the limits of {what}", finite=False, error=DescriptionError)
    if not x[0] <= 0.0 <= x[1]:
        raise DescriptionError(f"the limits of {what} are {x.tolist()}; needed: (lower, upper) with 0 between them.")
    return x.copy()
