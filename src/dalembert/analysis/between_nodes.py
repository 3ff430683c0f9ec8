"""Positions between the nodes of a trail: many closed at once, and those in singular positions from both sides.

Beside a singular position Newton's method loses digits, so there a position comes from two on either side of it, by
Hermite's polynomial of degree five.
"""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.analysis.continuation import CLOSED, FAR, NEARLY, Continuation, Node, far_from_singular

CLOSE = 1e-4  # singular values below: positions come from both sides
ASIDE = 0.02  # rad, lengths of the mechanism, or part of the course: how far from it
MEETS = 1e-11  # rad, or lengths of the mechanism: by how much loops may be open where branches meet


def polished(way: Continuation, x: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...]:
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


def two_sided(way: Continuation, nodes: list[Node], x: float) -> tuple[np.ndarray, ...] | None:
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


def closes(way: Continuation, q: np.ndarray, x: float) -> bool:
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
