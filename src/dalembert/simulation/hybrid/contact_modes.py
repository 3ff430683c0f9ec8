"""Contact modes by forces: which contacts bear, which stick and which slide, at an instant without impact.

Accelerations and forces of what touches and does not separate are found together (see `contact_forces`): what bears
becomes a constraint of the next segment, what leaves is watched for closing again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert.rank import earliest_independent
from dalembert.simulation.hybrid.contact_forces import ContactForces, ContactRows, contact_forces
from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.instantaneous import DEPENDENT, Instant
from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.run.segment import Cause

LIGHT = 1e-11  # of the largest force, or of that which applied forces could cause: with less a contact does not bear
LOWERED = 1.0 - 1e-6  # of the friction of what comes to its bound: far above what events and forces are known by
AT_REST = 1e-9  # of its terms: a speed that is none


@dataclass(frozen=True, eq=False)
class ContactModes:
    """The mode that follows, the directions of what slides, and accelerations of gaps that are open."""

    mode: HybridMode
    directions: dict[str, np.ndarray]  # unit vectors of contacts that slide, signs of joints
    new: frozenset[str]  # of them, those that begin to
    accelerations: dict[str, float]  # of every gap
    open: tuple[str, ...]  # contacts that leave and could press as well
    given: dict[str, float]  # friction of joints that stick and depend on others that do
    used: dict[str, float]  # the part of its bound that the friction of a joint that sticks needs


def contact_modes(
    instant: Instant,
    held: Sequence[str],
    touching: Sequence[str],
    still: Callable[[Sequence[int]], float],
    slow: float,
    sliding: Mapping[str, np.ndarray],
    cause: Cause | None = None,
    lowered: str = "",
) -> ContactModes | None:
    """Find the forces; None where none balance.

    held: constraints that hold. touching: contacts whose gap is closed and stays so for now. still: the speed of rows
    below which nothing slides; slow: what is added to that of contacts that can slide in a plane, whose slip turns as
    it vanishes. sliding: what slides whatever its speed, with its direction. cause: what made the segment before end; a
    contact that was unloaded or loaded there is as it says, whatever the rounding of its force. lowered: a contact at
    its bound, which is lowered so that it cannot stick by rounding alone.
    """
    changeable = instant.changeable
    rows, free, directions = instant.of(*held), instant.free.copy(), dict[str, np.ndarray]()
    sides, holding = _joints(instant, still, sliding, free, directions) if changeable.frictions else ([], [])
    sides += [_contact(instant, n, still, slow, sliding, directions) for n in touching]
    rows += [instant.friction_row(n) for n in holding]
    factor = FactoredRows.of(instant, rows)
    alpha = free + factor.step(free, -instant.gamma[rows])[0]
    for side in sides:
        _without_forces(side, instant, factor, alpha)
        side.mu *= LOWERED if side.name == lowered else 1.0
    found = contact_forces(sides, len(alpha))
    if found is None:
        return None
    two = tuple(s.name for s in sides if s.name in directions and found.normal[s.name] == 0.0 and _presses_itself(s))
    alpha = alpha + factor.cut(found.total)
    bearing, sticking, new = _sorted(instant, sides, found, alpha, cause, directions)
    order = list(changeable.contacts)
    stuck = tuple(n for n in changeable.frictions if n in (*holding, *sticking))
    idle = [n for n in order if (n in touching or cause == ("opens", n)) and n not in bearing]
    mode = HybridMode(tuple(held), tuple((n, bearing[n]) for n in order if n in bearing), stuck)
    if bearing:
        shared, waiting = _redundant(instant, mode, idle)
        mode = replace(mode, shared=shared, waiting=waiting)
    given = _given(instant, mode, found)
    mode = replace(mode, given=tuple(given))
    gaps = {name: instant.gap_row[name] for name in order}
    return ContactModes(
        mode,
        directions,
        frozenset(new) | frozenset(sliding),
        {name: float(instant.rows[k] @ alpha + instant.gamma[k]) for name, k in gaps.items()},
        two,
        given,
        {n: abs(float(found.across[n][0])) / (changeable.frictions[n].law.breakaway or 1.0) for n in sticking},
    )


def _joints(
    instant: Instant, still: Callable[[Sequence[int]], float], sliding: Mapping[str, np.ndarray], free: np.ndarray,
    directions: dict[str, np.ndarray],
) -> tuple[list[ContactRows], list[str]]:  # fmt: skip
    """Joints with dry friction that may stick, and those that do, as their bound follows from their reactions.

    These slip at once where it is too low. The friction of those that slide goes into `free`, their sign into
    `directions`.
    """
    out, holding = [], []
    for name, friction in instant.changeable.frictions.items():
        k = instant.friction_row(name)
        speed = float(instant.speeds[k])
        if name in sliding or abs(speed) > still([k]):
            d = directions[name] = np.atleast_1d(sliding[name]) if name in sliding else np.array([np.sign(speed)])
            free -= instant.rows[k] * (d[0] * float(friction.force(speed)))
        elif friction.law.load > 0.0:
            holding.append(name)
        else:
            out.append(ContactRows(name, None, tangents=instant.rows[[k]], bound=friction.law.breakaway))
    return out, holding


def _contact(
    instant: Instant, name: str, still: Callable[[Sequence[int]], float], slow: float,
    sliding: Mapping[str, np.ndarray], directions: dict[str, np.ndarray],
) -> ContactRows:  # fmt: skip
    """A contact that touches; the direction of one that slides goes into `directions`."""
    contact, n = instant.changeable.contacts[name], instant.gap_row[name]
    side = ContactRows(name, instant.rows[n], compliance=instant.changeable.compliance[name])
    slips = instant.slip_rows(name) if contact.static > 0.0 else []
    if slips:
        slip = instant.speeds[slips]
        if name in sliding or np.linalg.norm(slip) > still(slips) + (slow if len(slips) > 1 else 0.0):
            d = sliding[name][: len(slips)] if name in sliding else slip / np.linalg.norm(slip)
            directions[name] = d
            side.drag = instant.rows[n] - contact.friction * (d @ instant.rows[slips])
        else:
            side.tangents, side.mu = instant.rows[slips], contact.static
    return side


def _sorted(
    instant: Instant, sides: Sequence[ContactRows], found: ContactForces, alpha: np.ndarray, cause: Cause | None,
    directions: dict[str, np.ndarray],
) -> tuple[dict[str, str], list[str], set[str]]:  # fmt: skip
    """How each contact bears, the joints that stick, and what begins to slide, by forces and accelerations α."""
    most = max(found.normal.values(), default=0.0)
    bearing, sticking, new = dict[str, str](), list[str](), set[str]()
    for side in sides:
        name, joint = side.name, side.normal is None
        slides = side.tangents.size and found.slips[name] > AT_REST * (_size(side) + found.slips[name])
        bears = joint or found.normal[name] > LIGHT * max(most, _weight(instant, name)) or cause == ("loads", name)
        if not bears:
            directions.pop(name, None)
            continue
        if slides:
            slips = [instant.friction_row(name)] if joint else instant.slip_rows(name)
            a = instant.rows[slips] @ alpha + instant.gamma[slips]
            directions[name] = np.sign(a) if joint else a / np.linalg.norm(a)
            new.add(name)
        if joint and not slides:
            sticking.append(name)
        if not joint:
            sticks = instant.changeable.contacts[name].static > 0.0 and side.tangents.size
            bearing[name] = "slides" if name in directions else "sticks" if sticks else "smooth"
    return bearing, sticking, new


def _given(instant: Instant, mode: HybridMode, found: ContactForces) -> dict[str, float]:
    """Friction of joints that stick and whose rows depend on others that hold, by name.

    Together they hold the mechanism if any forces within their bounds do: those found, of which these stay as they are
    until another comes to its bound. Joints nearest to their bounds are chosen first.
    """
    c = instant.changeable
    names = [n for n in c.held_joints(mode) if n in found.across]
    if not names:
        return {}
    factor = FactoredRows.of(instant, list(c.chosen(replace(mode, sticking=()))))
    if len(factor.limits):
        return {}
    force = {n: float(found.across[n][0]) for n in names}
    names.sort(key=lambda n: abs(force[n]) / max(c.frictions[n].law.breakaway, 1e-300))
    rows = instant.rows[[c.friction_row(n) for n in names]]
    units = factor.cut(rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None])
    kept = earliest_independent(units, len(names), DEPENDENT)
    return {n: force[n] for k, n in enumerate(names) if k not in kept}


def _redundant(instant: Instant, mode: HybridMode, idle: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rows of contacts that bear and depend on others, by name, and idle contacts whose gaps depend on them.

    Others are rows of contacts, and constraints. Rows that depend on them in a singular position alone are not among
    these.
    """
    gaps = [instant.gap_row[n] for n, _ in mode.touching]
    rows = [*gaps, *(k for n, how in mode.touching if how == "sticks" for k in instant.slip_rows(n))]
    waiting = {instant.gap_row[n]: n for n in idle}
    rigid = instant.of(*mode.held)
    if len(rows) < 2 and not waiting and not rigid:
        return (), ()
    factor = FactoredRows.of(instant, rigid)
    if len(factor.limits):
        return (), ()
    lengths = np.maximum(np.linalg.norm(instant.rows, axis=1), 1e-300)

    def units(of: Sequence[int]) -> np.ndarray:
        return factor.cut(instant.rows[list(of)] / lengths[list(of), None])

    def rank(of: np.ndarray) -> int:
        return int((np.linalg.svd(of, compute_uv=False) > DEPENDENT).sum()) if len(of) else 0

    kept = [rows[k] for k in earliest_independent(units(rows), rank(units(rows)), DEPENDENT)]  # gaps first, as ever
    basis = np.linalg.qr(units(kept).T)[0] if kept else np.zeros((instant.rows.shape[1], 0))

    def depends(k: int) -> bool:
        x = units([k])[0]
        return bool(np.linalg.norm(x - basis @ (basis.T @ x)) <= DEPENDENT)

    shared = [k for k in rows if k not in kept]
    closed = [k for k in waiting if depends(k)]
    if (not shared and not closed) or not instant.stay_dependent([*rigid, *kept], [*shared, *closed]):
        return (), ()
    return tuple(instant.names[k] for k in shared), tuple(waiting[k] for k in closed)


