"""Guards of a mode: functions that fall through zero where the structure has to change.

    closes   g + offset                          of a contact that is open; with the next, also where g only dips
    turns    −ġ                                  of the same: where g is least
    opens    λ_n                                 of a contact that bears
    loads    minus the force that a contact, closed by others that bear, would have
    slips    μ λ_n − ‖λ_t‖, or breakaway − |λ|   of a contact, or joint, that sticks
    stops    slip · direction + offset           of one that slides
    jams     det of what slides                  where friction leaves open how it presses (Painlevé)

Offsets keep what is zero but for rounding at the start of a segment from ending it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.recursions.elimination import eliminate, mass_factor
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.run.segment import Cause
from dalembert.symbols import array, to_sx
from dalembert.system.functions import forces
from dalembert.system.sharing import Sharing
from dalembert.system.sliding import Pressing, reaction
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.simulation.hybrid.phase_system import PhaseSystem


def guards_of(changeable: Changeable, mode: HybridMode) -> tuple[tuple[Cause, ...], dict[tuple[str, str], int]]:
    """The guards of a mode, and the sizes of the numbers that it has, by what they are and of what."""
    sizes: dict[tuple[str, str], int] = {}
    guards: list[tuple[str, str]] = []
    for name, contact in changeable.contacts.items():
        how = mode.touched.get(name)
        if name in mode.waiting:
            guards.append(("loads", name))
            continue
        if how is None:
            sizes["offset", name] = 1
            guards += [("closes", name), ("turns", name)]
            continue
        guards.append(("opens", name))
        if how == "slides":
            sizes["aim", name] = len(contact.slip_names)
            sizes["offset", name] = sizes["begins", name] = sizes["start", name] = 1
            guards.append(("stops", name))
        elif how == "sticks":
            guards.append(("slips", name))
    for name in changeable.frictions:
        if name in mode.given:
            sizes["force", name] = 1
        elif name in mode.sticking:
            guards.append(("slips", name))
        else:
            sizes["sign", name] = sizes["offset", name] = 1
            guards.append(("stops", name))
    guards += [("jams", name) for name, how in mode.touching if how == "slides"][:1]
    return tuple(Cause(*guard) for guard in guards), sizes


def guard_values(system: PhaseSystem, s: Trace) -> np.ndarray:
    """The guards of a system in a mode, in the order of `system.watched`."""
    user, d = s.state.user(), RowDerivatives(s.state)
    contacts, frictions = system.changeable.contacts, system.changeable.frictions
    vdot: Any = ()
    lam: Any = ()
    if s.rows.of:
        vdot, lam, _ = eliminate(mass_factor(s.at), forces(s), s.rows.A, s.rows.gamma)
    sharing = Sharing(s)
    known = sharing.spread(lam)

    def multiplier(row: str) -> ca.SX:
        return ca.SX(getattr(x := known[row], "sx", x)) if row in known else ca.SX(0)

    out: list[ca.SX] = []
    for kind, name in system.watched:
        contact = contacts.get(name)
        if kind == "closes" and contact is not None:
            out.append(contact.gap(user) + system.number("offset", name))
        elif kind == "turns" and contact is not None:
            out.append(-d.rate(contact.gap(user)))
        elif kind == "opens":
            out.append(multiplier(f"{name}.gap"))
        elif kind == "jams":
            out.append(ca.SX(getattr(x := Pressing(s, s.d.sliding).determinant(), "sx", x)))
        elif kind == "loads":
            out.append(ca.SX(getattr(x := -sharing.pressing(known, name), "sx", x)))
        elif kind == "slips" and contact is not None:
            across = ca.vertcat(*(multiplier(f"{name}.{row}") for row in contact.slip_names))
            out.append(contact.static * multiplier(f"{name}.gap") - ca.norm_2(across))
        elif kind == "slips":
            f = frictions[name]
            bound = ca.SX(f.law.breakaway)
            if f.law.load > 0.0:
                bound += f.law.load * ca.norm_2(to_sx(reaction(s, f, vdot, lam)))
            out.append(bound - ca.fabs(multiplier(f"{f.name}.stick")))
        elif contact is not None:
            slip, aim = ca.vertcat(*contact.slips(user).values()), system.number("aim", name)
            new, size = system.number("begins", name), ca.norm_2(slip)
            fell = (1 - new) * (ca.dot(slip, aim) - 0.5 * size) - new * size
            one = sum(not x.is_zero() for x in contact.slips(user).values()) < 2
            out.append((ca.dot(slip, aim) if one else fell) + system.number("offset", name))
        else:
            out.append(system.number("sign", name) * frictions[name].speed(user) + system.number("offset", name))
    return array(ca.vertcat(*out)).ravel() if out else np.zeros(0)


def overdue(guards: tuple[Cause, ...], values: np.ndarray, cause: Cause | None) -> Cause | None:
    """A change that is due at the start of a segment: forces beyond their bounds.

    values: of all events there. cause: of the change before it. What was loaded or unloaded there has a force of zero,
    but for what it changes by while the time is rounded: of contacts that are about to stop that is more than rounding.
    """
    just = {} if cause is None else {"loads": Cause("opens", cause.of), "opens": Cause("loads", cause.of)}
    known = None if cause is None else just.get(cause.kind)
    scale = np.abs(values).max(initial=0.0)
    for value, guard in zip(values, guards):
        if guard.kind in ("opens", "slips", "loads", "jams") and value < -(1e-5 if guard == known else 1e-9) * scale:
            return guard
    return None
