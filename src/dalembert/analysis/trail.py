"""The trail of a sweep: positions at all given values of a course, with the special points between them.

A few nodes are followed with step control (`continuation`); the positions between them are then closed all at once
(`between_nodes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.analysis.between_nodes import CLOSE, closes, polished, two_sided
from dalembert.analysis.continuation import SINGULAR, Continuation, Node
from dalembert.analysis.course import Course
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
from dalembert.protocols import StateLike

LEAST = 1e-6  # of a leg: steps that are not made shorter where branches come near each other
SAME = 1e-9  # of the course: a value that counts as that of a dead point


@dataclass(eq=False)
class Trail:
    """Positions at the values of a course that were reached."""

    x: np.ndarray  # (K,) places
    q: np.ndarray  # (K, nq)
    slopes: np.ndarray  # (K, nv) q′
    bends: np.ndarray  # (K, nv) q″, NaN where J tells it
    points: list[SpecialPoint] = field(default_factory=list)
    why: str = ""  # what kept it from the rest
    interrupted: bool = False


def follow(course: Course, state: StateLike, progress: Callable[[float], Any] | None = None) -> Trail:
    """Go along a course from a position at its beginning."""
    system, way = course.system, Continuation(course, state)
    trail = Trail(np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv)), np.zeros((0, system.nv)))
    found: list[tuple[np.ndarray, ...]] = []
    first = way.begin(float(course.wanted[0]), state.q)
    if first is None:
        trail.why = "the loops do not close at its beginning"
        return trail
    found.append(_one(first))
    try:
        for k, leg in enumerate(course.legs):
            part = course.wanted[course.leg_ends[k] + 1 : course.leg_ends[k + 1] + 1]
            reached = _leg(trail, way, state, leg, part, course.leg_ends[k], progress)
            found.append(reached)
            if len(reached[0]) < len(part):
                break
            last = reached[1][-1]
            turn = way.closed(float(part[-1]), last)
            if k + 1 < len(course.legs):
                way.nodes, way.step = ([turn] if turn is not None else [way.nodes[-1]]), np.inf
    except KeyboardInterrupt:
        trail.interrupted, trail.why = True, "it was interrupted"
    trail.x, trail.q, trail.slopes, trail.bends = (
        np.concatenate([part[i] for part in found if len(part[0])]) for i in range(4)
    )
    if way.first_slope is not None:
        trail.slopes[0], trail.bends[0] = way.first_slope, 0.0
        two = two_sided(way, way.first_nodes, float(trail.x[0]))
        if two is not None:
            trail.slopes[0], trail.bends[0] = two[1:]
    return trail


def _one(node: Node) -> tuple[np.ndarray, ...]:
    return np.array([node.x]), node.q[None], node.slope[None].copy(), np.full((1, len(node.slope)), np.nan)


def _leg(
    trail: Trail,
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
    base, count = len(way.nodes) - 1, len(part)
    values = np.concatenate([[begin], part])
    try:
        while (way.nodes[-1].x - end) * forward < 0:
            if way.advance(end) is None:
                turned = dead_point(way, end)
                if turned is not None:
                    _note_dead(trail, way, turned, values, offset)
                    break
                if way.step < 1e-9 * max(abs(end - begin), 1e-300):
                    trail.why = f"the branch is lost after {way.course.told(way.nodes[-1].x)}"
                    break
                continue
            if len(way.nodes) - base == 2 and base == 0 and way.nodes[-1].revealed.rank > way.nodes[-2].revealed.rank:
                _restart(trail, way, state, end)
            moved = abs(way.nodes[-1].x - way.nodes[-2].x)
            if not _note_branches(trail, way, values, offset, base) and moved > LEAST * abs(end - begin):
                del way.nodes[-1]
                way.step = moved / 2
                continue
            if progress is not None:
                done = int(((part - way.nodes[-1].x) * forward <= 0).sum())
                progress((offset + 1 + done) / way.course.count)
    except KeyboardInterrupt:
        trail.interrupted, trail.why = True, "it was interrupted"
        count = int(((part - way.nodes[-1].x) * forward <= 0).sum())
    found = _filled(trail, way, part[:count], base, forward, turned)
    if len(found[0]) < count and turned is None and not trail.interrupted:
        return _turned_between(trail, way, part[:count], base, forward, (values, offset), found)
    return found


def _turned_between(
    trail: Trail,
    way: Continuation,
    part: np.ndarray,
    base: int,
    forward: float,
    places: tuple[np.ndarray, int],
    found: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, ...]:
    """The points of a leg up to the dead point, after a step has passed over a stretch that does not close."""
    failed, nodes = float(part[len(found[0])]), way.nodes
    way.nodes = [n for k, n in enumerate(nodes) if k <= base or (n.x - failed) * forward < 0]
    turned = dead_point(way, failed, barred=True)
    if turned is None:
        way.nodes = nodes
        return found
    trail.points = [p for p in trail.points if p.index <= places[1] + 1 + len(found[0])]
    _note_dead(trail, way, turned, *places)
    return _filled(trail, way, part, base, forward, turned)


def _restart(trail: Trail, way: Continuation, state: StateLike, end: float) -> None:
    """Begin again where the first position was singular: along the branch of its velocity, or the nearest one."""
    course = way.course
    first, second = way.nodes[-2], way.nodes[-1]
    system, p = course.system, course.parameters_at(first.x)
    usual = tangent(system, course.state(second.q, second.x), p).rank
    cone = cone_at(system, course.state(first.q, first.x), p, usual)
    if cone is None:
        return
    wish = state.v if np.any(state.v) else second.slope
    named = branches_of(system, cone, wish)
    _, J, g = course.equations(first.q, first.x)
    for v in (np.array(list(b.values())) for b in named):
        rate = float((J @ v) @ g / max(g @ g, 1e-300))
        if abs(rate) > 1e-9:
            way.nodes[-2:] = [replace(first, slope=v / rate)]
            way.step = min(way.step, abs(second.x - first.x))
            way.advance(end)
            way.first_slope, way.first_nodes = v / rate, way.nodes[-2:]
            break
    kind = "branch point" if cone.kind == "crossing" else f"branch point ({cone.kind})"
    trail.points.append(
        SpecialPoint(
            cone.kind, held_at(course, first.x), course.state(first.q, first.x), 0.0, named,
            f"the sweep begins in a {kind} at {course.told(first.x)}; it follows the branch "
            f"{'of the velocity of its first state' if np.any(state.v) else 'nearest to the shortest motion'}.",
        )
    )  # fmt: skip


# --- positions between nodes ----------------------------------------------------------------------------------------


def _filled(
    trail: Trail,
    way: Continuation,
    part: np.ndarray,
    base: int,
    forward: float,
    turned: tuple[float, np.ndarray] | None,
) -> tuple[np.ndarray, ...]:
    """Places, positions, slopes and bends at the places of a part, between the nodes from `base` on."""
    nodes = way.nodes[base:]
    x_nodes = np.array([n.x for n in nodes])
    inside = (part - x_nodes[-1]) * forward <= 0
    x = part[inside]
    which = np.clip(np.searchsorted(x_nodes * forward, x * forward, side="left"), 1, max(len(nodes) - 1, 1)) - 1
    guess = way.guesses(nodes, which, x)
    q, slopes, least, ok = polished(way, x, guess)
    bends = np.full(slopes.shape, np.nan)
    for k in np.flatnonzero(~ok | (least < CLOSE)):
        two = two_sided(way, nodes, float(x[k]))
        if two is not None and closes(way, two[0], float(x[k])):
            q[k], slopes[k], bends[k] = two
        elif not ok[k]:
            trail.why = trail.why or f"the loops do not close at {way.course.told(float(x[k]))}"
            return x[:k], q[:k], slopes[:k], bends[:k]
    if turned is None or inside.all():
        return x, q, slopes, bends
    rest = _up_to(way, part[~inside], turned, forward)
    return tuple(np.concatenate([one, *(r[i] for r in rest)]) for i, one in enumerate((x, q, slopes, bends)))


def _up_to(
    way: Continuation, x: np.ndarray, turned: tuple[float, np.ndarray], forward: float
) -> list[tuple[np.ndarray, ...]]:
    """Positions between the last node and a dead point: they are smooth in u = √(distance to it)."""
    node, (end, q_end) = way.nodes[-1], turned
    u0 = np.sqrt(abs(end - node.x))
    rise, run = way.minus(node.q, q_end), -2 * u0 * node.slope * forward
    first, second = (2 * rise - run * u0) / u0, (run * u0 - rise) / u0**2
    out = []
    for value in x:
        if (value - end) * forward > SAME * max(way.course.span(), abs(end)):
            break
        u = np.sqrt(max((end - value) * forward, 0.0))
        guess = way.plus(q_end, first * u + second * u * u)
        found = way.closed(float(value), guess)
        if found is None and u > 1e-4 * max(u0, 1.0):
            break
        if found is None or found.least(way.rank) < SINGULAR:  # in the dead point itself
            at = guess if found is None else found.q
            found = replace(node, x=float(value), q=at, slope=np.full(len(node.slope), np.inf))
        out.append(_one(found))
    return out


# --- special points -------------------------------------------------------------------------------------------------


def held_at(course: Course, x: float) -> dict[str, float]:
    return {name: course._value(name, x)[0] for name in course.columns} or {"value": x}


def _index(values: np.ndarray, offset: int, x: float) -> float:
    """The place of x among the values of a leg, counted from the first of the sweep."""
    order = np.arange(len(values)) + offset
    return float(np.interp(x, values, order) if values[-1] >= values[0] else np.interp(-x, -values, order))


def _note_dead(
    trail: Trail, way: Continuation, turned: tuple[float, np.ndarray], values: np.ndarray, offset: int
) -> None:
    course, (x, q) = way.course, turned
    led = course.single or "what is led"
    state = course.state(q, x)
    here = tangent(course.system, state, course.parameters_at(x))
    motion = here.admissible[:, 0] if here.admissible.shape[1] else np.zeros(course.system.nv)
    motion = motion / (motion[np.argmax(np.abs(motion))] or 1.0) if len(motion) else motion
    named = (dict(zip(course.system.v_names, motion.tolist())),)
    text = f"dead point at {course.told(x)}: {led} turns back there"
    trail.points.append(
        SpecialPoint("dead point", held_at(course, x), state, _index(values, offset, x), named, text + ".")
    )
    trail.why = text


def _note_branches(trail: Trail, way: Continuation, values: np.ndarray, offset: int, base: int) -> bool:
    """Look for a branch point between the last nodes; False where there must be one and is none: a change of branch."""
    nodes = way.nodes[base:]
    x = None
    if len(nodes) >= 2 and crossed(way, nodes[-2], nodes[-1]):
        x = crossing_place(way, nodes[-2], nodes[-1])
        if x is None:
            return False
    elif len(nodes) >= 3 and not crossed(way, nodes[-3], nodes[-2]):
        x = nearest_place(way, *nodes[-3:])
    if x is None:
        return True
    two = two_sided(way, nodes, x)
    if two is None:
        return True
    course = way.course
    q, slope, _ = two
    if not closes(way, q, x):  # two branches that do not meet: the nodes are on both
        return not crossed(way, nodes[-2], nodes[-1])
    state, p = course.state(q, x, slope), course.parameters_at(x)
    usual = tangent(course.system, course.state(nodes[-2].q, nodes[-2].x), p).rank
    cone = cone_at(course.system, state, p, usual)
    if cone is None:
        return not crossed(way, nodes[-2], nodes[-1])
    named = branches_of(course.system, cone, slope)
    kind = "branches cross" if cone.kind == "crossing" else f"the position is singular ({cone.kind})"
    text = f"branch point at {course.told(x)}: {kind}; the sweep goes on along its own."
    trail.points.append(SpecialPoint(cone.kind, held_at(course, x), state, _index(values, offset, x), named, text))
    return True
