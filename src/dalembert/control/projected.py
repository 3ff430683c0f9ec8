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
from numpy.typing import ArrayLike

from dalembert.checks import choice, function, keywords, mapping, number, vector
from dalembert.control.allocator import Allocator
from dalembert.control.bounds import Cone, MotionBounds
from dalembert.control.evidence import ActuatorForces, Verdict, explain
from dalembert.control.governor import Governor, ReferenceNode
from dalembert.control.measures import Measure
from dalembert.control.native.workspace import FREE, TASK, Allocation, Controller
from dalembert.control.plant import Plant
from dalembert.control.reachability import PositionSearch
from dalembert.control.references import (
    GainsGiven,
    LimitsGiven,
    MetricGiven,
    ReferenceGiven,
    Triple,
    as_function,
    as_reference,
    force_course,
    gain_matrices,
    row_numbers,
)
from dalembert.control.task import Task, as_task
from dalembert.control.trajectories import Trajectory, constant
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
#: how a law remembers an update, once its inputs are known
Remember = Callable[["_Memory", np.ndarray, Allocation], None]
IDLE = constant(0.0)  # in the place of a trajectory that is not there


class _Memory(threading.local):
    """Memory of a law from one update to the next, one for each thread."""

    def __init__(self, forces: int, rows: int):
        self.integral = np.zeros(forces)  # ∫e_λ
        self.last: tuple[float, np.ndarray, np.ndarray] | None = None  # t, u, e_λ of the last update
        self.task_integral = np.zeros(rows)  # ∫e
        self.task_last: tuple[float, np.ndarray] | None = None  # t, e of the last update; 0 where bounds held it back
        self.nearest: np.ndarray | None = None  # q where the task came nearest to its last reference
        self.nodes: tuple[bytes, dict[int, ReferenceNode]] = (
            b"",
            {},
        )  # of the governor, with the constraints that held
        self.beyond: tuple[float, float, ReferenceNode] | None = (
            None  # when the reference was not followed: from, to, farthest
        )


