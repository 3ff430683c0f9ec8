"""Inverse dynamics along a motion: the forces of the actuators at every time of it, their power and energy."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, state_rows
from dalembert.analysis.motion_columns import columns, input_units, joined, motion_columns, multiplier_units
from dalembert.analysis.sweep import Sweep
from dalembert.control.allocator import Allocator
from dalembert.control.native.workspace import GIVEN
from dalembert.control.plant import Plant
from dalembert.control.references import LimitsGiven, MetricGiven
from dalembert.control.trajectories import Trajectory
from dalembert.errors import ArgumentError, AssemblyError, unknown
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.simulation.results.run import Run
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

SAMPLES = 201  # times along a trajectory for which none are given
MISSED = 1e-7  # of its terms: what may be missing of the motion


@dataclass(frozen=True, eq=False)
class ActuatorForcesAlong(AtStates):
    """Actuator forces at N times of a motion. `forces["crank"]` is the history of one, (N,), N or N m.

    It is a controller too: `da.simulate(system, forces.state(0), T, u=forces)` drives the mechanism with them.
    """

    system: System
    names: tuple[str, ...]  # of the actuators
    t: np.ndarray  # (N,) s
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    vdot: np.ndarray  # (N, nv)
    u: np.ndarray  # (N, actuators) N or N m
    power: np.ndarray  # (N, actuators) W that each brings in
    multipliers: np.ndarray  # (N, rows) the shortest where constraints are redundant
    missing: np.ndarray  # (N,) part of the motion's forces that the actuators cannot bring, 0 … 1
    p: np.ndarray  # parameters
    cyclic: bool  # whether the motion is one cycle that repeats
    _inputs: tuple[int, ...] = field(repr=False)  # places of the actuators in u of the system, −1 of ideal ones

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s"
        return f"<forces of {', '.join(self.names)} at {len(self)} times, {span}; {self.message}>"

    @property
    def success(self) -> bool:
        """Whether the actuators produce the motion at every time."""
        return bool((self.missing <= MISSED).all())

    @property
    def message(self) -> str:
        """Whether the motion is produced, and where not."""
        wrong = np.flatnonzero(~(self.missing <= MISSED))
        if not len(wrong):
            return "the motion is produced"
        return (
            f"the actuators do not produce the motion at {len(wrong)} times, the first at t = {self.t[wrong[0]]:.6g} s"
        )

    def _place(self, name: Any) -> int:
        if not isinstance(name, str) or name not in self.names:
            raise unknown("actuator", name, self.names)
        return self.names.index(name)

    def __getitem__(self, name: str) -> np.ndarray:
        """(N,) force of an actuator by its name, N or N m; else values of a coordinate."""
        layout = self.system.layout
        if name not in self.names and (name in layout.q_names or name in layout.joints):
            return super().__getitem__(name)
        return self.u[:, self._place(name)]

    def driving_force(self, name: str) -> np.ndarray:
        """(N,) force of an actuator by its name, N or N m."""
        return self.u[:, self._place(name)]

    def _records(self) -> StateRows:
        u = np.zeros((len(self), len(self.system.u_names)))
        for k, place in enumerate(self._inputs):
            if place >= 0:
                u[:, place] = self.u[:, k]
        return state_rows(self.system, self.q, self.v, u, self.p, self.t)

    def _accelerations(self) -> np.ndarray:
        return self.vdot

    def _row_forces(self) -> np.ndarray:
        return self.multipliers

    def state(self, k: int) -> State:
        """The state at the k-th time, k from 0; negative k count from the end."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        return self.system.arguments.belonging(self.system.state(self.q[k], self.v[k], float(self.t[k])), self.p)

    # --- energy -------------------------------------------------------------------------------------------------

    @cached_property
    def energy(self) -> dict[str, float]:  # type: ignore[override]
        """J that each actuator brings in over the motion (a cycle), by name; what it takes out counts negative."""
        return {n: self._work(k, whole=True) for k, n in enumerate(self.names)}

    @cached_property
    def spent(self) -> dict[str, float]:
        """J that each actuator brings in, by name, where nothing is won back: the positive part of its power."""
        return {n: self._work(k, whole=False) for k, n in enumerate(self.names)}

    def _work(self, k: int, whole: bool) -> float:
        from scipy.interpolate import CubicSpline

        if len(self) < 2:
            return 0.0
        values = self.power[:, k].copy()
        closes = self.cyclic and abs(values[-1] - values[0]) <= 1e-6 * np.abs(values).max()
        values[-1] = values[0] if closes else values[-1]
        power = CubicSpline(self.t, values, bc_type="periodic" if closes else "not-a-knot")
        if whole:
            return float(power.integrate(self.t[0], self.t[-1]))
        inside = [r for r in np.atleast_1d(power.roots(extrapolate=False)) if np.isfinite(r)]
        ends = np.unique([self.t[0], *inside, self.t[-1]])
        return float(sum(max(float(power.integrate(a, b)), 0.0) for a, b in itertools.pairwise(ends)))

    @cached_property
    def peak(self) -> dict[str, float]:
        """The largest force of each actuator, by name, N or N m."""
        return dict(zip(self.names, np.abs(self.u).max(axis=0, initial=0.0).tolist()))

    # --- as a controller ----------------------------------------------------------------------------------------

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import make_interp_spline

        degree = min(5, len(self) - 1)
        return make_interp_spline(self.t, self.u, k=degree - (degree % 2 == 0 and degree > 0))

    def __call__(self, t: float, state: Any = None) -> np.ndarray:
        """(inputs of the system,) the forces at a time t (s), by a spline between the times; state: not used.

        Before the first and after the last time those there; of a cycle its repetition.
        """
        if min(self._inputs, default=-1) < 0:
            ideal = self.names[self._inputs.index(-1)]
            raise ArgumentError(f"'{ideal}' is no input of '{self.system.name}'; add it with mechanism.add_motor.")
        start, end, t = float(self.t[0]), float(self.t[-1]), checks.number(t, "t")
        t = start + (t - start) % (end - start) if self.cyclic and end > start else min(max(t, start), end)
        out = np.zeros(len(self.system.u_names))
        out[list(self._inputs)] = self._spline(t)
        return out

    def _columns(self) -> Columns:
        """Over t: q, v, "force.crank", "power.crank", "lambda.C.x"."""
        system, of = self.system, dict(zip(self.system.u_names, input_units(self.system)))
        values, units = joined(
            motion_columns(system, self.q, self.v),
            columns("force", self.u, self.names, [of.get(name, "") for name in self.names]),
            columns("power", self.power, self.names, ["W" for _ in self.names]),
            columns("lambda", self.multipliers, system.row_names, multiplier_units(system)),
        )
        return Columns(system.name, "t", self.t, values, {"t": "s", **units})


