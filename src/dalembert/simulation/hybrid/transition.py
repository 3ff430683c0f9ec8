"""The transition between two segments: from x⁻ and its mode, and the cause, to x⁺ and the mode that follows.

    q⁺  ←  the nearest position in which what closes holds                  `switching.moved_to_close`
    v⁺  ←  the impact of what closes, and of contacts that approach         `_impact`
    v⁺  ←  without bounces too low to follow                                `_settled`
    m⁺  ←  what bears, sticks and slides, by the forces at (q⁺, v⁺)         `_modes`
    v⁺  ←  without the last slip of what sticks from now on                 `_stuck`
    n⁺  ←  the numbers of m⁺: directions, and offsets of guards             `_numbers`

A transition is a function of its arguments: nothing is remembered from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dalembert.simulation.hybrid.changes import change, closed, compare, opened
from dalembert.simulation.hybrid.contact_modes import ContactModes, contact_modes
from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.impact import Impact, collide
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.locking import locked_by
from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.hybrid.problem import HybridProblem
from dalembert.simulation.hybrid.scales import BEGINS, CLOSED, HybridScales
from dalembert.simulation.hybrid.state import HybridState, Numbers, Transition
from dalembert.simulation.hybrid.switch import Switched
from dalembert.simulation.hybrid.switching import Switching, moved_to_close
from dalembert.simulation.run.segment import Cause
from dalembert.simulation.status import Ended, Status

SLOWLY = 1e-3  # of the speed of the motion: what opens faster rises by 1e-6 of its way, which steps resolve
ABOVE = 1e-14  # of a length: what is above zero whatever rounding does to a gap
SLACK = 1e-9  # of a length: by how much a contact that touches without bearing may give way before it is hit
TOGETHER = 30.0  # times the speed of a contact that stops or is a pivot: others that slide as slowly may stop with it
USED = 1.0 - 1e-9  # of the bound of a joint that sticks: it is at it


def transition(
    problem: HybridProblem, scales: HybridScales, before: HybridState, switched: Switching, cause: Cause | None,
    begins: bool = False,
) -> Transition:  # fmt: skip
    """From the state before to that after; begins: at the start of a run, from a mode that no segment had."""
    changeable, x, held, changes = problem.changeable, before.x, switched.held, list[Switched]()
    shift = 0.0
    try:
        if switched.due:
            changes += opened(changeable, before, switched)
            x, shift = moved_to_close(problem, x, switched)  # q⁺
        at = problem.instant(before, x)
        energy = at.energy if x is before.x else Instant(changeable, before.x, at.u, at.p).energy
        touching = _touching(scales, at, before, cause)
        impact = _impact(scales, at, switched, touching, begins, changes)
        if switched.due:
            note = f"moved by {shift:.2g} to close" if shift > 1e-9 * scales.length else ""
            changes += closed(changeable, x, switched, impact, note)
        if impact is not None:
            at = problem.moved(at, impact.v)  # v⁺
        touching, cause = _stops_unloaded(scales, at, before, touching, cause)
        locked, rested, modes = _locked(scales, at, held, touching), list[str](), None
        if locked:
            at = problem.moved(at, np.zeros(len(at.state.v)))
            modes = _at_rest(at, held, locked)
        else:
            at, rested, modes = _settled(problem, scales, at, held, touching, cause)
        if modes is None or (not locked and cause is not None and cause.kind == "slips"):
            stays = [n for n in touching if scales.sense(at, n) <= 0]
            try:
                modes = _modes(scales, at, held, stays, cause, before)
            except Ended:
                at = _stopped(problem, scales, at, held, touching, cause)
                modes = _modes(scales, at, held, stays, cause, before)
        gained = at.energy - energy
        joints = [n for n in modes.mode.sticking if n not in before.mode.sticking]
        if "sticks" in modes.mode.touched.values() or modes.new or joints:
            at = _stuck(problem, at, modes, joints)
    except Ended as ended:
        ended.changes = tuple(changes)
        raise
    after = replace(
        before, x=at.state, u=at.u, mode=modes.mode, numbers=_numbers(scales, at, modes, touching),
        step=_first_step(problem, scales, at, modes, touching, before.usual_step), locked=bool(locked),
    )  # fmt: skip
    known = () if before.followed is None else before.followed.touched
    for name in (n for n in rested if n in modes.mode.touched and n not in known):
        changes += change(changeable, at.state, "rests", name, [name], None, "its bounces had become too low to follow")
    expected = () if begins else tuple(compare(changeable, after, touching, rested))
    remarks = tuple(
        f"at t = {at.state.t:.6g} s contact '{name}', which slides, could lift off or press: both solve the equations "
        "(Painlevé); it lifted off"
        for name in modes.open
    )
    if locked and not before.locked:
        what = f"{', '.join(locked)} lock the position to second order: nothing moves, and their forces have no finite"
        remarks = (*remarks, f"at t = {at.state.t:.6g} s {what} value")
    return Transition(after, tuple(changes), expected, gained, remarks)


def _touching(scales: HybridScales, at: Instant, before: HybridState, cause: Cause | None) -> list[str]:
    """Contacts whose gap is closed, without one that has just been left."""
    out = []
    for name in at.changeable.contacts:
        near = float(at.phi[at.gap_row[name]]) <= CLOSED * scales.unit(name) or name in before.mode.touched
        if cause == ("closes", name) or (near and cause != ("opens", name)):
            out.append(name)
    return out


def _impact(
    scales: HybridScales, at: Instant, switched: Switching, touching: list[str], begins: bool, changes: list[Switched]
) -> Impact | None:
    """The impact at an instant, if there is one; at the start of a run, speeds that are rounding are none."""
    closing = switched.closing
    rows = {k: e for c, e in closing.items() for k in at.of(c)}
    hit = [n for n in touching if scales.sense(at, n) < 0]
    if begins and all(scales.at_rest(at, n) for n in hit):
        hit = []
    if not hit and not any(abs(at.speeds[k]) > scales.still(at, k) for k in rows):
        return None
    steady = [n for n in switched.held if n not in closing]
    restitution = {n: at.changeable.contacts[n].restitution for n in touching}
    impact = collide(at, at.of(*steady), rows, restitution)
    if impact is None:
        raise Ended(Status.NO_FORCES, f"no impulses solve the impact of {', '.join([*closing, *hit])}")
    note = ""
    if impact.kept < 1.0:
        note = f"restitution was lowered to {impact.kept:.3g} of its value, as it would have made energy"
    for k, name in enumerate(hit):
        first = k == 0  # which has the impulses of all
        changes += change(
            at.changeable, at.state, "hit", name, [name], impact if first else None, note if first else ""
        )
    return impact


def _locked(scales: HybridScales, at: Instant, held: Sequence[str], touching: list[str]) -> list[str]:
    """Contacts by which no motion leads away from here."""
    if len(touching) < 2 or any(scales.sense(at, n) != 0 for n in touching):
        return []
    return locked_by(at, held, touching)


def _at_rest(at: Instant, held: Sequence[str], locked: Sequence[str]) -> ContactModes:
    """The mode of a position that is locked: these contacts bear, joints with dry friction stick."""
    c = at.changeable
    how = tuple((n, "sticks" if contact.static > 0.0 else "smooth") for n, contact in c.contacts.items() if n in locked)
    mode = HybridMode(tuple(held), how, tuple(c.frictions))
    return ContactModes(mode, {}, frozenset(), dict.fromkeys(c.contacts, 0.0), (), {}, {})


def _settled(
    problem: HybridProblem,
    scales: HybridScales,
    at: Instant,
    held: Sequence[str],
    touching: list[str],
    cause: Cause | None,
) -> tuple[Instant, list[str], ContactModes | None]:
    """End bounces that are too low to be told from rest, and rocking: the contacts stay closed.

    Those that go on rise far enough above zero, half their flight in one step, to be seen to close again.

    Returns the instant after it, these contacts, and the modes, where they were found on the way.
    """
    rising = [n for n in touching if scales.sense(at, n) > 0]
    if not rising:
        return at, [], None
    modes = _modes(scales, at, held, [n for n in touching if n not in rising], cause)
    low = []
    for name in rising:
        k, a = at.gap_row[name], modes.accelerations[name]
        height = scales.least_bounce * scales.unit(name) - min(float(at.phi[k]), 0.0)  # above where it is
        if a < 0.0 and at.speeds[k] ** 2 < 2.0 * -a * height:
            low.append(name)
    if not low:
        return at, [], modes
    return problem.moved(at, _held_back(scales, at, held, low, touching)), low, None


def _held_back(
    scales: HybridScales, at: Instant, held: Sequence[str], low: list[str], touching: list[str]
) -> np.ndarray:
    """Velocities with some contacts that rise slowly held back: the nearest in the mass metric.

    What does not slip does not begin to: a block that rocks from corner to corner comes to stand, not to slide.
    """

    def still(row: int) -> bool:
        return bool(abs(at.speeds[row]) <= scales.still(at, row))

    resting = [n for n in touching if n in low or still(at.gap_row[n])]
    rows = [at.gap_row[n] for n in resting]
    for slips in (at.slip_rows(n) for n in resting if at.changeable.contacts[n].static > 0.0):
        rows += slips if all(still(k) for k in slips) else []
    impact = collide(at, at.of(*held), dict.fromkeys(rows, 0.0), {})
    return at.state.v if impact is None else impact.v


def _slow(scales: HybridScales, at: Instant, touching: Sequence[str], cause: Cause | None) -> float:
    """The slip in a plane below which a contact may stop."""
    slips = [k for n in touching for k in at.slip_rows(n)]
    slow = 4.0 * scales.begins * scales.speed(at, slips[0]) if slips else 0.0
    if cause is not None and cause.kind == "stops" and cause.of in touching:
        slip = float(np.linalg.norm(at.speeds[at.slip_rows(cause.of)]))
        slow *= TOGETHER if slip <= slow else 1.0
    return slow


def _stops_unloaded(
    scales: HybridScales, at: Instant, before: HybridState, touching: list[str], cause: Cause | None
) -> tuple[list[str], Cause | None]:
    """What touches, and the cause, where a contact is unloaded at the very end of a slide.

    Forces of several that slide turn with their slips. Where all of these are as good as none, all stop: the one whose
    force falls to zero bears again.
    """
    slid = [n for n, how in before.mode.touching if how == "slides" and at.slip_rows(n)]
    if cause is None or cause.kind != "opens" or cause.of not in slid:
        return touching, cause
    every = [n for n in at.changeable.contacts if n in touching or n == cause.of]
    size = {n: float(np.linalg.norm(at.speeds[at.slip_rows(n)])) for n in every}
    stops = Cause("stops", min((n for n in every if n in slid), key=size.__getitem__))
    return (every, stops) if max(size.values()) <= _slow(scales, at, every, stops) else (touching, cause)


def _stopped(
    problem: HybridProblem,
    scales: HybridScales,
    at: Instant,
    held: Sequence[str],
    touching: list[str],
    cause: Cause | None,
) -> Instant:
    """The instant without slips in a plane that are none.

    Corners of a body that still turns have accelerations towards its middle: no forces would hold all of them at once.
    """
    slow, rows = _slow(scales, at, touching, cause), list[int]()
    for name in touching:
        slips = at.slip_rows(name) if at.changeable.contacts[name].static > 0.0 else []
        if len(slips) > 1 and scales.sense(at, name) <= 0 and np.linalg.norm(at.speeds[slips]) <= slow:
            rows += slips
    if not np.abs(at.speeds[rows]).max(initial=0.0) > 0.0:
        return at
    rows = [*at.of(*held), *(at.gap_row[n] for n in touching if scales.sense(at, n) == 0), *rows]
    step, _ = FactoredRows.of(at, rows).step(at.nu, -at.b[rows])
    return problem.moved(at, at.velocities(at.nu + step))


def _modes(
    scales: HybridScales, at: Instant, held: Sequence[str], touching: list[str], cause: Cause | None,
    before: HybridState | None = None,
) -> ContactModes:  # fmt: skip
    """Contact modes by forces. before: the state from whose mode something breaks away, if that is the cause."""
    slow, sliding = _slow(scales, at, touching, cause), dict[str, np.ndarray]()

    def solved(lowered: str = "") -> ContactModes | None:
        return contact_modes(at, held, touching, partial(scales.still, at), slow, sliding, cause, lowered)

    if before is not None and cause is not None and cause.kind == "slips":
        if cause.of in touching:
            found = solved(cause.of)
            if found is not None and found.mode.touched.get(cause.of) != "sticks":
                return found
        found = solved() if before.mode.given or touching else None  # others may hold what this one cannot
        if found is not None and cause.of in found.mode.sticking:
            alone = cause.of in at.changeable.held_joints(found.mode)
            if not alone or found.used[cause.of] <= USED:
                return found
        if found is not None:  # what is at its bound with it moves with it
            sliding |= {n: -np.sign([x]) for n, x in found.given.items() if found.used[n] > USED}
        sliding[cause.of] = _breakaway(at, before, cause.of)
    found = solved()
    if found is None:
        raise Ended(Status.NO_FORCES, _no_forces(at, touching))
    return found


def _no_forces(at: Instant, touching: Sequence[str]) -> str:
    """Why no forces balance: friction, or rows that depend on each other here."""
    rubs = bool(at.changeable.frictions) or any(at.changeable.contacts[n].static > 0.0 for n in touching)
    what = f"what touches ({', '.join(touching) or 'nothing'})"
    if rubs:
        return f"{what} can neither stick nor slide here (Painlevé's paradox)"
    return (
        f"{what} can neither bear nor let go here: the position is singular, and no finite forces along it hold the "
        "load. Start beside the position, or make one of them a spring"
    )


def _breakaway(at: Instant, before: HybridState, name: str) -> np.ndarray:
    """The direction in which something that sticks begins to slide: against the force that held it."""
    mode, rows, free = before.mode, at.rows_of(before.mode), at.free.copy()
    for n, friction in at.changeable.frictions.items():
        if n not in mode.sticking:
            k = at.friction_row(n)
            free -= at.rows[k] * (float(before.numbers["sign", n][0]) * float(friction.force(at.speeds[k])))
    lam = dict(zip(rows, at.shortest(rows, FactoredRows.of(at, rows).step(free, -at.gamma[rows])[1])))
    of = at.slip_rows(name) if name in at.changeable.contacts else [at.friction_row(name)]
    force = np.array([lam[k] for k in of])
    size = float(np.linalg.norm(force))
    return -force / size if size > 0.0 else np.eye(len(of))[0]


def _stuck(problem: HybridProblem, at: Instant, modes: ContactModes, joints: Sequence[str]) -> Instant:
    """The instant with the last of their slips taken from contacts and joints that stick from now on.

    And from contacts that only begin to slide. Where nothing else moves, what is left would be the motion.
    """
    begins = [k for n, how in modes.mode.touching if how == "slides" and n in modes.new for k in at.slip_rows(n)]
    slips = [k for n, how in modes.mode.touching if how == "sticks" for k in at.slip_rows(n)] + begins
    slips += [at.friction_row(n) for n in joints]
    if not np.abs(at.speeds[slips]).max(initial=0.0) > 0.0:
        return at
    rows = at.rows_of(modes.mode) + begins
    step, _ = FactoredRows.of(at, rows).step(at.nu, -at.b[rows])
    return problem.moved(at, at.velocities(at.nu + step))


def _numbers(scales: HybridScales, at: Instant, modes: ContactModes, touching: Sequence[str]) -> Numbers:
    """The numbers of a mode: directions of what slides, and offsets of guards that are zero at the start."""
    out: dict[tuple[str, str], object] = {}
    for name, x in modes.given.items():
        out["force", name] = x
    for name, d in modes.directions.items():
        joint = name in at.changeable.frictions
        speed = scales.speed(at, at.friction_row(name) if joint else at.slip_rows(name)[0])
        if joint:
            out["sign", name] = d
        else:
            slip_names = at.changeable.contacts[name].slip_names
            full = np.zeros(len(slip_names))
            for row, part in zip(at.slip_rows(name), d):
                full[slip_names.index(at.names[row].rpartition(".")[2])] = part
            out["aim", name] = full
            if len(d) > 1:
                begins = scales.begins * speed
                slow = np.linalg.norm(at.speeds[at.slip_rows(name)]) < 10.0 * begins
                out["begins", name] = float(slow)
                out["offset", name] = 100.0 * begins if slow else -begins
                out["start", name] = (1.0 if slow else 1e-5) * begins
                continue
        out["offset", name] = BEGINS[0] * speed if name in modes.new else 0.0  # along a line a slip does not turn
    for name in modes.mode.open(at.changeable):
        stays = name in touching and scales.sense(at, name) <= 0
        out["offset", name] = SLACK * scales.unit(name) if stays else _sunk(scales, at, name)
    return out


def _sunk(scales: HybridScales, at: Instant, name: str) -> float:
    """Offset of a contact that opens slowly from below zero, m or rad; of others 0.

    Its gap may turn before it is above zero. A guard that begins below is never seen to fall.
    """
    row, least = at.gap_row[name], ABOVE * scales.unit(name)
    gap, speed = float(at.phi[row]), float(at.speeds[row])
    return least - gap if -SLACK * scales.unit(name) < gap <= 0.0 < speed < SLOWLY * scales.speed(at, row) else 0.0


def _first_step(
    problem: HybridProblem,
    scales: HybridScales,
    at: Instant,
    modes: ContactModes,
    touching: Sequence[str],
    usual: float,
) -> float:
    """Half the shortest flight of what leaves and comes back, or the usual step (s); 0 where nothing does."""
    flights = [
        -2.0 * float(at.speeds[at.gap_row[name]]) / modes.accelerations[name]
        for name in modes.mode.open(at.changeable)
        if name in touching and modes.accelerations[name] < 0.0 and scales.sense(at, name) > 0
    ]
    return min(0.5 * min(flights), usual or np.inf) if flights and not problem.choices.method.fixed else 0.0
