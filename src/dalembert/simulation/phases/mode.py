"""The structure of a phase, and the system that has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.mechanism.contacts import DryFriction, OneSided
from dalembert.mechanism.contacts.stop import JointStop, Stops
from dalembert.mechanism.touching import compliant_stops, dry_frictions, one_sided
from dalembert.mechanism.traced import UserState
from dalembert.recursions.elimination import eliminate, mass_factor
from dalembert.recursions.momentum import kinetic_energy
from dalembert.symbols import array, to_sx
from dalembert.system.functions import constrained, forces, potential
from dalembert.system.sharing import Shared, Sharing
from dalembert.system.sliding import Loaded, Pressing, Sliding, reaction
from dalembert.system.state import State
from dalembert.system.system import System, redescribed, use_parameters
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

NUMBERS = "phase numbers"  # the parameter that holds the numbers of a phase: signs, directions, offsets


@dataclass(frozen=True)
class Mode:
    """Which constraints hold, which contacts touch and how, which joints stick."""

    held: tuple[str, ...]  # constraints, in the order of the mechanism
    touching: tuple[tuple[str, str], ...] = ()  # (contact, "smooth", "sticks" or "slides")
    sticking: tuple[str, ...] = ()  # velocities whose dry friction holds them; the others slide
    shared: tuple[str, ...] = ()  # rows of contacts that touch, "floor.gap", which depend on others: no rows of a phase
    waiting: tuple[str, ...] = ()  # contacts closed by others that bear, without bearing themselves

    @property
    def touched(self) -> dict[str, str]:
        """How each contact that touches does."""
        return dict(self.touching)

    def dependent(self, contact: str) -> tuple[str, ...]:
        """The rows of a contact that depend on others, by their names within it."""
        return tuple(row.rpartition(".")[2] for row in self.shared if row.rpartition(".")[0] == contact)


@dataclass(frozen=True, eq=False)
class Changeable:
    """The parts of a system that can change in a run: the system itself, one-sided constraints, friction of joints."""

    base: System
    contacts: Mapping[str, OneSided]
    frictions: Mapping[str, DryFriction]  # by the name of the velocity
    stops: Stops | None  # of joints that have none of their own

    @staticmethod
    def of(system: System, stops: Stops | None = None) -> Changeable:
        """From a description, kept with the system."""
        return system.keep(("changeable", stops), lambda: Changeable._of(system, stops))

    @staticmethod
    def _of(system: System, stops: Stops | None) -> Changeable:
        joints = list(system.layout.joints.values())
        contacts = {c.name: c for c in one_sided(system.layout.mechanism, joints, stops)}
        return Changeable(system, contacts, {f.velocity: f for f in dry_frictions(joints)}, stops)

    @property
    def anything(self) -> bool:
        """Whether there is more than constraints."""
        return bool(self.contacts or self.frictions)

    def compliance(self, contact: OneSided) -> float:
        """Of the rows of a contact, beside those of others: equal springs, of angles at the mechanism's length."""
        return self.base.layout.length**-2 if contact.angular else 1.0

    @cached_property
    def everything(self) -> System:
        """The system with every row there may be, for what is decided between phases."""
        known = self.base.layout.mechanism.constraints
        d = self.base.description
        rows = (
            *known.values(),
            *(c.closed(sticking=c.static > 0.0) for c in self.contacts.values()),
            *(f.held() for f in self.frictions.values()),
        )
        return redescribed(self.base, replace(d, constraints=rows, forces=(*d.forces, *self.more_forces)), System)

    @cached_property
    def equations(self) -> Kernel:
        """M, f, A, γ, Φ, b, kinetic and potential energy of `everything`."""
        return self.everything.custom_kernel(
            ("moment",),
            ("q", "v", "u", "p", "t"),
            lambda s: (*constrained(s), s.rows.phi, s.rows.b, kinetic_energy(s.at), potential(s)),
        )

    @cached_property
    def row_index(self) -> dict[str, int]:
        """The rows of `everything` by name."""
        return {name: k for k, name in enumerate(self.everything.rows.names)}

    @cached_property
    def slip_rows(self) -> dict[str, list[int]]:
        """Rows of the slips of each contact, without those that always hold."""
        known = self.row_index
        return {
            name: [known[row] for slip in c.slip_names if (row := f"{name}.{slip}") in known]
            for name, c in self.contacts.items()
        }

    def shared(self, mode: Mode, sliding: Mapping[str, Any]) -> tuple[Shared, ...]:
        """Contacts that touch, where some rows of theirs depend on others; sliding: directions of those that slide."""
        if not mode.shared and not mode.waiting:
            return ()
        known = self.contacts
        bearing = (
            Shared(known[n].closed(how == "sticks", sliding.get(n)), mode.dependent(n), self.compliance(known[n]))
            for n, how in mode.touching
        )
        waiting = (Shared(known[n].closed(), ("gap",), self.compliance(known[n]), bears=False) for n in mode.waiting)
        return *bearing, *waiting

    @cached_property
    def more_forces(self) -> tuple[Any, ...]:
        """Compliant stops that were asked for in the run."""
        if self.stops is None or self.stops.stiffness == 0.0:
            return ()
        free = [a for a in self.base.layout.joints.values() if a.stops is None]
        return compliant_stops(free, self.stops)


