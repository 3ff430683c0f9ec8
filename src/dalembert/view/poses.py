"""Poses of all bodies along a run, from one compiled kernel for all times at once."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from dalembert.analysis.sweep import Sweep
from dalembert.compiler import Kernel
from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import Parameters, RunLike
from dalembert.symbols import all_numbers
from dalembert.system.system import System
from dalembert.view.door import system_of
from dalembert.view.swings import Swing

FEW = 8  # positions that are not worth compiling for


def body_poses(system: System, bodies: Sequence[Body], q: np.ndarray, p: Parameters = None) -> dict[str, np.ndarray]:
    """{body: T_0b (N, 4, 4)} for positions q (N, nq)."""
    symbols = {"q": ca.SX.sym("q", system.nq), "p": ca.SX.sym("p", len(system.p_names))}
    values = {"q": np.asarray(q, dtype=float), "p": system.parameter_vector(p)}
    poses = []
    for body in bodies:
        f = system.function("pose", frame=body)
        poses.append(f.call([symbols[f.name_in(k)] for k in range(f.n_in())])[0])
    used = [name for name in symbols if symbols[name].numel()]
    if not bodies or not used:
        return {body.name: np.tile(np.array(ca.DM(T)), (len(q), 1, 1)) for body, T in zip(bodies, poses)}
    f = ca.Function("poses", [symbols[name] for name in used], [ca.vertcat(*poses)], used, ["poses"])
    if len(q) <= FEW:
        each = [[values[name] if name == "p" else values[name][k] for name in used] for k in range(len(q))]
        found = np.array([np.array(f(*row)) for row in each])
        return {body.name: found[:, 4 * k : 4 * k + 4] for k, body in enumerate(bodies)}
    found = Kernel(f, lanes=8 if system.backend == "native" else 1, backend=system.backend).batch(
        *map(values.get, used)
    )
    return {body.name: found[:, 4 * k : 4 * k + 4] for k, body in enumerate(bodies)}


def place_on_body(system: System, frame: Frame, p: Parameters = None) -> tuple[np.ndarray, np.ndarray]:
    """(R, x) of a frame in its body, as numbers; parameters have the values p."""
    if all_numbers(np.concatenate([frame.T.R.ravel(), frame.T.p])):
        return frame.T.R.astype(float), frame.T.p.astype(float)
    neutral = system.state()
    T = np.linalg.inv(system.pose(neutral, frame.body, p=p)) @ system.pose(neutral, frame, p=p)
    return T[:3, :3], T[:3, 3]


def clock(run: RunLike | Sweep) -> np.ndarray:
    """Times of the records; those of a sweep that has none are 0.04 s apart, or as much as makes two seconds."""
    if not isinstance(run, Sweep) or (np.diff(run.t) > 0).all():
        return run.t
    return np.arange(len(run)) * max(0.04, 2.0 / len(run))


def positions_at(run: RunLike | Sweep, times: np.ndarray) -> np.ndarray:
    """(M, nq) positions at other times than the run's: cubic between its states, by q and q̇ = N(q) v.

    For a sweep without times a spline through q.
    """
    system = system_of(run, sweeps=True)
    t, first = np.unique(clock(run), return_index=True)
    q = run.q[first]
    if len(t) < 2:
        return np.repeat(q, len(times), axis=0)
    if clock(run) is run.t and not isinstance(run, Swing):
        v = run.v[first]
        rates = system.kernel("rates")
        out = CubicHermiteSpline(t, q, rates.batch(*({"q": q, "v": v}[name] for name in rates.names_in)))(times)
    else:
        out = CubicSpline(t, q)(times)
    for name, a in system.layout.joints.items():
        if a.joint.nq != a.joint.nv:  # a unit quaternion comes first
            four = slice(system.layout.q_slice(name).start, system.layout.q_slice(name).start + 4)
            out[:, four] /= np.linalg.norm(out[:, four], axis=1, keepdims=True)
    return out
