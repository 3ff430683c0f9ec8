"""Steps along the arclength of a solution curve, where the place on the path may turn back (Keller 1977).

The unknowns are z = (q, x) together, with J q̇ − g ẋ = 0 along the curve; the corrector takes the shortest steps.
"""

from __future__ import annotations

from math import inf

import numpy as np

from dalembert.branch.continuation import Continuation
from dalembert.branch.corrector import correct, largest


class Arc:
    """The rows of z = (q, x), scaled; unit: of x."""

    def __init__(self, way: Continuation, unit: float):
        self.way, self.unit = way, unit

    def at(self, z: np.ndarray, _: float) -> tuple[np.ndarray, np.ndarray, None]:
        """Residuals and (J, −g)."""
        e, J, g = self.way.at(z[:-1], float(z[-1]))
        return e, np.hstack([J, -self.unit * g[:, None] / self.way.scale[:, None]]), None

    def newton(self, J: np.ndarray, e: np.ndarray, _: float) -> tuple[np.ndarray, float] | None:
        """The shortest step."""
        if not np.isfinite(J).all():
            return None
        delta = self.way.policy.reveal(J, 1.0).solve(e)
        return delta, largest(delta)

    def moved(self, z: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """z after a step."""
        return np.append(self.way.moved(z[:-1], delta[:-1]), z[-1] + self.unit * delta[-1])


def corrected_along(
    way: Continuation, q: np.ndarray, x: float, direction: np.ndarray, stride: float, unit: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """A step along the arc: position, place, and the direction (q̇/reach; ẋ/unit) there; None where it fails."""
    arc = Arc(way, unit)
    found = correct(arc, arc.moved(np.append(q, x), stride * direction), 0.0, inf)
    if found is None or not np.isfinite(found.J).all():
        return None
    null = way.policy.reveal(found.J, 1.0).null
    ahead = null @ (null.T @ direction)
    size = float(np.linalg.norm(ahead))
    return (found.q[:-1], float(found.q[-1]), ahead / size) if size > 0.8 else None  # turned by less than 37°
