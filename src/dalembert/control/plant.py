"""The model behind a controller: one kernel with M, f, A, γ, the actuators' B, the task's θ, θ̇, J, J̇v, and measures S.

All from one pass over the tree, at u = 0: f = Q(q, v, 0) − h. The equations are M v̇ = f + B u + Aᵀλ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.control.measures import Measure, checked_measures, traced_measures
from dalembert.control.task import Task, as_task, row_periods
from dalembert.errors import ArgumentError, unknown
from dalembert.native.bound import Bound
from dalembert.protocols import Parameters, check_system
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import array, to_sx, zeros
from dalembert.system.functions import input_matrix, unled
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace


@dataclass(frozen=True)
class Actuators:
    """The forces at hand, by name: inputs of the mechanism, or ideal motors along velocities."""

    names: tuple[str, ...]
    inputs: tuple[int, ...]  # index in system.u_names, or −1
    velocities: tuple[int, ...]  # index in system.v_names, or −1

    @staticmethod
    def of(system: System, actuated: Iterable[str] | None) -> Actuators:
        """Named inputs, joints or velocities; default: the inputs, or every velocity where there are none."""
        if isinstance(actuated, str):
            actuated = [actuated]
        if not (actuated is None or isinstance(actuated, (list, tuple, set, frozenset, Mapping))):
            raise ArgumentError(f"actuated is {shown(actuated)}; needed: a list of inputs, joints or velocities.")
        names = list(actuated) if actuated is not None else (system.u_names or system.v_names)
        found: list[tuple[str, int, int]] = []
        for name in names:
            found += _find(system, name)
        chosen = [name for name, _, _ in found]
        if len(set(chosen)) < len(chosen):
            raise ArgumentError(f"actuated names '{max(chosen, key=chosen.count)}' twice.")
        return Actuators(tuple(chosen), tuple(i for _, i, _ in found), tuple(j for _, _, j in found))

    def matrix(self, s: Trace) -> np.ndarray:
        """B, (nv, na), traced."""
        given = input_matrix(s) if any(i >= 0 for i in self.inputs) else None
        out = zeros(s.tree.nv, len(self.names))
        for k, (i, j) in enumerate(zip(self.inputs, self.velocities)):
            if given is not None and i >= 0:
                out[:, k] = given[:, i]
            else:
                out[j, k] = 1.0
        return out


def _find(system: System, name: str) -> list[tuple[str, int, int]]:
    layout, inputs = system.layout, system.arguments.input_sizes
    if not isinstance(name, str):
        raise ArgumentError(f"actuated holds {shown(name)}; needed: names of inputs, joints or velocities.")
    if name in system.description.prescribed:  # the force of its drive
        return [(name, -1, system.description.prescribed[name])]
    if name in system.u_names:
        return [(name, system.u_names.index(name), -1)]
    if name in inputs:
        return [(f"{name}[{k}]", system.u_names.index(f"{name}[{k}]"), -1) for k in range(inputs[name])]
    if name in system.v_names:
        return [(name, -1, system.v_names.index(name))]
    if name in layout.joints:
        where = range(system.nv)[layout.v_slice(name)]
        return [(system.v_names[j], -1, j) for j in where]
    raise unknown("input, joint or velocity", name, [*system.u_names, *layout.joints, *system.v_names], "actuated")


class Plant:
    """A system with its actuators and a task, compiled into one kernel (see the head of this file)."""

    def __init__(
        self,
        system: System,
        actuated: Iterable[str] | None = None,
        task: Task | None = None,
        p: Parameters = None,
        measures: Mapping[str, Measure] | None = None,
    ):
        check_system(system)
        self.measures = checked_measures(system, measures)
        self.system, self.task = system, Task({}) if task is None else as_task(task)
        self.actuators = Actuators.of(system, actuated)
        if not self.actuators.names:
            raise ArgumentError(
                f"'{system.name}' has nothing that is actuated; name inputs or joints in actuated=[...]."
            )
        key = ("plant", self.actuators, tuple(self.task.rows.items()), tuple(self.measures.values()))
        self.kernel = system.kernels.custom(key, ("q", "v", "p", "t"), self._value)
        self.nq, self.n, self.m = system.nq, system.nv, len(system.rows.of)
        self.na, self.nt, self.nm = len(self.actuators.names), len(self.task.names), len(self.measures)
        self.force_names = (*system.row_names, *self.measures)
        self.periods = row_periods(self.task)
        self.p = np.array(system.arguments.parameter_vector(p))
        self._all_inputs = self.actuators.inputs == tuple(range(len(system.u_names)))

    def bound(self) -> Bound:
        """The kernel with memory of its own, its parameters filled in."""
        return Bound.of(self.kernel, {"p": self.p})

    def _value(self, s: Trace) -> tuple[Any, ...]:
        u = s.sx["u"]
        M, f, A, gamma = unled(s)
        rest = array(ca.densify(ca.substitute(to_sx(f), u, ca.SX.zeros(u.shape)))) if u.numel() else f
        rows = self.task.traced(s.state.layout).rows(s.state)
        J = Sparse([row.A for row in rows], s.tree.nv).dense()
        theta, rate, bias = zeros(len(rows)), zeros(len(rows)), zeros(len(rows))
        for k, row in enumerate(rows):
            theta[k], rate[k], bias[k] = row.phi, row.times(s.v) + row.b, row.gamma
        S = traced_measures(s, self.measures.values())
        return M, rest, A, gamma, self.actuators.matrix(s), theta, rate, J, bias, S

    def measured(self, state: State) -> State:
        """A state as a run gives it: of this mechanism, or of another with as many coordinates and velocities."""
        if state.__class__ is State and len(state.q) == self.nq and len(state.v) == self.n:
            return state
        return self.system.arguments.as_state(state)

    def task_values(self, t: float, state: State) -> tuple[np.ndarray, np.ndarray]:
        """θ and θ̇, (nt,) each."""
        values = self.values(t, state)
        return values[5], values[6]

    def short_way(self, e: np.ndarray) -> np.ndarray:
        """Errors of the task, (nt,), those of turns about one axis without whole turns."""
        turns = self.periods > 0.0
        return e - self.periods * np.round(e / np.where(turns, self.periods, 1.0)) if turns.any() else e

    def values(self, t: float, state: State) -> tuple[np.ndarray, ...]:
        """M, f, A, γ, B, θ, θ̇, J, J̇v and S at a time and a state."""
        given = {"q": state.q, "v": state.v, "p": self.p, "t": np.array([t], dtype=float)}
        return self.kernel(*(given[name] for name in self.kernel.names_in))

    def inputs(self, u: np.ndarray) -> np.ndarray:
        """(nu,) in the order of `system.u_names`, from what the actuators do; the others are zero."""
        if self._all_inputs:
            return u.copy()
        out = np.zeros(len(self.system.u_names))
        out[list(self.actuators.inputs)] = u
        return out

    def check_inputs(self, what: str) -> None:
        """Refuse actuators that a simulation cannot drive."""
        led = [name for name in self.actuators.names if name in self.system.description.prescribed]
        if led:
            raise ArgumentError(
                f"{what} finds forces, and '{led[0]}' is a kinematic input: an acceleration. Name the motors it may "
                "use in actuated=[...], lead the coordinate by control.lead, or design a regulator with linearize."
            )
        ideal = [n for n, i in zip(self.actuators.names, self.actuators.inputs) if i < 0]
        if ideal:
            raise ArgumentError(
                f"{what} drives '{ideal[0]}', which is no input of '{self.system.name}'; inputs are: "
                f"{', '.join(self.system.u_names) or 'none'}. Add one with mechanism.add_motor(name, joint)."
            )
