"""The trail of a sweep: positions at all given values of a course, with the special points between them.

A few nodes are followed with step control (`continuation`); the positions between them are then closed all at once.
Beside a singular position Newton's method loses digits, so there a position comes from two on either side of it, by
Hermite's polynomial of degree five.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.analysis.continuation import CLOSED, FAR, NEARLY, SINGULAR, Continuation, Node, far_from_singular
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

CLOSE = 1e-4  # singular values below: positions come from both sides
ASIDE = 0.02  # rad, lengths of the mechanism, or part of the course: how far from it
LEAST = 1e-6  # of a leg: steps that are not made shorter where branches come near each other
MEETS = 1e-11  # rad, or lengths of the mechanism: by how much loops may be open where branches meet
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
        two = _two_sided(way, way.first_nodes, float(trail.x[0]))
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
    """What is found of a leg where a step has passed over a stretch that does not close: up to the dead point there."""
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
            cone.kind, _at(course, first.x), course.state(first.q, first.x), 0.0, named,
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
    q, slopes, least, ok = _polished(way, x, guess)
    bends = np.full(slopes.shape, np.nan)
    for k in np.flatnonzero(~ok | (least < CLOSE)):
        two = _two_sided(way, nodes, float(x[k]))
        if two is not None and _closes(way, two[0], float(x[k])):
            q[k], slopes[k], bends[k] = two
        elif not ok[k]:
            trail.why = trail.why or f"the loops do not close at {way.course.told(float(x[k]))}"
            return x[:k], q[:k], slopes[:k], bends[:k]
    if turned is None or inside.all():
        return x, q, slopes, bends
    rest = _up_to(way, part[~inside], turned, forward)
    return tuple(np.concatenate([one, *(r[i] for r in rest)]) for i, one in enumerate((x, q, slopes, bends)))


def _polished(way: Continuation, x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...]:
    """Positions closed from guesses, their slopes, their smallest singular values, and whether they did close."""
    course = way.course
    if not (way.flat and course.single in course.coordinates and len(x) > 3):
        nodes = [way.closed(float(a), b) for a, b in zip(x, q)]
        ok = np.array([n is not None for n in nodes], dtype=bool)
        nv = course.system.nv
        return (
            np.array([b if n is None else n.q for n, b in zip(nodes, q)]).reshape(q.shape),
            np.array([np.zeros(nv) if n is None else n.slope for n in nodes]).reshape(len(q), nv),
            np.array([0.0 if n is None else n.least(way.rank) for n in nodes]),
            ok,
        )
    given = {"p": course.p, "t": course.t}
    square = len(course.units) == course.system.nv
    gap = last = np.full(len(x), np.inf)
    for _ in range(8):
        phi, A, _b = course.kernel.batch(*(q if n == "q" else given[n] for n in course.kernel.names_in))
        held = q[:, course.q_index].copy()
        held[:, 0] -= x
        held[:, 1:] -= list(course.fixed.values())
        away = np.concatenate([phi, held], axis=1)
        J = np.concatenate([A, np.broadcast_to(course.N, (len(x), *course.N.shape))], axis=1)
        last, gap = gap, np.abs(away / course.units).max(axis=1, initial=0.0)
        if ((gap <= CLOSED) | ((gap <= NEARLY) & (gap >= 0.5 * last))).all():
            break
        white = J * way.weights
        delta = None
        if square:
            try:
                delta = np.linalg.solve(white, -(away / way.scale)[..., None])[..., 0]
            except np.linalg.LinAlgError:
                delta = None
        if delta is None:
            delta = _shortest(way, white, -(away / way.scale))[0]
        delta = delta * course.reach
        far = np.abs(delta / course.reach).max(axis=1, initial=0.0) > FAR
        delta[far] = 0.0
        q = q + delta
    white = J * way.weights
    g = np.zeros(len(course.units))
    g[course.constraints] = 1.0
    g = np.broadcast_to(g / way.scale, away.shape)
    inverse = far_from_singular(white, CLOSE) if way.rank == len(course.units) else None
    if inverse is not None:
        return q, (inverse @ g[0]) * course.reach, np.ones(len(x)), gap <= NEARLY
    slopes, least = _shortest(way, white, g)
    return q, slopes * course.reach, least, gap <= NEARLY


def _shortest(way: Continuation, white: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest solutions of many systems at once, and the smallest singular value that counts of each."""
    U, sigma, Vt = np.linalg.svd(white, full_matrices=False)
    counts = sigma > way.policy.tolerance * np.maximum(sigma[:, :1], 1.0)
    inverse = np.where(counts, 1.0 / np.where(counts, sigma, 1.0), 0.0)
    y = np.einsum("kij,ki->kj", U, right) * inverse
    return np.einsum("kji,kj->ki", Vt, y), sigma[:, way.rank - 1] if way.rank else np.ones(len(white))


