"""Which contacts bear, which stick and which slide, at a moment without impact.

Accelerations and forces of what touches and does not separate are found together (see `pressing`): what bears becomes a
constraint of the next phase, what leaves is watched for closing again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.rank import earliest_independent
from dalembert.simulation.phases.asked import Cause
from dalembert.simulation.phases.mode import Mode
from dalembert.simulation.phases.moment import DEPENDENT, Held, Moment
from dalembert.simulation.phases.pressing import Side, pressed

LIGHT = 1e-11  # of the largest force: a contact that presses with less does not bear
AT_REST = 1e-9  # of its terms: a speed that is none


@dataclass(frozen=True, eq=False)
class Bearing:
    """The mode that follows, the directions of what slides, and accelerations of gaps that are open."""

    mode: Mode
    aims: dict[str, np.ndarray]  # unit vectors of contacts that slide, signs of joints
    new: frozenset[str]  # of them, those that begin to
    accelerations: dict[str, float]  # of every gap
    open: tuple[str, ...]  # contacts that leave and could press as well


def bears(
    moment: Moment,
    held: Sequence[str],
    touching: Sequence[str],
    at_rest: float,
    slow: float,
    sliding: Mapping[str, np.ndarray],
    cause: Cause | None = None,
) -> Bearing | None:
    """Find the forces; None where none balance.

    held: constraints that hold. touching: contacts whose gap is closed and stays so for now. at_rest: m/s or rad/s, a
    speed below which nothing slides; slow: the same of contacts that can slide in a plane, whose slip turns as it
    vanishes. sliding: what slides whatever its speed, with its direction. cause: what made the phase before end; a
    contact that was unloaded or loaded there is as it says, whatever the rounding of its force.
    """
    changeable = moment.changeable
    rows = moment.of(*held)
    holding: list[str] = []  # joints whose bound is not known before their reactions: they stick, and slip at once
    free = moment.free.copy()
    aims: dict[str, np.ndarray] = {}
    sides: list[Side] = []
    for name, friction in changeable.frictions.items():
        k = moment.friction_row(name)
        speed = float(moment.speeds[k])
        if name in sliding or abs(speed) > _limit(moment, [k], at_rest):
            aims[name] = np.atleast_1d(sliding[name]) if name in sliding else np.array([np.sign(speed)])
            free -= moment.rows[k] * (aims[name][0] * float(friction.force(speed)))
        elif friction.law.load > 0.0:
            holding.append(name)
            rows.append(k)
        else:
            sides.append(Side(name, None, tangents=moment.rows[[k]], bound=friction.law.breakaway))
    for name in touching:
        contact, n = changeable.contacts[name], moment.gap_row(name)
        side = Side(name, moment.rows[n], compliance=moment.changeable.compliance(contact))
        slips = moment.slip_rows(name) if contact.static > 0.0 else []
        if slips:
            slip = moment.speeds[slips]
            if name in sliding or np.linalg.norm(slip) > _limit(moment, slips, slow if len(slips) > 1 else at_rest):
                d = sliding[name][: len(slips)] if name in sliding else slip / np.linalg.norm(slip)
                aims[name] = d
                side.drag = moment.rows[n] - contact.friction * (d @ moment.rows[slips])
            else:
                side.tangents, side.mu = moment.rows[slips], contact.static
        sides.append(side)
    factor = Held.of(moment, rows)
    step, _ = factor.step(free, -moment.gamma[rows])
    alpha = free + step
    for side in sides:
        _prepare(side, moment, factor, alpha)
    found = pressed(sides, len(alpha))
    if found is None:
        return None
    two = tuple(s.name for s in sides if s.name in aims and found.normal[s.name] == 0.0 and _presses_itself(s))
    alpha = alpha + factor.cut(found.total)
    most = max(found.normal.values(), default=0.0)
    bearing, sticking, new = [], list(holding), set()
    for side in sides:
        name = side.name
        slides = side.tangents.size and found.slips[name] > AT_REST * (_size(moment, side) + found.slips[name])
        if side.normal is None:
            if not slides:
                sticking.append(name)
            else:
                k = moment.friction_row(name)
                aims[name] = np.array([np.sign(moment.rows[k] @ alpha + moment.gamma[k])])
                new.add(name)
        elif found.normal[name] > LIGHT * most or cause == ("loads", name):
            if slides:
                slips = moment.slip_rows(name)
                a = moment.rows[slips] @ alpha + moment.gamma[slips]
                aims[name] = a / np.linalg.norm(a)
                new.add(name)
            contact = changeable.contacts[name]
            how = "slides" if name in aims else "sticks" if contact.static > 0.0 and side.tangents.size else "smooth"
            bearing.append((name, how))
        else:
            aims.pop(name, None)
    order = list(changeable.contacts)
    gaps = {name: moment.gap_row(name) for name in order}
    bearing.sort(key=lambda x: order.index(x[0]))
    stuck = tuple(n for n in changeable.frictions if n in sticking)
    idle = [n for n in order if (n in touching or cause == ("opens", n)) and n not in dict(bearing)]
    mode = Mode(tuple(held), tuple(bearing), stuck)
    shared, waiting = _redundant(moment, mode, idle)
    return Bearing(
        replace(mode, shared=shared, waiting=waiting),
        aims,
        frozenset(new) | frozenset(sliding),
        {name: float(moment.rows[k] @ alpha + moment.gamma[k]) for name, k in gaps.items()},
        two,
    )


def _redundant(moment: Moment, mode: Mode, idle: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rows of contacts that bear and depend on others, by name, and idle contacts whose gaps depend on them.

    Others are rows of contacts, and constraints. Rows that depend on them in a singular position alone are not among
    these.
    """
    gaps = [moment.gap_row(n) for n, _ in mode.touching]
    rows = [*gaps, *(k for n, how in mode.touching if how == "sticks" for k in moment.slip_rows(n))]
    waiting = {moment.gap_row(n): n for n in idle}
    rigid = moment.of(*mode.held)
    if not rows or (len(rows) < 2 and not waiting and not rigid):
        return (), ()
    factor = Held.of(moment, rigid)
    if len(factor.limits):
        return (), ()
    lengths = np.maximum(np.linalg.norm(moment.rows, axis=1), 1e-300)

    def units(of: Sequence[int]) -> np.ndarray:
        return factor.cut(moment.rows[list(of)] / lengths[list(of), None])

    def rank(of: np.ndarray) -> int:
        return int((np.linalg.svd(of, compute_uv=False) > DEPENDENT).sum()) if len(of) else 0

    kept = [rows[k] for k in earliest_independent(units(rows), rank(units(rows)), DEPENDENT)]  # gaps first, as ever
    basis = np.linalg.qr(units(kept).T)[0] if kept else np.zeros((moment.rows.shape[1], 0))

    def depends(k: int) -> bool:
        x = units([k])[0]
        return bool(np.linalg.norm(x - basis @ (basis.T @ x)) <= DEPENDENT)

    shared = [k for k in rows if k not in kept]
    closed = [k for k in waiting if depends(k)]
    if (not shared and not closed) or not moment.stay_dependent([*rigid, *kept], [*shared, *closed]):
        return (), ()
    return tuple(moment.names[k] for k in shared), tuple(waiting[k] for k in closed)


