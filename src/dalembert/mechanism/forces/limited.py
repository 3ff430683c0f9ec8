"""Limits of the forces that drives can exert."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.symbols import where_less


def limited(force: Any, limits: np.ndarray) -> Any:
    """A force held between (lower, upper). In a limit itself its derivative is that inside."""
    lower, upper = map(float, limits)
    if np.isfinite(upper):
        within = force
        force = where_less(-within, -upper, lambda: upper, lambda: within)
    if np.isfinite(lower):
        below = force
        force = where_less(below, lower, lambda: lower, lambda: below)
    return force


def force_limits(limits: Any, what: str) -> np.ndarray:
    """(lower, upper) of a force as users give it, infinite where one or both are None."""
    if limits is None:
        limits = (None, None)
    if isinstance(limits, (tuple, list)) and len(limits) == 2:
        limits = [none if x is None else x for x, none in zip(limits, (-np.inf, np.inf))]
    x = checks.array(limits, (2,), f"the limits of {what}", finite=False, error=DescriptionError)
    if not x[0] <= 0.0 <= x[1]:
        raise DescriptionError(f"the limits of {what} are {x.tolist()}; needed: (lower, upper) with 0 between them.")
    return x.copy()
