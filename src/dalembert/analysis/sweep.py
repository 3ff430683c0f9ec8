"""Kinematics along a path, and the forces that go with it: what `System.sweep` answers.

With the positions and J of (2) of `path`, velocities, accelerations and forces of a motion are linear:

    J v = (−b; ḣ),   J a = (−γ; ḧ − Ṅ v),   Jᵀ (λ; f) = M a + h − Q,

f the forces along what is led, λ those of the constraints; the shortest ones where constraints are redundant.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.by_name import ByName
from dalembert.analysis.motion_columns import motion_columns, position_units
from dalembert.analysis.solution_curve import SolutionCurve
from dalembert.analysis.special_points import SpecialPoint
from dalembert.branch.corrector import pseudoinverse
from dalembert.branch.path import PrescribedPath
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import far_from_singular
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import hinted
from dalembert.lazy import cached_property
from dalembert.protocols import Inputs, SystemLike
from dalembert.rank import rank_policy
from dalembert.tables import Columns


@hinted
@dataclass(frozen=True, eq=False)
class Sweep(ByName):
    """Positions of a mechanism at K values of what is led, on one branch, with the motion at a given speed.

    `sweep["B"]` are the values of a joint, a coordinate or what is led; `rate("B")` and `joint_acceleration("B")` are
    its velocity and acceleration; `driving_force("A")` is the force that drives it; `state(k)` is the state at the k-th
    value. Motion of frames, multipliers and reactions have the names they have in a `Run`. Where the branch ends before
    the last value, `success` is False, `message` gives the reason, `missed` holds the values that were not reached, and
    everything found up to there is kept. In a dead point that is led at a speed, velocities have no bound: NaN.
    """

    system: SystemLike
    q: np.ndarray  # (K, nq)
    v: np.ndarray  # (K, nv)
    vdot: np.ndarray  # (K, nv)
    t: np.ndarray  # (K,) s: when a value is passed, if the speeds are constant and lead from each value to the next
    points: tuple[SpecialPoint, ...]  # dead points, branch points and limits in the order they were met
    success: bool  # whether every value was reached
    interrupted: bool  # whether it was ended from outside (Ctrl-C)
    message: str  # why not, and how far; "" where all were reached
    values: dict[str, np.ndarray]  # what is led, by name: (K,)
    missed: dict[str, np.ndarray]  # the values of it that were not reached
    _path: PrescribedPath = field(repr=False)
    _x: np.ndarray = field(repr=False)  # (K,) places
    _slopes: np.ndarray = field(repr=False)  # (K, nv) of the branch
    _singular: np.ndarray = field(repr=False)  # (K,) bool: where the motion comes from beside
    _stack: Stack | None = field(repr=False)
    _u: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        led = ", ".join(self._path.columns) or "frames"
        return f"<sweep of '{self.system.name}' along {led}: {len(self)} of {self._path.count} positions>"

    @property
    def p(self) -> np.ndarray:
        """(np,) parameters; those that are led have the values they were given before."""
        return self._path.p

    # --- by name ------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> np.ndarray:
        """(K,) values of a coordinate or of what is led, by its name; (K, n) of a joint with several."""
        if isinstance(name, str) and name in self.values:
            return self.values[name]
        return super().__getitem__(name)

    def state(self, k: int) -> Any:
        """The state at the k-th value, k from 0; negative k count from the end."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        v = self.v[k] if np.isfinite(self.v[k]).all() else np.zeros(self.system.nv)
        x = self.system.state(self.q[k], v, float(self._times[k]))
        return self.system.arguments.belonging(x, self.parameters(k), self._u)

    def parameters(self, k: int) -> Any:
        """The parameters at the k-th value, (np,); None where the mechanism has none."""
        return self._path.parameters_at(float(self._x[checks.whole(k, "k", least=-len(self), most=len(self) - 1)]))

    # --- forces -------------------------------------------------------------------------------------------------

    def driving_force(self, name: str) -> np.ndarray:
        """Driving force of a prescribed or held quantity, by name: (K,) N or N m of a coordinate.

        Of a frame: (K, k) along its rows, position first (N), then orientation (N m), in the ground's axes.
        """
        n, name = self._path.constraints, checks.name(name, "the name of what is led")
        led = [*self._path.coordinates, *self._path.fixed]
        tracks = {track[0].name: len(track[0].angular) for track in self._path.tracks}
        if name in self.system.u_names and name not in led and name not in tracks:
            raise ArgumentError(
                f"'{name}' is an input, and a sweep is led by {', '.join([*led, *tracks])}. For the inputs that "
                "produce this motion call control.actuator_forces_along(system, sweep)."
            )
        if name not in led and name not in tracks:
            raise unknown("coordinate or frame that is led", name, [*led, *tracks])
        if name in led:
            return self._forces[:, n + led.index(name)]
        start = n + len(led)
        for other, size in tracks.items():
            if other == name:
                break
            start += size
        return self._forces[:, start : start + tracks[name]]

    @property
    def multipliers(self) -> np.ndarray:
        """(K, m) of the constraint rows `system.row_names`, N or N m; the shortest where rows depend on each other."""
        return self._forces[:, : self._path.constraints]

    def constraint_forces(self, k: int) -> Any:
        """Forces in every joint at the k-th value (`Reactions`), with what is led driven as it moves there."""
        x, p = self.state(k), self.parameters(k)
        m = self._path.constraints
        tau = self._J(k)[m:].T @ self._forces[k, m:]
        return self.system.constraint_forces(x, tau, u=self._u, p=p)  # type: ignore[attr-defined]

    def power(self, name: str) -> np.ndarray:
        """(K,) W that the drive of a prescribed or held coordinate brings in, by its name."""
        name = checks.name(name, "the name of what is led")
        if name in {track[0].name for track in self._path.tracks}:
            raise ArgumentError(f"'{name}' is a frame; for its power take driving_force('{name}') and its velocity.")
        return self.driving_force(name) * self.rate(name)

    def _columns(self) -> Columns:
        """Over what is led, where that is one coordinate or parameter; forces where they are determined."""
        named = list(self.values)
        single = named[0] if len(named) == 1 else "k"
        determined = self._stack is None or self._stack.rank == self.system.nv
        values, units = motion_columns(
            self.system, self.q, self.v, vdot=self.vdot, multipliers=self.multipliers if determined else None
        )
        of = dict(zip(self.system.q_names, position_units(self.system)))
        if single == "k":
            values = {**self.values, **values}
        for name in [*self._path.coordinates, *self._path.fixed] if determined else []:
            values[f"force.{name}"] = self.driving_force(name)
            units[f"force.{name}"] = {"rad": "N m", "m": "N"}.get(of.get(name, ""), "")
        units |= {name: of.get(name, "s" if name == "t" else "") for name in named}
        rows = self.values[single] if single != "k" else np.arange(len(self))
        return Columns(self.system.name, single, rows, values, units)

    # --- inside -------------------------------------------------------------------------------------------------

    @cached_property
    def _times(self) -> np.ndarray:
        """Time of each state: the path's own where the constraints depend on it."""
        on_time = "t" in self._path.kernel.names_in
        return self._path.given(self._x)[1] if on_time else self.t

    @cached_property
    def _p(self) -> np.ndarray:
        return self._path.given(self._x)[0]

    def _in_joints(self) -> np.ndarray:
        return self._kept_in_joints

    @cached_property
    def _kept_in_joints(self) -> np.ndarray:
        """(K, joints, 6): a sweep is short, so what all joints carry is kept."""
        return super()._in_joints()

    def _batch(self, name: str, *, frame: Any = None, axes: str = "body", **more: Any) -> Any:
        kernel = self.system.kernel(name, frame=frame, axes=axes)
        u = self.system.arguments.input_vector(self._u)
        given = {"q": self.q, "v": self.v, "p": self._p, "t": self._times, "u": u, **more}
        return kernel.batch(*(given[n] for n in kernel.names_in))

    def _loose(self) -> str:
        """A sentence that names the velocities of a motion that is neither led nor held, at the first value."""
        path = self._path
        motion = np.linalg.svd(self._J(0) * path.reach / path.units[:, None])[2][-1] * path.reach
        large = np.abs(motion) > 0.1 * np.abs(motion).max()
        moved = ", ".join(name for name, k in zip(self.system.v_names, large) if k)
        return f"At the first value this moves {moved}."

    def _J(self, k: int) -> np.ndarray:
        return self._path.equations(self.q[k], float(self._x[k]))[1]

    @cached_property
    def _forces(self) -> np.ndarray:
        """(K, rows) λ and f."""
        if self._stack is None:
            return np.zeros((0, len(self._path.units)))
        free = self.system.nv - self._stack.rank
        if free:
            raise ArgumentError(
                f"the forces of this sweep are not determined: {free} freedom(s) of '{self.system.name}' are neither "
                f"led nor held. {self._loose()} Hold them too (held={{...}}) to say what they do; a rod that spins "
                "between two balls needs a universal joint at one end."
            )
        load = self._batch("inverse_dynamics", a=self.vdot).reshape(len(self), -1)
        mu = self._stack.forces(load)
        path, m = self._path, self._path.constraints
        if path.single in path.coordinates and len(path.fixed) == 0:
            # in a singular position by virtual work along the branch
            mu[self._singular, m] = np.einsum("ki,ki->k", self._slopes[self._singular], load[self._singular])
        return mu


