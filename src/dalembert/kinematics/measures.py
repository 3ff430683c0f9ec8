"""How good positions are: distance to singular ones, manipulability, room to the limits of joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.limits import joint_limits
from dalembert.branch.map_rows import MapRows, PointAxis
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.forces import Actuator, Force, JointForce, KinematicInput, Servo
from dalembert.system.system import System

METRICS = ("actuated", "mass", "coordinates")


@dataclass(frozen=True, eq=False)
class Measures:
    """Arrays of the map's shape, NaN where nothing is reached; None where the map does not tell."""

    loops: np.ndarray  # smallest singular value of the constraints alone
    serial: np.ndarray  # of the constraints with what the axes lead and what is held
    parallel: np.ndarray | None  # of the constraints with what is actuated
    manipulability: np.ndarray | None
    dexterity: np.ndarray | None


class Measuring:
    """Definition of the measures: actuated velocities, motions of the frame, metric."""

    def __init__(self, rows: MapRows, of: Any, actuated: Any, metric: str):
        system = rows.system
        self.rows = rows
        self.actuated, self.assumed = _actuated(system, rows, actuated)
        own = {k for k in self.actuated if isinstance(k, int)}
        self.locked = [k for k in rows.held if isinstance(k, int) and k not in own]
        self.metric = checks.choice(metric, METRICS, "metric")
        points = [led for led in rows.led if isinstance(led, PointAxis)]
        self.frame, self.axes = None, list[int]()
        if of is not None:
            self.frame = system.layout.frame(of)
            self.axes = [0, 1, 2]
        elif points:
            self.frame = points[0].frame
            self.axes = [led.axis for led, kept in zip(rows.led, rows.kept) if isinstance(led, PointAxis) and kept]

    def drop_assumed(self, rank: int) -> None:
        """Forget the actuators that were assumed if they do not hold the mechanism: J has this rank."""
        if self.assumed and rank < self.rows.system.nv:
            self.actuated = []

    def at(self, q: np.ndarray, white: np.ndarray, rank: int) -> Measures:
        """The measures at positions, (K, nq), with J there."""
        rows, system = self.rows, self.rows.system
        m = rows.constraints
        A = white[:, :m]
        loops = _least(rows, A) if m else np.ones(len(q))
        serial = np.linalg.svd(white, compute_uv=False)[:, rank - 1] if rank else np.ones(len(q))
        parallel, J = None, None
        if self.actuated:
            J = np.concatenate([A, self._actuator_rows(q)], axis=1)
            # a motion that leaves all actuators, and what is held, at rest shows in the nv-th value
            sigma = np.linalg.svd(J, compute_uv=False)
            parallel = sigma[:, system.nv - 1] if sigma.shape[1] >= system.nv else np.zeros(len(q))
        if self.frame is None:
            return Measures(loops, serial, parallel, None, None)
        G = self._motions(q)
        maps = self._maps(q, A, J, G) if G.shape[1] else None
        if maps is None:
            return Measures(loops, serial, parallel, None, None)
        sigma = np.linalg.svd(maps, compute_uv=False)
        with np.errstate(all="ignore"):
            return Measures(loops, serial, parallel, sigma.prod(axis=1), sigma[:, -1] / sigma[:, 0])

    def _actuator_rows(self, q: np.ndarray) -> np.ndarray:
        """(K, actuated + locked, nv) rows of the rates of what is actuated, then of what else is held; scaled."""
        rows, nv = self.rows, self.rows.system.nv
        own = np.zeros((len(q), len(self.actuated) + len(self.locked), nv))
        for i, k in enumerate([*self.actuated, *self.locked]):
            if isinstance(k, int):
                own[:, i, k] = 1.0
            else:
                own[:, i] = k.rates(rows, q) * rows.reach / rows.length
        return own

    def _motions(self, q: np.ndarray) -> np.ndarray:
        """(K, k, nv) rows of the frame's velocity, m/s, along those axes in which it can move."""
        kernel = self.rows.system.kernel("jacobian", frame=self.frame, axes="world")
        G = self.rows.values_of(kernel, q).reshape(len(q), 6, -1)[:, [3 + a for a in self.axes]]
        return G[:, np.abs(G).max(axis=(0, 2), initial=0.0) > 1e-12 * self.rows.length]

    def _maps(self, q: np.ndarray, A: np.ndarray, J: np.ndarray | None, G: np.ndarray) -> np.ndarray | None:
        """(K, k, …) from unit motions in the metric to velocities of the frame."""
        rows, system = self.rows, self.rows.system
        m, nv = rows.constraints, system.nv
        if self.metric == "actuated":
            if J is None:
                return None
            own = slice(m, m + len(self.actuated))
            inverse = np.linalg.pinv(J, rcond=rows.policy.tolerance)[:, :, own]  # of scaled velocities
            units = np.array([rows.reach[k] if isinstance(k, int) else rows.length for k in self.actuated])
            return G * rows.reach @ inverse / units
        weight = np.broadcast_to(np.diag(1 / rows.reach), (len(q), nv, nv))
        if self.metric == "mass":
            M = rows.values_of(system.kernel("mass_matrix"), q).reshape(len(q), nv, nv)
            weight = np.swapaxes(np.linalg.cholesky(M), 1, 2)
        back = np.linalg.inv(weight)
        _, _sigma, Vt = np.linalg.svd(A / rows.reach @ back, full_matrices=True)
        rank = int(_counted(rows, np.linalg.svd(A, compute_uv=False)).max(initial=0)) if m else 0
        return G @ back @ np.swapaxes(Vt[:, rank:], 1, 2)

    def room(self, q: np.ndarray) -> np.ndarray:
        """(K,) rad or lengths of the mechanism to the nearest limit of a joint, negative outside; ∞ without limits.

        Angles that the map does not lead are taken by whole turns to where their limits are.
        """
        rows, system = self.rows, self.rows.system
        low, high = joint_limits(system)
        out = np.full(len(q), np.inf)
        led = [k for k in rows.led if isinstance(k, int)]
        for k, name in enumerate(system.v_names):
            if name not in system.q_names or not (np.isfinite(low[k]) or np.isfinite(high[k])):
                continue
            x = q[:, system.q_names.index(name)]
            if rows.angular[k] and k not in led:
                middle = np.clip(0.0, low[k], high[k]) if not np.isfinite(low[k] + high[k]) else (low[k] + high[k]) / 2
                x = middle + (x - middle + np.pi) % (2 * np.pi) - np.pi
            out = np.minimum(out, np.minimum(x - low[k], high[k] - x) / rows.reach[k])
        return out


