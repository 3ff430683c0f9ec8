"""Tendons around spheres and cylinders: the shortest way around a circle, on expressions.

In the plane of the circle (of radius r about the origin) the tendon comes from d₀ and goes to d₁, both outside. It leaves
d₀ along a tangent that touches at t₀ and arrives from t₁. There is one pair (t₀, t₁) for each sense of turning:

    t₀ = (r² d₀ ± r √(d₀² − r²) d₀^⊥) / d₀²,   t₁ = (r² d₁ ∓ r √(d₁² − r²) d₁^⊥) / d₁²,   x^⊥ = (x₂, −x₁).

The tendon runs straight where the segment misses the circle (with a side site: misses it on that site's side), or where
the two tangents would cross. On a cylinder the way along the axis is spread evenly over the way around it.
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
            side = _unit(ca.vertcat(ca.dot(local, first), ca.dot(local, second))) * self.radius
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
    outside = ca.logic_and(ca.sumsqr(d0) >= r * r, ca.sumsqr(d1) >= r * r)
    step = d1 - d0
    along = -ca.dot(step, d0) / ca.fmax(ca.sumsqr(step), TINY)
    nearest = d0 + ca.fmin(ca.fmax(along, 0), 1) * step
    misses = ca.sumsqr(nearest) > r * r
    if side is not None:
        misses = ca.logic_and(misses, ca.dot(side, nearest) >= 0)
    solutions = [_tangents(d0, d1, r, sign) for sign in (1, -1)]
    good = []
    for t0, t1 in solutions:
        wish = ca.dot(_unit(t0 + t1), side) if side is not None else -ca.sumsqr(t0 - t1)
        good.append(ca.if_else(_cross(d0, t0, d1, t1), -10000, wish))
    better = good[0] > good[1]
    t0, t1 = (ca.if_else(better, a, b) for a, b in zip(*solutions))
    turn = t0[1] * t1[0] - t0[0] * t1[1]
    angle = ca.atan2(ca.fabs(turn), ca.dot(t0, t1))
    long_way = ca.if_else(better, turn < 0, turn > 0)
    arc = r * ca.if_else(long_way, 2 * ca.pi - angle, angle)
    touches = ca.logic_and(outside, ca.logic_not(misses))
    touches = ca.logic_and(touches, ca.logic_and(ca.sumsqr(step) >= TINY, ca.fmax(*good) > -5000))
    return touches, t0, t1, arc


def _tangents(d0: ca.SX, d1: ca.SX, r: float, sign: int) -> tuple[ca.SX, ca.SX]:
    def touch(d: ca.SX, sense: int) -> ca.SX:
        square = ca.sumsqr(d)
        root = ca.sqrt(ca.fmax(square - r * r, 0))
        return (d * r * r + sense * r * root * ca.vertcat(d[1], -d[0])) / ca.fmax(square, TINY)

    return touch(d0, sign), touch(d1, -sign)


def _cross(a0: ca.SX, a1: ca.SX, b0: ca.SX, b1: ca.SX) -> ca.SX:
    """Whether the segments a0-a1 and b0-b1 cross."""
    da, db, w = a1 - a0, b1 - b0, b0 - a0
    det = da[0] * db[1] - da[1] * db[0]
    safe = ca.if_else(ca.fabs(det) < TINY, 1, det)
    x = (w[0] * db[1] - w[1] * db[0]) / safe
    y = (w[0] * da[1] - w[1] * da[0]) / safe
    inside = ca.logic_and(ca.logic_and(x >= 0, x <= 1), ca.logic_and(y >= 0, y <= 1))
    return ca.logic_and(inside, ca.fabs(det) >= TINY)