def _two_sided(way: Continuation, nodes: list[Node], x: float) -> tuple[np.ndarray, ...] | None:
    """Position, slope and bend in a singular position from positions on both sides; None where there are none."""
    aside = ASIDE * (way.course.length if _slides(way) else 1.0)
    low, high = sorted((nodes[0].x, nodes[-1].x))
    aside = min(aside, x - low if x > low else aside, high - x if x < high else aside)
    both = []
    for side in (x - aside, x + aside):
        pairs = [(a, b) for a, b in itertools.pairwise(nodes) if (side - a.x) * (side - b.x) <= 0]
        a, b = pairs[0] if pairs else min(itertools.pairwise(nodes), key=lambda ab: min(abs(side - n.x) for n in ab))
        node = way.closed(side, way.between(a, b, np.array([side]))[0])
        if node is None or node.revealed.rank < way.rank:
            return None
        both.append(node)
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


def _closes(way: Continuation, q: np.ndarray, x: float) -> bool:
    """Whether the loops close in a position that was found between two others.

    Where branches meet it is on them. Where they only come near, by ε, it lies between them, and loops are open by
    about ε² there: so nearer branches are told apart than positions are known close to singular ones.
    """
    away = way.course.equations(q, x)[0]
    exact = way.course.single in way.course.coordinates  # the polynomial has bends, and six times as many digits
    return bool(np.abs(away / way.course.units).max(initial=0.0) <= (MEETS if exact else 1e3 * MEETS))


def _slides(way: Continuation) -> bool:
    course = way.course
    return course.single in course.coordinates and bool(course.units[course.constraints] != 1.0)


def _bend(way: Continuation, node: Node) -> np.ndarray | None:
    """q″ at a node for a coordinate that is led, the rest fixed."""
    course = way.course
    if course.single not in course.coordinates:
        return None
    gamma = course.system.evaluate("gamma", course.state(node.q, node.x, node.slope), p=course.parameters_at(node.x))
    return way.solve(node.revealed, np.concatenate([-gamma[course.rows], np.zeros(course.led)]))


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


def _at(course: Course, x: float) -> dict[str, float]:
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
    trail.points.append(SpecialPoint("dead point", _at(course, x), state, _index(values, offset, x), named, text + "."))
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
    two = _two_sided(way, nodes, x)
    if two is None:
        return True
    course = way.course
    q, slope, _ = two
    if not _closes(way, q, x):  # two branches that do not meet: the nodes are on both
        return not crossed(way, nodes[-2], nodes[-1])
    state, p = course.state(q, x, slope), course.parameters_at(x)
    usual = tangent(course.system, course.state(nodes[-2].q, nodes[-2].x), p).rank
    cone = cone_at(course.system, state, p, usual)
    if cone is None:
        return not crossed(way, nodes[-2], nodes[-1])
    named = branches_of(course.system, cone, slope)
    kind = "branches cross" if cone.kind == "crossing" else f"the position is singular ({cone.kind})"
    text = f"branch point at {course.told(x)}: {kind}; the sweep goes on along its own."
    trail.points.append(SpecialPoint(cone.kind, _at(course, x), state, _index(values, offset, x), named, text))
    return True
