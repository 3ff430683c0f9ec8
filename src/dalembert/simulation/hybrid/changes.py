"""Changes of structure in words, as `run.switches` lists them."""

from __future__ import annotations

from collections.abc import Collection

from dalembert.simulation.hybrid.impact import Impact
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.hybrid.state import HybridState, directions
from dalembert.simulation.hybrid.switch import Switched
from dalembert.simulation.hybrid.switching import Switching
from dalembert.system.state import State


def change(
    changeable: Changeable, x: State, kind: str, of: str, names: Collection[str], impact: Impact | None = None,
    note: str = "",
) -> list[Switched]:  # fmt: skip
    """A change of some constraints or contacts at a state x; nothing where there are none."""
    if not names:
        return []
    contact = changeable.contacts.get(next(iter(names)))
    roped = contact is not None and contact.kind == "rope"
    word = {"hit": "taut", "rests": "stays taut", "left": "slack"}.get(kind, kind) if roped else kind
    v_after, impulse, lost = (x.v, {}, 0.0) if impact is None else (impact.v, impact.impulse, impact.lost)
    return [Switched(x.t, f"{', '.join(names)} {word}", kind, of, x.v.copy(), v_after.copy(), impulse, lost, note)]


def opened(changeable: Changeable, before: HybridState, switched: Switching) -> list[Switched]:
    """Constraints that switches open."""
    held = before.mode.held
    found = ((name, [n for n in s.open if n in held]) for name, s in switched.due.items())
    return [c for name, open in found for c in change(changeable, before.x, "opened", name, open)]


def closed(changeable: Changeable, x: State, switched: Switching, impact: Impact | None, note: str) -> list[Switched]:
    """Constraints that switches close, and those that bounce."""
    out = []
    for name, s in switched.due.items():
        kind, closing = "hit" if name in switched.bounced else "closed", [n for n in s.close if n in switched.closing]
        out += change(changeable, x, kind, name, closing, impact, note)
    return out


def compare(
    changeable: Changeable, s: HybridState, touching: Collection[str], rested: Collection[str]
) -> list[Switched]:
    """What comes and goes between the mode that was followed last and the mode of s.

    touching: contacts whose gap is closed. rested: those of which it has been said that they came to rest.
    """
    found: list[tuple[str, str]] = []
    old, new = s.followed, s.mode
    assert old is not None
    before, after = old.touched, new.touched
    for name in before:
        if name not in after:
            found.append(("unloaded" if name in (*touching, *new.waiting) else "left", name))
    for name, how in after.items():
        if name in before and how != before[name]:
            found.append((how, name))
        elif name not in before and name not in rested:
            found.append(("rests" if how != "slides" else "slides", name))
    for name in changeable.frictions:
        if (name in old.sticking) != (name in new.sticking):
            found.append(("sticks" if name in new.sticking else "slides", name))
    for name, d in directions(s.numbers).items():
        if name in s.directions and float(d @ s.directions[name]) < 0.0:
            found.append(("reverses", name))
    return [c for kind, name in found for c in change(changeable, s.x, kind, name, [name])]
