"""Dead points, where what is led turns back, and branch points, where branches meet.

Along a branch, with arc length σ, J q̇ − g ẋ = 0. In a **dead point** ẋ = 0: J alone is singular, (J, −g) is not, and x
has an extremum. In a **branch point** the constraints themselves lose rank; the branches through it are the directions
of their tangent cone (`tangent_cone`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.branch.arclength import corrected_along
from dalembert.branch.continuation import Continuation, CurvePoint
from dalembert.branch.policy import POLICY
from dalembert.protocols import Parameters, StateLike, SystemLike

STEPS = 80  # along the arc in search of a dead point
ROUNDS = 60  # of a search between two points


@dataclass(frozen=True, slots=True, eq=False)
class SpecialPoint:
    """A position on a sweep that is not like the others."""

    kind: str  # "dead point", "limit", or of branch points: "crossing", "cone", "touch", "isolated" or "several"
    at: dict[str, float]  # what is led, by name
    state: StateLike
    index: float  # place among the values of the sweep: 2.5 is half-way between values 2 and 3
    branches: tuple[dict[str, float], ...]  # directions through it, velocities by name with the largest ±1
    message: str

    def __str__(self) -> str:
        return self.message


# --- dead points ----------------------------------------------------------------------------------------------------


def dead_point(way: Continuation, end: float, barred: bool = False) -> tuple[float, np.ndarray] | None:
    """Place and position where what is led turns back beyond the last point and before `end`; None if it does not.

    barred: loops do not close at `end`, so a step that leads past it has changed the branch and is made shorter.
    """
    point = way.points[-1]
    unit = max(abs(end - point.x), 1e-12)
    forward = np.sign(end - point.x)
    z = np.concatenate([way.R @ point.slope, [1.0 / unit]]) * forward
    q, x = point.q, point.x
    z = z / np.linalg.norm(z)
    for _ in range(STEPS):
        stride = POLICY.corrected / max(way.size(way.Rinv @ z[:-1]), abs(z[-1]), 1e-300)
        while True:
            new = corrected_along(way, q, x, z, stride, unit)
            passed = new is not None and barred and (new[1] - end) * forward >= 0
            if new is not None and not passed and ((new[1] - x) * forward >= 0 or new[2][-1] * forward <= 0):
                break  # neither past the end nor around a sharp turn
            stride *= 0.5
            if stride < 1e-6:
                return None
        if new[2][-1] * forward <= 0:
            return _turning(way, (q, x, z), stride, unit, forward)
        q, x, z = new
        if (x - end) * forward > 0:
            return None
    return None


def _turning(
    way: Continuation, at: tuple[np.ndarray, float, np.ndarray], stride: float, unit: float, forward: float
) -> tuple[float, np.ndarray] | None:
    """Where ẋ = 0 within a step along the arc, by the method of false position (Illinois)."""
    low, high = 0.0, stride
    f_low, new = float(at[2][-1]) * forward, corrected_along(way, *at, stride, unit)
    if new is None:
        return None
    f_high = float(new[2][-1]) * forward
    for _ in range(ROUNDS):
        middle = low + (high - low) * f_low / (f_low - f_high) if f_low != f_high else 0.5 * (low + high)
        new = corrected_along(way, *at, middle, unit)
        if new is None:
            return None
        f = float(new[2][-1]) * forward
        if abs(f) < 1e-13 or high - low < 1e-15 * stride:
            break
        if f > 0:
            low, f_low, f_high = middle, f, 0.5 * f_high
        else:
            high, f_high, f_low = middle, f, 0.5 * f_low
    return new[1], new[0]


# --- branch points --------------------------------------------------------------------------------------------------


def crossed(way: Continuation, a: CurvePoint, b: CurvePoint) -> bool:
    """Whether J was singular between two points: its determinant, in bases of the first point, changes sign."""
    r = way.rank
    if a.revealed.rank < r or not r:
        return False
    if a.white.shape == (r, r):
        return a.orientation * b.orientation < 0
    square = a.revealed.U[:, :r].T @ b.white @ a.revealed.V[:, :r]
    return bool(np.linalg.det(square) < 0)


def crossing_place(way: Continuation, a: CurvePoint, b: CurvePoint) -> float | None:
    """The place of a singular position between two points; None where the second is on another branch close by."""
    low, high = a, b
    f_low, f_high = a.least(way.rank), -b.least(way.rank)
    for _ in range(ROUNDS):
        x = low.x + (high.x - low.x) * f_low / (f_low - f_high)
        point = way.closed(x, way.between(a, b, np.array([x]))[0])
        if point is None or point.least(way.rank) < POLICY.two_sided or point.revealed.rank < way.rank:
            return _refined(way, a, b, x)
        if crossed(way, a, point):
            high, f_high, f_low = point, -point.least(way.rank), 0.7 * f_low
        else:
            low, f_low, f_high = point, point.least(way.rank), 0.7 * f_high
    return None


def _refined(way: Continuation, a: CurvePoint, b: CurvePoint, x: float) -> float:
    """The root of the smallest singular value, with its sign, from four places around an estimate.

    Positions closer to it are less exact, so the inverse is interpolated by a cubic polynomial.
    """
    for _ in range(2):
        room = min(abs(x - a.x), abs(b.x - x)) / 2
        places, values = x + min(room, 0.006) * np.array([-2.0, -1.0, 1.0, 2.0]), []
        for one in places:
            point = way.closed(one, way.between(a, b, np.array([one]))[0])
            if point is None or point.revealed.rank < way.rank:
                return x
            values.append(point.least(way.rank) * (-1.0 if crossed(way, a, point) else 1.0))
        if not (np.all(np.diff(values) < 0) or np.all(np.diff(values) > 0)):
            return x
        f = np.array(values)
        weights = [np.prod([f[j] / (f[j] - f[i]) for j in range(4) if j != i]) for i in range(4)]
        x = float(places @ np.array(weights))  # Lagrange's polynomial in f, at f = 0
    return x


def nearest_place(way: Continuation, a: CurvePoint, middle: CurvePoint, b: CurvePoint) -> float | None:
    """Where between points J becomes singular without a change of sign; None where it does not."""
    r = way.rank
    if not r or middle.least(r) > 0.2 or middle.least(r) >= min(a.least(r), b.least(r)):
        return None
    low, high, ratio = a.x, b.x, 0.381966

    def least(x: float) -> float:
        one, other = (a, middle) if (x - a.x) * (x - middle.x) <= 0 else (middle, b)
        point = way.closed(x, way.between(one, other, np.array([x]))[0])
        return 0.0 if point is None else point.least(r)

    x1, x2 = low + ratio * (high - low), high - ratio * (high - low)
    f1, f2 = least(x1), least(x2)
    steepest = max(abs(a.least(r) - f1), abs(f1 - f2), abs(b.least(r) - f2)) / (ratio**2 * abs(high - low))
    for _ in range(ROUNDS):
        if min(f1, f2) > POLICY.steeper * steepest * abs(high - low):  # it cannot fall to zero in between
            return None
        if f1 < f2:
            high, x2, f2 = x2, x1, f1
            x1 = low + ratio * (high - low)
            f1 = least(x1)
        else:
            low, x1, f1 = x1, x2, f2
            x2 = high - ratio * (high - low)
            f2 = least(x2)
        if min(f1, f2) < POLICY.singular:
            return _bottom(least, x1 if f1 < f2 else x2, min(abs(middle.x - a.x), abs(b.x - middle.x)))
    return None


def _bottom(least: Callable[[float], float], x: float, room: float) -> float:
    """The place where a singular value is zero, its square being smooth: from four places around an estimate."""
    d = min(0.5 * room, 0.006)
    u = np.array([-2.0, -1.0, 1.0, 2.0])
    c3, c2, c1, _ = np.polyfit(u, [least(x + d * one) ** 2 for one in u], 3)
    root = min(np.roots([3 * c3, 2 * c2, c1]), key=abs, default=1.0)
    return x + d * float(root.real) if abs(root) < 1 else x


def cone_at(system: SystemLike, state: StateLike, p: Parameters, usual: int) -> TangentCone | None:
    """The tangent cone of the constraints where their rank is below the usual one; None where it is not."""
    sigma = tangent(system, state, p).sigma
    rank = int((sigma[:usual] > POLICY.dependent * max(sigma.max(initial=0.0), 1.0)).sum())
    return TangentCone.of(system, state, p, rank, usual) if rank < usual else None


def branches_of(system: SystemLike, cone: TangentCone, direction: np.ndarray) -> tuple[dict[str, float], ...]:
    """Directions of the branches through a singular position, the one along `direction` first."""
    y0 = cone.local(direction)
    found = _lines(cone.forms[0]) if cone.kind == "crossing" and len(cone.forms[0]) == 2 else cone.others(y0)
    motions: list[np.ndarray] = []
    for y in found:
        v = cone.K @ y
        v = v / v[np.argmax(np.abs(v))]
        if all(np.abs(v - o).max() > 1e-4 for o in motions):
            motions.append(v)
    ahead = direction / max(np.abs(direction).max(), 1e-300)
    motions.sort(key=lambda v: min(np.abs(v - ahead).max(), np.abs(v + ahead).max()))
    return tuple(dict(zip(system.v_names, v.tolist())) for v in motions)


def _lines(form: np.ndarray) -> list[np.ndarray]:
    """The two lines on which an indefinite form of two unknowns vanishes."""
    values, vectors = np.linalg.eigh(form)
    a, b = np.sqrt(values[1]), np.sqrt(-values[0])
    return [vectors @ np.array([a, s * b]) for s in (1.0, -1.0)]
