"""Projected inverse-dynamics control: motion (Aghili 43-44), constraint forces (49-50), both (52), passive joints (60).

    θ̈ = θ̈_d + G_D ė + G_P e,  e = θ_d − θ                               so that ë + G_D ė + G_P e = 0           (45)
    λ = λ_d + G_F e_λ + G_I ∫e_λ,  e_λ = λ_d − λ                         so that (1 + G_F) ė_λ + G_I e_λ = 0     (50)

The motion comes first; constraint forces are set by what the actuators can do without moving anything. So the two error
equations do not see each other, and λ is brought as near to its wish as the actuators allow.

Departure: in (50) the force is fed back at the instant at which it is set, an algebraic loop. Here the loop is solved.
With d the measured force less the one the model predicts for the same inputs, e_λ = −(d + G_I ∫e_λ)/(1 + G_F): the
error equation is the paper's for any gains, also when measured once a sample. Without a sensor d = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.control.inverse_dynamics import Allocator, InverseDynamics, Verdict
from dalembert.control.native.law import FREE, MOBILITY, REACH, TASK, TASK_RANK
from dalembert.control.native.law_by_address import NativeLaw, native_law
from dalembert.control.plant import Plant
from dalembert.control.task import Task
from dalembert.control.trajectories import Trajectory, constant
from dalembert.errors import ArgumentError, DalembertError, unknown


class ProjectedControl:
    """A controller u(t, state) of motion and constraint forces; made by `motion_control` and its siblings.

    Called with time and state it returns the inputs, (nu,) in the order of `system.u_names`. `explain(t, state)` gives
    the same with all evidence, `error(t, state)` the error of the task and its rate.
    """

    def __init__(
        self,
        system: Any,
        task: Task | None = None,
        reference: Any = None,
        *,
        rate: float = 10.0,
        gains: tuple[Any, Any] | None = None,
        forces: Mapping[str, Any] | None = None,
        force_gains: tuple[float, float] = (0.0, 0.0),
        sensor: Callable[[float, Any, np.ndarray], Any] | None = None,
        actuated: Iterable[str] | None = None,
        metric: Any = "euclidean",
        limits: Any = None,
        active: Any = None,
        free_damping: float = 0.0,
        p: Any = None,
        tolerance: float = 1e-9,
    ):
        if (task is None) != (reference is None):
            raise ArgumentError("a task needs a reference to follow, and a reference a task; found only one of them.")
        self.system, self.p, self.active, self.sensor = system, p, active, sensor
        names = tuple(forces or ())
        for name in names:
            if name not in system.row_names:
                raise unknown("row", name, system.row_names, "forces")
        self.plant = Plant(system, actuated, task, p)
        self.plant.check_inputs("the controller")
        self.task = self.plant.task
        rows = [system.row_names.index(name) for name in names]
        self.solver = Allocator(self.plant, metric, limits, None, tolerance, rows, free_damping)
        self.room, self.mode = self.solver.room, FREE if task is None else TASK
        self.reference = None if task is None else _reference(reference, self.task.names)
        self.room.gains[:] = _gains(rate, gains, self.plant.nt).reshape(self.room.gains.shape)
        self.force_names, self._wanted = names, tuple(_function(f) for f in (forces or {}).values())
        self.force_gains = force_gains
        self.reset()

    def reset(self) -> None:
        """Forget the integral of the force error and the last inputs."""
        self.integral = np.zeros(len(self.force_names))
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None  # t, u, e_λ

    def __call__(self, t: float, state: Any) -> np.ndarray:
        self._prepare(t, state)
        if self.solver.run(t, state, self.mode) != 0:
            raise DalembertError(f"no forces were found at t = {t:g} s: {Verdict.UNSOLVED.sentence}.")
        u = self.solver.limited()[0] if self.solver.bounded else self.room.u
        out = self.plant.inputs(u)
        if self.force_names:
            self._last = (t, out, self.force_error)
        return out

    @property
    def is_native(self) -> bool:
        """Whether it runs in compiled loops, `simulate`'s among them, without Python."""
        plain = not self.solver.bounded and not self.force_names and not callable(self.active)
        return plain and isinstance(self.reference, Trajectory) and self.system.backend == "native"

    def native(self) -> NativeLaw:
        """The controller for compiled loops: `call_kernel(law.address, x, u, law.work)` in Numba code, x = q, v, t.

        Only of motion control that follows a `Trajectory` or a constant, without limits and switched constraints;
        `simulate` does this by itself.
        """
        if not self.is_native:
            raise ArgumentError(
                "only motion control of a Trajectory without limits, forces or switching runs in compiled loops; "
                "call the controller from Python instead."
            )
        self.solver.switch(self.active)
        return native_law(self.plant, self.solver, self.mode, self.reference)

    def explain(self, t: float, state: Any) -> InverseDynamics:
        """The forces the controller would give, with what they cost, what they leave undone and why."""
        self._prepare(t, state)
        return self.solver.answer(state.replace(t=t), self.mode, off=0.0)

    def error(self, t: float, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """e = θ_d − θ and its rate."""
        self._prepare(t, state)
        self.plant.place(t, state)
        nt, (theta, rate) = self.plant.nt, self.plant.kernel(*self._arguments())[5:7]
        return self.room.wish[:nt] - theta, self.room.wish[nt : 2 * nt] - rate

    @property
    def mobility(self) -> int:
        """Freedoms of the mechanism at the last call, with the constraints that were on."""
        return int(self.room.info[MOBILITY])

    @property
    def reach(self) -> int:
        """Freedoms that the actuators drove at the last call; below the mobility, the motion is followed in part."""
        return int(self.room.info[REACH])

    @property
    def task_rank(self) -> int:
        """Of J K at the last call: as many of the task's rows can be followed independently."""
        return int(self.room.info[TASK_RANK])

    def _arguments(self) -> list[np.ndarray]:
        ends = np.cumsum(self.plant.kernel.n_in)
        return np.split(self.plant.x[: ends[-1]], ends[:-1])

    def _prepare(self, t: float, state: Any) -> None:
        """The wishes for motion and forces into the room."""
        if self.active is not None:
            self.solver.switch(self.active(t, state) if callable(self.active) else self.active)
        if self.reference is not None:
            nt, wish = self.plant.nt, self.room.wish
            wish[:nt], wish[nt : 2 * nt], wish[2 * nt :] = self.reference(t)
        if self.force_names:
            self._prepare_forces(t, state)

    def _prepare_forces(self, t: float, state: Any) -> None:
        """λ_d + G_F e_λ + G_I ∫e_λ, with the loop solved."""
        GF, GI = self.force_gains
        wanted, d = np.array([f(t) for f in self._wanted]), np.zeros(len(self.force_names))
        if self._last is not None:
            before, u, e = self._last
            self.integral = self.integral + (t - before) * e
            if self.sensor is not None:
                here = self.system.state(state.q, state.v, t)  # the state may be another system's
                model = self.system.acceleration(here, u=u, p=self.p).multipliers[self.room.select]
                d = _measured(self.sensor(t, state, u), self.force_names, self.room.select) - model
        self.force_error = -(d + GI * self.integral) / (1.0 + GF)
        self.room.wanted[:] = wanted + GF * self.force_error + GI * self.integral


def motion_control(system: Any, task: Task, reference: Any, **options: Any) -> ProjectedControl:
    """Follow a trajectory with the smallest forces (Aghili 43-44; with passive joints 60).

    task: `coordinates`, `position`, `orientation`, `pose`, or your own `Task`. reference: a `Trajectory`, a constant
    (array or by name), or a function t → (θ_d, θ̇_d, θ̈_d). rate (1/s): errors die like (1 + ωt) exp(−ωt); or
    gains=(G_P, G_D), numbers, one a row, or matrices. actuated: inputs to use (default all). metric, limits: as in
    `inverse_dynamics`. free_damping (1/s): of motions the task leaves free. active: {constraint: bool}, or a function
    (t, state) → that, for constraints that come and go.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.five_bar().compile()
    >>> start = system.state(*zoo.five_bar_start(0.5))
    >>> ahead = control.quintic({"A": start["A"], "B": start["B"]}, {"A": start["A"] - 0.3, "B": start["B"]}, 1.0)
    >>> law = control.motion_control(system, control.coordinates("A", "B"), ahead)
    >>> run = da.simulate(system, start, 1.0, u=law, hold=0.002)
    >>> bool(abs(law.error(1.0, run.state(-1))[0]).max() < 2e-3)
    True
    """
    return ProjectedControl(system, task, reference, **options)


def force_control(system: Any, forces: Mapping[str, Any], **options: Any) -> ProjectedControl:
    """Set multipliers, and leave the motion as it would be without inputs (Aghili 49-50).

    forces: {"constraint.row": number or function of t}. force_gains=(G_F, G_I), sensor: (t, state, u) → measured
    multipliers, (m,) or by row, such as `force_sensor` makes. Only multipliers that the mechanism determines can be
    set; `explain` says what is reached. For use with a sampling period.
    """
    return ProjectedControl(system, forces=forces, **options)


def hybrid_control(
    system: Any, task: Task, reference: Any, forces: Mapping[str, Any], **options: Any
) -> ProjectedControl:
    """Motion and constraint forces at once, with error equations of their own (Aghili 52).

    All of the paper's cases are among these: with every joint driven all constraint forces can be set, with passive
    joints as many as there are actuators beyond the mobility.
    """
    return ProjectedControl(system, task, reference, forces=forces, **options)


def computed_torque(
    system: Any, reference: Any, *, coordinates: Iterable[str] = (), **options: Any
) -> ProjectedControl:
    """Motion control of the coordinates that motors drive (default), or of those named: computed torque."""
    from dalembert.control.task import coordinates as moving

    names = tuple(coordinates) or driven_coordinates(system)
    return ProjectedControl(system, moving(*names), reference, **options)


def driven_coordinates(system: Any) -> tuple[str, ...]:
    """The coordinates of the joints that motors drive, in the order of the inputs."""
    from dalembert.mechanism.forces import JointForce

    motors = [f for f in system._description.forces if isinstance(f, JointForce) and f.kind == "motor"]
    return tuple(n for f in motors for n in system.layout.q_names[system.layout.q_slice(f.joint.name)])


def force_sensor(plant: Any, *, p: Any = None) -> Callable[[float, Any, np.ndarray], np.ndarray]:
    """A sensor of multipliers: those of a plant, which may have other parameters than the controller's model."""

    def measure(t: float, state: Any, u: np.ndarray) -> np.ndarray:
        return plant.acceleration(plant.state(state.q, state.v, t), u=u, p=p).multipliers

    return measure


def _reference(reference: Any, names: tuple[str, ...]) -> Callable[[float], Any]:
    if isinstance(reference, Trajectory):
        return reference.ordered(names)
    return reference if callable(reference) else constant(reference).ordered(names)


def _gains(rate: float, gains: Any, n: int) -> np.ndarray:
    if gains is None:
        if not rate > 0:
            raise ArgumentError(f"rate is {rate}; needed: a positive number of 1/s.")
        gains = (rate**2, 2 * rate)
    out = np.zeros((2, n, n))
    for k, gain in enumerate(gains):
        g = np.asarray(gain, dtype=float)
        if g.shape not in ((), (n,), (n, n)):
            raise ArgumentError(f"a gain has shape {g.shape}; needed: a number, ({n},) or ({n}, {n}).")
        out[k] = g if g.ndim == 2 else np.diag(np.broadcast_to(g, n))
    return out


def _function(wanted: Any) -> Callable[[float], float]:
    if isinstance(wanted, Trajectory):
        return lambda t: float(wanted(t)[0][0])
    return wanted if callable(wanted) else lambda t: float(wanted)


def _measured(given: Any, names: tuple[str, ...], select: np.ndarray) -> np.ndarray:
    if isinstance(given, Mapping):
        return np.array([float(given[name]) for name in names])
    return np.asarray(given, dtype=float)[select]
