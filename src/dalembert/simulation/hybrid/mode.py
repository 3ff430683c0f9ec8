"""Modes: which constraints hold and which contacts touch, and the parts of a system that can change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.contacts import DryFriction, OneSided
from dalembert.mechanism.contacts.stop import JointStop, Stops
from dalembert.mechanism.touching import compliant_stops, dry_frictions, one_sided
from dalembert.rank import angular_velocities, rank_policy, reach
from dalembert.recursions.momentum import kinetic_energy
from dalembert.system.functions import potential
from dalembert.system.kernels import Kernels
from dalembert.system.sharing import Shared
from dalembert.system.stepping import equations
from dalembert.system.system import System, redescribed

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

MEASURED = 64  # sets of parameters whose measures are kept


@dataclass(frozen=True)
class HybridMode:
    """Which constraints hold, which contacts touch and how, which joints stick."""

    held: tuple[str, ...]  # constraints, in the order of the mechanism
    touching: tuple[tuple[str, str], ...] = ()  # (contact, "smooth", "sticks" or "slides")
    sticking: tuple[str, ...] = ()  # velocities whose dry friction holds them; the others slide
    shared: tuple[str, ...] = ()  # rows of contacts that touch, "floor.gap", which depend on others: no rows of a phase
    waiting: tuple[str, ...] = ()  # contacts closed by others that bear, without bearing themselves
    given: tuple[str, ...] = ()  # of `sticking`, those that depend on others: their friction is a number of the phase

    @property
    def touched(self) -> dict[str, str]:
        """How each contact that touches does."""
        return dict(self.touching)

    def open(self, changeable: Changeable) -> list[str]:
        """Contacts that are open."""
        closed = {name for name, _ in self.touching}.union(self.waiting)
        return [name for name in changeable.contacts if name not in closed]

    def dependent(self, contact: str) -> tuple[str, ...]:
        """The rows of a contact that depend on others, by their names within it."""
        return tuple(row.rpartition(".")[2] for row in self.shared if row.rpartition(".")[0] == contact)


class KernelsOfAllRows(Kernels):
    """Those of a system with every row there may be."""

    system: AllRows

    @cached_property
    def digest(self) -> str | None:
        """That of the base: its description tells of contacts and of friction too."""
        found = self.system.base.kernels.digest
        return None if found is None else f"{found} and every row {self.system.stops!r}"


class AllRows(System):
    """A system with every row there may be."""

    base: System
    stops: Stops | None

    @cached_property
    def program(self) -> Kernel:
        """q̇, powers, M, f, A, γ, Φ, A v + b, −b, kinetic and potential energy.

        All modes are selections from it: nothing is traced or compiled when the mode changes.
        """
        return self.kernels.custom(
            ("program",),
            ("q", "v", "u", "p", "t"),
            lambda s: (*equations(s), kinetic_energy(s.at), potential(s)),
        )

    def at(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray, t: float) -> tuple[Any, ...]:
        """The program at a state."""
        given = {"q": q, "v": v, "u": u, "p": p, "t": np.array([t])}
        return self.program(*[given[name] for name in self.program.names_in])

    def row_sizes(self, q: np.ndarray, p: np.ndarray, t: float) -> tuple[np.ndarray, ...]:
        """As the kernel "row_sizes", of q (N, nq) and p (N, np), from the program."""
        turning, out = angular_velocities(self), []
        for q_k, p_k in zip(q, p):
            M, _, A = self.at(q_k, np.zeros(self.nv), np.zeros(len(self.u_names)), p_k, t)[2:5]
            squares, least = np.full(len(A), np.nan), -1.0
            with suppress(np.linalg.LinAlgError):
                squares, least = np.square(np.linalg.solve(np.linalg.cholesky(M), A.T)).sum(axis=0), 1.0
            angles = np.square(A[:, turning])
            arms = angles.max(axis=1, initial=0.0)
            out.append((squares, angles.sum(axis=1), np.square(A[:, ~turning]).sum(axis=1), arms, np.array([least])))
        return tuple(np.stack(x) for x in zip(*out))


@dataclass(frozen=True, eq=False)
class RowMeasures:
    """By what speeds and rows of a mechanism with certain parameters are measured."""

    units: np.ndarray  # (m,) 1 rad, or the length of the mechanism: of each row
    usual: np.ndarray  # (m,) usual length of each row in the mass metric
    reach: np.ndarray  # (nv,) how far a velocity may lead in unit time


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
        return system.memo(("changeable", stops), lambda: Changeable._of(system, stops))

    @staticmethod
    def _of(system: System, stops: Stops | None) -> Changeable:
        m, joints = system.layout.mechanism, list(system.layout.joints.values())
        contacts = {c.name: c for c in one_sided(m, joints, stops)}
        return Changeable(system, contacts, {f.velocity: f for f in dry_frictions(m, joints)}, stops)

    @cached_property
    def compliance(self) -> dict[str, float]:
        """Of the rows of each contact, beside those of others: equal springs, of angles at the mechanism's length."""
        return {name: self.base.layout.length**-2 if c.angular else 1.0 for name, c in self.contacts.items()}

    @cached_property
    def everything(self) -> AllRows:
        """The system with every row there may be, for what is decided between segments."""
        known = self.base.layout.mechanism.constraints
        d = self.base.description
        rows = (
            *known.values(),
            *(c.closed(sticking=c.static > 0.0) for c in self.contacts.values()),
            *(f.held() for f in self.frictions.values()),
        )
        forces = (*d.forces, *self.more_forces) if self.more_forces else d.forces
        found = redescribed(self.base, replace(d, constraints=rows, forces=forces), AllRows, kernels=KernelsOfAllRows)
        found.base, found.stops = self.base, self.stops
        return found

    @cached_property
    def _measures(self) -> dict[bytes, RowMeasures]:
        return {}

    def measures(self, p: np.ndarray) -> RowMeasures:
        """Of `everything` with parameters p."""
        key = p.tobytes()
        found = self._measures.get(key)
        if found is None:
            policy, angular = rank_policy(self.everything, p), self.everything.rows.angular
            found = RowMeasures(np.where(angular, 1.0, policy.length), policy.sizes, reach(self.everything, p))
            if len(self._measures) >= MEASURED:
                self._measures.clear()
            self._measures[key] = found
        return found

    @property
    def program(self) -> Kernel:
        """The program of `everything`."""
        return self.everything.program

    @cached_property
    def row_index(self) -> dict[str, int]:
        """The rows of `everything` by name."""
        return {name: k for k, name in enumerate(self.everything.rows.names)}

    @cached_property
    def gap_row(self) -> dict[str, int]:
        """The row of the gap of each contact."""
        return {name: self.row_index[f"{name}.gap"] for name in self.contacts}

    @cached_property
    def row_names(self) -> list[str]:
        """The names of the rows of `everything`."""
        return list(self.everything.rows.names)

    @cached_property
    def lengths(self) -> tuple[float, ...]:
        """Lengths in the description, m: of bodies, joints and contacts."""
        layout, ground = self.base.layout, self.base.layout.mechanism.ground
        known: list[Any] = [x for body in layout.bodies.values() for x in body.com]
        known += [x for j in layout.joints.values() for x in (*j.parent.T.p, *j.child.T.p)]
        for contact in self.contacts.values():
            known += [getattr(contact, name, 0.0) for name in ("radius", "length")]
            known += [x for sizes in ("size", "on_size") for x in getattr(contact, sizes, ())]
            moving = (f for f in contact.frames if f.body.name in layout.bodies and f.body is not ground)
            known += [x for f in moving for x in f.T.p]
        return tuple(abs(x) for x in known if isinstance(x, float))

    @cached_property
    def slip_rows(self) -> dict[str, list[int]]:
        """Rows of the slips of each contact, without those that always hold."""
        known = self.row_index
        return {
            name: [known[row] for slip in c.slip_names if (row := f"{name}.{slip}") in known]
            for name, c in self.contacts.items()
        }

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """The rows of each element of `everything`."""
        out: dict[str, list[int]] = {}
        for k, name in enumerate(self.everything.rows.of):
            out.setdefault(name, []).append(k)
        return out

    @cached_property
    def friction_rows(self) -> dict[str, int]:
        """The row of each joint that can stick, by its velocity."""
        return {name: self.row_index[f"{f.name}.stick"] for name, f in self.frictions.items()}

    def friction_row(self, velocity: str) -> int:
        """The row of a joint that sticks."""
        return self.friction_rows[velocity]

    def chosen(self, mode: HybridMode) -> tuple[int, ...]:
        """The rows of `everything` that are constraints of a mode: without those of contacts that depend on others."""
        out = [k for name in mode.held for k in self.rows_of.get(name, ())]
        for name, how in mode.touching:
            without = mode.dependent(name)
            rows = [self.gap_row[name], *(self.slip_rows[name] if how == "sticks" else ())]
            out += [k for k in rows if self.everything.rows.named[k] not in without]
        return (*out, *(self.friction_row(name) for name in self.held_joints(mode)))

    def held_joints(self, mode: HybridMode) -> list[str]:
        """Joints whose friction holds them, without those that a stop holds already: a second row depends on it."""
        stops = (self.contacts[name] for name in mode.touched)
        stopped = {c.coordinate for c in stops if isinstance(c, JointStop)}
        return [name for name in mode.sticking if name not in stopped and name not in mode.given]

    def shared(self, mode: HybridMode, sliding: Mapping[str, Any]) -> tuple[Shared, ...]:
        """Contacts that touch, where some rows of theirs depend on others; sliding: directions of those that slide."""
        if not mode.shared and not mode.waiting:
            return ()
        known = self.contacts
        bearing = (
            Shared(known[n].closed(how == "sticks", sliding.get(n)), mode.dependent(n), self.compliance[n])
            for n, how in mode.touching
        )
        waiting = (Shared(known[n].closed(), ("gap",), self.compliance[n], bears=False) for n in mode.waiting)
        return *bearing, *waiting

    @cached_property
    def more_forces(self) -> tuple[Any, ...]:
        """Compliant stops that were asked for in the run."""
        if self.stops is None or self.stops.stiffness == 0.0:
            return ()
        free = [a for a in self.base.layout.joints.values() if a.stops is None]
        return compliant_stops(free, self.stops)
