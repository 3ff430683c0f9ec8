"""The curve of a sweep: positions at all given values of a path, with the special points between them.

A few points are followed with step control (`continuation`); the positions between them are then closed all at once
(`between_points`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.analysis.special_points import (
    SpecialPoint,
    branches_of,
    cone_at,
    crossed,
    crossing_place,
    dead_point,
    nearest_place,
)
from dalembert.branch.between_points import closes, polished, two_sided
from dalembert.branch.continuation import Continuation, CurvePoint
from dalembert.branch.path import PrescribedPath
from dalembert.branch.policy import POLICY
from dalembert.protocols import StateLike

LEAST = 1e-6  # of a leg: steps that are not made shorter where branches come near each other
SAME = 1e-9  # of the path: a value that counts as that of a dead point


@dataclass(eq=False)
class SolutionCurve:
    """Positions at the values of a path that were reached."""

    x: np.ndarray  # (K,) places
    q: np.ndarray  # (K, nq)
    slopes: np.ndarray  # (K, nv) q′
    bends: np.ndarray  # (K, nv) q″, NaN where J tells it
    points: list[SpecialPoint] = field(default_factory=list)
    why: str = ""  # what kept it from the rest
    interrupted: bool = False


def follow(path: PrescribedPath, state: StateLike, progress: Callable[[float], Any] | None = None) -> SolutionCurve:
    """Go along a path from a position at its beginning."""
    system, way = path.system, Continuation(path, state)
    curve = SolutionCurve(np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv)), np.zeros((0, system.nv)))
    found: list[tuple[np.ndarray, ...]] = []
    first = way.begin(float(path.wanted[0]), state.q)
    if first is None:
        curve.why = "the loops do not close at its beginning"
        return curve
    found.append(_one(first))
    try:
        for k, leg in enumerate(path.legs):
            part = path.wanted[path.leg_ends[k] + 1 : path.leg_ends[k + 1] + 1]
            reached = _leg(curve, way, state, leg, part, path.leg_ends[k], progress)
            found.append(reached)
            if len(reached[0]) < len(part):
                break
            last = reached[1][-1]
            turn = way.closed(float(part[-1]), last)
            if k + 1 < len(path.legs):
                way.points, way.step = ([turn] if turn is not None else [way.points[-1]]), np.inf
    except KeyboardInterrupt:
        curve.interrupted, curve.why = True, "it was interrupted"
    curve.x, curve.q, curve.slopes, curve.bends = (
        np.concatenate([part[i] for part in found if len(part[0])]) for i in range(4)
    )
    if way.first_slope is not None:
        curve.slopes[0], curve.bends[0] = way.first_slope, 0.0
        two = two_sided(way, way.first_points, float(curve.x[0]))
        if two is not None:
            curve.slopes[0], curve.bends[0] = two[1:]
    return curve


def _one(point: CurvePoint) -> tuple[np.ndarray, ...]:
    return np.array([point.x]), point.q[None], point.slope[None].copy(), np.full((1, len(point.slope)), np.nan)


def _leg(
    curve: SolutionCurve,
    way: Continuation,
    state: StateLike,
    leg: tuple[float, float],
    part: np.ndarray,
    offset: int,
    progress: Callable[[float], Any] | None,
) -> tuple[np.ndarray, ...]:
    """Positions at the places `part` of a leg, as far as the branch goes; special points are noted."""
    begin, end = leg
    forward = np.sign(end - begin) or 1.0
    turned: tuple[float, np.ndarray] | None = None
    base, count = len(way.points) - 1, len(part)
    values = np.concatenate([[begin], part])
    try:
        while (way.points[-1].x - end) * forward < 0:
            if way.advance(end) is None:
                turned = dead_point(way, end)
                if turned is not None:
                    _note_dead(curve, way, turned, values, offset)
                    break
                if way.step < 1e-9 * max(abs(end - begin), 1e-300):
                    curve.why = f"the branch is lost after {way.path.told(way.points[-1].x)}"
                    break
                continue
            if (
                len(way.points) - base == 2
                and base == 0
                and way.points[-1].revealed.rank > way.points[-2].revealed.rank
            ):
                _restart(curve, way, state, end)
            moved = abs(way.points[-1].x - way.points[-2].x)
            if not _note_branches(curve, way, values, offset, base) and moved > LEAST * abs(end - begin):
                del way.points[-1]
                way.step = moved / 2
                continue
            if progress is not None:
                done = int(((part - way.points[-1].x) * forward <= 0).sum())
                progress((offset + 1 + done) / way.path.count)
    except KeyboardInterrupt:
        curve.interrupted, curve.why = True, "it was interrupted"
        count = int(((part - way.points[-1].x) * forward <= 0).sum())
    found = _filled(curve, way, part[:count], base, forward, turned)
    if len(found[0]) < count and turned is None and not curve.interrupted:
        return _turned_between(curve, way, part[:count], base, forward, (values, offset), found)
    return found


def _turned_between(
    curve: SolutionCurve,
    way: Continuation,
    part: np.ndarray,
    base: int,
    forward: float,
    places: tuple[np.ndarray, int],
    found: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, ...]:
    """The points of a leg up to the dead point, after a step has passed over a stretch that does not close."""
    failed, points = float(part[len(found[0])]), way.points
    way.points = [n for k, n in enumerate(points) if k <= base or (n.x - failed) * forward < 0]
    turned = dead_point(way, failed, barred=True)
    if turned is None:
        way.points = points
        return found
    curve.points = [p for p in curve.points if p.index <= places[1] + 1 + len(found[0])]
    _note_dead(curve, way, turned, *places)
    return _filled(curve, way, part, base, forward, turned)


def _restart(curve: SolutionCurve, way: Continuation, state: StateLike, end: float) -> None:
    """Begin again where the first position was singular: along the branch of its velocity, or the nearest one."""
    path = way.path
    first, second = way.points[-2], way.points[-1]
    system, p = path.system, path.parameters_at(first.x)
    usual = tangent(system, path.state(second.q, second.x), p).rank
    cone = cone_at(system, path.state(first.q, first.x), p, usual)
    if cone is None:
        return
    wish = state.v if np.any(state.v) else second.slope
    named = branches_of(system, cone, wish)
    _, J, g = path.equations(first.q, first.x)
    for v in (np.array(list(b.values())) for b in named):
        rate = float((J @ v) @ g / max(g @ g, 1e-300))
        if abs(rate) > 1e-9:
            way.points[-2:] = [replace(first, slope=v / rate)]
            way.step = min(way.step, abs(second.x - first.x))
            way.advance(end)
            way.first_slope, way.first_points = v / rate, way.points[-2:]
            break
    kind = "branch point" if cone.kind == "crossing" else f"branch point ({cone.kind})"
    curve.points.append(
        SpecialPoint(
            cone.kind, held_at(path, first.x), path.state(first.q, first.x), 0.0, named,
            f"the sweep begins in a {kind} at {path.told(first.x)}; it follows the branch "
            f"{'of the velocity of its first state' if np.any(state.v) else 'nearest to the shortest motion'}.",
        )
    )  # fmt: skip


# --- positions between points ----------------------------------------------------------------------------------------


def _filled(
    curve: SolutionCurve,
    way: Continuation,
    part: np.ndarray,
    base: int,
    forward: float,
    turned: tuple[float, np.ndarray] | None,
) -> tuple[np.ndarray, ...]:
    """Places, positions, slopes and bends at the places of a part, between the points from `base` on."""
    points = way.points[base:]
    x_points = np.array([n.x for n in points])
    inside = (part - x_points[-1]) * forward <= 0
    x = part[inside]
    which = np.clip(np.searchsorted(x_points * forward, x * forward, side="left"), 1, max(len(points) - 1, 1)) - 1
    guess = way.guesses(points, which, x)
    q, slopes, least, ok = polished(way, x, guess)
    bends = np.full(slopes.shape, np.nan)
    for k in np.flatnonzero(~ok | (least < POLICY.two_sided)):
        two = two_sided(way, points, float(x[k]))
        if two is not None and closes(way, two[0], float(x[k])):
            q[k], slopes[k], bends[k] = two
        elif not ok[k]:
            curve.why = curve.why or f"the loops do not close at {way.path.told(float(x[k]))}"
            return x[:k], q[:k], slopes[:k], bends[:k]
    if turned is None or inside.all():
        return x, q, slopes, bends
    rest = _up_to(way, part[~inside], turned, forward)
    return tuple(np.concatenate([one, *(r[i] for r in rest)]) for i, one in enumerate((x, q, slopes, bends)))


def _up_to(
    way: Continuation, x: np.ndarray, turned: tuple[float, np.ndarray], forward: float
) -> list[tuple[np.ndarray, ...]]:
    """Positions between the last point and a dead point: they are smooth in u = √(distance to it)."""
    point, (end, q_end) = way.points[-1], turned
    u0 = np.sqrt(abs(end - point.x))
    rise, run = way.minus(point.q, q_end), -2 * u0 * point.slope * forward
    first, second = (2 * rise - run * u0) / u0, (run * u0 - rise) / u0**2
    out = []
    for value in x:
        if (value - end) * forward > SAME * max(way.path.span, abs(end)):
            break
        u = np.sqrt(max((end - value) * forward, 0.0))
        guess = way.plus(q_end, first * u + second * u * u)
        found = way.closed(float(value), guess)
        if found is None and u > 1e-4 * max(u0, 1.0):
            break
        if found is None or found.least(way.rank) < POLICY.singular:  # in the dead point itself
            at = guess if found is None else found.q
            found = replace(point, x=float(value), q=at, slope=np.full(len(point.slope), np.inf))
        out.append(_one(found))
    return out


# --- special points -------------------------------------------------------------------------------------------------


def held_at(path: PrescribedPath, x: float) -> dict[str, float]:
    """Values of what the path prescribes at its parameter x, by name."""
    return {name: path.value(name, x)[0] for name in path.columns} or {"value": x}


def _index(values: np.ndarray, offset: int, x: float) -> float:
    """The place of x among the values of a leg, counted from the first of the sweep."""
    order = np.arange(len(values)) + offset
    return float(np.interp(x, values, order) if values[-1] >= values[0] else np.interp(-x, -values, order))


def _note_dead(
    curve: SolutionCurve, way: Continuation, turned: tuple[float, np.ndarray], values: np.ndarray, offset: int
) -> None:
    path, (x, q) = way.path, turned
    led = path.single or "what is led"
    state = path.state(q, x)
    here = tangent(path.system, state, path.parameters_at(x))
    motion = here.admissible[:, 0] if here.admissible.shape[1] else np.zeros(path.system.nv)
    motion = motion / (motion[np.argmax(np.abs(motion))] or 1.0) if len(motion) else motion
    named = (dict(zip(path.system.v_names, motion.tolist())),)
    text = f"dead point at {path.told(x)}: {led} turns back there"
    curve.points.append(
        SpecialPoint("dead point", held_at(path, x), state, _index(values, offset, x), named, text + ".")
    )
    curve.why = text


def _note_branches(curve: SolutionCurve, way: Continuation, values: np.ndarray, offset: int, base: int) -> bool:
    """Look for a branch point between the last points; False where there must be one and is none: another branch."""
    points = way.points[base:]
    x = None
    if len(points) >= 2 and crossed(way, points[-2], points[-1]):
        x = crossing_place(way, points[-2], points[-1])
        if x is None:
            return False
    elif len(points) >= 3 and not crossed(way, points[-3], points[-2]):
        x = nearest_place(way, *points[-3:])
    if x is None:
        return True
    two = two_sided(way, points, x)
    if two is None:
        return True
    path = way.path
    q, slope, _ = two
    if not closes(way, q, x):  # two branches that do not meet: the points are on both
        return not crossed(way, points[-2], points[-1])
    state, p = path.state(q, x, slope), path.parameters_at(x)
    usual = tangent(path.system, path.state(points[-2].q, points[-2].x), p).rank
    cone = cone_at(path.system, state, p, usual)
    if cone is None:
        return not crossed(way, points[-2], points[-1])
    named = branches_of(path.system, cone, slope)
    kind = "branches cross" if cone.kind == "crossing" else f"the position is singular ({cone.kind})"
    text = f"branch point at {path.told(x)}: {kind}; the sweep goes on along its own."
    curve.points.append(SpecialPoint(cone.kind, held_at(path, x), state, _index(values, offset, x), named, text))
    return True
