"""Assembly of many variants at once: for each what `System.assemble` does for one, from the same guess.

Each variant holds its own values of the named coordinates and has its own parameters; `branch.closing` closes all side
by side. Where that does not succeed, the position of the least gap is sought and closed from, then other starts are
tried. A variant that does not close so, on the branch that is meant, or whose velocity no motion has, is left to
`System.assemble`, which reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.analysis import second_order
from dalembert.analysis.assembly import scattered
from dalembert.blas import one_thread
from dalembert.branch.closing import close, unwind
from dalembert.branch.nearest import nearest
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows, places, times
from dalembert.branch.velocities import velocities
from dalembert.system.state import State
from dalembert.system.system import System

TOGETHER = 1024  # variants: what is computed for these at a time fits into the memory beside the processor


@one_thread()
@np.errstate(all="ignore")  # variants that overflow are not found
def assembled(
    system: System, start: State, q: Mapping[str, np.ndarray], v: Mapping[str, np.ndarray], p: np.ndarray,
    good: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(n, nq) positions and (n, nv) velocities from one start; `good` (n,) becomes False where they are not found."""
    Q, V = np.tile(start.q, (len(p), 1)), np.zeros((len(p), system.nv))
    held, speeds = (np.column_stack([np.zeros((len(p), 0)), *x.values()]) for x in (q, v))
    given, k = np.hstack([held, speeds, p]), np.flatnonzero(good)
    if len(k) > 1 and (given[k] == given[k[0]]).all():  # runs that differ later only
        one, found = k[:1], np.ones(1, dtype=bool)
        q, v = ({name: x[one] for name, x in of.items()} for of in (q, v))
        Q[k], V[k] = assembled(system, start, q, v, p[one], found)
        good[k] = found
        return Q, V
    for begin in range(0, len(p), TOGETHER):
        some = slice(begin, begin + TOGETHER)
        rows = held_rows(system, list(q), p[some], start.t, held[some])
        moving = places(v, system.v_names, system.layout.v_slice)
        if rows is None or speeds.shape[1] != len(moving):
            good[some] = False  # `System.assemble` knows what to do, or refuses them
            continue
        Q[some, rows.held] = held[some]
        begun = Q[some].copy()
        Q[some], closed = _closed(rows, begun, good[some])
        good[some] &= closed
        unwind(rows, begun, Q[some], good[some])
        V[some] = admissible(rows, Q[some], moving, speeds[some], start.v, good[some])
    return Q, V