def _without_forces(side: ContactRows, instant: Instant, factor: FactoredRows, alpha: np.ndarray) -> None:
    """Accelerations without the forces sought, and rows without their part along what holds."""
    name = side.name
    if side.normal is None:
        rows = [instant.friction_row(name)]
    else:
        n = instant.gap_row[name]
        side.wanted = float(instant.rows[n] @ alpha + instant.gamma[n])
        side.normal = factor.cut(side.normal)
        if side.drag is not None:
            side.drag = factor.cut(side.drag)
        rows = instant.slip_rows(name)
    if side.tangents.size:
        side.rates = instant.rows[rows] @ alpha + instant.gamma[rows]
        side.tangents = factor.cut(side.tangents)


def _presses_itself(side: ContactRows) -> bool:
    """Whether the friction of a contact that slides presses it on by more than it is pushed off (Painlevé)."""
    normal, drag = side.normal, side.drag
    if normal is None or drag is None or side.wanted <= 0.0:
        return False
    return bool(normal @ drag < -AT_REST * np.linalg.norm(normal) * np.linalg.norm(drag))


def _weight(instant: Instant, name: str) -> float:
    """A force on a contact that all applied forces together could cause."""
    row = float(np.linalg.norm(instant.rows[instant.gap_row[name]]))
    return float(np.linalg.norm(instant.free)) / row if row > 0.0 else 0.0


def _size(side: ContactRows) -> float:
    """The size of accelerations that friction has to do with."""
    return float(np.abs(side.rates).max(initial=0.0)) + float(np.abs(side.tangents).sum()) * side.bound * 1e-3
