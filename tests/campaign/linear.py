"""Linear models against differences of `rigid`'s accelerations on the manifold (Spencer 4.1).

For each state y_k of a model the mechanism is displaced by ±h and ±2h along it: other named coordinates stay, the rest
follows by Newton's method on the residuals of `rigid`. Differences of the accelerations found there are a column of A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rigid import LONG, SIZES, Rigid, quaternion_matrix

import dalembert as da

if TYPE_CHECKING:
    from compared import Outcome
    from plans import Plan

STEP = 1e-3  # rad, sizes of the mechanism, or the same in its pace
CLOSE = 1e-5  # of the largest entry, times the condition over 100 where that is larger


def compare_linear(out: Outcome, plan: Plan, system: da.System, x: da.State, truth: Any, truth_at: Any) -> None:
    """The model in its own coordinates, and in others drawn at random."""
    if not truth.K.shape[1] or truth.acceleration(np.zeros(system.nv))[1] > 1e-10 or truth.condition > 1e3:
        return
    rng = np.random.default_rng([plan.seed, 13])
    drawn = sorted(rng.choice(system.nv, truth.K.shape[1], replace=False).tolist())
    K = np.linalg.qr(truth.K / truth.reach[:, None])[0]
    sine = float(np.linalg.svd(K[drawn], compute_uv=False)[-1])
    for chosen in (None, [system.v_names[k] for k in drawn]):
        try:
            model = da.linearize(system, x, independent=chosen)
        except da.DalembertError as error:
            if chosen is None:
                out.check(system.report(x).singular, f"linearize: {error}")
            else:
                out.check(sine < 1e-3, f"linearize in {chosen}, {sine:.1e} from dependent: {error}")
            continue
        if chosen is not None and sine < 0.1:  # others move so much faster that differences are rough
            continue
        condition = truth.condition * (1.0 if chosen is None else 1.0 / sine)
        off = _off(plan, x, model, truth, truth_at)
        out.check(off < CLOSE * max(1.0, condition / 1e2), f"linearize: A in {model.velocities} is off by {off:.1e}")


def _off(plan: Plan, x: da.State, model: da.LinearModel, truth: Any, truth_at: Any) -> float:
    """The largest error of the accelerations' rows of A, relative to their largest entry."""
    rigid, op = Rigid(plan), model.operating
    places, speeds = ([c.index for c in cs] for cs in (op.coordinates, op.speeds))
    n, pace = len(places), plan.pace
    units = np.concatenate([rigid.reach[places], rigid.reach[speeds] / pace])
    rates = rigid.reach[speeds] / pace**2
    columns = []
    for k, unit in enumerate(units):
        ends = []
        for s in (2, 1, -1, -2):
            y = np.zeros(len(units))
            y[k] = s * STEP * unit
            q, v = _displaced(truth, x, places, speeds, y[:n], y[n:], truth_at)
            ends.append(truth_at(q, v, x.t).acceleration(np.zeros(rigid.nv))[0][speeds] / rates)
        columns.append((8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * STEP))
    true, found = np.column_stack(columns), model.A[n:] * units / rates[:, None]
    return float(np.abs(found - true).max(initial=0.0) / max(np.abs(true).max(initial=0.0), 1.0))


def _displaced(
    here: Any, x: da.State, places: list[int], speeds: list[int], y: np.ndarray, dv: np.ndarray, truth_at: Any
) -> tuple[np.ndarray, np.ndarray]:
    """q and v whose named coordinates and velocities are y and dv away from those of x."""
    rigid, reach = here.rigid, here.reach
    holonomic = here.A[: len(here.phi)]
    C = np.vstack([np.eye(rigid.nv)[places] / reach[places][:, None], holonomic]) * reach
    delta = np.zeros(rigid.nv, dtype=LONG)
    for _ in range(12):
        phi = rigid.residuals(x.q, rigid.poses(x.q, delta), delta, LONG(x.t))
        gap = np.concatenate([(delta[places] - y) / reach[places], phi]).astype(float)
        delta = delta - reach * np.linalg.lstsq(C, gap, rcond=1e-9)[0]
        if np.abs(gap).max(initial=0.0) < 1e-16:
            break
    q = _moved(rigid, x.q, delta)
    there = truth_at(q, x.v, x.t)
    rows = np.vstack([np.eye(rigid.nv)[speeds] / reach[speeds][:, None], there.A]) * reach
    wanted = np.concatenate([(x.v[speeds] + dv) / reach[speeds], -there.b])
    return q, reach * np.linalg.lstsq(rows, wanted, rcond=1e-9)[0]


def _moved(rigid: Rigid, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ, as `rigid.poses` has it."""
    out, i, k = [], 0, 0
    for j in rigid.plan.joints:
        n = SIZES[j.kind]
        d = delta[k : k + n]
        if j.kind in ("spherical", "free"):
            w = d[:3]
            angle = np.sqrt(w @ w)
            half = np.sin(angle / 2) / angle if angle > 0 else LONG(0.5)
            a, b = q[i : i + 4].astype(LONG), np.concatenate([[np.cos(angle / 2)], half * w])
            turned = np.concatenate(
                [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
            )
            out.append(turned)
            if n == 6:
                move = d[3:] + np.cross(w, d[3:]) / 2 + np.cross(w, np.cross(w, d[3:])) / 6
                out.append(q[i + 4 : i + 7] + quaternion_matrix(q[i : i + 4]) @ move)
            i += 1
        else:
            out.append(q[i : i + n] + d)
        i, k = i + n, k + n
    return np.concatenate([np.zeros(0), *out]).astype(float)