def _closed(rows: BranchRows, start: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, nq) closed positions from a start (n, nq), or from those around it, and (n,) bool where they are found.

    The search of `analysis.assembly.Search`, all variants side by side: each gives up as it would by itself, and where
    rows are not defined on the way it is left to that.
    """
    n, rng = len(start), np.random.default_rng(0)
    Q, found, k = start.copy(), np.zeros(n, dtype=bool), np.flatnonzero(which)
    gaps = np.full((POLICY.starts, n), np.inf)  # of each attempt that ended in one
    for attempt in range(1, POLICY.starts + 1):
        at = start if attempt == 1 else scattered(rows, start, rng, attempt, np.arange(n))
        on = np.zeros(n, dtype=bool)
        on[k] = True
        ends = close(rows, at, on)
        again = on & ~ends.ok
        defined = np.isfinite(ends.residuals).all(axis=1) & (ends.iterations > 0)
        again &= defined
        if again.any():
            nearer, apart = nearest(rows, at, again)
            nearly = again & (apart < POLICY.closable)
            near = close(rows, nearer, nearly)
            ends.q[near.ok], ends.small[near.ok], ends.meant[near.ok] = near.q[near.ok], True, True
            defined &= ~nearly | (np.isfinite(near.residuals).all(axis=1) & (near.iterations > 0))
            open_ = np.flatnonzero(again & ~ends.small & ~(nearly & near.small))
            left = np.where(nearly[open_, None], near.residuals[open_], rows.equations(nearer[open_], open_)[0])
            gaps[attempt - 1, open_] = np.abs(left).max(axis=1, initial=0.0)
        Q[ends.ok & on], found[ends.ok & on] = ends.q[ends.ok & on], True
        least = gaps.min(axis=0)
        same = (gaps < (1 + POLICY.same_gap) * least).sum(axis=0)
        k = k[~found[k] & defined[k] & (same[k] < POLICY.same_gaps)]
        if not len(k):
            break
    return Q, found


def held_rows(system: System, names: Sequence[str], p: np.ndarray, t: float, want: np.ndarray) -> BranchRows | None:
    """Rows of variants with parameters p (n, np), coordinates by name held at want (n, held).

    None where a quaternion is held, which is not held number by number, or the values are not as many.
    """
    held = places(names, system.q_names, system.layout.q_slice)
    if want.shape[1] != len(held):
        return None
    rows = BranchRows(system, p, t, None, held, want)
    return None if rows.held_v is None else rows


def admissible(
    rows: BranchRows, Q: np.ndarray, held: np.ndarray, speeds: np.ndarray, v: np.ndarray, good: np.ndarray
) -> np.ndarray:
    """(n, nv) velocities nearest to v (nv,), those in `held` as given (n, held); `good` becomes False where none is."""
    k, V = np.flatnonzero(good), np.zeros((len(Q), rows.system.nv))
    if not len(k):
        return V
    found = velocities(rows, Q[k], k, held, speeds[k], v)
    V[k] = found.v
    good[k] &= found.ok
    asked = np.flatnonzero(found.ok & (found.v.any(axis=1) | found.b.any(axis=1)))
    if len(asked):
        some = k[asked]
        good[some] = _second_order(rows, Q[some], some, found.A[asked], found.v[asked], found.speed[asked])
    return V


def _second_order(
    rows: BranchRows, Q: np.ndarray, k: np.ndarray, A: np.ndarray, V: np.ndarray, speed: np.ndarray
) -> np.ndarray:
    """(len(k),) whether motions can have the velocities V, as `SecondOrder.holds` has it; speed: as there."""
    units = rows.phi_units[k]
    at = rows.factored(Q, k, A * rows.reach[k][:, None] / units[:, :, None], slice(None))
    holds, some = at.regular.copy(), np.flatnonzero(~at.regular & at.finite)
    if not len(some):
        return holds
    U, _, kept = at.decomposed(some, full=True)
    j, sizes = k[some], at.sizes[some]
    gamma = rows.values("gamma", Q[some], j, v=V[some]).reshape(len(j), -1) / units[some] / sizes
    own = np.abs(V[some] / rows.reach[j]).max(axis=1, initial=0.0)
    size = (1.0 / sizes).max(axis=1, initial=0.0)
    unknown = second_order.ROUNDING * speed[some]
    limit = second_order.MISSED * (size * own**2 + np.abs(gamma).max(axis=1, initial=0.0))
    left_out = np.arange(U.shape[2]) >= kept.sum(axis=1)[:, None]
    missed = np.where(left_out, np.abs(times(np.swapaxes(U, 1, 2), gamma)), 0.0).max(axis=1, initial=0.0)
    holds[some] = missed <= limit + size * unknown * (own + unknown)
    return holds


def sides(system: System, names: Sequence[str], Q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n,) the sign of det J at closed positions with the named coordinates held; 0 where Q is NaN, or J not square.

    Between positions with different signs the mechanism passes a singular one: they are on different branches.
    """
    held = places(names, system.q_names, system.layout.q_slice)
    rows = held_rows(system, names, p, 0.0, np.zeros((len(p), len(held))))
    if rows is None or len(rows.positions) + len(held) != system.nv:
        return np.zeros(len(Q))
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.linalg.slogdet(rows.equations(Q, np.arange(len(Q)))[1])[0])
