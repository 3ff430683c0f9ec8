"""Forces or impulses of one-sided contacts and dry friction: one linear complementarity problem for both.

Unknowns are a normal part n of each contact, parts β ≥ 0 along some directions d of what may stick, and a slack σ of
each of these, with w the speeds or accelerations that they leave:

    w_n ≥ 0 ⊥ n ≥ 0,   D w_t + σ ≥ 0 ⊥ β ≥ 0,   μ n + F − Σβ ≥ 0 ⊥ σ ≥ 0

(Stewart & Trinkle; Anitescu & Potra). Directions are ± for one tangent, and eight around the circle for two, the first
against the motion there is: friction is exact along them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalembert.simulation.phases.complementarity import SMALL, lemke

AROUND = 8  # directions of friction in a plane


@dataclass(eq=False)
class Side:
    """One contact, or one joint with dry friction, as the problem sees it."""

    name: str
    normal: np.ndarray | None  # (n,) whitened row, or None for a joint
    wanted: float = 0.0  # w_n without forces, and what restitution adds to it
    tangents: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (k, n) rows of what may stick
    rates: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (k,) w_t without forces
    before: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (k,) the motion that friction is against
    mu: float = 0.0
    bound: float = 0.0  # N or N m, of a joint
    drag: np.ndarray | None = None  # (n,) with friction of a contact that slides: force for each unit of n


@dataclass(frozen=True, eq=False)
class Pressed:
    """The solution, by side: n, the tangential parts, and whether it is at its bound."""

    normal: dict[str, float]
    across: dict[str, np.ndarray]
    slack: dict[str, float]  # σ: about the speed, or acceleration, of what slides
    total: np.ndarray  # (n,) whitened: Σ of all


def pressed(sides: list[Side], dimension: int) -> Pressed | None:
    """Solve the problem; None where there is no solution."""
    if not sides:
        return Pressed({}, {}, {}, np.zeros(dimension))
    if len(sides) == 1 and not sides[0].tangents.size:
        return _alone(sides[0])
    columns: list[np.ndarray] = []  # forces of unknowns, times the lengths of their rows: all numbers are of like size
    rows: list[np.ndarray] = []  # rows of w
    rest: list[float] = []
    kinds: list[tuple[int, int]] = []  # (side, −1 for n, else number of the direction)
    directions = [_directions(s) for s in sides]
    lengths = [(_length(s.normal), _length(s.tangents)) for s in sides]
    for i, s in enumerate(sides):
        along, across = lengths[i]
        if s.normal is not None:
            rows.append(s.normal / along)
            columns.append((s.normal if s.drag is None else s.drag) / along)
            rest.append(s.wanted / along)
            kinds.append((i, -1))
        for k, d in enumerate(directions[i]):
            rows.append(d @ s.tangents / across)
            columns.append(rows[-1])
            rest.append(float(d @ s.rates) / across)
            kinds.append((i, k))
    frictional = [i for i, d in enumerate(directions) if len(d)]
    m, f = len(kinds), len(frictional)
    M, q = np.zeros((m + f, m + f)), np.zeros(m + f)
    if m:
        M[:m, :m] = np.array(rows) @ np.array(columns).T
    q[:m] = rest
    for j, i in enumerate(frictional):
        q[m + j] = sides[i].bound * lengths[i][1]
        for k, (side, part) in enumerate(kinds):
            if side == i and part >= 0:
                M[k, m + j], M[m + j, k] = 1.0, -1.0
            elif side == i:
                M[m + j, k] = sides[i].mu * lengths[i][1] / lengths[i][0]
    z = lemke(M, q)
    if z is None:
        return None
    normal: dict[str, float] = {}
    tangential: dict[str, np.ndarray] = {}
    total = np.zeros(dimension)
    for k, (i, part) in enumerate(kinds):
        s = sides[i]
        total += columns[k] * z[k]
        if part == -1:
            normal[s.name] = float(z[k]) / lengths[i][0]
        else:
            so_far = tangential.get(s.name, np.zeros(len(s.tangents)))
            tangential[s.name] = so_far + directions[i][part] * (z[k] / lengths[i][1])
    slack = {sides[i].name: float(z[m + j]) * lengths[i][1] for j, i in enumerate(frictional)}
    return Pressed(normal, tangential, slack, total)


def _alone(side: Side) -> Pressed | None:
    """One contact without friction, or one that slides: w_n = wanted + a n, in closed form."""
    assert side.normal is not None, "a joint has tangents"
    along = side.normal if side.drag is None else side.drag
    n, a = 0.0, float(side.normal @ along)
    if side.wanted < 0.0:
        if a <= SMALL * float(np.linalg.norm(side.normal) * np.linalg.norm(along)):
            return None
        n = -side.wanted / a
    return Pressed({side.name: n}, {}, {}, along * n)


def _length(rows: np.ndarray | None) -> float:
    """The length of a row, or of the longest of some."""
    if rows is None or not rows.size:
        return 1.0
    return float(np.sqrt(np.square(np.atleast_2d(rows)).sum(axis=1).max())) or 1.0


def _directions(s: Side) -> np.ndarray:
    """Unit vectors (d, k) along which friction may act."""
    k = len(s.tangents)
    if k < 2:
        return np.array([[1.0], [-1.0]]) if k else np.zeros((0, 0))
    aim = s.before if np.any(s.before) else s.rates
    first = np.arctan2(-aim[1], -aim[0]) if np.any(aim) else 0.0
    angles = first + 2.0 * np.pi * np.arange(AROUND) / AROUND
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
