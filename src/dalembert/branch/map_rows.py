"""Rows for the coordinates and frames that a map prescribes, beside the constraints, for many positions at once.

    Φ(q) = 0,   q_k = x_k,   e · p_frame(q) = x_k,   frames turned as they are held,                          (1)
    J = (A; N; e · J_frame; …),   white = J · reach / units                                                    (2)

x are the values of the map's axes and of what is held, reach and units radians and lengths of the mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.branch.corrector import shortest_many
from dalembert.branch.goals import FrameGoal, across_of, frame_goals
from dalembert.branch.path import NO_WAY
from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError, unknown
from dalembert.protocols import Parameters, SystemLike, positions_only
from dalembert.rank import angular_velocities, rank_policy


class PointAxis:
    """One coordinate of a frame's origin, along an axis of the ground."""

    def __init__(self, system: SystemLike, frame: Any, axis: int):
        self.frame, self.axis = system.layout.frame(frame), axis
        self.pose = system.kernel("pose", frame=self.frame)
        self.jacobian = system.kernel("jacobian", frame=self.frame, axes="world")


class MapRows:
    """The rows of (1): constraints first, then what the axes lead, then what is held."""

    def __init__(self, system: SystemLike, axes: Mapping[Any, Any], held: Any, frames: Any, p: Parameters, t: float):
        positions_only(system, NO_WAY)
        self.system: Any = system
        self.t = t
        self.p = np.array(system.arguments.parameter_vector(p), dtype=float)
        self.policy = rank_policy(system, self.p if len(self.p) else None)
        self.angular, self.length = angular_velocities(system), self.policy.length
        self.reach = np.where(self.angular, 1.0, self.length)
        self.flat = system.nq == system.nv and list(system.q_names) == list(system.v_names)
        self.values = {str(name): _values(name, x) for name, x in axes.items()}
        fixed = {} if held is None else checks.mapping(held, "held")
        self.fixed = np.array([checks.number(x, f"held '{name}'") for name, x in fixed.items()])
        self.names = [*self.values, *map(str, fixed)]
        if len(set(self.names)) < len(self.names):
            twice = max(self.names, key=self.names.count)
            raise ArgumentError(f"'{twice}' is both an axis of the map and held; leave it out of one of them.")
        self.led = [_led(system, name) for name in (*axes, *fixed)]
        self.goals = frame_goals(system, frames)
        self.kernel = system.kernel("constraints")
        self.constraints = len(system.rows.of)
        turns = [isinstance(k, int) and bool(self.angular[k]) for k in self.led]
        turns += [bool(a) for goal in self.goals for a in goal.angular]
        self.kept = np.ones(len(turns), dtype=bool)
        self.units = np.concatenate([self.policy.units, np.where(turns, 1.0, self.length)])
        self.evaluations = 0
        self._leave_out_fixed()

    # --- the rows -----------------------------------------------------------------------------------------------

    @property
    def held(self) -> list[int | PointAxis]:
        """What has one value over the whole map: coordinates, by their places in v, and those of frames."""
        return self.led[len(self.values) :]

    def values_of(self, kernel: Any, q: np.ndarray, **more: Any) -> Any:
        """What a kernel gives at many positions, (K, nq)."""
        given = {"q": q, "p": self.p, "t": self.t, **more}
        if "q" not in kernel.names_in:  # constant: the same in all positions
            one = kernel(*(given[n] for n in kernel.names_in))
            many = [np.broadcast_to(x, (len(q), *np.shape(x))) for x in (one if isinstance(one, tuple) else (one,))]
            return tuple(many) if isinstance(one, tuple) else many[0]
        return kernel.batch(*(given[n] for n in kernel.names_in))

    def many(self, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far positions q, (K, nq), are from (1) with the axes at x, (K, axes), and J of (2): both scaled.

        x may also have the values of what is held, after those of the axes.
        """
        self.evaluations += len(q)
        K, nv = len(q), self.system.nv
        phi, A, _ = self.values_of(self.kernel, q)
        want = np.hstack([x, np.broadcast_to(self.fixed, (K, len(self.fixed)))])[:, : len(self.led)]
        if x.shape[1] > len(self.values):
            want = x
        away, rows = self._led_rows(q, want)
        for goal in self.goals:
            far, motion = self._goal_rows(goal, q)
            away, rows = np.hstack([away, far]), np.concatenate([rows, motion], axis=1)
        away, rows = away[:, self.kept], rows[:, self.kept]
        white = np.concatenate([A.reshape(K, -1, nv), rows], axis=1) * self.reach / self.units[:, None]
        return np.hstack([phi.reshape(K, -1), away]) / self.units, white

    def _led_rows(self, q: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away, rows = np.empty(want.shape), np.zeros((len(q), want.shape[1], self.system.nv))
        known: dict[Any, tuple[np.ndarray, np.ndarray]] = {}
        for k, led in enumerate(self.led):
            if isinstance(led, int):
                away[:, k] = q[:, self.system.q_names.index(self.system.v_names[led])] - want[:, k]
                rows[:, k, led] = 1.0
                continue
            key = id(led.pose)
            if key not in known:
                known[key] = self.values_of(led.pose, q), self.values_of(led.jacobian, q).reshape(len(q), 6, -1)
            T, J = known[key]
            away[:, k], rows[:, k] = T[:, led.axis, 3] - want[:, k], J[:, 3 + led.axis]
        return away, rows

    def _goal_rows(self, goal: FrameGoal, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `FrameGoal.rows` with sines of angles in place of angles: exact where the goal is met."""
        T, J = self.values_of(goal.pose, q), self.values_of(goal.jacobian, q).reshape(len(q), 6, -1)
        away, rows = [], []
        if goal.position is not None:
            away.append((T[:, :3, 3] - goal.position)[:, goal.kept])
            rows.append(J[:, 3:][:, goal.kept])
        if goal.rotation is not None:
            away.append(0.5 * np.cross(goal.rotation.T, np.swapaxes(T[:, :3, :3], 1, 2)).sum(axis=1))
            rows.append(J[:, :3])
        elif goal.direction is not None:
            across = across_of(goal.direction)
            away.append(np.cross(goal.direction, T[:, :3, goal.axis]) @ across.T)
            rows.append(np.einsum("ij,kjn->kin", across, J[:, :3]))
        return np.hstack(away), np.concatenate(rows, axis=1)

    def _leave_out_fixed(self) -> None:
        """Leave out rows along which nothing can move, such as z of a planar mechanism; refuse values off them."""
        rng, system = np.random.default_rng(0), self.system
        start = system.state().q
        some = np.array([system.plus(start, d) for d in rng.uniform(-1, 1, (3, system.nv)) * self.reach])
        first = np.array([x[0] for x in self.values.values()])
        away, white = self.many(some, np.broadcast_to(first, (3, len(first))))
        m = self.constraints
        still = np.abs(white[:, m:]).max(axis=(0, 2), initial=0.0) < POLICY.immovable
        for k in np.flatnonzero(still):
            moves = k < len(self.values) and len(set(next(iter(list(self.values.values())[k : k + 1])))) > 1
            if moves or np.abs(away[:, m + k]).max() > POLICY.had:
                what = f"'{self.names[k]}'" if k < len(self.names) else "the orientation that is held"
                raise ArgumentError(f"'{system.name}' cannot move along {what}; leave it out, or give what it has.")
        self.kept = ~still
        self.units = np.concatenate([self.units[:m], self.units[m:][~still]])

    # --- many positions -----------------------------------------------------------------------------------------

    def here(self, q: np.ndarray) -> np.ndarray:
        """(K, led) the values that the axes, and what is held, have in positions q."""
        return self._led_rows(q, np.zeros((len(q), len(self.led))))[0]

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ δ of many, (K, nq)."""
        if self.flat or not len(q):
            return q + delta if self.flat else q
        kernel = self.system.kernel("plus")
        given = {"q": q, "dq": delta}
        return kernel.batch(*(given[n] for n in kernel.names_in))

    def moved(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ reach · δ of many, (K, nq)."""
        return self.plus(q, delta * self.reach)

    def shortest(self, J: np.ndarray, c: np.ndarray) -> np.ndarray:
        """(K, nv) the shortest scaled δ with J δ = c."""
        return shortest_many(J, c, self.policy.tolerance)

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """δ with q0 ⊕ δ = q1 of many, (K, nv)."""
        if self.flat or not len(q1):
            return q1 - q0 if self.flat else np.zeros((0, self.system.nv))
        kernel = self.system.kernel("minus")
        given = {"q": q0, "q1": q1}
        return kernel.batch(*(given[n] for n in kernel.names_in))

    def meant(self, q: np.ndarray) -> np.ndarray:
        """(K,) bool: no constraint holds with an axis reversed."""
        if not len(self.system.rows.branch_of):
            return np.ones(len(q), dtype=bool)
        signs = self.values_of(self.system.kernel("branch"), q).reshape(len(q), len(self.system.rows.branch_of))
        return (signs >= 0).all(axis=1)


def _values(name: Any, given: Any) -> np.ndarray:
    values = np.atleast_1d(checks.reals(given, f"axis '{name}'"))
    values = np.array(checks.vector(values, None, f"axis '{name}'"))
    step = np.diff(values)
    if not len(values) or not ((step > 0).all() or (step < 0).all()):
        raise ArgumentError(f"axis '{name}' of the map has {len(values)} values; needed: some, all rising or falling.")
    return values


def _led(system: SystemLike, name: Any) -> int | PointAxis:
    """A coordinate, by its place in v, or a coordinate of a frame, named "frame.x"."""
    plain = [n for n in system.v_names if n in system.q_names]
    frame, dot, axis = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if name in plain:
        return system.v_names.index(name)
    if not dot or axis not in ("x", "y", "z"):
        layout: Any = system.layout
        points = [f"{f}.x" for f in (*layout.frames, *layout.bodies) if f != "ground"]
        raise unknown("coordinate, or x, y, z of a frame", name, [*plain, *points], "the map")
    return PointAxis(system, frame, "xyz".index(axis))
