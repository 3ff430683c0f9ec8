"""Tendons around spheres and cylinders: the shortest way around a circle, on expressions.

In the plane of the circle (of radius r about the origin) the tendon goes from d₀ to d₁, both outside, and turns about
the origin by φ: the angle from d₀ to d₁, or, with a side site s, the angle from d₀ to s and on to d₁. A tangent from d
touches the circle α = arccos(r/|d|) away from d. So the tendon lies on the circle along the angle

    |φ| − α₀ − α₁,

and runs straight where that is negative. On a cylinder the way along the axis is spread evenly over the way around.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dalembert.mechanism.traced import UserState

TINY = 1e-15  # MuJoCo's mjMINVAL


@dataclass(frozen=True)
class Wrap:
    """A sphere, or an endless cylinder along z, of a frame; `side` is a frame on the side the tendon must keep to."""

    frame: str
    radius: float
    cylinder: bool
    side: str | None

    def around(self, s: UserState, x0: ca.SX, x1: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Whether the tendon from x0 to x1 touches it (1 or 0), the two tangent points and the length between them."""
        R, origin = s.rotation(self.frame), s.position(self.frame)
        p0, p1 = R.T @ (x0 - origin), R.T @ (x1 - origin)
        if self.cylinder:
            first, second = ca.SX([1, 0, 0]), ca.SX([0, 1, 0])
        else:
            first = _unit(p0)
            second = _unit(ca.cross(_normal(p0, p1), first))
        d0, d1 = (ca.vertcat(ca.dot(p, first), ca.dot(p, second)) for p in (p0, p1))
        side = None
        if self.side is not None:
            local = R.T @ (s.position(self.side) - origin)
            side = ca.vertcat(ca.dot(local, first), ca.dot(local, second))
        touches, t0, t1, arc = _circle(d0, d1, side, self.radius)
        w0, w1 = (first * t[0] + second * t[1] for t in (t0, t1))
        if self.cylinder:
            before, after = ca.norm_2(d0 - t0), ca.norm_2(d1 - t1)
            rise, total = p1[2] - p0[2], before + arc + after
            z0, z1 = p0[2] + rise * before / total, p0[2] + rise * (before + arc) / total
            w0, w1 = ca.vertcat(w0[:2], z0), ca.vertcat(w1[:2], z1)
            arc = ca.sqrt(arc**2 + (z1 - z0) ** 2)
        return touches, origin + R @ w0, origin + R @ w1, arc


def _unit(x: ca.SX) -> ca.SX:
    return x / ca.sqrt(ca.sumsqr(x) + 1e-300)


def _normal(p0: ca.SX, p1: ca.SX) -> ca.SX:
    """The normal of the plane through the origin and two points; of any such plane where they are in line."""
    n = ca.cross(p0, p1)
    other = ca.cross(p0, ca.if_else(ca.fabs(p0[0]) > ca.fabs(p0[1]), ca.SX([0, 1, 0]), ca.SX([1, 0, 0])))
    return _unit(ca.if_else(ca.sumsqr(n) < TINY**2, other, n))


def _circle(d0: ca.SX, d1: ca.SX, side: ca.SX | None, r: float) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Touching or not, tangent points and arc for a circle about the origin."""
    turn = _angle(d0, d1) if side is None else _angle(d0, side) + _angle(side, d1)
    sense = ca.if_else(turn < 0, -1, 1)
    roots = [ca.sqrt(ca.fmax(ca.sumsqr(d) - r * r, 0)) for d in (d0, d1)]
    arc = sense * turn - ca.atan2(roots[0], r) - ca.atan2(roots[1], r)
    t0, t1 = _touch(d0, roots[0], sense, r), _touch(d1, roots[1], -sense, r)
    outside = ca.logic_and(ca.sumsqr(d0) >= r * r, ca.sumsqr(d1) >= r * r)
    return ca.logic_and(outside, arc > 0), t0, t1, r * arc


def _angle(a: ca.SX, b: ca.SX) -> ca.SX:
    """From a to b, in (−π, π]."""
    return ca.atan2(a[0] * b[1] - a[1] * b[0], ca.dot(a, b))


def _touch(d: ca.SX, root: ca.SX, sense: ca.SX, r: float) -> ca.SX:
    """Where the tangent from d touches: d turned by ±α, of length r."""
    square = ca.fmax(ca.sumsqr(d), TINY)
    return (d * r + sense * root * ca.vertcat(-d[1], d[0])) * (r / square)
