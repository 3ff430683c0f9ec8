"""Positions between the points of a curve: many closed at once, and those in singular positions from both sides.

Beside a singular position Newton's method loses digits, so there a position comes from two on either side of it, by
Hermite's polynomial of degree five.
"""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.branch.continuation import Continuation, CurvePoint
from dalembert.branch.corrector import correct_many, pseudoinverse
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import far_from_singular


def polished(way: Continuation, x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...]:
    """Positions closed from guesses, their slopes, their smallest singular values, and whether they did close."""
    path = way.path
    if not (way.flat and path.single in path.coordinates and len(x) > 3):
        points = [way.closed(float(a), b) for a, b in zip(x, q)]
        ok = np.array([n is not None for n in points], dtype=bool)
        nv = path.system.nv
        return (
            np.array([b if n is None else n.q for n, b in zip(points, q)]).reshape(q.shape),
            np.array([np.zeros(nv) if n is None else n.slope for n in points]).reshape(len(q), nv),
            np.array([0.0 if n is None else n.least(way.rank) for n in points]),
            ok,
        )
    found = correct_many(path, q, x, POLICY.corrected)
    ok, slopes, least = found.ok, np.zeros((len(x), path.system.nv)), np.zeros(len(x))
    g = np.zeros(len(path.units))
    g[path.constraints] = 1.0 / path.units[path.constraints]
    inverse = far_from_singular(found.white[ok], POLICY.two_sided) if way.rank == len(path.units) else None
    least[ok] = 1.0
    if inverse is None and ok.any():
        inverse, sigma = pseudoinverse(found.white[ok], way.policy.tolerance)
        least[ok] = sigma[:, way.rank - 1] if way.rank else 1.0
    if inverse is not None:
        slopes[ok] = (inverse @ g) * path.reach
    return found.q, slopes, least, ok


def two_sided(way: Continuation, points: list[CurvePoint], x: float) -> tuple[np.ndarray, ...] | None:
    """Position, slope and bend in a singular position from positions on both sides; None where there are none."""
    aside = POLICY.sides * (way.path.length if _slides(way) else 1.0)
    low, high = sorted((points[0].x, points[-1].x))
    aside = min(aside, x - low if x > low else aside, high - x if x < high else aside)
    both = []
    for side in (x - aside, x + aside):
        pairs = [(a, b) for a, b in itertools.pairwise(points) if (side - a.x) * (side - b.x) <= 0]
        a, b = pairs[0] if pairs else min(itertools.pairwise(points), key=lambda ab: min(abs(side - n.x) for n in ab))
        point = way.closed(side, way.between(a, b, np.array([side]))[0])
        if point is None or point.revealed.rank < way.rank:
            return None
        both.append(point)
    a, b = both
    rise = way.minus(b.q, a.q)
    ends = [_bend(way, n) for n in both]
    if ends[0] is None or ends[1] is None:
        middle = 0.5 * rise + 0.25 * aside * (a.slope - b.slope)
        return (
            way.plus(a.q, middle),
            0.75 * rise / aside - 0.25 * (a.slope + b.slope),
            (b.slope - a.slope) / (2 * aside),
        )
    # Hermite's polynomial of degree five on u = −1 … 1, at its middle
    s0, s1, c0, c1 = aside * a.slope, aside * b.slope, aside**2 * ends[0], aside**2 * ends[1]
    middle = 0.5 * rise + (5 * (s0 - s1) + c0 + c1) / 16
    slope = (15 * rise - 7 * (s0 + s1) - c0 + c1) / 16
    bend = (3 * (s1 - s0) - (c0 + c1)) / 4
    return way.plus(a.q, middle), slope / aside, bend / aside**2


def closes(way: Continuation, q: np.ndarray, x: float) -> bool:
    """Whether the loops close in a position that was found between two others.

    Where branches meet it is on them. Where they only come near, by ε, it lies between them, and loops are open by
    about ε² there: so nearer branches are told apart than positions are known close to singular ones.
    """
    away = way.path.equations(q, x)[0]
    exact = way.path.single in way.path.coordinates  # the polynomial has bends, and six times as many digits
    return bool(np.abs(away / way.path.units).max(initial=0.0) <= (1.0 if exact else POLICY.meet_roughly) * POLICY.meet)


def _slides(way: Continuation) -> bool:
    path = way.path
    return path.single in path.coordinates and bool(path.units[path.constraints] != 1.0)


def _bend(way: Continuation, point: CurvePoint) -> np.ndarray | None:
    """q″ at a point for a coordinate that is led, the rest fixed."""
    path = way.path
    if path.single not in path.coordinates:
        return None
    gamma = path.system.evaluate("gamma", path.state(point.q, point.x, point.slope), p=path.parameters_at(point.x))
    return way.solve(point.revealed, np.concatenate([-gamma[path.rows], np.zeros(path.led)]))
