"""Where two shapes are nearest, in symbols: how far apart they are, the normal between them, and a point on each.

A shape is a core with a round skin of some radius r: a sphere is a point, a capsule a segment, with skins; boxes and
cylinders have none. Two shapes are as far apart as their cores, less both skins. On a plane with the normal n the
lowest point of a shape counts, which is that of its core, lower by r.

Distances are negative within boxes and cylinders, where n leads out by the nearest face. Wherever cores do not touch
they have one derivative at least; curvatures jump where the nearest point passes from a side to an end or an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import casadi as ca

TINY = 1e-60  # m²: below squares of lengths, so that a root has derivatives at zero
UPRIGHT = 1e-12  # rad: a disc that leans less touches a plane near its centre
PARALLEL = 1e-12  # of squares of lengths: segments within 1e-6 rad of each other are nearest in the middle of both


class Core(IntEnum):
    """What a shape is without its skin; z of its frame is the axis."""

    PLANE = 0
    POINT = 1
    SEGMENT = 2  # (length)
    BOX = 3  # (three edges)
    CYLINDER = 4  # (radius, length)
    DISC = 5  # (radius), thin
    ELLIPSOID = 6  # (three half axes)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A core at its place: origin and axes in the ground, sizes."""

    o: ca.SX
    R: ca.SX
    size: Sequence[Any]

    def inside(self, x: ca.SX) -> ca.SX:
        """A point of the ground in the core's axes."""
        return self.R.T @ (x - self.o)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """distance of the cores, n from the second to the first, and the points a, b of both."""

    distance: ca.SX
    n: ca.SX
    a: ca.SX
    b: ca.SX


# --- on a plane -----------------------------------------------------------------------------------------------------


def _lowest_of_disc(x: Side, n: ca.SX) -> ca.SX:
    """−R e/‖e‖ below the centre, e = n − (n·d) d, d the axle; its centre where it is flat."""
    d = x.R[:, 2]
    across = n - ca.dot(n, d) * d
    return x.o - x.size[0] * across / ca.sqrt(ca.sumsqr(across) + UPRIGHT**2)


def _lowest_of_ellipsoid(x: Side, n: ca.SX) -> ca.SX:
    """−A² n/√(nᵀ A² n), A the half axes."""
    own = x.R.T @ n
    stretched = ca.vertcat(*(a * a * e for a, e in zip(x.size, ca.vertsplit(own))))
    return x.o - x.R @ stretched / ca.sqrt(ca.dot(own, stretched))


#: the lowest point of a core over a plane with normal n
LOWEST: dict[Core, Callable[[Side, ca.SX], ca.SX]] = {
    Core.POINT: lambda x, n: x.o,
    Core.DISC: _lowest_of_disc,
    Core.ELLIPSOID: _lowest_of_ellipsoid,
}


# --- outside each other ---------------------------------------------------------------------------------------------


def _clamped(x: ca.SX, half: Any) -> ca.SX:
    return ca.fmax(-half, ca.fmin(half, x))


def _of_points(a: ca.SX, b: ca.SX) -> Nearest:
    distance = ca.norm_2(a - b)
    return Nearest(distance, (a - b) / distance, a, b)


def _point_point(a: Side, b: Side) -> Nearest:
    return _of_points(a.o, b.o)


def _point_segment(a: Side, b: Side) -> Nearest:
    d = b.R[:, 2]
    return _of_points(a.o, b.o + _clamped(ca.dot(d, a.o - b.o), b.size[0] / 2) * d)


def _segment_segment(a: Side, b: Side) -> Nearest:
    """x = a + s d, y = b + t e with |s| ≤ h, |t| ≤ k and r = a − b (C. Ericson, Real-Time Collision Detection, 5.1.9):

        s₀ = [((d·e)(e·r) − d·r) / (1 − (d·e)²)],  t = [(d·e) s₀ + e·r],  s = [(d·e) t − d·r]

    [ ] cut off at the ends. Departure: where both are parallel, s₀ is the middle of what they have beside each other.
    """
    d, e, h, k = a.R[:, 2], b.R[:, 2], a.size[0] / 2, b.size[0] / 2
    r = a.o - b.o
    c, f, g = ca.dot(d, e), ca.dot(d, r), ca.dot(e, r)
    middle = (_clamped(c * k - f, h) + _clamped(-c * k - f, h)) / 2
    sine = ca.sumsqr(ca.cross(d, e))
    s = _clamped((c * g - f + PARALLEL * middle) / (sine + PARALLEL), h)
    t = _clamped(c * s + g, k)
    s = _clamped(c * t - f, h)
    return _of_points(a.o + s * d, b.o + t * e)


def _outside(q: Sequence[ca.SX]) -> tuple[ca.SX, list[ca.SX]]:
    """The distance from a corner q = 0 of what has all q < 0, and its derivatives by q."""
    out = [ca.fmax(x, 0) for x in q]
    length = ca.sqrt(ca.fmax(sum((x * x for x in out), ca.SX(0)), TINY))
    most = q[0]
    for x in q[1:]:
        most = ca.fmax(most, x)
    inside = most <= 0
    return length + inside * most, [o / length + inside * (x >= most) for o, x in zip(out, q)]


def _point_box(a: Side, b: Side) -> Nearest:
    x = ca.vertsplit(b.inside(a.o))
    distance, by = _outside([ca.fabs(e) - edge / 2 for e, edge in zip(x, b.size)])
    n = b.R @ ca.vertcat(*(ca.sign(e) * g for e, g in zip(x, by)))
    return Nearest(distance, n, a.o, a.o - distance * n)


def _point_cylinder(a: Side, b: Side) -> Nearest:
    x, y, z = ca.vertsplit(b.inside(a.o))
    across = ca.sqrt(ca.fmax(x * x + y * y, TINY))
    distance, (g, along) = _outside([across - b.size[0], ca.fabs(z) - b.size[1] / 2])
    n = b.R @ ca.vertcat(g * x / across, g * y / across, along * ca.sign(z))
    return Nearest(distance, n, a.o, a.o - distance * n)


Pair = Callable[[Side, Side], Nearest]


def _turned(f: Pair) -> Pair:
    """The pair the other way round."""

    def turned(a: Side, b: Side) -> Nearest:
        x = f(b, a)
        return Nearest(x.distance, -x.n, x.b, x.a)

    return turned


_ONE_WAY: dict[tuple[Core, Core], Pair] = {
    (Core.POINT, Core.SEGMENT): _point_segment,
    (Core.POINT, Core.BOX): _point_box,
    (Core.POINT, Core.CYLINDER): _point_cylinder,
}
#: where two cores are nearest, for the pairs of which it can be written down
PAIRS: dict[tuple[Core, Core], Pair] = {
    (Core.POINT, Core.POINT): _point_point,
    (Core.SEGMENT, Core.SEGMENT): _segment_segment,
    **_ONE_WAY,
    **{(b, a): _turned(f) for (a, b), f in _ONE_WAY.items()},
}