class PhaseSystem(System):
    """A system in a mode: its constraints are those that hold, its forces have the friction of what slides.

    It has one parameter more than its mechanism, `NUMBERS`: signs, directions and offsets that differ between phases.
    """

    is_described = False  # its mode is not part of the description
    changeable: Changeable
    mode: Mode
    places: dict[tuple[str, str], slice]  # of its numbers, by what they are and of what
    watched: tuple[tuple[str, str], ...]  # (kind, element) of each event

    @staticmethod
    def of(changeable: Changeable, mode: Mode) -> PhaseSystem:
        """The system in a mode."""
        base = changeable.base
        other = redescribed(base, base.description, PhaseSystem)
        other.changeable, other.mode = changeable, mode
        other._place()
        numbers = ca.SX.sym(NUMBERS, other.size)
        other.numbers = numbers
        d, touched = base.description, mode.touched
        known = base.layout.mechanism.constraints
        sliding = {n: other._direction(n) for n, how in mode.touching if how == "slides"}
        constraints = [known[name] for name in mode.held]
        for name, how in mode.touching:
            without = mode.dependent(name)
            rows = 1 + len(changeable.slip_rows[name]) * (how == "sticks")
            if len(without) < rows:
                constraints.append(changeable.contacts[name].closed(how == "sticks", sliding.get(name), without))
        stops = (changeable.contacts[name] for name in touched)
        stopped = {c.coordinate for c in stops if isinstance(c, JointStop)}  # held already: a second row depends on it
        constraints += [changeable.frictions[name].held() for name in mode.sticking if name not in stopped]
        moving = [f for name, f in changeable.frictions.items() if name not in mode.sticking]
        other.description = replace(
            d,
            constraints=tuple(constraints),
            forces=(*d.forces, *changeable.more_forces, *(f.sliding(other.number("sign", f.velocity)) for f in moving)),
            loaded=tuple(Loaded(f, other.number("sign", f.velocity)) for f in moving if f.law.load > 0.0),
            sliding=tuple(Sliding(changeable.contacts[name], sliding[name]) for name in touched if name in sliding),
            shared=changeable.shared(mode, sliding),
            parameters={**d.parameters, NUMBERS: numbers} if other.size else d.parameters,
        )
        if other.size:
            use_parameters(other, {**base.parameters, NUMBERS: np.zeros(other.size)})
            other.p_names = [*base.p_names, *(f"{NUMBERS}[{k}]" for k in range(other.size))]
            other.changed = None  # phases are made within a call: what it uses is settled before
        return other

    def resolve(self, state: Any, u: Any, p: Any, *, search: bool = False) -> tuple[State, Any, Any]:
        """As `System.resolve`; parameters of a phase, with its numbers, are those of the run."""
        return super().resolve(state, u, p, search=search) if p is None else (self.bare(state), u, p)

    def belonging(self, x: State, p: Any, u: np.ndarray | None = None) -> State:
        """A state as one of parameters p, without the numbers of the phase: states are the mechanism's."""
        base = self.changeable.base
        return base.belonging(x, None if p is None else p[: len(base.p_names)], u)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.changeable.base, self.changeable.stops, self.mode)

    size: int
    numbers: ca.SX

    def _place(self) -> None:
        """The places of numbers, and the events."""
        c, mode, touched = self.changeable, self.mode, self.mode.touched
        sizes: dict[tuple[str, str], int] = {}
        watched: list[tuple[str, str]] = []
        for name, contact in c.contacts.items():
            how = touched.get(name)
            if name in mode.waiting:
                watched.append(("loads", name))
                continue
            if how is None:
                sizes["offset", name] = 1
                watched += [("closes", name), ("turns", name)]
                continue
            watched.append(("opens", name))
            if how == "slides":
                sizes["aim", name] = len(contact.slip_names)
                sizes["offset", name] = sizes["begins", name] = sizes["start", name] = 1
                watched.append(("stops", name))
            elif how == "sticks":
                watched.append(("slips", name))
        for name in c.frictions:
            if name in mode.sticking:
                watched.append(("slips", name))
            else:
                sizes["sign", name] = sizes["offset", name] = 1
                watched.append(("stops", name))
        watched += [("jams", name) for name, how in mode.touching if how == "slides"][:1]
        self.places, at = {}, 0
        for key, n in sizes.items():
            self.places[key] = slice(at, at + n)
            at += n
        self.size, self.watched = at, tuple(watched)

    def contact_forces(self, s: Trace) -> np.ndarray:
        """(k,) multipliers of the rows `contact_rows`, from those of the rows of the system."""
        shared = Sharing(s).spread(s.lam[: len(s.rows.of)])
        return array([shared[name] for name in self.contact_rows])

    @cached_property
    def contact_rows(self) -> tuple[str, ...]:
        """The rows of contacts that bear, where some are redundant."""
        own = zip(self.rows.names, self.rows.of)
        return (*(name for name, of in own if of in self.mode.touched), *self.mode.shared) if self.mode.shared else ()

    def number(self, what: str, of: str) -> ca.SX:
        """One of the numbers of a phase, as a symbol."""
        return self.numbers[self.places[what, of]]

    def vector(self, values: Mapping[tuple[str, str], Any]) -> np.ndarray:
        """(size,) the numbers of a phase; those that are not given are 0."""
        out = np.zeros(self.size)
        for key, where in self.places.items():
            if key in values:
                out[where] = values[key]
        return out

    def _direction(self, name: str) -> Callable[[UserState], dict[str, Any]]:
        """The unit vector in which a contact slides: that of its slip, or at its beginning that of its aim."""
        contact, aim = self.changeable.contacts[name], self.number("aim", name)

        def direction(s: UserState) -> dict[str, Any]:
            slips = contact.slips(s)
            moving = {n: x for n, x in slips.items() if not x.is_zero()}
            names = list(slips)
            if len(moving) == 1:
                (only,) = moving
                return {only: aim[names.index(only)]}
            d = ca.vertcat(*slips.values()) + aim * self.number("start", name)
            d = d / ca.norm_2(d)
            return {n: d[k] for k, n in enumerate(names)}

        return direction

    def events(self, s: Trace) -> np.ndarray:
        """Values that fall through zero where the structure has to change, in the order of `watched`."""
        user, d = s.state.user(), RowDerivatives(s.state)
        contacts, frictions = self.changeable.contacts, self.changeable.frictions
        vdot: Any = ()
        lam: Any = ()
        if s.rows.of:
            vdot, lam, _ = eliminate(mass_factor(s.at), forces(s), s.rows.A, s.rows.gamma)
        sharing = Sharing(s)
        known = sharing.spread(lam)

        def multiplier(row: str) -> ca.SX:
            return ca.SX(getattr(x := known[row], "sx", x)) if row in known else ca.SX(0)

        out: list[ca.SX] = []
        for kind, name in self.watched:
            contact = contacts.get(name)
            if kind == "closes" and contact is not None:
                out.append(contact.gap(user) + self.number("offset", name))
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
                slip, aim = ca.vertcat(*contact.slips(user).values()), self.number("aim", name)
                new, size = self.number("begins", name), ca.norm_2(slip)
                fell = (1 - new) * (ca.dot(slip, aim) - 0.5 * size) - new * size
                one = sum(not x.is_zero() for x in contact.slips(user).values()) < 2
                out.append((ca.dot(slip, aim) if one else fell) + self.number("offset", name))
            else:
                out.append(self.number("sign", name) * user.rate(name) + self.number("offset", name))
        return array(ca.vertcat(*out)).ravel() if out else np.zeros(0)


def _again(base: System, stops: Stops | None, mode: Mode) -> PhaseSystem:
    return PhaseSystem.of(Changeable.of(base, stops), mode)
