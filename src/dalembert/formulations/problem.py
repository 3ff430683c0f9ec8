"""The problem a formulation solves: M v̇ = f + Aᵀλ and A v̇ + γ = 0, for v̇ and λ.

A formulation is one file with one kernel `solve(problem)`. It reads M, f (applied forces minus h), A and γ, writes v̇,
Aᵀλ and λ, sets rank, largest, smallest and status, and returns the status; it allocates nothing and never raises. It is
registered in this folder's __init__ and in `native.library.ENTRIES`; the conformance suite then tests it.

    metric      what "orthogonal" and "shortest" mean: EUCLIDEAN, MASS, or WEIGHT (W = RᵀR, R given in `weight`)
    tolerance   singular values below tolerance × the largest count as zero (in the metric)
    floor       singular values below this count as zero whatever the largest is: a row that vanishes all by itself
    safety      QR decides the rank only this far from the tolerance, else SVD does; see `linalg.orthogonal`
    threshold, damp   softening: below σ < threshold the solution of A v̇ = −γ is damped, at most by damp (0: never)
    sigma       σ of the projection formulation's third variant (0: its default)
    variant     which of a paper's variants; each file says
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.native.library import address
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart

EUCLIDEAN, MASS, WEIGHT = 0, 1, 2


class Factor(Struct):
    """Memory of a `linalg.Factorization` of an m × n matrix, by its names; smaller m and n may be set natively."""

    m = Int()
    n = Int()
    basis = Doubles("n", "n")
    core = Doubles("min(m, n)", "min(m, n)")
    left = Doubles("m", "m")
    rows = Doubles("m", "n")
    spare = Doubles("min(m, n)", "m")
    scratch = Doubles("4", "max(m, n, 1)")
    perm = Ints("m")
    info = Ints("4")
    gauge = Doubles("3")


class Problem(Struct):
    """The equations of one instant, the options, the solution and the workspace; see the head of this file."""

    n = Int()  # velocities
    m = Int()  # rows
    # options
    metric = Int()
    variant = Int()
    tolerance = Float()
    safety = Float()
    threshold = Float()
    damp = Float()
    floor = Float()
    sigma = Float()
    weight = Doubles("n", "n")  # upper factor of W, for WEIGHT
    independent = Ints("n")  # 1 for the user's independent coordinates; all 0 for the automatic choice
    # equations
    M = Doubles("n", "n")
    f = Doubles("n")
    A = Doubles("m", "n")
    gamma = Doubles("m")
    sizes = Doubles("m")  # usual length of each row; A, γ and λ are divided by it
    # solution
    vdot = Doubles("n")
    force = Doubles("n")  # Aᵀλ
    multipliers = Doubles("m")  # the shortest λ
    residual = Float()  # ‖A v̇ + γ‖∞
    rank = Int()
    usual_rank = Int()  # away from singular positions; 0: any rank is welcome
    status = Int()  # an `Outcome`
    largest = Float()  # singular values retained, in the metric (QR route: estimates)
    smallest = Float()
    # workspace
    upper = Doubles("n", "n")  # R of the metric, or of M
    white = Doubles("m", "n")  # A R⁻¹
    factor = StructPart(lambda: Factor)
    factorize = Int()  # address of `common.factorize`
    null = Int()  # 1 if the null space is asked for
    n1 = Doubles("n")
    n2 = Doubles("n")
    m1 = Doubles("m")
    nm = Doubles("n + m")
    square1 = Doubles("n", "n")
    square2 = Doubles("n", "n")
    flat = Doubles("(n + m) * (n + m)")  # cut to the matrices that are needed
    order = Ints("n + m")


#: the options a problem has unless others are given
OPTIONS = {"metric": MASS, "tolerance": 1e-10, "safety": 100.0}


def make_problem(n: int, m: int, **values: Any) -> Problem:
    """A problem with n velocities and m rows; options, and equations that are elsewhere in memory, by name."""
    given = {"factor": Factor.sized(m=m, n=n), "factorize": address("factorize"), **OPTIONS, **values}
    problem = Problem.sized(n=n, m=m, **given)
    if "weight" not in values:
        problem.weight[np.diag_indices(n)] = 1.0
    if "sizes" not in values:
        problem.sizes[:] = 1.0
    return problem
