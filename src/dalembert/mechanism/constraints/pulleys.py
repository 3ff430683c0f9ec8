"""Ropes over pulleys that turn with them: every straight piece keeps its length, wound or unwound at its ends.

The piece leaves pulley a and arrives at pulley b along the unit vector n. With the axis k, the senses σ = ±1 in which
the rope runs around them (counterclockwise about k: +1) and the radii r, it touches them at c + σ r n × k, so

    d = c_b − c_a = ℓ n + ρ n × k,  ρ = σ_a r_a − σ_b r_b,  ℓ² = d² − ρ²,  n = (ℓ d − ρ d × k)/d²                  (1)

and the rows n·(v_a − v_b) = 0 are of the rubber, or steel, at these points. The multiplier is the tension of the piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.expression import Expressions, by_recipe
from dalembert.mechanism.constraints.rolling import material_velocity
from dalembert.mechanism.traced import UserState

Station = tuple[Frame, Any, int, int]  # frame, radius (0: a point), axis, sense


def piece(s: UserState, a: Station, b: Station) -> tuple[ca.SX, ca.SX, ca.SX]:
    """The points on a and b that a straight piece touches, and its direction."""
    d, rho, k = s.position(b[0]) - s.position(a[0]), a[3] * a[1] - b[3] * b[1], None
    wheel = next((x for x in (a, b) if not (isinstance(x[1], float) and x[1] == 0.0)), None)
    if wheel is None:
        return s.position(a[0]), s.position(b[0]), d / ca.norm_2(d)
    k = s.rotation(wheel[0])[:, wheel[2]]
    d = d - k * ca.dot(k, d)
    square = ca.dot(d, d)
    n = (ca.sqrt(square - rho**2) * d - rho * ca.cross(d, k)) / square  # (1)
    out = ca.cross(n, k)
    return s.position(a[0]) + a[3] * a[1] * out, s.position(b[0]) + b[3] * b[1] * out, n


@by_recipe
def pulley_rope(name: str, stations: Sequence[Station]) -> Expressions:
    """A rope through points and around pulleys, without slip."""

    def row(a: Station, b: Station) -> Callable[[UserState], ca.SX]:
        def rate(s: UserState) -> ca.SX:
            p, q, n = piece(s, a, b)
            return ca.dot(n, material_velocity(s, a[0], p) - material_velocity(s, b[0], q))

        return rate

    def forces(s: UserState, lam: Mapping[str, ca.SX]) -> list[tuple[Frame, ca.SX, ca.SX]]:
        out = []
        for k, (a, b) in enumerate(pairwise(stations), start=1):
            p, q, n = piece(s, a, b)
            out += [(a[0], lam[f"piece {k}"] * n, p), (b[0], -lam[f"piece {k}"] * n, q)]
        return out

    return Expressions(
        name,
        "pulley rope",
        pfaffian=[(f"piece {k}", row(a, b)) for k, (a, b) in enumerate(pairwise(stations), start=1)],
        forces=forces,
        text=f"rope from {stations[0][0].body.name} to {stations[-1][0].body.name}",
        wheels=[(frame, radius, axis) for frame, radius, axis, sense in stations if sense],
        path=stations,
    )
