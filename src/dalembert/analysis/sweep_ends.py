"""Where a sweep ends or goes on: limits of joints on the way, and the branch behind a dead point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.analysis.limits import joint_limits
from dalembert.analysis.solution_curve import SolutionCurve, follow, held_at
from dalembert.analysis.special_points import SpecialPoint
from dalembert.branch.arclength import corrected_along
from dalembert.branch.continuation import Continuation
from dalembert.branch.path import PrescribedPath
from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError
from dalembert.protocols import StateLike

ROOM = 1e-9  # rad, or lengths of the mechanism: by how much limits may be missed
ROUNDS = 40  # of a search for the place of a limit
TURNS = 16  # dead points that a sweep passes at most
STRIDES = 200  # steps along the arc behind a dead point


# --- limits ---------------------------------------------------------------------------------------------------------


def note_limits(curve: SolutionCurve, path: PrescribedPath, state: StateLike, stop: bool) -> None:
    """Note where joints pass their limits; with `stop`, end the curve at the last value before."""
    system, K = path.system, len(curve.x)
    low, high = joint_limits(system)
    way, found = Continuation(path, state), list[SpecialPoint]()
    for k, name in enumerate(system.v_names):
        if name not in system.q_names or not (np.isfinite(low[k]) or np.isfinite(high[k])):
            continue
        i, room = system.q_names.index(name), ROOM * path.reach[k]
        for bound, sign in ((low[k], -1.0), (high[k], 1.0)):
            if not np.isfinite(bound):
                continue
            past = sign * (curve.q[:, i] - bound) > room
            if K and past[0]:
                found.append(
                    _point(curve, path, curve.q[0], 0.0, 0.0, f"'{name}' begins outside its limit {bound:.6g}")
                )
            for j in np.flatnonzero(past[1:] != past[:-1]):
                x, q = _passing(way, curve, int(j), i, bound)
                back = "comes back within" if past[j] else "passes"
                part = (x - curve.x[j]) / (curve.x[j + 1] - curve.x[j]) if curve.x[j + 1] != curve.x[j] else 0.0
                found.append(_point(curve, path, q, x, j + part, f"'{name}' {back} its limit {bound:.6g}"))
    curve.points = sorted([*curve.points, *found], key=lambda p: p.index)
    outward = [p for p in found if "comes back" not in p.message]
    if stop and outward:
        first = min(outward, key=lambda p: p.index)
        begins = "begins outside" in first.message
        kept = 0 if begins else int(np.floor(first.index)) + 1
        curve.x, curve.q, curve.slopes, curve.bends = (
            part[:kept] for part in (curve.x, curve.q, curve.slopes, curve.bends)
        )
        curve.points = [p for p in curve.points if p.index <= first.index]
        curve.why = first.message.rstrip(".")


def _point(
    curve: SolutionCurve, path: PrescribedPath, q: np.ndarray, x: float, index: float, text: str
) -> SpecialPoint:
    x = float(curve.x[0]) if index == 0.0 else x
    message = f"{text} at {path.told(x)}."
    return SpecialPoint("limit", held_at(path, x), path.state(q, x), float(index), (), message)


def _passing(way: Continuation, curve: SolutionCurve, j: int, i: int, bound: float) -> tuple[float, np.ndarray]:
    """Place and position between the values j and j + 1 where coordinate i is at its bound: false position."""
    a, b = (float(curve.x[n]) for n in (j, j + 1))
    qa, qb = curve.q[j], curve.q[j + 1]
    fa, fb = qa[i] - bound, qb[i] - bound
    x, q = b, qb
    for _ in range(ROUNDS):
        part = fa / (fa - fb) if fa != fb else 0.5
        x = a + part * (b - a)
        point = way.closed(x, way.plus(qa, part * way.minus(qb, qa)))
        if point is None:
            return x, way.plus(qa, part * way.minus(qb, qa))
        q, f = point.q, point.q[i] - bound
        if abs(f) < 1e-12 or abs(b - a) < 1e-14 * max(abs(x), 1e-300):
            break
        if (f > 0) == (fa > 0):
            a, qa, fa, fb = x, q, f, 0.5 * fb
        else:
            b, qb, fb, fa = x, q, f, 0.5 * fa
    return x, q


# --- through dead points --------------------------------------------------------------------------------------------


def go_through(
    path: PrescribedPath, curve: SolutionCurve, state: StateLike
) -> tuple[PrescribedPath, SolutionCurve, np.ndarray]:
    """The curve that goes on behind dead points, through the values it came by; with +1 or −1 for the way it goes.

    It ends where it comes to the first or last value again.
    """
    name = path.single
    if name is None or name not in path.coordinates or len(path.legs) > 1:
        raise ArgumentError("through=True goes on behind dead points of one coordinate that rises or falls; lead one.")
    whole, signs, values = curve, np.ones(len(curve.x)), path.wanted
    ways = 1.0
    for _ in range(TURNS):
        if not (curve.why.startswith("dead point") and len(curve.x)):
            break
        turned = curve.points[-1]
        back = values[: len(curve.x)][::-1].copy()  # from the last that was reached
        begin = _behind(path, curve, turned, float(back[0]))
        if begin is None:
            break
        again = _path(path, back, state)
        curve, ways, values = follow(again, again.state(begin, float(back[0]))), -ways, back
        curve.points = [replace(p, index=p.index + len(whole.x)) for p in curve.points]
        whole = SolutionCurve(
            np.concatenate([whole.x, curve.x]),
            np.concatenate([whole.q, curve.q]),
            np.concatenate([whole.slopes, curve.slopes]),
            np.concatenate([whole.bends, curve.bends]),
            [*whole.points, *curve.points],
            curve.why,
            curve.interrupted,
        )
        signs = np.concatenate([signs, np.full(len(curve.x), ways)])
    ended = curve.why and not curve.why.startswith("dead point")
    missed = values[len(curve.x) :] if ended else values[:0]
    return _path(path, np.concatenate([whole.x, missed]), state), whole, signs


def _path(path: PrescribedPath, values: np.ndarray, state: StateLike) -> PrescribedPath:
    p = path.p if len(path.p) else None
    return PrescribedPath(path.system, {str(path.single): values}, {}, path.fixed, state, p)


def _behind(path: PrescribedPath, curve: SolutionCurve, turned: SpecialPoint, value: float) -> np.ndarray | None:
    """The position at a value behind a dead point: along the arc until what is led has come back to it."""
    way = Continuation(path, turned.state)
    x, q = float(turned.at[str(path.single)]), turned.state.q
    forward, unit = np.sign(x - float(curve.x[-1])) or 1.0, max(abs(x - float(curve.x[-1])), 1e-9)
    toward = way.R @ way.minus(q, curve.q[-1])
    z = np.concatenate([toward, [0.0]]) / max(float(np.linalg.norm(toward)), 1e-300)
    stride = min(POLICY.corrected / 4, float(np.linalg.norm(toward)) or POLICY.corrected)
    before = (q, x)
    for _ in range(STRIDES):
        new = corrected_along(way, q, x, z, stride, unit)
        if new is None or new[1] * forward > x * forward + 1e-9 * unit:
            stride *= 0.5
            if stride < 1e-9:
                return None
            continue
        before, (q, x, z) = (q, x), new
        if (x - value) * forward <= 0:
            part = (value - before[1]) / (x - before[1]) if x != before[1] else 1.0
            point = way.closed(value, way.plus(before[0], part * way.minus(q, before[0])))
            return None if point is None else point.q
        stride = min(1.5 * stride, POLICY.corrected)
    return None
