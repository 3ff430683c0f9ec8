"""The workspace of a formulation: everything one evaluation reads and writes, cut from one block of memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable

from dalembert.compiler.memory import integers, matrix, vector
from dalembert.formulations.contract import work_size
from dalembert.linalg import Factorization

# for functions that return arrays; Python cannot call them
_options: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}  # fmt: skip
views = njit(**_options)
_inline: Any = {"error_model": "numpy", "_nrt": False, "forceinline": True}
jitable = register_jitable(**_inline)  # that Python can call too


@jitable
def factorization_size(m, n):
    """Floats in a `Factorization` of an m × n matrix."""
    p, wide = min(m, n), max(m, n, 1)
    return n * n + p * p + m * m + m * n + p * m + 4 * wide + 3


@jitable
def factorization(block, start, m, n, perm, info):
    """A Factorization of an m × n matrix in a block from `start` on (the layout of `linalg.allocate`)."""
    p, wide = min(m, n), max(m, n, 1)
    basis, at = matrix(block, start, n, n)
    core, at = matrix(block, at, p, p)
    left, at = matrix(block, at, m, m)
    rows, at = matrix(block, at, m, n)
    spare, at = matrix(block, at, p, m)
    scratch, at = matrix(block, at, 4, wide)
    gauge, at = vector(block, at, 3)
    return Factorization(basis, core, left, rows, spare, scratch, perm, info, gauge)


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


def workspace(n: int, m: int) -> Work:
    """A workspace for n velocities and m rows, in one block of memory."""
    block = np.zeros(work_size(n, m))
    M, f, A, gamma = np.zeros((n, n)), np.zeros(n), np.zeros((m, n)), np.zeros(m)
    work = carve.py_func(block, n, m, M, f, A, gamma)
    work.metric[:] = np.eye(n)
    return work


@views
def carve(block, n, m, M, f, A, gamma):
    """A workspace cut from one block of memory, with the equations standing elsewhere. The metric must be filled in."""
    perm, a = integers(block, factorization_size(m, n), m)
    facts, a = integers(block, a, 4)
    factor = factorization(block, 0, m, n, perm, facts)
    vdot, a = vector(block, a, n)
    force, a = vector(block, a, n)
    multipliers, a = vector(block, a, m)
    info, a = integers(block, a, 2)
    extremes, a = vector(block, a, 2)
    metric, a = matrix(block, a, n, n)
    choice, a = integers(block, a, n)
    upper, a = matrix(block, a, n, n)
    white, a = matrix(block, a, m, n)
    n1, a = vector(block, a, n)
    n2, a = vector(block, a, n)
    m1, a = vector(block, a, m)
    flat, a = vector(block, a, (n + m) ** 2)
    s2, a = matrix(block, a, n, n)
    s3, a = matrix(block, a, n, n)
    nm, a = vector(block, a, n + m)
    order, _ = integers(block, a, n + m)
    return Work(
        M, f, A, gamma, vdot, force, multipliers, info, extremes, metric, choice, upper, white, factor,
        n1, n2, m1, flat, s2, s3, nm, order,
    )  # fmt: skip
