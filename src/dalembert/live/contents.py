"""Controls of a page beside the machine: leading coordinates, parameters, inputs, modes; plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent
from dalembert.errors import DalembertError
from dalembert.linearization.equilibrium import equilibrium
from dalembert.linearization.linearize import linearize
from dalembert.linearization.model import LinearModel
from dalembert.rank import rank_policy
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.simulate import simulate
from dalembert.simulation.state_units import plain_rates, state_units
from dalembert.system.state import State
from dalembert.system.system import System

SEEN = 2.0  # s of motion that rails are made long enough for
MOST = 24  # modes that are shown
GOOD = 0.3  # of the most independent coordinate: an earlier one that is this independent leads in its place
DRIVEN = 0.03  # and one that an input drives, if it is this independent
SLOW = 1e-6  # 1/s: eigenvalues below this are no motion to look at


def reach(system: System, state: State, p: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(N, nq) positions of the motion from a state: rails are drawn that long."""
    with np.errstate(all="ignore"):
        try:
            run = simulate(system, state, SEEN, u=u, p=p)
        except DalembertError:
            return state.q[None]
    return run.q if len(run.t) and np.isfinite(run.q).all() else state.q[None]


def coordinates(system: System, layout: RunLayout, state: State, p: np.ndarray) -> list[dict[str, Any]]:
    """Every coordinate whose rate is a velocity: names, places, units, range of its slider, whether it leads."""
    out, length, names = [], layout.policy.length, system.v_names
    plain, leading = plain_rates(system), leaders(system, layout, state, p)
    units = state_units(system, system.nq + system.nv, length)[system.nq :]
    limits = np.concatenate([np.zeros((0, 2)), *(a.limits for a in system.layout.joints.values())])
    angular = np.concatenate([np.zeros(0, bool), *(a.joint.angular for a in system.layout.joints.values())])
    for k, v in enumerate(plain):
        if v < 0:
            continue
        here, half = float(state.q[k]), np.pi if angular[v] else 1.5 * length
        low, high = (float(x) if np.isfinite(x) else here + s * half for x, s in zip(limits[v], (-1, 1)))
        out.append(
            {
                "name": system.q_names[k], "q": k, "v": int(v), "angular": bool(angular[v]), "unit": float(units[v]),
                "low": min(low, here), "high": max(high, here), "leads": int(v) in leading, "velocity": names[v],
            }
        )  # fmt: skip
    return out


def leaders(system: System, layout: RunLayout, state: State, p: np.ndarray) -> list[int]:
    """Velocities that move independently of each other, as many as positions have freedom.

    Those that an input drives come first, then earlier ones.
    """
    on, policy = system.rows.holonomic, rank_policy(system, p)
    free = np.eye(system.nv)
    if on.any():
        A, M = system.constraint_matrix(state, p=p)[on], system.mass_matrix(state, p=p)
        free = Tangent.of(A, M, policy, policy.sizes[on]).admissible
    units = state_units(system, system.nq + system.nv, policy.length)[system.nq :]
    rest, out = np.linalg.qr(free)[0] / units[:, None] if free.shape[1] else free, list[int]()
    usable, driven = {int(v) for v in plain_rates(system) if v >= 0}, _driven(system, state, p)
    for _ in range(free.shape[1]):
        size = np.array([np.linalg.norm(row) if k in usable else 0.0 for k, row in enumerate(rest)])
        if not size.max(initial=0.0) > 1e-6:
            break
        good = np.flatnonzero(size >= np.where(driven, DRIVEN, GOOD) * size.max())
        k = int(next((k for k in good if driven[k]), good[0]))
        out.append(k)
        direction = rest[k] / size[k]
        rest = rest - np.outer(rest @ direction, direction)
    return out


def _driven(system: System, state: State, p: np.ndarray) -> np.ndarray:
    """(nv,) whether an input acts along each velocity alone, as a motor of its joint does."""
    if not system.u_names:
        return np.zeros(system.nv, dtype=bool)
    try:
        B = np.asarray(system.evaluate("input_matrix", state, p=p))
    except DalembertError:  # forces that are not affine in the inputs
        return np.zeros(system.nv, dtype=bool)
    alone = (B != 0).sum(axis=0) == 1
    return (B[:, alone] != 0).any(axis=1)


def parameters(system: System, p: np.ndarray) -> list[dict[str, Any]]:
    """Names, values and ranges of sliders: half to twice the value."""
    out = []
    for name, value in zip(system.p_names, p.tolist()):
        ends = sorted((0.5 * value, 2.0 * value)) if value else [-1.0, 1.0]
        out.append({"name": name, "value": value, "low": ends[0], "high": ends[1]})
    return out


def inputs(system: System, u: np.ndarray, size: float) -> list[dict[str, Any]]:
    """Names, values and ranges; size: what an input of ordinary size is, N or N m."""
    out = []
    for name, value in zip(system.u_names, u.tolist()):
        reach = max(2.0 * abs(value), size)
        out.append({"name": name, "value": value, "low": -reach, "high": reach})
    return out


def weight(system: System, state: State, p: np.ndarray) -> float:
    """Typical size of an input: the largest force or moment of gravity on a coordinate, else 1."""
    found = np.abs(system.evaluate("gravity_vector", state, p=p)).max(initial=0.0)
    return float(f"{found:.1g}") if found > 1e-9 else 1.0


def modes(system: System, layout: RunLayout, state: State, p: np.ndarray, u: np.ndarray, rank: int) -> dict[str, Any]:
    """Modes of the linear model at an equilibrium near a state, or at the state itself, at rest.

    rank: of the constraints near the state; an equilibrium with another mobility lies on another branch and is no
    place to swing about. The coordinate that moves most moves by 1 rad, or by the mechanism's length.
    """
    model, where = _model(system, state, p, u, rank)
    if model is None:
        return {"where": where, "list": []}
    out, units = [], state_units(system, system.nq + system.nv, layout.policy.length)[system.nq :]
    for mode in model.modes:
        delta = np.array([mode.joints[name] for name in system.v_names])
        size = np.abs(delta / units).max(initial=0.0)
        if abs(mode.eigenvalue) < SLOW or not size > 0:
            continue
        delta = delta / size
        out.append(
            {
                "real": mode.eigenvalue.real, "imag": mode.eigenvalue.imag, "frequency": mode.frequency,
                "damping": mode.damping, "re": delta.real.tolist(), "im": delta.imag.tolist(),
                "shape": system.v_names[int(np.argmax(np.abs(delta / units)))],
            }
        )  # fmt: skip
    return {"where": where, "q": model.operating.state.q.tolist(), "list": out[:MOST]}


def _model(system: System, state: State, p: np.ndarray, u: np.ndarray, rank: int) -> tuple[LinearModel | None, str]:
    still = state.replace(v=np.zeros(system.nv))
    downhill: dict[str, Any] = {"bounds": dict.fromkeys(system.v_names[:1], (None, None))}
    for way in (downhill, {}):
        try:
            found = equilibrium(system, still, p=p, u=u, **way)
        except (DalembertError, np.linalg.LinAlgError):
            continue
        if tangent(system, found.state, p).rank == rank:
            return found.model, "at an equilibrium near the start"
    try:
        return linearize(system, still, p=p, u=u), "at the start, held at rest"
    except (DalembertError, np.linalg.LinAlgError) as error:
        return None, f"none: {error}"