class Stack:
    """J at all positions of a sweep, factored at once."""

    def __init__(self, path: PrescribedPath, q: np.ndarray, x: np.ndarray):
        system = path.system
        self.path = path
        self.p, self.t = path.given(x)
        given = {"q": q, "p": self.p, "t": self.t}
        _phi, A, b = path.kernel.batch(*(given[n] for n in path.kernel.names_in))
        self.b = b.reshape(len(x), -1)
        rows = [A, np.broadcast_to(path.N, (len(x), *path.N.shape))]
        if path.tracks:
            m = path.constraints + len(path.N)
            rows.append(np.array([path.equations(q[k], float(x[k]))[1][m:] for k in range(len(x))]))
        J = np.concatenate(rows, axis=1)
        policy = rank_policy(system, path.parameters_at(float(x[0])))
        white = J * path.reach / path.units[:, None]
        inverse = far_from_singular(white, POLICY.two_sided)
        if inverse is None:
            inverse, sigma = pseudoinverse(white, policy.tolerance)
            counts = sigma > policy.tolerance * np.maximum(sigma[:, :1], 1.0)
            self.rank = int(counts.sum(axis=1).max(initial=0))
        else:
            self.rank = system.nv
        self.inverse = inverse  # (K, nv, rows) pseudoinverses

    def motions(self, right: np.ndarray) -> np.ndarray:
        """The shortest motions with J x = right, (K, nv)."""
        return np.einsum("kij,kj->ki", self.inverse, right / self.path.units) * self.path.reach

    def forces(self, load: np.ndarray) -> np.ndarray:
        """The shortest μ with Jᵀ μ = load, (K, rows)."""
        return np.einsum("kij,ki->kj", self.inverse, load * self.path.reach) / self.path.units


