"""The positions where loops come nearest to closed, by Levenberg and Marquardt's method on the group, q ⊕ δ.

Held coordinates stay where they are. Reversed loops are turned to the branch that is meant (`reversed_axes`).
"""

from __future__ import annotations

import numpy as np

from dalembert.branch.policy import POLICY
from dalembert.branch.reversed_axes import ReversedAxes
from dalembert.branch.rows import BranchRows, times


@np.errstate(all="ignore")  # positions that overflow come no nearer
def nearest(rows: BranchRows, Q: np.ndarray, which: np.ndarray, turn: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """(n, nq) positions, from Q (n, nq), and (n,) their largest residuals e; those not in `which` (n,) stay, with ∞.

    turn: whether reversed loops are turned round.
    """
    Q, k, m, gaps = Q.copy(), np.flatnonzero(which), len(rows.positions), np.full(len(Q), np.inf)
    axes = ReversedAxes(rows.system) if turn and rows.system.rows.branch_of else None
    free = _free(rows, Q)
    e, away, change, J = _residuals(rows, axes, Q[k], k)
    gaps[k] = np.abs(e).max(axis=1, initial=0.0)
    damping = np.full(len(k), POLICY.damping)
    for _ in range(POLICY.rounds if m and free.shape[1] else 0):
        finite = np.isfinite(J).all(axis=(1, 2))
        k, away, change, J, damping = (x[finite] for x in (k, away, change, J, damping))
        if not len(k):
            break
        U, sigma, Vt = np.linalg.svd(J @ free, full_matrices=False)
        limit = damping * np.maximum(sigma[:, 0], 1e-150)
        step = times(np.swapaxes(Vt, 1, 2), sigma / (sigma**2 + limit[:, None] ** 2) * times(U.swapaxes(1, 2), change))
        trial = rows.plus(Q[k], times(np.broadcast_to(free, (len(k), *free.shape)), step), k)
        trial[:, rows.held] = Q[k][:, rows.held]
        e, *there = _residuals(rows, axes, trial, k)
        fall = 1.0 - np.linalg.norm(there[0], axis=1) / np.maximum(np.linalg.norm(away, axis=1), 1e-300)
        moved = fall > 0.0
        Q[k[moved]], gaps[k[moved]] = trial[moved], np.abs(e[moved]).max(axis=1, initial=0.0)
        away[moved], change[moved], J[moved] = (x[moved] for x in there)
        damping = np.where(moved, np.maximum(damping / 5, POLICY.least_damping), damping * 10)
        ended = (damping > POLICY.most_damping) | (moved & (fall < POLICY.least_fall)) | (gaps[k] == 0.0)
        on = ~(ended | ~(sigma[:, 0] > POLICY.no_row))  # what is free moves a row
        k, away, change, J, damping = (x[on] for x in (k, away, change, J, damping))
    return Q, gaps


def _free(rows: BranchRows, Q: np.ndarray) -> np.ndarray:
    """(nv, d) the motions that move nothing that is held."""
    if rows.held_v is not None:
        return np.eye(rows.system.nv)[:, np.setdiff1d(np.arange(rows.system.nv), rows.held_v)]
    held = slice(len(rows.positions), len(rows.positions) + len(rows.held))
    return rows.policy.reveal(rows.equations(Q[:1], np.arange(1))[1][0, held]).null


def _residuals(rows: BranchRows, axes: ReversedAxes | None, Q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, ...]:
    """e of the constraints, how far they are from closed, what they should change by, and J."""
    phi, A, _ = rows.constraints(Q, k)
    units, which = rows.phi_units[k][:, rows.positions], rows.positions
    J = A[:, which] * rows.reach[k][:, None] / units[:, :, None]
    e = phi[:, which] / units
    away, change = e.copy(), -e
    if axes is not None:
        signs = rows.values("branch", Q, k).reshape(len(Q), -1)
        for i in np.flatnonzero((signs < 0.0).any(axis=1)):
            away[i], change[i] = (x[which] / units[i] for x in axes(phi[i], signs[i]))
    return e, away, change, J
