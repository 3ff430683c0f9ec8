"""Damped Newton's method for closing the loops of n positions side by side, from anywhere.

    J δ = −e,  q ← q ⊕ s δ,  s by halving until the residual falls                                (Spencer 2.3.1)

Steps are those of `rows`, safe where rows are redundant or the position is singular. A search ends when the estimated
distance to the solution, ρ/(1 − ρ) ‖δ‖ with ρ the contraction rate of the steps, is small, or when the residual no
longer falls. No position depends on the others: where it comes to follows from its start and its rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows


@dataclass(eq=False)
class Closed:
    """The ends of n searches."""

    q: np.ndarray  # (n, nq)
    small: np.ndarray  # (n,) bool: every residual is below the tolerance
    meant: np.ndarray  # (n,) bool: no axis of a loop is reversed
    residuals: np.ndarray  # (n, rows) e of `rows`; NaN where the rows are not defined
    first: np.ndarray  # (n,) size of the first step
    contraction: np.ndarray  # (n,) ρ: 0 for quadratic convergence, 0.5 at a singular configuration
    iterations: np.ndarray  # (n,)

    @property
    def ok(self) -> np.ndarray:
        """(n,) whether the loops are closed, on the branch that is meant."""
        return self.small & self.meant


@np.errstate(all="ignore")  # positions that overflow are not found
def close(
    rows: BranchRows, Q: np.ndarray, which: np.ndarray | None = None, tolerance: float = POLICY.tolerance
) -> Closed:
    """Search from positions Q (n, nq), those in `which` (n,) bool or all, for closed ones."""
    n, limits = len(Q), POLICY
    out = Closed(
        Q.copy(), np.zeros(n, bool), np.zeros(n, bool), np.full((n, rows.units.shape[1]), np.nan), np.zeros(n),
        np.zeros(n), np.zeros(n, dtype=int),
    )  # fmt: skip
    k = np.arange(n) if which is None else np.flatnonzero(which)
    last = np.zeros(n)  # sizes of steps
    norms, stalls = np.full((limits.iterations, n), np.nan), np.zeros(n, dtype=int)  # residuals before each step
    e, J = rows.equations(Q[k], k)
    for count in range(limits.iterations if len(k) else 0):
        delta = rows.shortest(out.q[k], k, J, -e)
        norm, size = _length(e), _largest(delta)
        defined = np.isfinite(size)
        if not defined.all():
            out.residuals[k[~defined]], out.small[k[~defined]] = np.nan, False
            k, e, J, delta, norm, size = (x[defined] for x in (k, e, J, delta, norm, size))
        if not len(k):
            break
        q, e, J, scale = _damped(rows, out.q[k], k, delta, norm, e, J)
        if count == 0:
            out.first[k] = size
        rate = np.minimum(size / np.maximum(last[k], 1e-300), 0.999) if count else np.full(len(k), 0.5)
        last[k] = size
        out.contraction[k] = rate if count else 0.0
        out.q[k], out.residuals[k], out.iterations[k], norms[count, k] = q, e, count + 1, norm
        stalls[k] += scale < limits.shortest
        small = out.small[k] = _largest(e) <= tolerance
        done = small & ((rate / (1 - rate) * size <= tolerance) | (size <= limits.rounding * (1.0 + _largest(q))))
        done |= stalls[k] == limits.stalls
        if count >= limits.patience:
            done |= norm > limits.fall * norms[count - limits.patience, k]
        if done.any():
            k, e, J = k[~done], e[~done], J[~done]
            if not len(k):
                break
    k = np.flatnonzero(out.small)
    out.meant[k] = rows.meant(out.q[k], k)
    return out


def _damped(
    rows: BranchRows, Q: np.ndarray, k: np.ndarray, delta: np.ndarray, norm: np.ndarray, e: np.ndarray, J: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q ⊕ s δ, its e and J, and s: halved until the residuals fall, or hardly anything is left."""
    turn = _largest(delta[:, rows.angular])
    scale = np.where(turn > POLICY.turn, POLICY.turn / np.maximum(turn, POLICY.turn), 1.0)
    trial = rows.plus(Q, scale[:, None] * delta, k)
    e, J = rows.equations(trial, k)
    while True:
        again = ~((_length(e) < norm) | (scale < POLICY.shortest) | (norm <= POLICY.falls))
        if not again.any():
            return trial, e, J, scale
        scale[again] *= 0.5
        trial[again] = rows.plus(Q[again], scale[again, None] * delta[again], k[again])
        e[again], J[again] = rows.equations(trial[again], k[again])


def _largest(x: np.ndarray) -> np.ndarray:
    return np.abs(x).max(axis=1, initial=0.0)


def _length(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", x, x))


def unwind(rows: BranchRows, start: np.ndarray, Q: np.ndarray, which: np.ndarray) -> None:
    """Take whole turns out of angles of closed positions Q (n, nq), back to within half a turn of the start."""
    half = np.abs(Q[:, rows.angles] - start[:, rows.angles]) > np.pi
    for j in rows.angles[half.any(axis=0)]:
        if j in rows.held:
            continue
        turns = np.where(which, np.round((Q[:, j] - start[:, j]) / (2 * np.pi)), 0.0)
        k = np.flatnonzero(turns)
        if len(k):
            moved = Q[k]
            moved[:, j] -= 2 * np.pi * turns[k]
            change = rows.equations(moved, k)[0] - rows.equations(Q[k], k)[0]
            same = _largest(change) < POLICY.no_turn * (1 + np.abs(turns[k]))
            Q[k[same]] = moved[same]  # no screw, gear or rack
