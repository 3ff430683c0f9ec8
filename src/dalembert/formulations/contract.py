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

from typing import NamedTuple

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


def work_size(n: int, m: int) -> int:
    """Doubles in a workspace for n velocities and m rows; see `work.carve`."""
    p, wide = min(m, n), max(m, n, 1)
    factor = 2 * n * n + p * p + m * m + m * n + p * m + 4 * wide + m + 7
    return factor + 6 * n * n + 3 * m * n + 7 * n + 5 * m + (n + m) ** 2 + 2 * (n + m) + 4
