"""Assembly of many variants at once: for each what `System.assemble` does for one, from the same guess.

Each variant holds its own values of the named coordinates and has its own parameters. All take the steps of
`analysis.closing` side by side, shortened as there, and none knows of the others: which branch a variant comes to
depends on its own values and the guess alone. With J the constraint rows and those that hold, a step is the shortest
in the mass metric,

    δ = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ (Φ, missing),                                                              (1)

by a factor of J M⁻¹ Jᵀ where the rows are clearly independent and by singular values, as `Tangent` takes it, where they
are not. Where this leads nowhere, the position of the least gap is sought and closed from, as there. Velocities are the
nearest with J v = (−b, held). A variant that does not close so, on the branch that is meant, or whose velocity no
motion has, is left to `System.assemble`, which tries harder and reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.analysis import second_order
from dalembert.analysis.assembly import CLOSABLE, MISSED
from dalembert.analysis.closing import FALL, ITERATIONS, PATIENCE, ROUNDING, STALLS, TURN
from dalembert.analysis.failure import FALL as LEAST_FALL
from dalembert.analysis.failure import ROUNDS
from dalembert.blas import one_thread
from dalembert.compiler.target import host
from dalembert.rank import angular_velocities, rank_policy, usual_sizes
from dalembert.system.state import State
from dalembert.system.system import System

TOGETHER = 1024  # variants: what is computed for these at a time fits into the memory beside the processor
TOLERANCE = 1e-11  # rad, or lengths of the mechanism: residual of closed loops, as of `System.assemble`


class Closing:
    """The rows and steps (1) of n variants at time t, s, of which coordinates by name are held. p: (n, np)."""

    def __init__(self, system: System, names: Sequence[str], p: np.ndarray, t: float) -> None:
        self.system, self.p, self.t, layout = system, p, t, system.layout
        self.policy = rank_policy(system)
        self.fixed = _places(names, layout.q_names, layout.q_slice, np.arange(system.nq))
        self.held = self.velocities(names)
        self.possible = len(self.fixed) == len(self.held)  # a quaternion is not held number by number
        self.angular = angular_velocities(system)
        self.sizes, self.units, length = usual_sizes(system, p)
        self.reach = np.where(self.angular, 1.0, length[:, None])
        self.first = np.zeros(len(p))
        self.positions = np.flatnonzero(system.rows.holonomic)

    def close(self, start: np.ndarray, good: np.ndarray) -> np.ndarray:
        """(n, nq) closed positions from `start`, with what that holds; `good` becomes False where there is none.

        `first` (n,) is then the size of the first step, rad or lengths of the mechanism.
        """
        Q, closed = start.copy(), np.zeros(len(start), dtype=bool)
        norms = np.full((len(Q), ITERATIONS), np.nan)  # of residuals before each step
        first, stalls = self.first, np.zeros(len(Q), dtype=int)
        units = np.hstack([self.units[:, self.positions], self.reach[:, self.held]])
        k = np.flatnonzero(good)
        if not len(k):
            return Q
        away, A = self._residuals(start, Q[k], k)
        for count in range(ITERATIONS):
            delta = Rows(self, Q[k], k, A, self.positions, self.held).shortest(-away)
            norm = np.linalg.norm(away / units[k], axis=1)
            size = np.abs(delta / self.reach[k]).max(axis=1, initial=0.0)
            if count == 0:
                first[k] = size
            turn = np.abs(delta[:, self.angular]).max(axis=1, initial=0.0)
            scale = np.where(turn > TURN, TURN / np.maximum(turn, TURN), 1.0)
            after, away, A = self._shortened(start, Q[k], k, delta, scale, norm, units[k])
            Q[k], norms[k, count] = after, norm
            stalls[k] += scale < 1e-3
            small = np.abs(away / units[k]).max(axis=1, initial=0.0) <= TOLERANCE
            rate = np.full(len(k), 0.5)
            if count:
                moving = (first[k] > 0) & (size > 0)
                ratio = np.divide(size, first[k], out=np.zeros(len(k)), where=moving)
                rate = np.minimum(ratio ** (1.0 / count), 0.999)
            least = ROUNDING * (1.0 + np.abs(after).max(axis=1, initial=0.0))
            done = small & ((rate / (1 - rate) * size <= TOLERANCE) | (size <= least))
            stuck = (stalls[k] == STALLS) | ~np.isfinite(norm)
            if count >= PATIENCE:
                stuck |= norm > FALL * norms[k, count - PATIENCE]
            closed[k] = small
            on = ~(done | stuck)
            k, away, A = k[on], away[on], A[on]
            if not len(k):
                break
        good &= closed
        k = np.flatnonzero(good)
        good[k] &= self._on_branch(Q[k], k)
        return Q

    def nearest(self, start: np.ndarray, good: np.ndarray) -> np.ndarray:
        """(n, nq) positions to close from, by Levenberg and Marquardt's method from `start`; see `failure.nearest`.

        `good` becomes False where the gap that is left does not close, or a loop has its axis reversed.
        """
        Q, k = start.copy(), np.flatnonzero(good)
        units, free = self.units[:, self.positions], np.setdiff1d(np.arange(self.system.nv), self.held)
        plus, gaps = self.system.kernel("plus", lanes=host().width), np.full(len(Q), np.inf)
        good[k] &= self._on_branch(Q[k], k)
        k = k[good[k]]
        away, A = self._residuals(start, Q[k], k)
        damping = np.full(len(k), 1e-3)
        gaps[k] = np.abs(away[:, : len(self.positions)] / units[k]).max(axis=1, initial=0.0)
        for _ in range(ROUNDS if len(units[0]) and len(free) else 0):
            J = (A[:, self.positions] * self.reach[k][:, None, :] / units[k][:, :, None])[:, :, free]
            finite = np.isfinite(J).all(axis=(1, 2))
            k, away, A, J, damping = (x[finite] for x in (k, away, A, J, damping))
            if not len(k):
                break
            U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
            limit = damping * np.maximum(sigma[:, 0], 1e-150)
            right = _times(np.swapaxes(U, 1, 2), -away[:, : len(self.positions)] / units[k])
            delta = np.zeros((len(k), self.system.nv))
            delta[:, free] = _times(np.swapaxes(Vt, 1, 2), sigma / (sigma**2 + limit[:, None] ** 2) * right)
            trial = plus.batch(Q[k], delta * self.reach[k])
            trial[:, self.fixed] = start[k][:, self.fixed]
            there, rows = self._residuals(start, trial, k)
            before, after = (np.linalg.norm(x[:, : len(self.positions)] / units[k], axis=1) for x in (away, there))
            fall = 1.0 - after / np.maximum(before, 1e-300)
            moved = fall > 0.0
            Q[k[moved]], away[moved], A[moved] = trial[moved], there[moved], rows[moved]
            damping = np.where(moved, np.maximum(damping / 5, 1e-8), damping * 10)
            good[k] &= self._on_branch(Q[k], k)
            gaps[k] = np.abs(away[:, : len(self.positions)] / units[k]).max(axis=1, initial=0.0)
            on = good[k] & ~((damping > 1e4) | ((fall > 0.0) & (fall < LEAST_FALL)) | (gaps[k] == 0.0))
            k, away, A, damping = k[on], away[on], A[on], damping[on]
        good &= gaps < CLOSABLE
        return Q

    def _on_branch(self, Q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """(len(k),) whether no loop has its axis reversed, or is more than a right angle from where it closes."""
        if not len(k) or not len(self.system.rows.branch_of):
            return np.ones(len(k), dtype=bool)
        return np.asarray((self.batch("branch", Q, k).reshape(len(k), -1) >= 0.0).all(axis=1))

    def _residuals(self, start: np.ndarray, Q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Φ and the distance of what is held from its value, (len(k), rows), and A, of the variants k at Q."""
        phi, A, _ = self.batch("constraints", Q, k)
        return np.hstack([phi[:, self.positions], Q[:, self.fixed] - start[k][:, self.fixed]]), A

    def _shortened(
        self, start: np.ndarray, Q: np.ndarray, k: np.ndarray, delta: np.ndarray, scale: np.ndarray, norm: np.ndarray,
        units: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Q ⊕ scale δ, its residuals and A; `scale` is halved until the residuals fall, or hardly anything is left."""
        plus = self.system.kernel("plus", lanes=host().width)
        trial = plus.batch(Q, scale[:, None] * delta)
        away, A = self._residuals(start, trial, k)
        while True:
            fall = np.linalg.norm(away / units, axis=1) < norm
            again = np.flatnonzero(~(fall | (scale < 1e-3) | (norm == 0.0)))
            if not len(again):
                return trial, away, A
            scale[again] *= 0.5
            trial[again] = plus.batch(Q[again], scale[again, None] * delta[again])
            away[again], A[again] = self._residuals(start, trial[again], k[again])

    def unwind(self, start: np.ndarray, Q: np.ndarray, good: np.ndarray) -> None:
        """Take whole turns out of angles of closed positions, back to within half a turn of the start."""
        turning = {name for name, angle in zip(self.system.v_names, self.angular) if angle}
        units = np.hstack([self.units[:, self.positions], self.reach[:, self.held]])
        for j, name in enumerate(self.system.q_names):
            if name not in turning or j in self.fixed:
                continue
            turns = np.where(good, np.round((Q[:, j] - start[:, j]) / (2 * np.pi)), 0.0)
            k = np.flatnonzero(turns)
            if len(k):
                moved = Q[k]
                moved[:, j] -= 2 * np.pi * turns[k]
                change = self._residuals(start, moved, k)[0] - self._residuals(start, Q[k], k)[0]
                same = np.abs(change / units[k]).max(axis=1, initial=0.0) < 1e-12 * (1 + np.abs(turns[k]))
                Q[k[same]] = moved[same]  # no screw, gear or rack

    def velocities(self, names: Iterable[str]) -> np.ndarray:
        """Places of velocities, by their names or those of joints."""
        layout = self.system.layout
        return _places(names, layout.v_names, layout.v_slice, np.arange(self.system.nv))

    def moving(
        self, Q: np.ndarray, names: Sequence[str], speeds: np.ndarray, v: np.ndarray, good: np.ndarray
    ) -> np.ndarray:
        """(n, nv) velocities nearest to v (nv,) with the named ones, (n, k), as given."""
        k, V = np.flatnonzero(good), np.zeros((len(Q), self.system.nv))
        held = self.velocities(names)
        if not len(k):
            return V
        _, A, b = self.batch("constraints", Q[k], k)
        rows, wanted = Rows(self, Q[k], k, A, slice(None), held), np.hstack([-b, speeds[k]])
        found = v + rows.shortest(wanted - rows.J @ v)
        found += rows.shortest(wanted - _times(rows.J, found))  # once more for the last digits
        miss = np.abs(_times(rows.J, found) - wanted)
        units = np.hstack([self.units[k], self.reach[k][:, held]])
        fastest = np.maximum(np.abs(found / self.reach[k]), np.abs(v / self.reach[k])).max(axis=1, initial=0.0)
        right = (miss <= MISSED * (units * fastest[:, None] + np.abs(wanted))).all(axis=1)
        V[k] = found
        good[k] &= right & np.isfinite(found).all(axis=1)
        asked = np.flatnonzero(good[k] & (found.any(axis=1) | b.any(axis=1)))
        if len(asked):
            good[k[asked]] = self._second_order(Q[k[asked]], k[asked], A[asked], found[asked], fastest[asked])
        return V

    def _second_order(
        self, Q: np.ndarray, k: np.ndarray, A: np.ndarray, V: np.ndarray, speed: np.ndarray
    ) -> np.ndarray:
        """(len(k),) whether motions can have the velocities V, as `SecondOrder.holds` has it; speed: as there."""
        rows = Rows(self, Q, k, A, slice(None), self.held[:0])
        holds, some = rows.regular, np.flatnonzero(~rows.regular & rows.finite)
        if not len(some):
            return holds
        U, _, kept = rows.decomposed(some, full=True)
        j, sizes = k[some], rows.sizes[some]
        gamma = self.batch("gamma", Q[some], j, v=V[some]).reshape(len(j), -1) / sizes
        own = np.abs(V[some] / self.reach[j]).max(axis=1, initial=0.0)
        size = (self.units[j] / sizes).max(axis=1, initial=0.0)
        unknown = second_order.ROUNDING * speed[some]
        limit = second_order.MISSED * (size * own**2 + np.abs(gamma).max(axis=1, initial=0.0))
        left_out = np.arange(U.shape[2]) >= kept.sum(axis=1)[:, None]
        missed = np.where(left_out, np.abs(_times(np.swapaxes(U, 1, 2), gamma)), 0.0).max(axis=1, initial=0.0)
        holds[some] = missed <= limit + size * unknown * (own + unknown)
        return holds

    def batch(self, name: str, Q: np.ndarray, k: np.ndarray, **more: np.ndarray) -> Any:
        """A function of the system at positions Q (len(k), nq) of the variants k."""
        kernel = self.system.kernel(name, lanes=host().width)
        known = {"q": Q, "p": self.p[k], "t": np.full((len(Q), 1), self.t), **more}
        return kernel.batch(*(known[a] for a in kernel.names_in))


class Rows:
    """J of the variants k at Q, rows `which` of A (len(k), m, nv) and then those of the `held` velocities, factored."""

    def __init__(
        self, closing: Closing, Q: np.ndarray, k: np.ndarray, A: np.ndarray, which: Any, held: np.ndarray
    ) -> None:
        n, nv = len(Q), closing.system.nv
        E = np.broadcast_to(np.eye(nv)[held], (n, len(held), nv))
        self.J, self.policy = np.concatenate([A[:, which], E], axis=1), closing.policy
        M = closing.batch("mass_matrix", Q, k).reshape(n, nv, nv)
        self.finite = np.isfinite(self.J).all(axis=(1, 2)) & np.isfinite(M).all(axis=(1, 2))
        L, positive = _cholesky(np.where(self.finite[:, None, None], M, np.eye(nv)))
        self.finite &= positive
        self.Lt = np.swapaxes(L, 1, 2)
        with np.errstate(all="ignore"):
            self.white = np.swapaxes(np.linalg.solve(L, np.swapaxes(self.J, 1, 2)), 1, 2)
            self.own = np.sqrt((self.white**2).sum(axis=2))
            self.sizes = np.hstack([closing.sizes[k][:, which], self.own[:, self.J.shape[1] - len(held) :]])
            unit = self.white / self.own[:, :, None]
        self.finite &= np.isfinite(self.white).all(axis=(1, 2))
        possible = self.finite & (self.own > self.policy.near * self.sizes).all(axis=1)
        possible &= self.J.shape[1] <= nv
        unit[~possible] = np.eye(*self.J.shape[1:])
        self.gram = unit @ np.swapaxes(unit, 1, 2)
        factor, positive = _cholesky(self.gram)
        sines = np.einsum("kii->ki", factor).min(axis=1, initial=1.0)
        #: (n,) whether no row is short or nearly in the span of those before it
        self.regular = possible & positive & (sines > 100 * self.policy.near)

    def shortest(self, c: np.ndarray) -> np.ndarray:
        """(n, nv) shortest δ in the mass metric that brings J δ nearest to c (n, rows); NaN where there is none."""
        out = np.full((len(c), self.J.shape[2]), np.nan)
        with np.errstate(all="ignore"):
            k = np.flatnonzero(self.regular)
            y = np.linalg.solve(self.gram[k], (c / self.own)[k, :, None])[:, :, 0] / self.own[k]
            out[k] = _times(np.swapaxes(self.white[k], 1, 2), y)
            k = np.flatnonzero(self.finite & ~self.regular & np.isfinite(c).all(axis=1))
            if len(k):
                U, inverse, _ = self.decomposed(k)
                out[k] = _times(inverse, _times(np.swapaxes(U, 1, 2), (c / self.sizes)[k]))
            out = np.linalg.solve(self.Lt, out[:, :, None])[:, :, 0]
        return out

    def decomposed(self, k: np.ndarray, full: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U and V Σ⁻¹ of the scaled rows in the mass metric of some, and which singular values count; see `rank`."""
        U, sigma, Vt = np.linalg.svd(self.white[k] / self.sizes[k][:, :, None], full_matrices=full)
        kept = sigma > self.policy.tolerance * np.maximum(sigma[:, :1], 1.0)
        inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
        return U, np.swapaxes(Vt[:, : sigma.shape[1]], 1, 2) * inverse[:, None, :], kept


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
        closing = Closing(system, list(q), p[some], start.t)
        sizes = held.shape[1], speeds.shape[1]
        if not closing.possible or sizes != (len(closing.fixed), len(closing.velocities(v))):
            good[some] = False  # `System.assemble` knows what to do, or refuses them
            continue
        Q[some, closing.fixed] = held[some]
        begun, todo = Q[some].copy(), good[some].copy()
        found = closing.close(begun, good[some])
        again = todo & ~good[some] & np.isfinite(found).all(axis=1)
        if again.any():
            near = closing.close(closing.nearest(begun, again), again)
            found[again], good[some] = near[again], good[some] | again
        closing.unwind(begun, found, good[some])
        Q[some] = found
        V[some] = closing.moving(Q[some], list(v), speeds[some], start.v, good[some])
    return Q, V


def sides(system: System, names: Sequence[str], Q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n,) the sign of det J at closed positions with the named coordinates held; 0 where Q is NaN, or J not square.

    Between positions with different signs the mechanism passes a singular one: they are on different branches.
    """
    closing = Closing(system, names, p, 0.0)
    if not closing.possible or len(closing.positions) + len(closing.held) != system.nv:
        return np.zeros(len(Q))
    A = closing.batch("constraints", Q, np.arange(len(Q)))[1][:, closing.positions]
    E = np.broadcast_to(np.eye(system.nv)[closing.held], (len(Q), len(closing.held), system.nv))
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.linalg.slogdet(np.concatenate([A, E], axis=1))[0])


def _places(names: Iterable[str], known: Any, where: Any, all_places: np.ndarray) -> np.ndarray:
    """Indices of coordinates or velocities, by their names or those of joints."""
    found = [[list(known).index(name)] if name in known else all_places[where(name)] for name in names]
    return np.concatenate([np.zeros(0, dtype=int), *found]).astype(int)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(n, rows) products of matrices (n, rows, k) and vectors (n, k)."""
    return np.asarray((A @ x[:, :, None])[:, :, 0])


def _cholesky(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower factors of (n, k, k) symmetric matrices, and (n,) whether a matrix is positive definite; else I."""
    try:
        return np.linalg.cholesky(M), np.ones(len(M), dtype=bool)
    except np.linalg.LinAlgError:  # of which matrix is not told
        factors, positive = np.zeros(M.shape), np.zeros(len(M), dtype=bool)
        for k, matrix in enumerate(M):
            try:
                factors[k], positive[k] = np.linalg.cholesky(matrix), True
            except np.linalg.LinAlgError:
                factors[k] = np.eye(M.shape[1])
        return factors, positive