class ProjectedControl:
    """A controller u(t, state) of motion and constraint forces; made by `motion_control` and its siblings.

    Called with the time t (s) and a `State` it returns the inputs, (nu,) in the order of `system.u_names`. `explain(t,
    state)` gives the same with all evidence, `error(t, state)` the error of the task and its rate; neither changes the
    controller. Runs and threads may share one: each has memory of its own.

    system, task, reference, rate, gains, stiffness, integral, priorities, weights, actuated, metric, limits, reactions,
    cones, positions, speeds, accelerations, limit_rate, active, free_damping, epsilon, damping, out_of_reach, p,
    tolerance: as in `motion_control`. forces, measures, force_gains, sensor: as in `force_control`.
    """

    def __init__(
        self,
        system: System,
        task: Task | None = None,
        reference: ReferenceGiven | None = None,
        *,
        rate: float = 10.0,
        gains: GainsGiven | None = None,
        stiffness: GainsGiven | None = None,
        integral: ArrayLike = 0.0,
        priorities: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
        forces: Mapping[str, Any] | None = None,
        measures: Mapping[str, Measure] | None = None,
        force_gains: tuple[float, float] = (0.0, 0.0),
        sensor: Sensor | None = None,
        actuated: Iterable[str] | None = None,
        metric: MetricGiven = "euclidean",
        limits: LimitsGiven = None,
        reactions: Mapping[str, Any] | None = None,
        cones: Iterable[Cone] | None = None,
        positions: Mapping[str, Any] | bool | None = None,
        speeds: LimitsGiven = None,
        accelerations: LimitsGiven = None,
        limit_rate: float = 40.0,
        active: ActiveGiven = None,
        free_damping: float = 0.0,
        epsilon: float = 0.0,
        damping: float | None = None,
        out_of_reach: str = "follow",
        p: Parameters = None,
        tolerance: float = 1e-9,
    ):
        check_system(system)
        if (task is None) != (reference is None):
            raise ArgumentError("a task needs a reference to follow, and a reference a task; found only one of them.")
        self.system, self.p, self.active = system, p, active
        self._structure: list[tuple[float, dict[str, bool]]] | None = None  # of a run: constraints that hold, from when
        self.sensor = None if sensor is None else function(sensor, "sensor")
        self.plant = Plant(system, actuated, None if task is None else as_task(task), p, measures)
        self.plant.check_inputs("the controller")
        self.task, self.mode, nt = self.plant.task, FREE if task is None else TASK, self.plant.nt
        wanted = mapping({} if forces is None else forces, "forces")
        for name in wanted:
            if not isinstance(name, str) or name not in self.plant.force_names:
                raise unknown("row", name, self.plant.force_names, "forces")
        self.force_names = tuple(wanted)
        self._wanted = tuple(as_function(f, f"the force wanted in '{name}'") for name, f in wanted.items())
        self._force_course = force_course(wanted)
        self.force_gains = tuple(vector(force_gains, 2, "force_gains"))
        if self.force_gains[0] <= -1.0:
            raise ArgumentError(f"force_gains[0] is {self.force_gains[0]:g}; needed: a number above −1.")
        if stiffness is not None and gains is not None:
            raise ArgumentError("gains and stiffness are both given; needed: one of them.")
        self.out_of_reach = choice(out_of_reach, ("follow", "refuse", "approach"), "out_of_reach")
        near = (0.02 if out_of_reach == "approach" else 0.0) if damping is None else damping
        level, weight = row_numbers(self.task.names, priorities, weights)
        self.workspace = PositionSearch(self.plant, None if weights is None else weight)
        self.allocator = Allocator(
            self.plant, metric, limits, reactions, cones, tolerance, self.force_names,
            MotionBounds.of(system, positions, speeds, accelerations),
            free_damping=number(free_damping, "free_damping", least=0.0),
            limit_rate=number(limit_rate, "limit_rate", above=0.0, most=1e9),
            epsilon=number(epsilon, "epsilon", least=0.0),
            damping=number(near, "damping", least=0.0, below=1.0),
            impedance=int(stiffness is not None),
            layered=int(priorities is not None or weights is not None),
            priorities=int(level.max(initial=1)), priority=level,
            row_size=self.workspace.sizes.copy(), unit_of=self.workspace.units.copy(),
        )  # fmt: skip
        self.reference = None if reference is None else as_reference(reference, self.task.names)
        self.governor: Governor | None = None
        if self.reference is not None and out_of_reach == "approach":
            self.governor = Governor(self.workspace, self.reference, 1.0 / self.allocator.template.limit_rate)
        self.gains = gain_matrices(rate, gains if stiffness is None else stiffness, nt)  # (2, nt, nt)
        self.integral_gain = gain_matrices(1.0, (integral, 0.0), nt)[0]
        self.allocator.template.gains[:] = self.gains.reshape(2 * nt, nt)
        if not (active is None or callable(active)):
            system.arguments.active_rows(mapping(active, "active"))  # refuses unknown names
        self.reset()

    def reset(self) -> None:
        """Forget the integrals of errors and the last inputs."""
        self._memory = _Memory(len(self.force_names), self.plant.nt)

    def fresh(self) -> ProjectedControl:
        """A copy of the law with fresh memory, or the law itself if it has none; `simulate` makes one per run."""
        if not (self.needs_period or self.force_names or self.out_of_reach == "approach"):
            return self
        other = copy(self)
        other.reset()
        return other

    def in_phases(self) -> ProjectedControl:
        """A copy for a run with switches, which tells it by `changed` what holds; the law itself if it has `active`."""
        if self.active is not None:
            return self
        other = copy(self)
        other._structure = []
        other.reset()
        return other

    def changed(self, t: float, active: Mapping[str, bool]) -> None:
        """Note which constraints hold from the time t (s) on, as a run with switches says; `active` goes before it.

        active: {constraint: whether it holds}.
        """
        known = {name: on for name, on in active.items() if name in self.system.rows.of}
        if self._structure is not None and (not self._structure or self._structure[-1][1] != known):
            self._structure.append((t, known))

    def _active(self, t: float, state: State) -> Active:
        """The constraints that are said to hold at a time and state; None: all."""
        if callable(self.active):
            return self.active(t, state)
        for since, held in reversed(self._structure or ()):
            if t >= since:
                return held
        return self.active

    @property
    def needs_period(self) -> bool:
        """Whether the law remembers its last call, so that a run has to ask it once a sampling period."""
        return self.sensor is not None or bool(self.integral_gain.any())

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a state."""
        t, state = number(t, "t"), self.plant.measured(state)
        a = self.allocator.take()
        remember = self._prepare(a, t, state)
        if self.allocator.run(a, t, state, self.mode) != 0:
            raise DalembertError(f"no forces were found at t = {t:g} s: {Verdict.UNSOLVED.sentence}.")
        u = self.plant.inputs(a.u)
        remember(self._memory, u, a)
        self.allocator.give(a)
        return u

    @property
    def is_native(self) -> bool:
        """Whether it runs in compiled loops, `simulate`'s among them, without Python."""
        told = callable(self.active) or self._structure is not None
        plain = not (self.needs_period or told) and self.out_of_reach == "follow"
        moves = self.reference is None or isinstance(self.reference, Trajectory)
        presses = not self.force_names or self._force_course is not None
        return plain and moves and presses and self.system.backend == "native"

    def native_controller(self) -> Bound:
        """The controller as a native function with memory of its own: x is q, v and t, y the inputs.

        Of laws without memory whose references and wanted forces are trajectories or constants, bounds and priorities
        included; `simulate` does this by itself.
        """
        reference, system = self.reference, self.system
        if not self.is_native:
            raise ArgumentError(
                "only laws of trajectories and constants, without sensor, integral or switching, run in compiled "
                "loops; call the controller from Python instead."
            )
        a, course = self.allocator.template.copy(), self._force_course
        a.mode = self.mode
        idle = Bound.of(IDLE.kernel, {})
        trajectory = idle if not isinstance(reference, Trajectory) else Bound.of(reference.kernel, {})
        forces = idle if course is None or not self.force_names else Bound.of(course.kernel, {})
        if reference is not None:
            a.reference = trajectory.y
        if self.force_names:
            a.wanted = forces.y[: len(self.force_names)]
        self.allocator.switch(a, None if callable(self.active) else self.active)
        inputs = np.array(self.plant.actuators.inputs, dtype=np.int64)
        nq, n, nu = system.nq, system.nq + system.nv, len(system.u_names)
        controller = Controller(
            nq=nq, nu=nu, na=self.plant.na, allocate=address("allocate"), allocation=a, trajectory=trajectory,
            forces=forces, moves=int(reference is not None), presses=int(bool(self.force_names)), inputs=inputs,
        )  # fmt: skip
        bound = Bound.around(address("follow"), np.zeros(n + 1), np.zeros(nu), controller, n, self)
        bound.slices = {"q": slice(nq), "v": slice(nq, n), "t": slice(n, n + 1)}
        return bound

    def explain(self, t: float, state: State) -> ActuatorForces:
        """The forces at the time t (s) and a state, with their cost and the motions and forces that they miss."""
        t, state = number(t, "t"), self.plant.measured(state)
        a = self.allocator.take()
        self._prepare(a, t, state, asking=True)
        goal = None if self.reference is None else self.reference(t)[0]
        here = self.system.state(state.q, state.v, t)  # the state may be another system's
        found = explain(self.allocator, a, here, self.mode, off=(0.0, False), goal=goal)
        self.allocator.give(a)
        return found

    def error(self, t: float, state: State) -> tuple[np.ndarray, np.ndarray]:
        """e = θ_d − θ and its rate, (nt,) each, at the time t (s) and a state."""
        t, state = number(t, "t"), self.plant.measured(state)
        theta, rate = self.plant.task_values(t, state)
        if self.reference is None:
            return theta, rate
        desired = self.reference(t)
        return self.plant.short_way(desired[0] - theta), desired[1] - rate

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on the updates in this thread: when references were out of reach; `run.summary()` has them."""
        if self._memory.beyond is None:
            return ()
        first, last, most = self._memory.beyond
        when = f"between t = {first:.6g} s and {last:.6g} s" if last > first else f"at t = {first:.6g} s"
        return (
            f"{when} the reference was not followed: it goes beyond the workspace, or to its edge, and the task was "
            f"slowed down before it and led to the nearest position: at t = {most.t:.6g} s {most.found.message}",
        )

    @property
    def integral(self) -> np.ndarray:
        """∫e_λ up to the last update in this thread, one for each wanted force."""
        return self._memory.integral

    def _prepare(self, a: Allocation, t: float, state: State, asking: bool = False) -> Remember:
        """The references of motion and forces into the workspace; returns how the law remembers the update."""
        active = self._active(t, state)
        if active is not None:
            self.allocator.switch(a, active)
        else:
            a.active[:] = 1  # a copy of the law in a run may have left others
        memory, steps = self._memory, list[Remember]()
        if self.reference is not None:
            if self.governor is not None:
                desired, remember_nodes = self._govern(self.governor, a, t, state)
                steps.append(remember_nodes)
            else:
                desired = self.reference(t)
            if self.out_of_reach == "refuse":
                found = self.workspace.nearest(state, memory.nearest, t, desired[0], a.active)
                if not (found.reached or asking):
                    raise DalembertError(f"at t = {t:g} s the reference is out of reach: {found.message}")
                steps.append(lambda m, u, a: setattr(m, "nearest", found.q))
            np.concatenate(desired, out=a.reference)
            if self.integral_gain.any():
                steps.append(self._integrate(a, t, state, desired[0]))
        if self.force_names:
            steps.append(self._press(a, t, state, active))

        def remember(m: _Memory, u: np.ndarray, a: Allocation) -> None:
            for step in steps:
                step(m, u, a)

        return remember

    def _govern(self, governor: Governor, a: Allocation, t: float, state: State) -> tuple[Triple, Remember]:
        """The reference up to the edge of the workspace, and how the law remembers where that was."""
        held = a.active.tobytes()
        known = self._memory.nodes[1] if self._memory.nodes[0] == held else {}
        governed = governor(t, state, a.active, known)
        here = governed.farthest

        def remember(m: _Memory, u: np.ndarray, a: Allocation) -> None:
            m.nodes = held, governed.nodes
            if here is not None:
                first, last, most = m.beyond or (t, t, here)
                most = here if here.found.distance >= most.found.distance else most
                m.beyond = min(first, t), max(last, t), most

        return governed.reference, remember

    def _integrate(self, a: Allocation, t: float, state: State, value: np.ndarray) -> Remember:
        """Integral action: G_I ∫e into the workspace."""
        memory, total = self._memory, self._memory.task_integral
        if memory.task_last is not None:
            total = total + (t - memory.task_last[0]) * memory.task_last[1]
        e = self.plant.short_way(value - self.plant.task_values(t, state)[0])
        a.pull[:] = self.integral_gain @ total

        def remember(m: _Memory, u: np.ndarray, a: Allocation) -> None:
            m.task_integral, m.task_last = total, (t, e if a.limited < 2 else 0.0 * e)

        return remember

    def _press(self, a: Allocation, t: float, state: State, active: Active) -> Remember:
        """The wanted forces, with their feedback, into the workspace."""
        (GF, GI), memory = self.force_gains, self._memory
        integral, d = memory.integral, np.zeros(len(self.force_names))
        if memory.last is not None:
            before, u, e = memory.last
            integral = integral + (t - before) * e
            if self.sensor is not None:
                here = self.system.state(state.q, state.v, t)  # the state may be another system's
                model = self.system.acceleration(here, u=u, p=self.p, active=active).multipliers
                S = self.plant.values(t, here)[9]
                sensed = self._sensed(self.sensor(t, state, u), S)
                d = sensed - a.pick @ np.concatenate([model, S @ model])
        e = -(d + GI * integral) / (1.0 + GF)  # with the loop solved
        on = self.system.arguments.active_rows(active)
        e[(a.pick[:, : len(on)] != 0.0) @ ~on] = 0.0  # a force of what does not hold has no error
        a.wanted[:] = np.array([f(t) for f in self._wanted]) + GF * e + GI * integral

        def remember(m: _Memory, u: np.ndarray, a: Allocation) -> None:
            m.integral, m.last = integral, (t, u, e)

        return remember

    def _sensed(self, given: Any, S: np.ndarray) -> np.ndarray:
        """The wanted forces among those that a sensor gives: multipliers (m,), or by row and measure."""
        what = "the multipliers that the sensor gives"
        if not isinstance(given, Mapping):
            lam = vector(given, self.plant.m, what)
            return self.allocator.template.pick @ np.concatenate([lam, S @ lam])
        keywords(self.force_names, given, what)
        return np.array([number(given[name], f"'{name}' of {what}") for name in self.force_names])