def usual_rank(rows: MapRows, white: np.ndarray) -> int:
    """The largest rank of J among positions."""
    return int(_counted(rows, np.linalg.svd(white, compute_uv=False)).max(initial=0))


def _counted(rows: MapRows, sigma: np.ndarray) -> np.ndarray:
    return (sigma > rows.policy.tolerance * np.maximum(sigma[:, :1], 1.0)).sum(axis=1)


def _least(rows: MapRows, white: np.ndarray) -> np.ndarray:
    """The smallest singular value that is ever more than rounding."""
    sigma = np.linalg.svd(white, compute_uv=False)
    rank = int(_counted(rows, sigma).max(initial=0))
    return sigma[:, rank - 1] if rank else np.zeros(len(white))


class Cylinder:
    """The length of an actuator between two points."""

    def __init__(self, system: System, force: Actuator):
        self.ends = [PointAxis(system, frame, 0) for frame in force.points]

    def rates(self, rows: MapRows, q: np.ndarray) -> np.ndarray:
        """(K, nv) its rate per unit of each velocity; zeros where the two points coincide."""
        a, b = (rows.values_of(end.pose, q)[:, :3, 3] for end in self.ends)
        Ja, Jb = (rows.values_of(end.jacobian, q).reshape(len(q), 6, -1)[:, 3:] for end in self.ends)
        length = np.linalg.norm(b - a, axis=1, keepdims=True)
        n = np.divide(b - a, length, out=np.zeros_like(a), where=length > 0)
        return np.einsum("ki,kij->kj", n, Jb - Ja)


def _actuated(system: System, rows: MapRows, given: Any) -> tuple[list[int | Cylinder], bool]:
    """What is actuated, places in v and cylinders, and whether that is only assumed.

    What is named; else what has a drive; else all joints of an open chain; else, assumed, the coordinates of a map that
    is led by coordinates alone; else nothing is known.
    """
    forces = system.layout.mechanism.forces
    if given is None:
        found = [k for f in forces.values() for k in _driven(system, f)]
        if found or not system.rows.of:
            return found or [*range(system.nv)], False
        own: list[int | Cylinder] = [k for k in rows.led if isinstance(k, int)]
        return (own if len(own) == len(rows.led) and not rows.goals else []), True
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(
            f"actuated is {checks.shown(given)}; needed: a list of joints, velocities, motors or actuators."
        )
    drives = {name: found for name, f in forces.items() if (found := _driven(system, f))}
    places: dict[Any, list[int | Cylinder]] = {}
    for name in given:
        if name in system.v_names:
            places[name] = [system.v_names.index(name)]
        elif isinstance(name, str) and name in system.layout.joints:
            places[name] = [*range(system.nv)[system.layout.v_slice(name)]]
        elif isinstance(name, str) and name in drives:
            places[name] = drives[name]
        else:
            known = dict.fromkeys([*system.layout.joints, *system.v_names, *drives])
            raise unknown("joint, velocity or drive", name, known, "actuated")
    return list(dict.fromkeys(k for found in places.values() for k in found)), False


def _driven(system: System, force: Force) -> list[int | Cylinder]:
    """What a force drives: the velocities of a motor's joint, that of a servo or kinematic input, a cylinder."""
    if isinstance(force, Actuator):
        return [Cylinder(system, force)]
    if isinstance(force, JointForce) and force.kind == "motor":
        return [*range(system.nv)[system.layout.v_slice(force.joint.name)]]
    if isinstance(force, (Servo, KinematicInput)):
        return [range(system.nv)[system.layout.v_slice(force.joint.name)][force.index]]
    return []
