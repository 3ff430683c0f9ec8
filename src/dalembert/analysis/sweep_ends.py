"""Where a sweep ends or goes on: limits of joints on the way, and the branch behind a dead point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.analysis.continuation import FAR, Continuation
from dalembert.analysis.course import Course
from dalembert.analysis.limits import joint_limits
from dalembert.analysis.special_points import SpecialPoint, corrected_along
from dalembert.analysis.trail import Trail, follow, held_at
from dalembert.errors import ArgumentError
from dalembert.protocols import StateLike

ROOM = 1e-9  # rad, or lengths of the mechanism: by how much limits may be missed
ROUNDS = 40  # of a search for the place of a limit
TURNS = 16  # dead points that a sweep passes at most
STRIDES = 200  # steps along the arc behind a dead point


# --- limits ---------------------------------------------------------------------------------------------------------


def note_limits(trail: Trail, course: Course, state: StateLike, stop: bool) -> None:
    """Note where joints pass their limits; with `stop`, end the trail at the last value before."""
    system, K = course.system, len(trail.x)
    low, high = joint_limits(system)
    way, found = Continuation(course, state), list[SpecialPoint]()
    for k, name in enumerate(system.v_names):
        if name not in system.q_names or not (np.isfinite(low[k]) or np.isfinite(high[k])):
            continue
        i, room = system.q_names.index(name), ROOM * course.reach[k]
        for bound, sign in ((low[k], -1.0), (high[k], 1.0)):
            if not np.isfinite(bound):
                continue
            past = sign * (trail.q[:, i] - bound) > room
            if K and past[0]:
                found.append(
                    _point(trail, course, trail.q[0], 0.0, 0.0, f"'{name}' begins outside its limit {bound:.6g}")
                )
            for j in np.flatnonzero(past[1:] != past[:-1]):
                x, q = _passing(way, trail, int(j), i, bound)
                back = "comes back within" if past[j] else "passes"
                part = (x - trail.x[j]) / (trail.x[j + 1] - trail.x[j]) if trail.x[j + 1] != trail.x[j] else 0.0
                found.append(_point(trail, course, q, x, j + part, f"'{name}' {back} its limit {bound:.6g}"))
    trail.points = sorted([*trail.points, *found], key=lambda p: p.index)
    outward = [p for p in found if "comes back" not in p.message]
    if stop and outward:
        first = min(outward, key=lambda p: p.index)
        begins = "begins outside" in first.message
        kept = 0 if begins else int(np.floor(first.index)) + 1
        trail.x, trail.q, trail.slopes, trail.bends = (
            part[:kept] for part in (trail.x, trail.q, trail.slopes, trail.bends)
        )
        trail.points = [p for p in trail.points if p.index <= first.index]
        trail.why = first.message.rstrip(".")


def _point(trail: Trail, course: Course, q: np.ndarray, x: float, index: float, text: str) -> SpecialPoint:
    x = float(trail.x[0]) if index == 0.0 else x
    message = f"{text} at {course.told(x)}."
    return SpecialPoint("limit", held_at(course, x), course.state(q, x), float(index), (), message)


def _passing(way: Continuation, trail: Trail, j: int, i: int, bound: float) -> tuple[float, np.ndarray]:
    """Place and position between the values j and j + 1 where coordinate i is at its bound: false position."""
    a, b = (float(trail.x[n]) for n in (j, j + 1))
    qa, qb = trail.q[j], trail.q[j + 1]
    fa, fb = qa[i] - bound, qb[i] - bound
    x, q = b, qb
    for _ in range(ROUNDS):
        part = fa / (fa - fb) if fa != fb else 0.5
        x = a + part * (b - a)
        node = way.closed(x, way.plus(qa, part * way.minus(qb, qa)))
        if node is None:
            return x, way.plus(qa, part * way.minus(qb, qa))
        q, f = node.q, node.q[i] - bound
        if abs(f) < 1e-12 or abs(b - a) < 1e-14 * max(abs(x), 1e-300):
            break
        if (f > 0) == (fa > 0):
            a, qa, fa, fb = x, q, f, 0.5 * fb
        else:
            b, qb, fb, fa = x, q, f, 0.5 * fa
    return x, q


# --- through dead points --------------------------------------------------------------------------------------------


def go_through(course: Course, trail: Trail, state: StateLike) -> tuple[Course, Trail, np.ndarray]:
    """The trail that goes on behind dead points, through the values it came by; with +1 or −1 for the way it goes.

    It ends where it comes to the first or last value again.
    """
    name = course.single
    if name is None or name not in course.coordinates or len(course.legs) > 1:
        raise ArgumentError("through=True goes on behind dead points of one coordinate that rises or falls; lead one.")
    whole, signs, values = trail, np.ones(len(trail.x)), course.wanted
    ways = 1.0
    for _ in range(TURNS):
        if not (trail.why.startswith("dead point") and len(trail.x)):
            break
        turned = trail.points[-1]
        back = values[: len(trail.x)][::-1].copy()  # from the last that was reached
        begin = _behind(course, trail, turned, float(back[0]))
        if begin is None:
            break
        again = _course(course, back, state)
        trail, ways, values = follow(again, again.state(begin, float(back[0]))), -ways, back
        trail.points = [replace(p, index=p.index + len(whole.x)) for p in trail.points]
        whole = Trail(
            np.concatenate([whole.x, trail.x]),
            np.concatenate([whole.q, trail.q]),
            np.concatenate([whole.slopes, trail.slopes]),
            np.concatenate([whole.bends, trail.bends]),
            [*whole.points, *trail.points],
            trail.why,
            trail.interrupted,
        )
        signs = np.concatenate([signs, np.full(len(trail.x), ways)])
    ended = trail.why and not trail.why.startswith("dead point")
    missed = values[len(trail.x) :] if ended else values[:0]
    return _course(course, np.concatenate([whole.x, missed]), state), whole, signs


def _course(course: Course, values: np.ndarray, state: StateLike) -> Course:
    p = course.p if len(course.p) else None
    return Course(course.system, {str(course.single): values}, {}, course.fixed, state, p)


def _behind(course: Course, trail: Trail, turned: SpecialPoint, value: float) -> np.ndarray | None:
    """The position at a value behind a dead point: along the arc until what is led has come back to it."""
    way = Continuation(course, turned.state)
    x, q = float(turned.at[str(course.single)]), turned.state.q
    forward, unit = np.sign(x - float(trail.x[-1])) or 1.0, max(abs(x - float(trail.x[-1])), 1e-9)
    toward = way.R @ way.minus(q, trail.q[-1])
    z = np.concatenate([toward, [0.0]]) / max(float(np.linalg.norm(toward)), 1e-300)
    stride = min(FAR / 4, float(np.linalg.norm(toward)) or FAR)
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
            node = way.closed(value, way.plus(before[0], part * way.minus(q, before[0])))
            return None if node is None else node.q
        stride = min(1.5 * stride, FAR)
    return None
