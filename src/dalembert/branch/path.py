"""The path of a sweep: what is led, through which values, and the equations that hold on the way.

With x the place on the path, positions satisfy

    Φ(q, t(x), p(x)) = 0,   q_k = h_k(x),   frames at their goals of x,                                       (1)

and along a branch    J q′ = g,   J = (A; N; rows of frames),   g = (−Φ_p p′ − b t′; h′; twists of goals).    (2)

One coordinate, parameter or the time is led by its own value, so x is that value and a leg of the path is a stretch
between two reversals. Several at once, and frames, are led along straight lines from each given value to the next: x
counts the values, and each of these lines is a leg.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.branch.corrector import shortest_many
from dalembert.branch.goals import FrameGoal, frame_goals
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateLike, SystemLike, positions_only
from dalembert.rank import angular_velocities, rank_policy
from dalembert.symbols import array, to_sx

NO_WAY = (
    ", so positions depend on the way there and a sweep of positions cannot tell them; drive the coordinate "
    "(add_driver) and simulate."
)


class PrescribedPath:
    """The prescribed and the held quantities; `wanted` are the places x of the given values, `legs` pairs of places."""

    def __init__(
        self,
        system: SystemLike,
        values: Mapping[str, Any],
        frames: Mapping[Any, Any],
        held: Mapping[str, Any],
        start: StateLike,
        p: Parameters,
    ):
        self.system, self.t = system, start.t
        self.p = np.array(system.arguments.parameter_vector(p), dtype=float)
        positions_only(system, NO_WAY)
        columns, self.names = _columns(system, values)
        tracks = {name: _track(system, name, given) for name, given in frames.items()}
        counts = {**{n: len(x) for n, x in columns.items()}, **{str(n): len(x) for n, x in tracks.items()}}
        if not counts:
            raise ArgumentError("a sweep needs something to lead; give a coordinate, a parameter, 't' or a frame.")
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{n}: {k}" for n, k in counts.items())
            raise ArgumentError(f"the values to sweep through differ in number ({told}); needed: as many of each.")
        fixed, _ = _columns(system, {n: [x] for n, x in held.items()}, fixed=True)
        for name in fixed:
            if name in columns:
                raise ArgumentError(f"'{name}' is both swept and held; leave it out of one of them.")
        self.fixed = {name: float(x[0]) for name, x in fixed.items()}
        self.columns, self.tracks = columns, list(tracks.values())
        self.count = next(iter(counts.values()))
        self.coordinates = [n for n in columns if n in system.q_names]
        self.parameters = [n for n in columns if n in system.p_names]
        self.single = next(iter(columns)) if len(columns) == 1 and not tracks else None
        self.wanted = columns[self.single] if self.single else np.arange(self.count, dtype=float)
        ends = _reversals(self.wanted) if self.single else list(range(self.count))
        self.legs = [(float(self.wanted[a]), float(self.wanted[b])) for a, b in itertools.pairwise(ends)]
        self.leg_ends = ends
        self._prepare()

    def _prepare(self) -> None:
        system = self.system
        self.rows = system.arguments.active_rows(None) & system.rows.holonomic
        led = [*self.coordinates, *self.fixed]
        self.q_index = np.array([system.q_names.index(n) for n in led], dtype=int)
        self.N = np.eye(system.nv)[[system.v_names.index(n) for n in led]].reshape(len(led), system.nv)
        self.p_index = np.array([system.p_names.index(n) for n in self.parameters], dtype=int)
        policy, angular = rank_policy(system, self.p if len(self.p) else None), angular_velocities(system)
        self.policy = policy
        self.reach = np.where(angular, 1.0, policy.length)
        goals = np.concatenate([np.zeros(0, dtype=bool), *(track[0].angular for track in self.tracks)])
        held = np.concatenate([self.N[:, angular].any(axis=1), goals]).astype(bool)
        self.units = np.concatenate([policy.units[self.rows], np.where(held, 1.0, policy.length)])
        self.constraints, self.length = int(self.rows.sum()), policy.length
        self.kernel = system.kernel("constraints")
        self.slopes = _parameter_slopes(system) if self.parameters else None
        self._all_rows = bool(self.rows.all())
        self._template = np.vstack([np.zeros((self.constraints, system.nv)), self.N])
        self._ahead = np.concatenate([np.zeros(self.constraints), [1.0], np.zeros(len(self.fixed))])

    @property
    def led(self) -> int:
        """Number of rows of what is led or held."""
        return len(self.units) - self.constraints

    @cached_property
    def span(self) -> float:
        """The length of the path in x."""
        return float(np.abs(np.diff(self.wanted)).max(initial=0.0)) or 1.0

    def at(self, x: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Values of the coordinates that are led, parameters and time at a place."""
        h = np.array([self.value(n, x)[0] for n in self.coordinates] + list(self.fixed.values()))
        p = self.p
        if self.parameters:
            p = p.copy()
            p[self.p_index] = [self.value(n, x)[0] for n in self.parameters]
        return h, p, self.value("t", x)[0] if "t" in self.columns else self.t

    def given(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters (K, np) and times (K,) at places (K,)."""
        if not self.parameters and "t" not in self.columns:
            return np.broadcast_to(self.p, (len(x), len(self.p))), np.full(len(x), self.t)
        values = [self.at(float(one)) for one in x]
        return np.array([v[1] for v in values]).reshape(len(x), len(self.p)), np.array([v[2] for v in values])

    def equations(self, q: np.ndarray, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals of (1), and J and g of (2), at a position q and a place x."""
        if self.single in self.coordinates and not self.tracks and self._all_rows:
            return self._one_coordinate(q, x)
        h, p, t = self.at(x)
        given = {"q": q, "p": p, "t": t}
        phi, A, b = self.kernel(*(given[n] for n in self.kernel.names_in))
        g = np.zeros(len(phi))
        if "t" in self.columns:
            g = g - b * self.value("t", x)[1]
        if self.slopes is not None:
            slope = np.asarray(self.slopes(*(given[n] for n in self.slopes.names_in))).reshape(len(phi), -1)
            g = g - slope[:, self.p_index] @ [self.value(n, x)[1] for n in self.parameters]
        away, rows = [phi[self.rows], q[self.q_index] - h], [A[self.rows], self.N]
        rate = [g[self.rows], [self.value(n, x)[1] for n in self.coordinates], np.zeros(len(self.fixed))]
        for goal, V in self.goals(x):
            far, motion = goal.rows(q, p)
            away.append(far)
            rows.append(motion)
            rate.append(goal.rate_rows(V))
        return np.concatenate(away), np.vstack(rows), np.concatenate(rate)

    def _one_coordinate(self, q: np.ndarray, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The path of one prescribed coordinate with everything else constant."""
        given, m = {"q": q, "p": self.p, "t": self.t}, self.constraints
        phi, A, _ = self.kernel(*[given[n] for n in self.kernel.names_in])
        J, away = self._template.copy(), np.empty(len(self._ahead))
        J[:m], away[:m], away[m:] = A, phi, q[self.q_index]
        away[m] -= x
        if self.fixed:
            away[m + 1 :] -= list(self.fixed.values())
        return away, J, self._ahead

    def many(self, q: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of (1) at positions q (K, nq) and places x (K,), and J, scaled: for one coordinate that is led."""
        given = {"p": self.p, "t": self.t}
        phi, A, _ = self.kernel.batch(*(q if n == "q" else given[n] for n in self.kernel.names_in))
        held = q[:, self.q_index]
        held[:, 0] -= x
        held[:, 1:] -= list(self.fixed.values())
        J = np.concatenate([A, np.broadcast_to(self.N, (len(x), *self.N.shape))], axis=1)
        return np.concatenate([phi, held], axis=1) / self.units, J * (self.reach / self.units[:, None])

    def shortest(self, J: np.ndarray, c: np.ndarray) -> np.ndarray:
        """(K, nv) the shortest scaled δ with J δ = c."""
        return shortest_many(J, c, self.policy.tolerance)

    def moved(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q + reach δ of many positions, of a system whose velocities are the rates of its coordinates."""
        return q + self.reach * delta

    def goals(self, x: float) -> list[tuple[FrameGoal, np.ndarray]]:
        """The goals of the frames at a place, and their twists per unit of x."""
        if not self.tracks:
            return []
        k = min(int(x), max(self.count - 2, 0))
        last = min(k + 1, self.count - 1)
        return [track[k].toward(track[last], x - k) for track in self.tracks]

    def parameters_at(self, x: float) -> Any:
        """Parameters at a place, None where the mechanism has none."""
        return self.at(x)[1] if len(self.p) else None

    def state(self, q: np.ndarray, x: float, v: Any = None) -> StateLike:
        """The state with a position at a place."""
        _, p, t = self.at(x)
        return self.system.arguments.belonging(self.system.state(q, v, t), p)

    def told(self, x: float) -> str:
        """The prescribed quantities with their values at a place."""
        if self.single or self.columns:
            least = {n: 1e-12 * np.abs(values).max() for n, values in self.columns.items()}
            now = {n: self.value(n, x)[0] for n in self.columns}
            return ", ".join(f"{n} = {value if abs(value) > least[n] else 0.0:.6g}" for n, value in now.items())
        return f"value {x:.4g} of {self.count - 1}"

    def value(self, name: str, x: float) -> tuple[float, float]:
        """The value of something led at a place, and its slope."""
        if name == self.single:
            return x, 1.0
        values = self.columns[name]
        if self.count == 1:
            return float(values[0]), 0.0
        k = min(max(int(x), 0), self.count - 2)
        slope = float(values[k + 1] - values[k])
        return float(values[k]) + (x - k) * slope, slope


def _columns(system: SystemLike, path: Any, fixed: bool = False) -> tuple[dict[str, np.ndarray], list[str]]:
    """Values by coordinate, parameter or "t", each (K,), and the names they were given by."""
    out: dict[str, np.ndarray] = {}
    plain = [n for n in system.q_names if n in system.v_names]
    known = dict.fromkeys([*plain, *([] if fixed else [*system.p_names, "t"])])
    where = "held" if fixed else "sweep"
    for name, given in checks.mapping(path, where).items():
        what = f"{where} '{name}'"
        if isinstance(name, str) and name in system.layout.joints and name not in plain:
            own = list(system.q_names[system.layout.q_slice(name)])
            if not own or any(n not in plain for n in own):
                raise ArgumentError(
                    f"joint '{name}' has no coordinates to lead one by one; lead a frame of its body by frames=."
                )
            values = checks.array(given, (None, len(own)), what)
            out |= {n: values[:, k].copy() for k, n in enumerate(own)}
        elif isinstance(name, str) and name in known:
            if name in plain and name in system.p_names:
                raise ArgumentError(f"'{name}' is a coordinate and a parameter; rename one of them to sweep it.")
            out[name] = np.array(checks.vector(np.atleast_1d(checks.reals(given, what)), None, what))
        else:
            raise unknown("coordinate" if fixed else "coordinate or parameter", name, known, where)
        if not len(next(reversed(out.values()))):
            raise ArgumentError(f"{what} has no values; needed: at least one.")
    return out, list(path)


def _track(system: SystemLike, name: Any, given: Any) -> list[FrameGoal]:
    """The goals of a frame, one after another."""
    if isinstance(given, Mapping):
        parts = {n: x if n == "position" else checks.reals(x, f"frame '{name}': {n}") for n, x in given.items()}
        if any(np.ndim(x if n != "position" else np.asarray(x, dtype=object)) < 2 for n, x in parts.items()):
            raise ArgumentError(
                f"frame '{name}' is given one goal; needed: a list of values for each of {list(parts)}."
            )
        if len({len(x) for x in parts.values()}) > 1:
            raise ArgumentError(f"the goals of frame '{name}' differ in number; needed: as many of each.")
        given = [dict(zip(parts, values)) for values in zip(*parts.values())]
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__") or not len(given):
        raise ArgumentError(f"frame '{name}' is {checks.shown(given)}; needed: a list of points or poses.")
    goals = [frame_goals(system, {name: one})[0] for one in given]
    if any(g.wish != goals[0].wish for g in goals):
        raise ArgumentError(f"the goals of frame '{name}' differ in kind; needed: all points, all poses or all alike.")
    return goals


def _reversals(x: np.ndarray) -> list[int]:
    """Indices of the first value, of those where the direction changes, and of the last."""
    ends, way = [0], 0.0
    for k, step in enumerate(np.diff(x)):
        if step and way and np.sign(step) != way:
            ends.append(k)
        way = float(np.sign(step)) or way
    return [*ends, len(x) - 1] if len(x) > 1 else [0]


def _parameter_slopes(system: SystemLike) -> Any:
    """The kernel of ∂Φ/∂p, (m, np)."""

    def value(s: Any) -> Any:
        slope = ca.densify(ca.jacobian(to_sx(s.rows.phi), s.sx["p"]))
        return array(slope).reshape(len(s.rows.phi), -1)

    return system.kernels.custom(("phi_p",), ("q", "p", "t"), value)
