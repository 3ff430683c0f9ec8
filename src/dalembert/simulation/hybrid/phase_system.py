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
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.simulation.hybrid.guards import guards_of
from dalembert.simulation.hybrid.mode import AllRows, Changeable, HybridMode
from dalembert.simulation.run.segment import Cause
from dalembert.symbols import array
from dalembert.system.rows import RowChoice, RowNames
from dalembert.system.sharing import Sharing
from dalembert.system.sliding import Loaded, Sliding
from dalembert.system.state import State
from dalembert.system.system import System, redescribed, use_parameters
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

NUMBERS = "phase numbers"  # the parameter that holds the numbers of a phase: signs, directions, offsets


#: functions that the program has, and others that depend on neither rows nor friction
OF_PROGRAM = ("mass_matrix", "constraints", "residuals", "gamma")
OF_ALL_MODES = (
    "mass_matrix", "mass_times", "mass_diagonal", "plus", "minus", "rates", "kinetic_energy", "potential_energy",
    "pose", "twist", "jacobian", "bias", "gravity_vector", "coriolis_vector", "momentum", "center_of_mass",
)  # fmt: skip


class SelectedRows:
    """The kernel "constraints" of a mode, called as one: Φ, A and b of rows selected from the program."""

    names_in = ("q", "p", "t")

    def __init__(self, whole: AllRows, chosen: tuple[int, ...]):
        self.whole, self.chosen = whole, list(chosen)

    def __call__(self, q: np.ndarray, p: np.ndarray, t: Any) -> tuple[np.ndarray, ...]:
        """At a position."""
        v, u, own = np.zeros(self.whole.nv), np.zeros(len(self.whole.u_names)), p[: len(self.whole.p_names)]
        _, A, _, phi, _, b = self.whole.at(q, v, u, own, float(np.ravel(t)[0]))[3:9]
        return phi[self.chosen], A[self.chosen], -b[self.chosen]

    def batch(self, q: np.ndarray, p: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """At several positions."""
        t = np.broadcast_to(np.reshape(t, -1), len(q))
        found = [self(q[k], p if p.ndim == 1 else p[k], t[k]) for k in range(len(q))]
        return tuple(np.array(x) for x in zip(*found))


class PhaseSystem(System):
    """A system in a mode: its constraints are those that hold, its forces have the friction of what slides.

    It has one parameter more than its mechanism, `NUMBERS`: signs, directions and offsets that differ between phases.
    """

    is_described = False  # its mode is not part of the description
    changeable: Changeable
    mode: HybridMode
    places: dict[tuple[str, str], slice]  # of its numbers, by what they are and of what
    watched: tuple[Cause, ...]  # its guards

    @staticmethod
    def of(changeable: Changeable, mode: HybridMode) -> PhaseSystem:
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
        """The places of numbers, and the guards."""
        self.watched, sizes = guards_of(self.changeable, self.mode)
        self.places, self.size = {}, 0
        for key, n in sizes.items():
            self.places[key] = slice(self.size, self.size + n)
            self.size += n

    # --- as a selection from all rows ------------------------------------------------------------------------------

    @cached_property
    def selected_from(self) -> tuple[AllRows, tuple[int, ...]] | None:
        """The system with all rows, and the rows of it that hold; None where friction depends on reactions of joints.

        Then nothing is traced to run in a mode: what depends on rows is a selection of theirs, the rest is the same.
        """
        if any(f.law.load > 0.0 for f in self.changeable.frictions.values()):
            return None
        return self.changeable.everything, self.changeable.chosen(self.mode)

    @cached_property
    def _facts(self) -> tuple[RowNames, tuple[str, ...]]:
        if self.selected_from is None:
            return super()._facts
        whole, chosen = self.selected_from
        mode, names, held = self.mode, whole.rows, set(self.mode.held)
        how = mode.touched
        joints = {self.changeable.frictions[name].name for name in self.changeable.held_joints(mode)}

        def has(of: str, row: str) -> bool:
            touches = of in how and (row == "gap" or how[of] == "sticks") and row not in mode.dependent(of)
            return of in held or of in joints or touches

        signs = [k for k, of in enumerate(names.branch_of) if of in held]
        rows = replace(
            names.only(chosen),
            left_out=tuple(pair for pair in names.left_out if has(*pair)),
            branch_of=tuple(names.branch_of[k] for k in signs),
            branch_signs=tuple(names.branch_signs[k] for k in signs),
        )
        works = [n for n in ("inputs", "forces", "drivers") if n in whole.work_names or (n == "forces" and self.loses)]
        return rows, tuple(works)

    @property
    def loses(self) -> bool:
        """Whether something slides against friction."""
        moving = [f for name, f in self.changeable.frictions.items() if name not in self.mode.sticking]
        return any(f.slows for f in moving) or "slides" in self.mode.touched.values()

    def mass_matrix(self, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
        """M(q), (nv, nv)."""
        return self.evaluate("mass_matrix", state, p=p)

    def kernel(
        self, name: str, *, frame: Any = None, axes: str = "body", rows: RowChoice = None, lanes: int = 1
    ) -> Kernel:
        """As `System.kernel`; those that depend neither on rows nor on friction are those of all modes."""
        if (
            name in OF_ALL_MODES
            and rows is None
            and self.selected_from is not None
            and not self.changeable.base.p_names
        ):
            return self.selected_from[0].kernel(name, frame=frame, axes=axes, lanes=lanes)
        if name == "constraints" and rows is None and self.selected_from is not None:
            kernel: Any = SelectedRows(*self.selected_from)
            return kernel
        return super().kernel(name, frame=frame, axes=axes, rows=rows, lanes=lanes)

    def evaluate(
        self, name: str, state: StateGiven, *, frame: Any = None, axes: str = "body", rows: RowChoice = None,
        u: Inputs = None, p: Parameters = None, **more: Any,
    ) -> Any:  # fmt: skip
        """As `System.evaluate`; rows are selected from those of all modes."""
        if self.selected_from is None or name not in (*OF_PROGRAM, *OF_ALL_MODES, "branch"):
            return super().evaluate(name, state, frame=frame, axes=axes, rows=rows, u=u, p=p, **more)
        whole, chosen = self.selected_from
        own = None if p is None else self.parameter_vector(p)[: len(whole.p_names)]
        x = self.as_state(state)
        if x.p is not None and len(x.p) != len(whole.p_names):
            x = self.belonging(x, own)
        if name in OF_PROGRAM:
            x, _, given = whole.resolve(x, None, own)
            found = whole.at(x.q, x.v, np.zeros(len(whole.u_names)), whole.parameter_vector(given), x.t)
            M, _, A, gamma, phi, speed, b = found[2:9]
            if name == "mass_matrix":
                return M
            kept = list(chosen if rows is None else (chosen[k] for k in rows))
            known = {"constraints": (phi, A, -b), "residuals": (phi, speed), "gamma": (gamma,)}[name]
            return tuple(y[kept] for y in known) if len(known) > 1 else known[0][kept]
        found = whole.evaluate(name, x, frame=frame, axes=axes, p=own, **more)
        if name == "branch":
            return found[[k for k, of in enumerate(whole.rows.branch_of) if of in self.mode.held]]
        return found

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
    return changeable.base.keep(("phase", changeable.stops, mode), lambda: PhaseSystem.of(changeable, mode))


def _again(base: System, stops: Stops | None, mode: HybridMode) -> PhaseSystem:
    return PhaseSystem.of(Changeable.of(base, stops), mode)
