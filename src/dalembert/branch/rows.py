"""The rows of n positions: constraints, held coordinates and goals of frames, each with parameters of its own.

    e = (Φ; q_h − h; goals) / units,   J = (A; N; …) · reach / units,   q ← q ⊕ reach · δ                       (1)

`units` of rows and `reach` of velocities are radians and lengths of the mechanism, so e, J and δ have no units. A step
is the shortest in the mass metric, with M scaled as J is,

    δ = M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ c,                                                                                  (2)

by a factor of J M⁻¹ Jᵀ where the rows are clearly independent and by singular values (see `rank`) where they are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dalembert.branch.goals import FrameGoal
from dalembert.branch.policy import POLICY
from dalembert.errors import AssemblyError
from dalembert.protocols import SystemLike
from dalembert.rank import RankPolicy, angular_velocities, rank_policy, usual_sizes


class UndefinedHere(AssemblyError):
    """The equations are not defined at a configuration; at others they may be."""


class BranchRows:
    """The rows (1) at time t, s. p: (n, np) parameters; on: (m,) which constraints count; held: places in q.

    want: (n, held) values of the held coordinates. k, an index array, selects some of the n positions.
    """

    def __init__(
        self, system: SystemLike, p: np.ndarray, t: float, on: np.ndarray | None = None, held: Any = (),
        want: np.ndarray | None = None, goals: Sequence[FrameGoal] = (),
    ) -> None:  # fmt: skip
        self.system, self.p, self.t, self.goals = system, p, t, goals
        self.on = np.ones(len(system.rows.of), dtype=bool) if on is None else on
        self.positions = np.flatnonzero(self.on & system.rows.holonomic)
        self.policy, self.angular = rank_policy(system), angular_velocities(system)
        if len(p) == 1:
            policy = rank_policy(system, p[0] if p.shape[1] else None)
            self.sizes, self.phi_units, length = policy.sizes[None], policy.units[None], np.array([policy.length])
        else:
            self.sizes, self.phi_units, length = usual_sizes(system, p)
        self.reach = np.where(self.angular, 1.0, length[:, None])  # (n, nv)
        self.length, self.lanes = length, _lanes() if len(p) > 1 else 1
        self._kernels: dict[str, Any] = {}
        self.flat = system.nq == system.nv and list(system.q_names) == list(system.v_names)
        turning = {name for name, angle in zip(system.v_names, self.angular) if angle}
        self.angles = np.array([j for j, name in enumerate(system.q_names) if name in turning], dtype=int)  # in q
        self._sizes = (self.sizes / self.phi_units)[:, self.positions]
        self.hold(held, np.zeros((len(p), len(held))) if want is None else want)

    def hold(self, held: Any, want: np.ndarray) -> None:
        """Hold coordinates at values (n, held)."""
        names, v_names = [self.system.q_names[k] for k in held], list(self.system.v_names)
        self.held, self.want = np.array(held, dtype=int), want
        #: places in v of what is held; None where q̇ = v does not hold, as of quaternions
        self.held_v: Any = np.array([v_names.index(x) for x in names], int) if set(names) <= set(v_names) else None
        angles = np.concatenate([np.zeros(0, dtype=bool), *(goal.angular for goal in self.goals)])
        self.units = np.hstack([
            self.phi_units[:, self.positions],
            np.ones(want.shape) if self.held_v is None else self.reach[:, self.held_v],
            np.where(angles, 1.0, self.length[:, None]),
        ])  # fmt: skip
        self._weights = self.reach[:, None] / self.units[:, :, None]
        self._N = None if self.held_v is None else np.eye(self.system.nv)[None, self.held_v]

    def also(self, fixed: dict[int, float]) -> BranchRows:
        """The same rows with more coordinates held."""
        out = object.__new__(BranchRows)
        vars(out).update(vars(self))
        more = np.tile(np.array(list(fixed.values())), (len(self.p), 1))
        out.hold([*self.held, *fixed], np.hstack([self.want, more]))
        return out

    def times(self, n: int) -> BranchRows:
        """The rows of one position for n."""
        out = object.__new__(BranchRows)
        vars(out).update(vars(self))
        for name in ("p", "want", "sizes", "phi_units", "units", "reach", "length", "_sizes", "_weights"):
            setattr(out, name, np.repeat(getattr(self, name), n, axis=0))
        return out

    # --- numbers ------------------------------------------------------------------------------------------------

    def values(self, name: str, Q: np.ndarray, k: np.ndarray, **more: np.ndarray) -> Any:
        """A function of the system at positions Q (len(k), nq)."""
        kernel, n = self._kernels.get(name), len(Q)
        if kernel is None:
            kernel = self._kernels[name] = self.system.kernel(name, lanes=self.lanes)
        if self.lanes == 1 and n == 1:
            known = {"q": Q[0], "p": self.p[0], "t": self.t}
            if more:
                known.update({name: x[0] for name, x in more.items()})
            found = kernel(*[known[a] for a in kernel.names_in])
            return tuple([x[None] for x in found]) if isinstance(found, tuple) else np.asarray(found)[None]
        known = {"q": Q, "p": self.p[k], "t": np.full((n, 1), self.t), **more}
        return kernel.batch(*(known[a] for a in kernel.names_in))

    def constraints(self, Q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ (n, m), A (n, m, nv) and b (n, m) of all rows."""
        n, m = len(Q), len(self.on)
        if not m or not n:
            return np.zeros((n, m)), np.zeros((n, m, self.system.nv)), np.zeros((n, m))
        phi, A, b = self.values("constraints", Q, k)
        return phi.reshape(n, m), A.reshape(n, m, self.system.nv), b.reshape(n, m)

    def equations(self, Q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """e (n, rows) and J (n, rows, nv) of (1)."""
        phi, A, _ = self.constraints(Q, k)
        away, rows = [phi[:, self.positions]], [A[:, self.positions]]
        if len(self.held):
            away.append(Q[:, self.held] - self.want[k])
            N = self._rates(Q, k)[:, self.held] if self._N is None else self._N
            rows.append(N if len(N) == len(Q) else np.broadcast_to(N, (len(Q), *N.shape[1:])))
        for goal in self.goals:
            found = [goal.rows(q, self.p[j]) for q, j in zip(Q, k)]
            away.append(np.array([x[0] for x in found]))
            rows.append(np.array([x[1] for x in found]))
        return np.concatenate(away, axis=1) / self.units[k], np.concatenate(rows, axis=1) * self._weights[k]

    def _rates(self, Q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """(n, nq, nv) N of q̇ = N(q) v."""
        E = np.eye(self.system.nv)
        return np.stack([self.values("rates", Q, k, v=np.tile(e, (len(Q), 1))) for e in E], axis=2)

    def plus(self, Q: np.ndarray, delta: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Q ⊕ reach · δ, (n, nq)."""
        step = delta * self.reach[k]
        return Q + step if self.flat else np.asarray(self.values("plus", Q, k, dq=step)).reshape(Q.shape)

    def apart(self, Q: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """(n, nv) the ways from a position to others, (n, nq), rad around the circle or lengths of the mechanism."""
        if self.flat:
            delta = (Q - q0) / self.reach[0]
        else:
            delta = self.system.kernel("minus").batch(*self._pair(q0, Q)) / self.reach[0]
        return np.where(self.angular, (delta + np.pi) % (2 * np.pi) - np.pi, delta)

    def _pair(self, q0: np.ndarray, Q: np.ndarray) -> list[np.ndarray]:
        known = {"q": np.broadcast_to(q0, Q.shape), "q1": Q}
        return [known[name] for name in self.system.kernel("minus").names_in]

    def meant(self, Q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """(n,) whether no active constraint holds with an axis reversed."""
        of = self.system.rows.branch_of
        if not of or not len(Q):
            return np.ones(len(Q), dtype=bool)
        counts = np.isin(of, np.array(self.system.rows.of)[self.on])
        return np.asarray((self.values("branch", Q, k).reshape(len(Q), -1)[:, counts] >= 0.0).all(axis=1))

    def shortest(self, Q: np.ndarray, k: np.ndarray, J: np.ndarray, c: np.ndarray) -> np.ndarray:
        """(n, nv) steps (2) of the rows (1). Where these are square and far from singular, no metric matters."""
        if J.shape[1] != J.shape[2]:
            return self.factored(Q, k, J).shortest(c)
        inverse, far = _inverses(J, 100 * self.policy.near)
        if far.all():
            return times(inverse, c)
        out, near = np.empty(c.shape), ~far  # each by itself: no position depends on the others
        out[far] = times(inverse[far], c[far])
        out[near] = self.factored(Q[near], k[near], J[near]).shortest(c[near])
        return out

    def factored(self, Q: np.ndarray, k: np.ndarray, J: np.ndarray, which: Any = None) -> Factored:
        """Scaled rows J at Q in the mass metric; which: the constraints that come first (default: those of (1))."""
        nv, reach = self.system.nv, self.reach[k]
        M = self.values("mass_matrix", Q, k).reshape(len(Q), nv, nv) * (reach[:, :, None] * reach[:, None])
        sizes = self._sizes[k] if which is None else (self.sizes / self.phi_units)[k][:, which]
        return Factored(J, M, sizes, self.policy)


class Factored:
    """Rows J (n, rows, nv) in the metric M (n, nv, nv). sizes: (n, r) usual lengths there of the first r rows.

    Rows after these are measured by their length per unit of their largest entry.
    """

    def __init__(self, J: np.ndarray, M: np.ndarray, sizes: np.ndarray, policy: RankPolicy) -> None:
        (_, rows, nv), rest = J.shape, sizes.shape[1]
        self.J, self.policy = J, policy
        with np.errstate(all="ignore"):
            self.L, positive = _each(np.linalg.cholesky, M)
            self.X, _ = _each(np.linalg.solve, M, np.swapaxes(J, 1, 2))  # (n, nv, rows) M⁻¹ Jᵀ
            self.gram = J @ self.X
            self.own = np.sqrt(np.einsum("kii->ki", self.gram))
            self.sizes = sizes
            if rest < rows:
                largest = np.abs(J[:, rest:]).max(axis=2, initial=0.0)
                lengths = np.where(largest > 0.0, self.own[:, rest:] / largest, 1.0)
                self.sizes = np.concatenate([sizes, lengths], axis=1)
            self.finite = positive & np.isfinite(self.own).all(axis=1)
            #: (n,) whether no row is short or nearly in the span of the others
            self.regular = self.finite & (self.own > policy.near * self.sizes).all(axis=1) & (rows <= nv)
            if not self.regular.any():
                return
            unit = self.gram / (self.own[:, :, None] * self.own[:, None])
            if not self.regular.all():
                unit[~self.regular] = np.eye(rows)
            self.inverse, invertible = _each(np.linalg.inv, unit)
            sines = np.einsum("kii->ki", self.inverse) ** -0.5  # of each row to all others
            left = np.abs(unit @ self.inverse - np.eye(rows)).max(axis=(1, 2), initial=0.0)  # 1 of dependent rows
            self.regular &= invertible & (sines > 100 * policy.near).all(axis=1) & (left < POLICY.inverted)

    def shortest(self, c: np.ndarray) -> np.ndarray:
        """(n, nv) shortest δ in the metric that brings J δ nearest to c (n, rows); NaN where there is none."""
        with np.errstate(all="ignore"):
            if self.regular.all():
                return times(self.X, times(self.inverse, c / self.own) / self.own)
            out = np.full((len(c), self.J.shape[2]), np.nan)
            k = np.flatnonzero(self.regular)
            if len(k):
                out[k] = times(self.X[k], times(self.inverse[k], (c / self.own)[k]) / self.own[k])
            k = np.flatnonzero(self.finite & ~self.regular & np.isfinite(c).all(axis=1))
            if len(k):
                U, inverse, _ = self.decomposed(k)
                y = times(inverse, times(np.swapaxes(U, 1, 2), (c / self.sizes)[k]))
                out[k] = np.linalg.solve(np.swapaxes(self.L[k], 1, 2), y[:, :, None])[:, :, 0]
        return out

    def decomposed(self, k: np.ndarray, full: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U and V Σ⁻¹ of the scaled rows in the metric of some, and which singular values count; see `rank`."""
        white = np.swapaxes(np.linalg.solve(self.L[k], np.swapaxes(self.J[k], 1, 2)), 1, 2)
        U, sigma, Vt = np.linalg.svd(white / self.sizes[k][:, :, None], full_matrices=full)
        kept = sigma > self.policy.tolerance * np.maximum(sigma[:, :1], 1.0)
        inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
        return U, np.swapaxes(Vt[:, : sigma.shape[1]], 1, 2) * inverse[:, None, :], kept


def far_from_singular(X: np.ndarray, least: float) -> np.ndarray | None:
    """The inverses of square matrices X, (n, k, k), if their singular values are all above `least`; else None."""
    if X.shape[-1] != X.shape[-2] or not len(X):
        return None
    inverse, far = _inverses(X, least)
    return inverse if far.all() else None


def _inverses(X: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The inverses of square matrices X, (n, k, k), and (n,) whether all singular values are above `least`."""
    with np.errstate(all="ignore"):
        inverse, known = _each(np.linalg.inv, X)
        # σ_min = 1 / ‖X⁻¹‖₂ ≥ 1 / ‖X⁻¹‖_F; a NaN fails the comparison
        return inverse, known & (np.einsum("kij,kij->k", inverse, inverse) < least**-2)


def undefined(A: np.ndarray, M: np.ndarray) -> UndefinedHere:
    """The error for rows A that cannot be factored in the metric M."""
    if not (np.isfinite(A).all() and np.isfinite(M).all()):
        return UndefinedHere(
            "the constraints are not defined at this configuration (a disc that lies flat, a rod of no length); "
            "start from another one."
        )
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return UndefinedHere(
            "the mass matrix is not positive definite at this configuration: a motion there moves no mass. Give "
            "the moving bodies mass and inertia, or take another configuration."
        )
    return UndefinedHere("the constraints overflow at this configuration; start from another one.")


def _lanes() -> int:
    from dalembert.compiler.target import host  # with llvmlite

    return host().width


def places(names: Iterable[str], known: Sequence[str], where: Any) -> np.ndarray:
    """Indices of coordinates or velocities, by their names or those of joints."""
    found = [[known.index(name)] if name in known else list(range(len(known)))[where(name)] for name in names]
    return np.concatenate([np.zeros(0, dtype=int), *found]).astype(int)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(n, rows) products of matrices (n, rows, k) and vectors (n, k)."""
    return np.asarray((A @ x[:, :, None])[:, :, 0])


def _each(function: Any, M: np.ndarray, *right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A function of numpy.linalg of n matrices, and (n,) whether it has a value: else NaN."""
    try:
        return function(M, *right), np.ones(len(M), dtype=bool)
    except np.linalg.LinAlgError:  # of which matrix is not known
        out, known = np.full((right[0] if right else M).shape, np.nan), np.zeros(len(M), dtype=bool)
        for k in range(len(M)):
            with suppress(np.linalg.LinAlgError):
                out[k], known[k] = function(M[k], *(x[k] for x in right)), True
        return out, known
