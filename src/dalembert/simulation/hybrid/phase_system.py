"""The system in a mode: what a segment of a hybrid run integrates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.contacts.stop import Stops
from dalembert.mechanism.traced import UserState
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.hybrid.guards import guards_of
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.hybrid.phase_parts import ArgumentsOfPhase, KernelsOfPhase
from dalembert.simulation.run.segment import Cause
from dalembert.symbols import array
from dalembert.system.sharing import Sharing
from dalembert.system.sliding import Loaded, Sliding
from dalembert.system.system import System, redescribed, use_parameters
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    pass

NUMBERS = "phase numbers"  # the parameter that holds the numbers of a phase: signs, directions, offsets


class PhaseSystem(System):
    """A system in a mode: its constraints are those that hold, its forces have the friction of what slides.

    It has one parameter more than its mechanism, `NUMBERS`: signs, directions and offsets that differ between phases.
    """

    changeable: Changeable
    mode: HybridMode
    places: dict[tuple[str, str], slice]  # of its numbers, by what they are and of what
    watched: tuple[Cause, ...]  # its guards

    @staticmethod
    def of(changeable: Changeable, mode: HybridMode) -> PhaseSystem:
        """The system in a mode."""
        base = changeable.base
        other = redescribed(base, base.description, PhaseSystem, ArgumentsOfPhase, KernelsOfPhase)
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
        constraints += [changeable.frictions[name].held() for name in changeable.held_joints(mode)]
        moving = [f for name, f in changeable.frictions.items() if name not in mode.sticking]
        other.description = replace(
            d,
            constraints=tuple(constraints),
            forces=(
                *d.forces,
                *changeable.more_forces,
                *(f.sliding(other.number("sign", f.velocity)) for f in moving),
                *(changeable.frictions[name].sticking(other.number("force", name)) for name in mode.given),
            ),
            loaded=tuple(Loaded(f, other.number("sign", f.velocity)) for f in moving if f.law.load > 0.0),
            sliding=tuple(Sliding(changeable.contacts[name], sliding[name]) for name in touched if name in sliding),
            shared=changeable.shared(mode, sliding),
            parameters={**d.parameters, NUMBERS: numbers} if other.size else d.parameters,
        )
        if other.size:
            use_parameters(other, {**base.parameters, NUMBERS: np.zeros(other.size)})
            other.p_names = [*base.p_names, *(f"{NUMBERS}[{k}]" for k in range(other.size))]
            other.arguments.changed = None  # phases are made within a call: what it uses is settled before
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.changeable.base, self.changeable.stops, self.mode)

    size: int
    numbers: ca.SX

    def _place(self) -> None:
        """The places of numbers, and the guards."""
        self.watched, sizes = guards_of(self.changeable, self.mode)
        self.places, self.size = {}, 0
        for key, n in sizes.items():
            self.places[key] = slice(self.size, self.size + n)
            self.size += n

    @property
    def loses(self) -> bool:
        """Whether something slides against friction."""
        moving = [f for name, f in self.changeable.frictions.items() if name not in self.mode.sticking]
        return any(f.slows for f in moving) or "slides" in self.mode.touched.values()

    def mass_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """M(q), (nv, nv)."""
        return self.evaluate("mass_matrix", state, p=p)

    # --- traced, for singular positions, derivatives and reactions --------------------------------------------------

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

    def numbers_in(self, p: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
        """The numbers of a phase with parameters p, as `vector` places them."""
        own = p[len(self.changeable.base.p_names) :]
        return {key: own[place] for key, place in self.places.items()}

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


def system_in(changeable: Changeable, mode: HybridMode) -> PhaseSystem:
    """The system in a mode, kept with the system it is of."""
    return changeable.base.memo(("phase", changeable.stops, mode), lambda: PhaseSystem.of(changeable, mode))


def _again(base: System, stops: Stops | None, mode: HybridMode) -> PhaseSystem:
    return PhaseSystem.of(Changeable.of(base, stops), mode)
