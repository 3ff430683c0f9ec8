"""The contract of a formulation: M v̇ = f + Aᵀλ and A v̇ + γ = 0, solved for v̇ and λ.

A formulation is one file with one Numba kernel `solve(work, options)` and the lines that make it a right-hand side for
integrators (`field`). `solve` reads M, f (applied forces minus h), A and
γ from the workspace, writes v̇, Aᵀλ and λ back, sets rank and outcome in `info` and `gauge`, allocates nothing and never
raises. It is registered in this folder's __init__; the conformance suite then tests it.

    metric      what "orthogonal" and "shortest" mean: EUCLIDEAN, MASS, or WEIGHT (W given by its factor in `metric`)
    tolerance   singular values below tolerance × the largest count as zero (in the metric)
    floor       singular values below this count as zero whatever the largest is: a row that vanishes all by itself
    safety      QR decides the rank only this far from the tolerance, else SVD does; see `linalg.orthogonal`
    threshold, damp   softening: below σ < threshold the solution of A v̇ = −γ is damped, at most by damp (0: never)
    variant     which of a paper's variants; each file says
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dalembert.linalg import Factorization
from dalembert.outcome import Outcome

# for functions that return arrays, which kernels may not; Python cannot call them
_options: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
views = njit(error_model="numpy", **_options)

EUCLIDEAN, MASS, WEIGHT = 0, 1, 2
RANK, STATUS = 0, 1
LARGEST, SMALLEST = 0, 1


OK, NOT_FINITE, MASS_SINGULAR, DEPENDENT, CHART_SINGULAR = (int(o) for o in Outcome)


class Options(NamedTuple):
    """See the head of this file."""

    metric: int
    tolerance: float
    safety: float
    threshold: float
    damp: float
    variant: int
    floor: float = 0.0


class Work(NamedTuple):
    """Room for one evaluation with n velocities and m rows; everything is made once and reused."""

    M: np.ndarray  # (n, n)
    f: np.ndarray  # (n,)
    A: np.ndarray  # (m, n)
    gamma: np.ndarray  # (m,)
    vdot: np.ndarray  # (n,) result
    force: np.ndarray  # (n,) result, Aᵀλ
    multipliers: np.ndarray  # (m,) result, the shortest λ
    info: np.ndarray  # [RANK, STATUS]
    gauge: np.ndarray  # [LARGEST, SMALLEST] singular values retained, in the metric (QR route: estimates)
    metric: np.ndarray  # (n, n) upper factor of W for the WEIGHT metric
    choice: np.ndarray  # (n,) 1 where the user wants an independent coordinate; all 0 for the automatic choice
    upper: np.ndarray  # (n, n) R of the metric, or of M
    white: np.ndarray  # (m, n) A R⁻¹
    factor: Factorization
    n1: np.ndarray
    n2: np.ndarray
    m1: np.ndarray
    flat: np.ndarray  # ((n + m)²,), cut to squares where they are needed
    s2: np.ndarray  # (n, n)
    s3: np.ndarray  # (n, n)
    nm: np.ndarray  # (n + m,)
    order: np.ndarray  # (n + m,) integers


@views
def work_size(n, m):
    """Doubles that `carve` needs."""
    p, wide = min(m, n), max(m, n, 1)
    factor = 2 * n * n + p * p + m * m + m * n + p * m + 4 * wide + m + 7
    return factor + 6 * n * n + 3 * m * n + 7 * n + 5 * m + (n + m) ** 2 + 2 * (n + m) + 4


def workspace(n: int, m: int) -> Work:
    """A workspace for n velocities and m rows, in one block of memory."""
    block = np.zeros(work_size.py_func(n, m))
    M, f, A, gamma = np.zeros((n, n)), np.zeros(n), np.zeros((m, n)), np.zeros(m)
    work = carve.py_func(block, n, m, M, f, A, gamma)
    work.metric[:] = np.eye(n)
    return work


@views
def carve(block, n, m, M, f, A, gamma):
    """A workspace cut from one block of memory, with the equations standing elsewhere. The metric must be filled in."""
    p, wide = min(m, n), max(m, n, 1)
    a = 0
    basis, a = block[a : a + n * n].reshape((n, n)), a + n * n
    core, a = block[a : a + p * p].reshape((p, p)), a + p * p
    left, a = block[a : a + m * m].reshape((m, m)), a + m * m
    rows, a = block[a : a + m * n].reshape((m, n)), a + m * n
    spare, a = block[a : a + p * m].reshape((p, m)), a + p * m
    scratch, a = block[a : a + 4 * wide].reshape((4, wide)), a + 4 * wide
    gauge, a = block[a : a + 3], a + 3
    perm, a = block[a : a + m].view(np.int64), a + m
    facts, a = block[a : a + 4].view(np.int64), a + 4
    factor = Factorization(basis, core, left, rows, spare, scratch, perm, facts, gauge)
    vdot, a = block[a : a + n], a + n
    force, a = block[a : a + n], a + n
    multipliers, a = block[a : a + m], a + m
    info, a = block[a : a + 2].view(np.int64), a + 2
    extremes, a = block[a : a + 2], a + 2
    metric, a = block[a : a + n * n].reshape((n, n)), a + n * n
    choice, a = block[a : a + n].view(np.int64), a + n
    upper, a = block[a : a + n * n].reshape((n, n)), a + n * n
    white, a = block[a : a + m * n].reshape((m, n)), a + m * n
    n1, a = block[a : a + n], a + n
    n2, a = block[a : a + n], a + n
    m1, a = block[a : a + m], a + m
    flat, a = block[a : a + (n + m) ** 2], a + (n + m) ** 2
    s2, a = block[a : a + n * n].reshape((n, n)), a + n * n
    s3, a = block[a : a + n * n].reshape((n, n)), a + n * n
    nm, a = block[a : a + n + m], a + n + m
    order = block[a : a + n + m].view(np.int64)
    return Work(
        M, f, A, gamma, vdot, force, multipliers, info, extremes, metric, choice, upper, white, factor,
        n1, n2, m1, flat, s2, s3, nm, order,
    )  # fmt: skip
