"""How good positions are: distance to singular ones, manipulability, room to the limits of joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.reaching import joint_limits
from dalembert.errors import ArgumentError, unknown
from dalembert.kinematics.held_rows import HeldRows, Point
from dalembert.mechanism.forces import JointForce
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

    def __init__(self, rows: HeldRows, of: Any, actuated: Any, metric: str):
        system = rows.system
        self.rows = rows
        self.actuated = _actuated(system, rows, actuated)
        self.metric = checks.choice(metric, METRICS, "metric")
        points = [led for led in rows.led if isinstance(led, Point)]
        self.frame, self.axes = None, list[int]()
        if of is not None:
            self.frame = system.layout.frame(of)
            self.axes = [0, 1, 2]
        elif points:
            self.frame = points[0].frame
            self.axes = [led.axis for led, kept in zip(rows.led, rows.kept) if isinstance(led, Point) and kept]

    def at(self, q: np.ndarray, white: np.ndarray, rank: int) -> Measures:
        """The measures at positions, (K, nq), with J there."""
        rows, system = self.rows, self.rows.system
        m = rows.constraints
        A = white[:, :m]
        loops = _least(rows, A) if m else np.ones(len(q))
        serial = np.linalg.svd(white, compute_uv=False)[:, rank - 1] if rank else np.ones(len(q))
        parallel, J = None, None
        if self.actuated:
            own = np.broadcast_to(np.eye(system.nv)[self.actuated], (len(q), len(self.actuated), system.nv))
            J = np.concatenate([A, own], axis=1)
            # a motion that leaves all actuators at rest shows in the nv-th value
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

    def _motions(self, q: np.ndarray) -> np.ndarray:
        """(K, k, nv) rows of the frame's velocity, m/s, along those axes in which it can move."""
        kernel = self.rows.system.kernel("jacobian", frame=self.frame, axes="world")
        G = self.rows._call(kernel, q).reshape(len(q), 6, -1)[:, [3 + a for a in self.axes]]
        return G[:, np.abs(G).max(axis=(0, 2), initial=0.0) > 1e-12 * self.rows.length]

    def _maps(self, q: np.ndarray, A: np.ndarray, J: np.ndarray | None, G: np.ndarray) -> np.ndarray | None:
        """(K, k, …) from unit motions in the metric to velocities of the frame."""
        rows, system = self.rows, self.rows.system
        m, nv = rows.constraints, system.nv
        if self.metric == "actuated":
            if J is None:
                return None
            inverse = np.linalg.pinv(J, rcond=rows.policy.tolerance)[:, :, m:]  # of scaled velocities
            return G * rows.reach @ inverse / rows.reach[self.actuated]
        weight = np.broadcast_to(np.diag(1 / rows.reach), (len(q), nv, nv))
        if self.metric == "mass":
            M = rows._call(system.kernel("mass_matrix"), q).reshape(len(q), nv, nv)
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


def usual_rank(rows: HeldRows, white: np.ndarray) -> int:
    """The largest rank of J among positions."""
    return int(_counted(rows, np.linalg.svd(white, compute_uv=False)).max(initial=0))


def _counted(rows: HeldRows, sigma: np.ndarray) -> np.ndarray:
    return (sigma > rows.policy.tolerance * np.maximum(sigma[:, :1], 1.0)).sum(axis=1)


def _least(rows: HeldRows, white: np.ndarray) -> np.ndarray:
    """The smallest singular value that is ever more than rounding."""
    sigma = np.linalg.svd(white, compute_uv=False)
    rank = int(_counted(rows, sigma).max(initial=0))
    return sigma[:, rank - 1] if rank else np.zeros(len(white))


def _actuated(system: System, rows: HeldRows, given: Any) -> list[int]:
    """Places in v of what is actuated: named, else with motors, else led by the map, else all of an open chain."""
    if given is None:
        forces = system.layout.mechanism.forces.values()
        motors = [f.joint for f in forces if isinstance(f, JointForce) and f.kind == "motor"]
        found = [k for joint in motors for k in range(system.nv)[system.layout.v_slice(joint.name)]]
        found = found or [k for k in rows.led if isinstance(k, int)]
        return found or ([] if system.rows.of else list(range(system.nv)))
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"actuated is {checks.shown(given)}; needed: a list of joints or velocities.")
    found = []
    for name in given:
        if name in system.v_names:
            found.append(system.v_names.index(name))
        elif isinstance(name, str) and name in system.layout.joints:
            found += range(system.nv)[system.layout.v_slice(name)]
        else:
            raise unknown("joint or velocity", name, [*system.layout.joints, *system.v_names], "actuated")
    return found
