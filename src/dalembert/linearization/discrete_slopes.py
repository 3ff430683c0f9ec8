"""Derivatives of steps of the variational midpoint rule along a motion; numbers as in `system.discrete_slopes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.blas import one_thread
from dalembert.lazy import cached_property
from dalembert.system.discrete_slopes import ARGUMENTS, LARGE, DiscreteRows, discrete_slopes
from dalembert.system.rows import RowChoice
from dalembert.system.system import System

UNKNOWNS = ("delta", "lam", "v1", "mu")


@dataclass(frozen=True, eq=False)
class StepSlopes:
    """N steps of one length that use the same rows, with their first and second derivatives."""

    rows: DiscreteRows
    known: Mapping[str, np.ndarray]  # arguments of the equations by name, (N, …) each
    before: np.ndarray  # (N, nv) M v before each step
    after: np.ndarray  # (N, nv) M v after it
    J: np.ndarray  # (N, nz + 3 nv, nx + nz) derivatives of (R, Y) by (x, z)

    @staticmethod
    def of(system: System, rows: RowChoice, known: Mapping[str, np.ndarray]) -> StepSlopes:
        """Those of steps that are solved for δ and v₁; known: all arguments but λ and μ."""
        equations = DiscreteRows(system, rows)
        count = len(known["q"])
        none = np.zeros((count, equations.columns["mu"].stop - equations.columns["mu"].start))
        known = {**known, "lam": none, "mu": none}
        R, before, after, J = _evaluated(equations, known)
        if none.size:  # λ and μ come in linearly: one step of Newton's method, and the slopes there
            ends = np.cumsum([known[name].shape[1] for name in UNKNOWNS])[:-1]
            change = _solved(J, equations, R[:, :, None])[:, :, 0]
            z = np.hstack([known[name] for name in UNKNOWNS]) - change
            known |= dict(zip(UNKNOWNS, np.split(z, ends, axis=1)))
            _, before, after, J = _evaluated(equations, known)
        return StepSlopes(equations, known, before, after, J)

    @property
    def places(self) -> dict[str, slice]:
        """Rows of `first` by what they are the derivatives of."""
        n, m, k, at = self.rows.system.nv, self.known["lam"].shape[1], self.rows.implicit.stop, self.rows.places
        return {
            "q": at["turn"], "v": slice(n + m, 2 * n + m), "momentum": at["after"], "multipliers": slice(n, n + m),
            "end_multipliers": slice(2 * n + m, k), "momentum_before": at["before"],
        }  # fmt: skip

    @cached_property
    def first(self) -> np.ndarray:
        """(N, nz + 3 nv, nx) Z over dY/dx, (6)."""
        x, z, R, J = slice(0, self.rows.unknowns.start), self.rows.unknowns, self.rows.implicit, self.J
        Z = -self._divided(J[:, R, x])
        with one_thread():
            return np.concatenate([Z, J[:, R.stop :, x] + J[:, R.stop :, z] @ Z], axis=1)

    def _divided(self, right: np.ndarray) -> np.ndarray:
        """R_z⁻¹ right, (N, nz, …): first (δ, λ) from the start of the step, then (v₁, μ) from its end."""
        return _solved(self.J, self.rows, right)

    def second(self, along: np.ndarray) -> np.ndarray:
        """(N, nz + 3 nv, nx) Z′ over (dY/dx)′, (7), along a direction of x for each step, (N, nx)."""
        z, R, J = self.rows.unknowns, self.rows.implicit, self.J
        Z = self.first[:, R]
        ways = np.hstack([along, np.einsum("kij,kj->ki", Z, along)])
        K = self._change(ways, np.broadcast_to(np.eye(self.rows.count), (len(J), self.rows.count, self.rows.count)))
        change = K[:, :, : z.start] + K[:, :, z] @ Z
        bent = -self._divided(change[:, R])
        return np.concatenate([bent, change[:, R.stop :] + J[:, R.stop :, z] @ bent], axis=1)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """(N, nx, nx) Σ w_i of the second derivatives of the rows of `first`, weights (N, nz + 3 nv); direction last.

        The weights are carried through R_z once, so that each direction takes one sweep.
        """
        z, R, J = self.rows.unknowns, self.rows.implicit, self.J
        Z, nx = self.first[:, R], self.rows.unknowns.start
        of_Y = weights[:, R.stop :]
        right = weights[:, R] + np.einsum("kij,ki->kj", J[:, R.stop :, z], of_Y)
        with one_thread():
            of_R = -np.linalg.solve(J[:, R, z].transpose(0, 2, 1), right[:, :, None])[:, :, 0]
        W = np.repeat(np.hstack([of_R, of_Y])[:, None], nx, axis=1)
        one = np.broadcast_to(np.eye(nx), (len(J), nx, nx))
        K = self._change(np.concatenate([one, Z.transpose(0, 2, 1)], axis=2), W)
        return (K[:, :, :nx] + K[:, :, z] @ Z).transpose(0, 2, 1)

    def _change(self, along: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(N, rows, columns) the change of rows, weights (N, rows, …), along directions (N, columns) or one a row."""
        N, rows = weights.shape[:2]
        if along.ndim == 2:
            along = np.repeat(along[:, None], rows, axis=1)
        flat = (x.reshape(N * rows, -1) for x in (along, weights))
        return self.rows.change(_repeated(self.known, rows), *flat).reshape(N, rows, -1)


def _solved(J: np.ndarray, equations: DiscreteRows, right: np.ndarray) -> np.ndarray:
    """R_z⁻¹ right of J, (N, nz, …), by halves: the first equations do not know v₁ and μ."""
    z, half = equations.unknowns.start, equations.implicit.stop // 2
    early, late, first, last = slice(z, z + half), slice(z + half, None), slice(0, half), slice(half, 2 * half)
    out = np.empty_like(right)
    with one_thread():
        out[:, first] = np.linalg.solve(J[:, first, early], right[:, first])
        out[:, last] = np.linalg.solve(J[:, last, late], right[:, last] - J[:, last, early] @ out[:, first])
    return out


def _evaluated(equations: DiscreteRows, known: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """R, the momenta and the derivatives of N steps: straight-line code of small mechanisms, rows of others."""
    system, count = equations.system, len(known["q"])
    if system.nv <= LARGE:
        names = ("residual", "before", "after", "slopes")
        key = ("discrete_slopes",)
        kernel = system.kernels.custom(key, ARGUMENTS, discrete_slopes, equations.rows, names, equations.lanes)
        R, before, after, J = kernel.batch(*(known[name] for name in kernel.names_in))
        return R.reshape(count, -1), before, after, J.reshape(count, equations.count, -1)
    J, e = np.empty((count, equations.count, equations.width)), np.empty((count, equations.count))
    for k in range(count):
        J[k], e[k] = equations.jacobian({name: x[k] for name, x in known.items()})
    R, before, after = (e[:, x] for x in (equations.implicit, equations.places["before"], equations.places["after"]))
    return R, before, after, J


def _repeated(known: Mapping[str, np.ndarray], times: int) -> dict[str, np.ndarray]:
    """Arguments of N steps, (N, …), for a number of rows of each."""
    return {name: np.repeat(x, times, axis=0) for name, x in known.items()}