def actuator_forces_along(
    system: System,
    motion: Trajectory | Run | Sweep | Mapping[str, ArrayLike],
    times: ArrayLike | None = None,
    *,
    state: StateGiven | None = None,
    actuated: Iterable[str] | None = None,
    metric: MetricGiven = "euclidean",
    limits: LimitsGiven = None,
    cyclic: bool = False,
    p: Parameters = None,
    tolerance: float = 1e-9,
) -> ActuatorForcesAlong:
    """The smallest actuator forces along a whole motion, with their power and energy.

    motion: a `Trajectory` of coordinates by name; a table {coordinate: N values} (or a `pandas.DataFrame` with these
    columns), through which a spline of degree five goes; a `Run`, whose accelerations are those of its own inputs and
    drivers; or a `Sweep`. The other coordinates follow from the loops, on the branch of `state`, a `State`.

    times: (N,) s, rising; of a table those of its values (default the index of a DataFrame), of a trajectory default
    201 over its span, of a run or a sweep its own. cyclic: the motion is one cycle, whose end is its beginning; the
    spline of a table is then periodic, and as a controller the forces repeat. actuated, metric, limits, p, tolerance:
    as in `actuator_forces`.

    >>> import dalembert as da
    >>> import numpy as np
    >>> from dalembert import control, zoo
    >>> system = zoo.slider_crank(gravity=0.0).compile()
    >>> t = np.linspace(0, 0.6, 61)
    >>> turn = control.Trajectory(lambda t: 2 * np.pi / 0.6 * t, ["A"])
    >>> forces = control.actuator_forces_along(system, turn, t, actuated=["A"], cyclic=True)
    >>> forces.success, abs(forces.energy["A"]) < 1e-9                       # a turn at constant speed takes no energy
    (True, True)
    """
    check_system(system)
    cyclic = checks.flag(cyclic, "cyclic")
    p = _parameters(system, motion, state, p)
    allocator = Allocator(Plant(system, actuated, p=p), metric, limits, tolerance=tolerance)
    t, q, v, a = _motion(system, motion, times, state, cyclic, p)
    plant, work = allocator.plant, allocator.take()
    N = len(t)
    u, power, missing = np.full((N, plant.na), np.nan), np.full((N, plant.na), np.nan), np.ones(N)
    multipliers = np.full((N, plant.m), np.nan)
    for k in range(N):
        work.wanted_motion[:] = a[k]
        if allocator.run(work, float(t[k]), system.state(q[k], v[k], float(t[k])), GIVEN) != 0:
            continue
        u[k] = work.u
        allocator.carry(work)
        multipliers[k] = work.problem.multipliers
        power[k] = u[k] * (work.B.T @ v[k])
        K = work.K[: work.mobility]
        needed = work.along[: work.mobility] - K @ work.problem.f if work.limited else K @ work.required_force
        short = K @ work.B @ u[k] - needed
        parts = (needed, np.abs(K @ work.B) @ np.abs(u[k]), K @ (work.problem.M @ a[k]))
        terms = sum(float(np.linalg.norm(part)) for part in parts)
        missing[k] = float(np.linalg.norm(short)) / terms if terms else 0.0
    allocator.give(work)
    given = np.array(system.arguments.parameter_vector(p), dtype=float)
    names, places = plant.actuators.names, plant.actuators.inputs
    return ActuatorForcesAlong(system, names, t, q, v, a, u, power, multipliers, missing, given, cyclic, places)


