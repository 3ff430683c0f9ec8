"""Projected inverse-dynamics control: motion (Aghili 43-44), constraint forces (49-50), both (52), passive joints (60).

    θ̈ = θ̈_d + G_D ė + G_P e,  e = θ_d − θ                               so that ë + G_D ė + G_P e = 0           (45)
    λ = λ_d + G_F e_λ + G_I ∫e_λ,  e_λ = λ_d − λ                         so that (1 + G_F) ė_λ + G_I e_λ = 0     (50)

The motion has priority; constraint forces are set by what the actuators can do without moving anything. So neither
error equation depends on the other, and λ is brought as near to its reference as the actuators allow.

Departure: in (50) the force is fed back at the instant at which it is set, an algebraic loop. Here the loop is solved.
With d the measured force less the one the model predicts for the same inputs, e_λ = −(d + G_I ∫e_λ)/(1 + G_F): the
error equation is the paper's for any gains, also when measured once a sample. Without a sensor d = 0.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any

import numpy as np

from dalembert.checks import function, keywords, mapping, number, vector
from dalembert.control.allocator import Allocator
from dalembert.control.bounds import Cone
from dalembert.control.evidence import InverseDynamics, Verdict, explain
from dalembert.control.native.workspace import FREE, TASK, Allocation, Controller
from dalembert.control.plant import Plant
from dalembert.control.references import (
    GainsGiven,
    LimitsGiven,
    MetricGiven,
    ReferenceGiven,
    as_function,
    as_reference,
    gain_matrices,
)
from dalembert.control.task import Task, as_task
from dalembert.control.trajectories import Trajectory
from dalembert.errors import ArgumentError, DalembertError, unknown
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.protocols import Active, Parameters, check_system
from dalembert.system.state import State
from dalembert.system.system import System

#: (t, state, u) → measured multipliers, (m,) or by row
Sensor = Callable[[float, State, np.ndarray], Any]
#: constraints that are on, or a function (t, state) → that
ActiveGiven = Active | Callable[[float, State], Active]


class _Memory(threading.local):
    """Memory of force control from one update to the next, one for each thread."""

    def __init__(self, n: int):
        self.integral = np.zeros(n)  # ∫e_λ
        self.last: tuple[float, np.ndarray, np.ndarray] | None = None  # t, u, e_λ of the last update


class ProjectedControl:
    """A controller u(t, state) of motion and constraint forces; made by `motion_control` and its siblings.

    Called with time and state it returns the inputs, (nu,) in the order of `system.u_names`. `explain(t, state)` gives
    the same with all evidence, `error(t, state)` the error of the task and its rate; neither changes the controller.
    Runs and threads may share one: each has memory of its own.

    system, task, reference, rate, gains, actuated, metric, limits, reactions, cones, active, free_damping, p,
    tolerance: as in `motion_control`. forces, force_gains, sensor: as in `force_control`.
    """

    def __init__(
        self,
        system: System,
        task: Task | None = None,
        reference: ReferenceGiven | None = None,
        *,
        rate: float = 10.0,
        gains: GainsGiven | None = None,
        forces: Mapping[str, Any] | None = None,
        force_gains: tuple[float, float] = (0.0, 0.0),
        sensor: Sensor | None = None,
        actuated: Iterable[str] | None = None,
        metric: MetricGiven = "euclidean",
        limits: LimitsGiven = None,
        reactions: Mapping[str, Any] | None = None,
        cones: Iterable[Cone] | None = None,
        active: ActiveGiven = None,
        free_damping: float = 0.0,
        p: Parameters = None,
        tolerance: float = 1e-9,
    ):
        check_system(system)
        if (task is None) != (reference is None):
            raise ArgumentError("a task needs a reference to follow, and a reference a task; found only one of them.")
        self.system, self.p, self.active = system, p, active
        self.sensor = None if sensor is None else function(sensor, "sensor")
        wanted = mapping({} if forces is None else forces, "forces")
        for name in wanted:
            if not isinstance(name, str) or name not in system.row_names:
                raise unknown("row", name, system.row_names, "forces")
        self.force_names = tuple(wanted)
        self._wanted = tuple(as_function(f, f"the force wanted in '{name}'") for name, f in wanted.items())
        self.force_gains = tuple(vector(force_gains, 2, "force_gains"))
        if self.force_gains[0] <= -1.0:
            raise ArgumentError(f"force_gains[0] is {self.force_gains[0]:g}; needed: a number above −1.")
        self.plant = Plant(system, actuated, None if task is None else as_task(task), p)
        self.plant.check_inputs("the controller")
        self.task, self.mode = self.plant.task, FREE if task is None else TASK
        self._rows = [system.row_names.index(name) for name in self.force_names]
        damping = number(free_damping, "free_damping", least=0.0)
        self.allocator = Allocator(
            self.plant, metric, limits, reactions, cones, tolerance, self._rows, free_damping=damping
        )
        self.reference = None if reference is None else as_reference(reference, self.task.names)
        self.gains = gain_matrices(rate, gains, self.plant.nt)  # (2, nt, nt): G_P, G_D
        self.allocator.template.gains[:] = self.gains.reshape(2 * self.plant.nt, self.plant.nt)
        if not (active is None or callable(active)):
            system.active_rows(mapping(active, "active"))  # refuses unknown names
        self.reset()

    def reset(self) -> None:
        """Forget the integral of the force error and the last inputs."""
        self._memory = _Memory(len(self.force_names))

    def fresh(self) -> ProjectedControl:
        """The same law with an empty memory of its own; `simulate` takes one for each run. Without memory, the law."""
        if not self.force_names:
            return self
        other = copy(self)
        other.reset()
        return other

    @property
    def needs_hold(self) -> bool:
        """Whether the law remembers its last call, so that a run has to ask it once a sampling period."""
        return self.sensor is not None

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a state."""
        t, state = number(t, "t"), self.plant.measured(state)
        a = self.allocator.take()
        memory = self._prepare(a, t, state)
        if self.allocator.run(a, t, state, self.mode) != 0:
            raise DalembertError(f"no forces were found at t = {t:g} s: {Verdict.UNSOLVED.sentence}.")
        u = self.plant.inputs(self.allocator.limited(a)[0] if self.allocator.bounded else a.u)
        if memory is not None:
            self._memory.integral, e = memory
            self._memory.last = (t, u, e)
        self.allocator.give(a)
        return u

    @property
    def is_native(self) -> bool:
        """Whether it runs in compiled loops, `simulate`'s among them, without Python."""
        plain = not self.allocator.bounded and not self.force_names and not callable(self.active)
        return plain and isinstance(self.reference, Trajectory) and self.system.backend == "native"

    def native_controller(self) -> Bound:
        """The controller as a native function with memory of its own: x is q, v and t, y the inputs.

        Only of motion control that follows a `Trajectory` or a constant, without limits and switched constraints;
        `simulate` does this by itself.
        """
        reference, system = self.reference, self.system
        if not (self.is_native and isinstance(reference, Trajectory)):
            raise ArgumentError(
                "only motion control of a Trajectory without limits, forces or switching runs in compiled loops; "
                "call the controller from Python instead."
            )
        a, trajectory = self.allocator.template.copy(), Bound.of(reference.kernel, {})
        a.mode, a.reference = self.mode, trajectory.y
        self.allocator.switch(a, None if callable(self.active) else self.active)
        inputs = np.array(self.plant.actuators.inputs, dtype=np.int64)
        nq, n, nu = system.nq, system.nq + system.nv, len(system.u_names)
        controller = Controller(
            nq=nq, nu=nu, na=self.plant.na, allocate=address("allocate"), allocation=a, trajectory=trajectory,
            inputs=inputs,
        )  # fmt: skip
        bound = Bound.around(address("follow"), np.zeros(n + 1), np.zeros(nu), controller, n, self)
        bound.slices = {"q": slice(nq), "v": slice(nq, n), "t": slice(n, n + 1)}
        return bound

    def explain(self, t: float, state: State) -> InverseDynamics:
        """The forces at the time t (s) and a state, with their cost and the motions and forces that they miss."""
        t, state = number(t, "t"), self.plant.measured(state)
        a = self.allocator.take()
        self._prepare(a, t, state)
        found = explain(self.allocator, a, state.replace(t=t), self.mode, off=(0.0, False))
        self.allocator.give(a)
        return found

    def error(self, t: float, state: State) -> tuple[np.ndarray, np.ndarray]:
        """e = θ_d − θ and its rate, (nt,) each, at the time t (s) and a state."""
        t, state = number(t, "t"), self.plant.measured(state)
        theta, rate = self.plant.task_values(t, state)
        if self.reference is None:
            return theta, rate
        desired = self.reference(t)
        return desired[0] - theta, desired[1] - rate

    @property
    def integral(self) -> np.ndarray:
        """∫e_λ up to the last update in this thread, one for each wanted force."""
        return self._memory.integral

    def _prepare(self, a: Allocation, t: float, state: State) -> tuple[np.ndarray, np.ndarray] | None:
        """The references of motion and forces into the workspace; returns ∫e_λ and e_λ, for the memory."""
        active = self.active(t, state) if callable(self.active) else self.active
        if active is not None:
            self.allocator.switch(a, active)
        if self.reference is not None:
            np.concatenate(self.reference(t), out=a.reference)
        if not self.force_names:
            return None
        (GF, GI), memory = self.force_gains, self._memory
        integral, d = memory.integral, np.zeros(len(self.force_names))
        if memory.last is not None:
            before, u, e = memory.last
            integral = integral + (t - before) * e
            if self.sensor is not None:
                here = self.system.state(state.q, state.v, t)  # the state may be another system's
                model = self.system.acceleration(here, u=u, p=self.p, active=active).multipliers[self._rows]
                d = _measured(self.sensor(t, state, u), self.force_names, self._rows, self.plant.m) - model
        e = -(d + GI * integral) / (1.0 + GF)  # with the loop solved
        a.wanted[:] = np.array([f(t) for f in self._wanted]) + GF * e + GI * integral
        return integral, e


def _measured(given: Any, names: tuple[str, ...], rows: list[int], m: int) -> np.ndarray:
    """The wanted multipliers among those that a sensor gives, (m,) or by row."""
    what = "the multipliers that the sensor gives"
    if not isinstance(given, Mapping):
        return vector(given, m, what)[rows]
    keywords(names, given, what)
    return np.array([number(given[name], f"'{name}' of {what}") for name in names])
