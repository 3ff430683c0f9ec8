"""Changes of structure: `Switch`, as the user asks for them, and `Switched`, as the run reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.simulation.events import Event, named_events
from dalembert.system.system import System


@dataclass(frozen=True)
class Switch:
    """Constraints that open or close in a run: a release, a latch, a docking, a grasp.

    open, close: names of constraints (loops, rods, drivers, couplings, …), one or a list. at: the time (s), or times.
    when: an event (`da.Event`, or g(t, state)) at which it happens, in place of a time. restitution (0 to 1): of the
    rows that close. 0 is the plastic impact, the orthogonal projection of the velocity in the mass metric; above 0 the
    rows bounce off and stay open, until they meet at less than a thousandth of the fastest speed they met with. reach:
    by how much (m or rad) the rows that close may miss; the state is moved there. Default: 1e-6 of the mechanism's
    length. once=True: an event switches the first time only; else every time that it happens.

    >>> import dalembert as da
    >>> m = da.Mechanism("release", gravity=(0, -10.0, 0))
    >>> m.add_joint("y", da.Prismatic("y"), m.ground, m.add_body("stone", mass=1.0))
    >>> m.add_driver("hand", "y", lambda t: 2.0 * t)
    >>> run = da.simulate(m.compile(), m.compile().assemble(), 1.0, switches=da.Switch(open="hand", at=0.5))
    >>> round(float(run["y"][-1]), 9), run.switches[0].what                   # 1 + 2 · 0.5 − 5 · 0.5²
    (0.75, 'hand opened')
    """

    open: Any = ()
    close: Any = ()
    at: Any = None
    when: Any = None
    restitution: float = 0.0
    reach: float | None = None
    once: bool = False
    event: Event | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "open", _names(self.open, "open"))
        object.__setattr__(self, "close", _names(self.close, "close"))
        if not self.open and not self.close:
            raise ArgumentError("a switch opens and closes nothing; give open= or close= names of constraints.")
        if (self.at is None) == (self.when is None):
            raise ArgumentError("a switch needs a time, at=0.5, or an event, when=g(t, state); one of the two.")
        if self.at is not None:
            object.__setattr__(self, "at", tuple(np.atleast_1d(checks.array(self.at, None, "at")).ravel().tolist()))
        else:
            (event,) = named_events(self.when).values()
            object.__setattr__(self, "event", event)
        checks.number(self.restitution, "restitution", least=0.0, most=1.0)
        if self.reach is not None:
            checks.number(self.reach, "reach", above=0.0)
        checks.flag(self.once, "once")


@dataclass(frozen=True, eq=False)
class Switched:
    """A change of structure in a run."""

    t: float  # s
    what: str  # in words, "floor hit"
    kind: str  # "opened", "closed", "hit", "rests", "left", "unloaded", "slides", "sticks" or "reverses"
    of: str  # the constraint, contact or velocity; of a switch, its name
    v_before: np.ndarray  # (nv,)
    v_after: np.ndarray  # (nv,)
    impulse: Mapping[str, float]  # N s or N m s, by row
    lost: float  # J of energy that the change took from the motion
    note: str = ""  # what else is to be said

    @property
    def jump(self) -> np.ndarray:
        """(nv,) by which the velocities jumped."""
        return self.v_after - self.v_before

    def __str__(self) -> str:
        lost = f", {self.lost:.4g} J lost" if self.lost else ""
        return f"at t = {self.t:.6g} s {self.what}{lost}{'; ' + self.note if self.note else ''}"

    def __repr__(self) -> str:
        return f"<{self}>"


def named_switches(switches: Any, system: System) -> dict[str, Switch]:
    """Switches by name from a mapping, a list, or one of them, checked against the mechanism."""
    if switches is None:
        return {}
    if isinstance(switches, Switch):
        switches = [switches]
    if not isinstance(switches, Mapping):
        if not isinstance(switches, (list, tuple)):
            raise ArgumentError(f"switches is {checks.shown(switches)}; needed: a da.Switch, a list or a mapping.")
        switches = {f"switch{k}": s for k, s in enumerate(switches)}
    known = system.layout.mechanism.constraints
    for name, s in switches.items():
        checks.name(name, "the name of a switch")
        if not isinstance(s, Switch):
            raise ArgumentError(f"switch '{name}' is {checks.shown(s)}; needed: a da.Switch.")
        for constraint in (*s.open, *s.close):
            if constraint not in known:
                raise unknown("constraint", constraint, known, f"switch '{name}'")
        both = set(s.open) & set(s.close)
        if both:
            raise ArgumentError(f"switch '{name}' opens and closes {', '.join(sorted(both))}; one of the two.")
    return dict(switches)


def _names(given: Any, what: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise ArgumentError(f"{what} is {checks.shown(given)}; needed: the name of a constraint, or a list of names.")
    return tuple(names)
