"""Small dense algebra beside LAPACK through NumPy and SciPy: time of one call and error of its answer, in one run.

Ours is timed inside a compiled loop, which is where it is used; LAPACK as Python calls it, which is the alternative a
Python library has. Rounds are interleaved and the minimum is reported. Compilation is a row of its own.

    python -m benchmarks linalg
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import scipy.linalg as sl

from benchmarks.timing import Table, interleaved, native
from dalembert import linalg as la

SIZES = [(2, 4), (3, 4), (5, 7), (8, 14), (30, 40), (80, 81)]


@native
def _factor(times, f, A, null):
    for _ in range(times):
        la.rank_factor(f, A, 1e-10, 100.0, null)


@native
def _svd(times, f, A):
    for _ in range(times):
        la.factor_svd(f, A, 1e-10, True)


@native
def _least_squares(times, f, A, c, v):
    for _ in range(times):
        la.rank_factor(f, A, 1e-10, 100.0, False)
        la.solve(f, c, v)


@native
def _solve(times, f, c, v):
    for _ in range(times):
        la.solve(f, c, v)


@native
def _cholesky(times, M, R, b, x):
    for _ in range(times):
        la.cholesky(M, R)
        la.assign(1.0, b, 0, x, 0, 0, b.shape[0])
        la.solve_cholesky(R, x)


@native
def _null_space_acceleration(times, f, M, A, force, c, MN, K, z, v):
    """v with A v = c and Nᵀ(M v - force) = 0: particular solution, then the reduced mass matrix (Spencer 3.5)."""
    n = M.shape[0]
    for _ in range(times):
        _, r = la.rank_factor(f, A, 1e-10, 100.0, True)
        la.solve(f, c, v)
        free, basis = n - r, f.basis
        for i in range(free):  # rows of Nᵀ M, the reduced force and the reduced mass matrix
            la.assign(basis[r + i, 0], M, 0, MN, i, 0, n)
            for k in range(1, n):
                la.axpy(basis[r + i, k], M, k, MN, i, 0, n)
            z[i] = la.dot(basis, r + i, force, 0, 0, n) - la.dot(MN, i, v, 0, 0, n)
            for j in range(i + 1):
                K[j, i] = la.dot(MN, i, basis, r + j, 0, n)
        for k in range(free):  # K = UᵀU and Uᵀ y = z together
            pivot = 1.0 / np.sqrt(K[k, k])
            for j in range(k, free):
                K[k, j] *= pivot
            z[k] *= pivot
            for i in range(k + 1, free):
                z[i] -= K[k, i] * z[k]
                for j in range(i, free):
                    K[i, j] -= K[k, i] * K[k, j]
        for k in range(free - 1, -1, -1):
            for j in range(k + 1, free):
                z[k] -= K[k, j] * z[j]
            z[k] /= K[k, k]
            la.axpy(z[k], basis, r + k, v, 0, 0, n)


def _ladder(m, n, rng):
    """Banded rows, as of a chain of loops: each constraint touches four neighbouring coordinates."""
    A = np.zeros((m, n))
    for i in range(m):
        columns = np.arange(max(0, i - 1), min(n, i + 3))
        A[i, columns] = rng.normal(size=len(columns))
    return A


def _cases(m, n, rng):
    """(task, ours, peer's name, theirs, error of ours) for one size."""
    A = _ladder(m, n, rng) if n > 60 else rng.normal(size=(m, n))
    B = rng.normal(size=(n, n))
    M, b, c = B @ B.T + np.eye(n), rng.normal(size=n), rng.normal(size=m)
    f, g = la.allocate(m, n), la.allocate(m, n)
    v, x, w, z = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    R, MN, K = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    plus = np.linalg.pinv(A)
    kkt, right = np.block([[M, A.T], [A, np.zeros((m, m))]]), np.concatenate([b, c])
    N = sl.null_space(A)  # not from the KKT system, whose condition is the square of the problem's
    exact = plus @ c + N @ np.linalg.solve(N.T @ M @ N, N.T @ (b - M @ (plus @ c)))

    def rebuilt(f):
        r = f.info[la.RANK]
        return np.linalg.norm(f.left[:r].T @ f.core[:r, :r] @ f.basis[:r] - A) / np.linalg.norm(A)

    def off(found, expected):
        return np.linalg.norm(found - expected) / np.linalg.norm(expected)

    return [
        (
            "QR with null space",
            lambda k: _factor(k, f, A, True),
            "qr (geqp3, orgqr)",
            lambda: sl.qr(A.T, pivoting=True, check_finite=False),
            lambda: rebuilt(f),
        ),
        (
            "minimum-norm solve",
            lambda k: _least_squares(k, f, A, c, v),
            "lstsq (gelsy)",
            lambda: sl.lstsq(A, c, lapack_driver="gelsy", check_finite=False),
            lambda: off(v, plus @ c),
        ),
        (
            "one more solve",
            lambda k: _solve(k, f, c, v),
            "A⁺ at hand, A⁺ @ c",
            lambda: plus @ c,
            lambda: off(v, plus @ c),
        ),
        (
            "full SVD",
            lambda k: _svd(k, g, A),
            "svd (gesdd)",
            lambda: np.linalg.svd(A),
            lambda: rebuilt(g),
        ),
        (
            "Cholesky and solve",
            lambda k: _cholesky(k, M, R, b, x),
            "dposv",
            lambda: sl.lapack.dposv(M, b),
            lambda: off(M @ x, b),
        ),
        (
            "null-space acceleration",
            lambda k: _null_space_acceleration(k, f, M, A, b, c, MN, K, z, w),
            "solve KKT (gesv)",
            lambda: np.linalg.solve(kkt, right),
            lambda: off(w, exact),
        ),
    ]


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    table = Table("Small dense algebra: ns", ["m × n: task", "ours", "LAPACK", "ratio", "error", "peer"])
    start = perf_counter()
    la.rank_factor(la.allocate(2, 4), np.eye(2, 4), 1e-10, 100.0, True)
    table.notes.append(f"First call of rank_factor (compiling): {perf_counter() - start:.2f} s.")
    for m, n in SIZES:
        for task, ours, peer, theirs, error in _cases(m, n, np.random.default_rng([m, n])):
            routes = {"ours": ours, "theirs": lambda count, f=theirs: [f() for _ in range(count)] and None}
            time = interleaved(routes, 10 if quick else 30)
            assert error() < 1e-9, (task, m, n, error())
            ratio = time["theirs"] / time["ours"]
            table.add(f"{m} × {n}: {task}", 1e9 * time["ours"], 1e9 * time["theirs"], ratio, error(), peer)
    return [table]
