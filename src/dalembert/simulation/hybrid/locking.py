"""Positions that contacts and ropes lock to second order: a tensegrity prism whose ropes are exactly taut.

With forces ω of rows at rest, Rᵀω = 0, ω ≥ 0 of contacts and ropes (a state of self-stress), a motion along d has

    R d = 0 wherever ω > 0,   Σ ω g = ½ t² Σ ω γ(d) + …                                                     (1)

Gaps cannot be negative: where Σ ω γ(d) < 0 for all such d, the position is an isolated one, and no motion leads away
whatever the load. It is prestress stable (Connelly & Whiteley, 1996); the forces of rigid ropes have no finite value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.simulation.hybrid.instantaneous import DEPENDENT, Instant

EXACT = 1e-11  # of the unit of gaps: nearer, what is left to move is 3e-6 of it
CURVED = 1e-6  # of the largest: of the form (1)


def locked_by(at: Instant, held: Sequence[str], touching: Sequence[str]) -> list[str]:
    """The contacts that lock a position; nothing where it is not locked."""
    gaps = [at.gap_row[n] for n in touching]
    rows = [*at.of(*held), *gaps]
    if not gaps or at.b[rows].any():
        return []
    R = at.rows[rows] / np.maximum(np.linalg.norm(at.rows[rows], axis=1), 1e-300)[:, None]
    U, sigma, Vt = np.linalg.svd(R)
    rank = int((sigma > DEPENDENT * sigma.max(initial=1e-300)).sum())
    if rank == len(rows) or rank == R.shape[1]:
        return []
    stress = _positive(U[:, rank:], len(gaps))
    if stress is None:
        return []
    bearing = [k for k in range(len(gaps)) if stress[len(rows) - len(gaps) + k] > DEPENDENT]
    weights = stress / np.maximum(np.linalg.norm(at.rows[rows], axis=1), 1e-300)
    if abs(weights @ at.phi[rows]) > EXACT * float(np.abs(weights * at.measures.units[rows]).sum()):
        return []
    kept = [*range(len(rows) - len(gaps)), *(len(rows) - len(gaps) + k for k in bearing)]
    _, sigma, Vt = np.linalg.svd(R[kept])
    free = Vt[int((sigma > DEPENDENT * sigma.max(initial=1e-300)).sum()) :]
    form = _form(at, rows, weights, free)
    values = np.linalg.eigvalsh(form)
    size = float(np.abs(values).max(initial=0.0))
    if not size > 0.0 or values[-1] > -CURVED * size:
        return []
    return [touching[k] for k in bearing]


def _positive(stresses: np.ndarray, count: int) -> np.ndarray | None:
    """A combination of states of self-stress whose last `count` forces are at least 0; None where there is none."""
    of = stresses[-count:]
    if stresses.shape[1] == 1:
        one: np.ndarray = stresses[:, 0] * np.sign(of[np.argmax(np.abs(of[:, 0])), 0])
        return one if one[-count:].min() >= -DEPENDENT and one[-count:].max() > DEPENDENT else None
    from scipy.optimize import linprog

    found = linprog(-of.sum(axis=0), A_ub=-of, b_ub=np.zeros(count), A_eq=None, bounds=(-1.0, 1.0))
    stress = stresses @ found.x if found.success else np.zeros(len(stresses))
    return stress if stress[-count:].max() > DEPENDENT else None


def _form(at: Instant, rows: Sequence[int], weights: np.ndarray, free: np.ndarray) -> np.ndarray:
    """(k, k) the quadratic form Σ ω γ(d) of velocities d, (k, n) whitened."""

    def value(nu: np.ndarray) -> float:
        now = Instant(at.changeable, at.state.replace(v=at.velocities(nu)), at.u, at.p, at)
        return float(weights @ now.gamma[rows])

    k = len(free)
    own = [value(d) for d in free]
    out = np.diag(own)
    for i in range(k):
        for j in range(i):
            out[i, j] = out[j, i] = 0.5 * (value(free[i] + free[j]) - own[i] - own[j])
    return out