def _parameters(system: System, motion: Any, state: Any, p: Parameters) -> Parameters:
    """Those of the motion, or of the state where it begins, where none are given."""
    if isinstance(motion, Sweep) and any(np.any(motion.parameters(k) != motion.p) for k in range(len(motion))):
        raise ArgumentError("the sweep leads parameters, and forces along a motion are those of one machine.")
    if isinstance(motion, (Run, Sweep)):
        state = motion.state(0) if len(motion.q) else None
    return system.arguments.resolve({} if state is None or isinstance(state, Mapping) else state, None, p)[2]


def _motion(
    system: System, motion: Any, times: Any, state: Any, cyclic: bool, p: Parameters
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times, positions, velocities and accelerations of a motion in whatever form it is given."""
    if isinstance(motion, (Run, Sweep)):
        other = motion.system
        if list(other.q_names) != list(system.q_names) or list(other.v_names) != list(system.v_names):
            raise ArgumentError(f"the motion is of '{other.name}', whose coordinates are not those of '{system.name}'.")
        a = motion.vdot
        t = motion.t if times is None else _rising(times)
        if len(t) != len(motion.q):
            raise ArgumentError(f"there are {len(t)} times for {len(motion.q)} states; needed: as many.")
        if isinstance(motion, Sweep) and times is None and len(t) > 1 and not (np.diff(t) > 0).all():
            raise ArgumentError("the sweep has no times of its own; give times=, or lead it at a constant speed.")
        return np.array(t), motion.q, motion.v, a
    if isinstance(motion, Trajectory):
        t = _rising(np.linspace(*_span(motion), SAMPLES) if times is None else times)
        if not motion.names:
            raise ArgumentError("the trajectory has no names; needed: those of the coordinates that it leads.")
        names, values = list(motion.names), list(motion.sampled(t))
    else:
        names, t, values = _table(motion, times, cyclic)
    lead = [{n: x[:, k] for k, n in enumerate(names)} for x in values]
    swept = system.sweep(lead[0], state, speed=lead[1], acceleration=lead[2], p=p)
    if not swept.success:
        raise AssemblyError(f"the motion cannot be led to its end: {swept.message}")
    return t, swept.q, swept.v, swept.vdot


def _span(motion: Trajectory) -> tuple[float, float]:
    if not np.isfinite(motion.span).all() or motion.span[0] == motion.span[1]:
        raise ArgumentError("the trajectory has no end; needed: times=, those at which forces are wanted.")
    return motion.span


def _table(given: Any, times: Any, cyclic: bool) -> tuple[list[str], np.ndarray, list[np.ndarray]]:
    """Names, times, and values, rates and accelerations of a table, by a spline."""
    from scipy.interpolate import make_interp_spline

    if hasattr(given, "columns") and hasattr(given, "index"):  # a DataFrame
        times = given.index.to_numpy() if times is None else times
        given = {str(name): given[name].to_numpy() for name in given.columns}
    columns = checks.mapping(given, "the motion")
    if times is None or not columns:
        raise ArgumentError("a table of a motion needs coordinates with values, and times= of these (s).")
    t = _rising(times)
    X = np.column_stack([checks.vector(x, len(t), f"the values of '{n}'") for n, x in columns.items()])
    if len(t) < 6:
        raise ArgumentError(f"the table has {len(t)} times; needed: at least 6 for a spline of degree five.")
    if cyclic and np.abs(X[-1] - X[0]).max() > 1e-9 * max(1.0, float(np.abs(X).max())):
        return list(columns), t, _turning(t, X)
    spline = make_interp_spline(t, X, k=5, bc_type="periodic" if cyclic else None)
    return list(columns), t, [spline(t, nu=k) for k in range(3)]


def _turning(t: np.ndarray, X: np.ndarray) -> list[np.ndarray]:
    """Spline of values that grow from cycle to cycle, like a crank angle: a steady part plus a periodic part."""
    from scipy.interpolate import make_interp_spline

    rate = (X[-1] - X[0]) / (t[-1] - t[0])
    steady = X[0] + np.outer(t - t[0], rate)
    rest = X - steady
    rest[-1] = rest[0]
    spline = make_interp_spline(t, rest, k=5, bc_type="periodic")
    return [spline(t) + steady, spline(t, nu=1) + rate, spline(t, nu=2)]


def _rising(times: Any) -> np.ndarray:
    t = checks.vector(times, None, "times")
    if not len(t) or (np.diff(t) <= 0).any():
        raise ArgumentError(f"times are {checks.shown(times)}; needed: at least one, rising.")
    return np.array(t)