def with_motion(curve: SolutionCurve, path: PrescribedPath, rates: np.ndarray, bends: np.ndarray, u: Inputs) -> Sweep:
    """The sweep of a curve, where what is led has these velocities and accelerations (see `led_rates`)."""
    system, K = path.system, len(curve.x)
    rates, bends = rates[:K], bends[:K]
    stack = Stack(path, curve.q, curve.x) if K else None
    v, a, singular = _motion(curve, path, rates, bends, stack)
    values, missed = ({n: x[part] for n, x in path.columns.items()} for part in (slice(0, K), slice(K, None)))
    message = "" if path.count == K else _ended(curve, path, K)
    t = curve.x if path.single == "t" else path.t + _elapsed(path, curve.x, rates)
    return Sweep(
        system, curve.q, v, a, t, tuple(curve.points), path.count == K, curve.interrupted, message, values, missed,
        path, curve.x, curve.slopes, singular, stack, u,
    )  # fmt: skip


def _motion(
    curve: SolutionCurve, path: PrescribedPath, rates: np.ndarray, bends: np.ndarray, stack: Stack | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities and accelerations, and in which positions they come from beside them."""
    system, K = path.system, len(curve.x)
    if stack is None:
        return np.zeros((0, system.nv)), np.zeros((0, system.nv)), np.zeros(0, dtype=bool)
    given = {"q": curve.q, "p": stack.p, "t": stack.t}
    singular = np.isfinite(curve.bends).all(axis=1) & (curve.bends.shape[1] > 0)
    v = stack.motions(np.hstack([-stack.b, rates]))
    one = path.single in path.coordinates
    m = stack.b.shape[1]
    if one:
        v[singular] = curve.slopes[singular] * rates[singular, :1]
    gamma = system.kernel("gamma")
    of = gamma.batch(*(({**given, "v": v})[n] for n in gamma.names_in)) if gamma.names_in else np.zeros((K, m))
    right = np.hstack([-np.broadcast_to(np.reshape(of, (-1, m)) if m else np.zeros((K, 0)), (K, m)), bends])
    for track, where in _places(path):
        kernel = system.kernel("jacobian_rate", frame=track[0].frame, axes="world")
        drift = kernel.batch(*(({**given, "v": v})[n] for n in kernel.names_in)).reshape(K, 6)
        goals = [path.goals(float(x)) for x in curve.x]
        number = path.tracks.index(track)
        right[:, m:][:, where] -= np.array([g[number][0].rate_rows(d) for g, d in zip(goals, drift)])
    a = stack.motions(right)
    if one:
        a[singular] = curve.bends[singular] * rates[singular, :1] ** 2 + curve.slopes[singular] * bends[singular, :1]
        stuck = ~np.isfinite(curve.slopes).all(axis=1) & (rates[:, 0] != 0)
        v[stuck] = a[stuck] = np.nan
    return v, a, singular


def _ended(curve: SolutionCurve, path: PrescribedPath, K: int) -> str:
    left = path.count - K
    reached = "ends after" if K else "cannot begin at"
    place = path.told(float(curve.x[-1] if K else path.wanted[0]))
    return f"the sweep {reached} {place}: {curve.why}. {left} of {path.count} values are not reached."


def _elapsed(path: PrescribedPath, x: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """(K,) s from the first value at constant speeds; zeros where these do not lead from each value to the next."""
    r = rates[0] if len(rates) else np.zeros(0)
    nothing = np.zeros(len(x))
    if not r.any() or (rates != r).any() or path.parameters or "t" in path.columns:
        return nothing
    steps = np.zeros((len(x) - 1, path.led))
    for k, name in enumerate(path.coordinates):
        steps[:, k] = np.diff(x if name == path.single else [path.value(name, float(one))[0] for one in x])
    for track, where in _places(path):
        ways = [a.toward(b, 0.0)[1] for a, b in itertools.pairwise(track[: len(x)])]
        for k, V in enumerate(ways):
            steps[k, where] = track[k].rate_rows(V)
    dt = steps @ r / (r @ r)
    if (np.abs(steps - np.outer(dt, r)) > 1e-9 * np.abs(steps).max(initial=0.0)).any():
        return nothing
    return np.concatenate([[0.0], np.cumsum(dt)])


def _places(path: PrescribedPath) -> list[tuple[Any, slice]]:
    """Each frame that is led and its place among the rows of what is led."""
    out, start = [], len(path.coordinates) + len(path.fixed)
    for track in path.tracks:
        out.append((track, slice(start, start + len(track[0].angular))))
        start += len(track[0].angular)
    return out


def led_rates(path: PrescribedPath, given: Any, what: str) -> np.ndarray:
    """(K, rows of what is led) the speed, or acceleration, of all that is led; zero where it is not given."""
    out = np.zeros((path.count, path.led))
    if given is None:
        return out
    if not isinstance(given, Mapping):
        if path.single is None:
            names = [*path.columns, *(track[0].name for track in path.tracks)]
            raise ArgumentError(f"{what} is one value for {', '.join(names)}; needed: a mapping of these to values.")
        given = {path.single: given}
    tracks = {track[0].name: (track, where) for track, where in _places(path)}
    for name, value in given.items():
        if name in path.coordinates:
            x = checks.array(value, None, f"{what} of '{name}'")
            if x.shape not in ((), (1,), (path.count,)):
                raise ArgumentError(f"{what} of '{name}' has shape {x.shape}; needed: one number, or {path.count}.")
            out[:, path.coordinates.index(name)] = x
        elif name in tracks:
            track, where = tracks[name]
            x = checks.array(value, None, f"{what} of frame '{name}'")
            size = 3 if not track[0].turns else 6
            if x.shape not in ((size,), (path.count, size)):
                raise ArgumentError(
                    f"{what} of frame '{name}' has shape {x.shape}; needed: ({size},) or ({path.count}, {size}), "
                    + ("a velocity" if size == 3 else "a twist (angular; linear)")
                    + " in the ground's axes."
                )
            for k, V in enumerate(np.broadcast_to(x, (path.count, size))):
                out[k, where] = track[k].rate_rows(np.concatenate([np.zeros(6 - size), V]))
        elif name in path.columns:
            raise ArgumentError(f"{what} is given for '{name}', which is no coordinate: positions at rest follow it.")
        else:
            raise unknown("coordinate or frame that is led", name, [*path.coordinates, *tracks], what)
    return out
