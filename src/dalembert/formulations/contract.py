"""The contract of a formulation: M v̇ = f + Aᵀλ and A v̇ + γ = 0, solved for v̇ and λ.

A formulation is one file with one Numba kernel `solve(work, options)` that reads M, f (applied forces minus h), A and
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

from typing import NamedTuple

import numpy as np

from dalembert.linalg import Factorization, allocate
from dalembert.outcome import Outcome

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


def workspace(n: int, m: int) -> Work:
    """A workspace for n velocities and m rows."""
    z = np.zeros
    return Work(
        z((n, n)), z(n), z((m, n)), z(m), z(n), z(n), z(m),
        z(2, dtype=np.int64), z(2), np.eye(n), z(n, dtype=np.int64), z((n, n)), z((m, n)), allocate(m, n),
        z(n), z(n), z(m), z((n + m) ** 2), z((n, n)), z((n, n)), z(n + m), z(n + m, dtype=np.int64),
    )  # fmt: skip
