"""Parts of planar linkages: uniform bars, and the triangles that close them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ArgumentError
from dalembert.mechanism.body import Body
from dalembert.mechanism.inertia import rod_inertia
from dalembert.mechanism.mechanism import Mechanism

#: positions and velocities by name, for `system.state(q, v)`
Start = tuple[dict[str, Any], dict[str, Any]]


def bar(m: Mechanism, name: str, mass: float, length: float) -> Body:
    """A uniform slender bar along x from the origin of its frame."""
    return m.add_body(name, mass=mass, com=(length / 2, 0, 0), inertia=rod_inertia(mass, length))


def unit(angle: float) -> np.ndarray:
    """(cos, sin)."""
    return np.array([np.cos(angle), np.sin(angle)])


def normal(angle: float) -> np.ndarray:
    """(−sin, cos): the derivative of `unit`."""
    return np.array([-np.sin(angle), np.cos(angle)])


def heading(a: ArrayLike, b: ArrayLike) -> float:
    """Direction from point a to point b, rad from the first axis towards the second."""
    d = np.subtract(b, a)
    return float(np.arctan2(d[1], d[0]))


def meet(a: ArrayLike, ra: float, b: ArrayLike, rb: float, side: float) -> np.ndarray:
    """The point at the distances ra from a and rb from b, to the left of a→b for side > 0, else to the right.

    >>> meet((0, 0), 1.0, (1, 0), 1.0, side=+1).round(3)
    array([0.5  , 0.866])
    """
    start = np.asarray(a, dtype=float)
    d = np.asarray(b, dtype=float) - start
    length = float(np.hypot(*d))
    along = (length**2 + ra**2 - rb**2) / (2 * length)
    height = ra**2 - along**2
    if height < -1e-12 * ra**2:
        raise ArgumentError(
            f"bars of {ra:g} m and {rb:g} m do not meet: their other ends are {length:g} m apart; needed: between "
            f"{abs(ra - rb):g} and {ra + rb:g} m."
        )
    across = np.array([-d[1], d[0]]) / length
    return start + along * d / length + np.sign(side) * np.sqrt(max(height, 0.0)) * across
