"""Poses of all bodies along a run, from one compiled kernel for all times at once."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

from dalembert.analysis.sweep import Sweep
from dalembert.compiler import Kernel
from dalembert.mechanism.body import Frame
from dalembert.protocols import Parameters, RunLike
from dalembert.symbols import all_numbers
from dalembert.system.system import System
from dalembert.view.door import system_of
from dalembert.view.swings import Swing

FEW = 8  # positions that are not worth compiling for
_FORMULAS: WeakKeyDictionary[System, ca.Function] = WeakKeyDictionary()


def body_poses(system: System, q: np.ndarray, p: Parameters = None) -> dict[str, np.ndarray]:
    """{body: T_0b (N, 4, 4)} for positions q (N, nq)."""
    if system not in _FORMULAS:
        _FORMULAS[system] = _formulas(system)
    f = _FORMULAS[system]
    values = {"q": np.asarray(q, dtype=float), "p": system.arguments.parameter_vector(p)}
    used = [f.name_in(k) for k in range(f.n_in())]
    every = list(system.layout.bodies)
    if len(q) <= FEW or not used:
        each = [[values[name] if name == "p" else values[name][k] for name in used] for k in range(len(q))]
        found = np.array([np.array(f(*row)["poses"] if not row else f(*row)) for row in each])
    else:
        lanes = 8 if system.backend == "native" else 1
        found = Kernel(f, lanes=lanes, backend=system.backend).batch(*map(values.get, used))
    return {name: found[:, 4 * k : 4 * k + 4] for k, name in enumerate(every)}


def _formulas(system: System) -> ca.Function:
    """Poses of all bodies below each other, (4 bodies, 4), of q and p where there are any."""
    symbols = {"q": ca.SX.sym("q", system.nq), "p": ca.SX.sym("p", len(system.p_names))}
    poses = []
    for body in system.layout.bodies.values():
        f = system.function("pose", frame=body)
        poses.append(f.call([symbols[f.name_in(k)] for k in range(f.n_in())])[0])
    used = [name for name in symbols if symbols[name].numel()]
    return ca.Function("poses", [symbols[name] for name in used], [ca.vertcat(*poses)], used, ["poses"])


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

    Where a run has two states at one time, an impact, each cubic uses the velocity on its own side. For a sweep without
    times a spline through q.
    """
    system = system_of(run, sweeps=True)
    t, q = clock(run), run.q
    if len(t) < 2 or t[-1] == t[0]:
        return np.repeat(q[:1], len(times), axis=0)
    if t is run.t and not isinstance(run, Swing):
        rates = system.kernel("rates")
        out = _hermite(t, q, rates.batch(*({"q": q, "v": run.v}[name] for name in rates.names_in)), times)
    else:
        out = CubicSpline(t, q)(times)
    for name, a in system.layout.joints.items():
        if a.joint.nq != a.joint.nv:  # a unit quaternion comes first
            four = slice(system.layout.q_slice(name).start, system.layout.q_slice(name).start + 4)
            out[:, four] /= np.linalg.norm(out[:, four], axis=1, keepdims=True)
    return out


def _hermite(t: np.ndarray, q: np.ndarray, rates: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(M, nq) cubics through q (N, nq) with slopes `rates`, at `times`; t (N,) may hold a time twice."""
    first, last = np.searchsorted(t, t[0], side="right") - 1, np.searchsorted(t, t[-1]) - 1  # cubics have a length
    k = np.clip(np.searchsorted(t, times, side="right") - 1, first, last)
    h = (t[k + 1] - t[k])[:, None]
    s = np.clip((np.asarray(times) - t[k])[:, None] / h, 0.0, 1.0)
    ends = (1 + 2 * s) * (1 - s) ** 2 * q[k] + s**2 * (3 - 2 * s) * q[k + 1]
    return ends + h * s * (1 - s) * ((1 - s) * rates[k] - s * rates[k + 1])