def _prepare(side: Side, moment: Moment, factor: Held, alpha: np.ndarray) -> None:
    """Accelerations without the forces sought, and rows without their part along what holds."""
    name = side.name
    if side.normal is None:
        rows = [moment.friction_row(name)]
    else:
        n = moment.gap_row(name)
        side.wanted = float(moment.rows[n] @ alpha + moment.gamma[n])
        side.normal = factor.cut(side.normal)
        if side.drag is not None:
            side.drag = factor.cut(side.drag)
        rows = moment.slip_rows(name)
    if side.tangents.size:
        side.rates = moment.rows[rows] @ alpha + moment.gamma[rows]
        side.tangents = factor.cut(side.tangents)


def _presses_itself(side: Side) -> bool:
    """Whether the friction of a contact that slides presses it on by more than it is pushed off (Painlevé)."""
    normal, drag = side.normal, side.drag
    if normal is None or drag is None or side.wanted <= 0.0:
        return False
    return bool(normal @ drag < -AT_REST * np.linalg.norm(normal) * np.linalg.norm(drag))


def _limit(moment: Moment, rows: Sequence[int], at_rest: float) -> float:
    return AT_REST * float(np.linalg.norm(moment.sizes[list(rows)])) + at_rest


def _size(moment: Moment, side: Side) -> float:
    """The size of accelerations that friction has to do with."""
    return float(np.abs(side.rates).max(initial=0.0)) + float(np.abs(side.tangents).sum()) * side.bound * 1e-3
