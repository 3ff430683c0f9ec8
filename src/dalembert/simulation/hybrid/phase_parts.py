"""The parts of a system in a mode: its arguments, and its kernels as a selection from those of all modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.simulation.hybrid.mode import AllRows
from dalembert.system.arguments import Arguments
from dalembert.system.kernels import NONE, Kernels
from dalembert.system.rows import RowChoice, RowNames
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.simulation.hybrid.phase_system import PhaseSystem

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


class ArgumentsOfPhase(Arguments):
    """Those of a system in a mode, whose states are the mechanism's."""

    system: PhaseSystem

    def resolve(
        self, state: StateGiven, u: Inputs, p: Parameters, *, search: bool = False
    ) -> tuple[State, Inputs, Parameters]:
        """As `Arguments.resolve`; parameters of a phase, with its numbers, are those of the run."""
        return super().resolve(state, u, p, search=search) if p is None else (self.bare(state), u, p)

    def belonging(self, x: State, p: Any, u: np.ndarray | None = None) -> State:
        """A state as one of parameters p, without the numbers of the phase."""
        base = self.system.changeable.base
        return base.arguments.belonging(x, None if p is None else p[: len(base.p_names)], u)


class KernelsOfPhase(Kernels):
    """Those of a system in a mode: what depends on rows is a selection of theirs, the rest is the same."""

    system: PhaseSystem
    described = False  # the mode is not part of the description

    @cached_property
    def selected_from(self) -> tuple[AllRows, tuple[int, ...]] | None:
        """The system with all rows, and the rows of it that hold; None where friction depends on reactions of joints.

        Then nothing is traced to run in a mode: what depends on rows is a selection of theirs, the rest is the same.
        """
        if any(f.law.load > 0.0 for f in self.system.changeable.frictions.values()):
            return None
        return self.system.changeable.everything, self.system.changeable.chosen(self.system.mode)

    @cached_property
    def facts(self) -> tuple[RowNames, tuple[str, ...]]:
        if self.selected_from is None:
            return super().facts
        whole, chosen = self.selected_from
        mode, names, held = self.system.mode, whole.rows, set(self.system.mode.held)
        how = mode.touched
        joints = {self.system.changeable.frictions[name].name for name in self.system.changeable.held_joints(mode)}

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
        works = [
            n for n in ("inputs", "forces", "drivers") if n in whole.work_names or (n == "forces" and self.system.loses)
        ]
        return rows, tuple(works)

    def kernel(
        self, name: str, frame: Any = None, axes: str = "body", rows: RowChoice = None, lanes: int = 1
    ) -> Kernel:
        """As `System.kernel`; those that depend neither on rows nor on friction are those of all modes."""
        selected = self.selected_from if rows is None else None
        if selected is not None and name in OF_ALL_MODES and not self.system.changeable.base.p_names:
            return selected[0].kernels.kernel(name, frame, axes, None, lanes)
        if selected is not None and name == "constraints":
            kernel: Any = SelectedRows(*selected)
            return kernel
        return super().kernel(name, frame, axes, rows, lanes)

    def evaluate(
        self, name: str, state: StateGiven, frame: Any = None, axes: str = "body", rows: RowChoice = None,
        u: Inputs = None, p: Parameters = None, more: Mapping[str, Any] = NONE,
    ) -> Any:  # fmt: skip
        """As `System.evaluate`; rows are selected from those of all modes."""
        if self.selected_from is None or name not in (*OF_PROGRAM, *OF_ALL_MODES, "branch"):
            return super().evaluate(name, state, frame, axes, rows, u, p, more)
        arguments, (whole, chosen) = self.system.arguments, self.selected_from
        own = None if p is None else arguments.parameter_vector(p)[: len(whole.p_names)]
        x = arguments.as_state(state)
        if x.p is not None and len(x.p) != len(whole.p_names):
            x = arguments.belonging(x, own)
        if name in OF_PROGRAM:
            x, _, given = whole.arguments.resolve(x, None, own)
            vector = whole.arguments.parameter_vector(given)
            M, _, A, gamma, phi, speed, b = whole.at(x.q, x.v, np.zeros(len(whole.u_names)), vector, x.t)[2:9]
            if name == "mass_matrix":
                return M
            kept = list(chosen if rows is None else (chosen[k] for k in rows))
            known = {"constraints": (phi, A, -b), "residuals": (phi, speed), "gamma": (gamma,)}[name]
            return tuple(y[kept] for y in known) if len(known) > 1 else known[0][kept]
        found = whole.kernels.evaluate(name, x, frame, axes, p=own, more=more)
        if name == "branch":
            return found[[k for k, of in enumerate(whole.rows.branch_of) if of in self.system.mode.held]]
        return found
