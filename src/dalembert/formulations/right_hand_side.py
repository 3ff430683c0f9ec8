"""A formulation as a right-hand side for integrators: state in, q̇ and v̇ out, called by its address like a kernel.

    x  the inputs of the kernel "equations"
    y  q̇, v̇, powers, the drivers' power (if asked for), margin (2), rank, largest and smallest singular value, outcome
    w  a `RightHandSide`

The margin is the squared ratio of the smallest to the largest singular value, and 1. Both are 0 where the rank is below
the usual one, and −1 where the equations were not solved.
With Baumgarte's constants α and β the constraints are asked for as A v̇ + γ + 2α(A v + b) + β²Φ = 0 (Spencer 3.8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.precise import PreciseRows, no_precise_rows
from dalembert.formulations.problem import make_problem
from dalembert.formulations.sparse import make_sparse_problem
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Float, Int, Opaque, Struct, StructPart

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

EVIDENCE = 4  # numbers after the margin


class RightHandSide(Struct):
    """Workspace of the right-hand side; M, f, A and γ of the problem are outputs of the equations."""

    equations = StructPart(lambda: Bound)
    solve = Int()  # address of the formulation of a `Problem`
    problem = Opaque()  # a `Problem`, or a `SparseProblem`
    nq = Int()
    powers = Int()  # number of powers among the outputs of the equations
    driven = Int()  # 1 if the drivers' power is asked for
    led = Int()  # 1 if coordinates are led: then the equations have parts of the drivers' power by v̇ and 1 too
    alpha = Float()
    beta = Float()
    precise = StructPart(lambda: PreciseRows)


def views(called: Bound, at: int, nv: int, rows: int) -> dict[str, np.ndarray]:
    """M, f, A and γ among the outputs of the equations, the first of them at `at`."""
    out = {}
    for part, shape in {"M": (nv, nv), "f": (nv,), "A": (rows, nv), "gamma": (rows,)}.items():
        size = int(np.prod(shape))
        out[part] = called.y[at : at + size].reshape(shape)
        at += size
    return out


def make_field(
    name: str | None,
    equations: Kernel | Bound,
    values: Mapping[str, Any],
    *,
    nq: int,
    nv: int,
    rows: int,
    powers: int,
    driven: bool,
    led: bool = False,
    options: Mapping[str, Any],
    baumgarte: tuple[float, float] = (0.0, 0.0),
    precise: Callable[[Mapping[str, slice]], PreciseRows] | None = None,
) -> Bound:
    """The right-hand side of a formulation over the kernel "equations", some of whose inputs are given by name.

    name: of the formulation; None: that of `ordered`, over the kernel "sparse_equations".
    options: fields of `Problem` by name (metric, tolerance, floor, …; the arrays weight, sizes, independent too).
    precise: rows in twice the precision, from the places of the inputs.
    """
    called = Bound.of(equations, values)
    if name is None:
        problem: Struct = make_sparse_problem(called, nv, rows, options)
    else:
        problem = make_problem(nv, rows, **views(called, nq + powers, nv, rows), **options)
    field = RightHandSide(
        equations=called,
        solve=0 if name is None else address(name),
        problem=problem,
        nq=nq,
        powers=powers,
        driven=int(driven),
        led=int(led),
        alpha=baumgarte[0],
        beta=baumgarte[1],
        precise=no_precise_rows() if precise is None else precise(called.slices),
    )
    y = np.zeros(nq + nv + powers + driven + 2 + EVIDENCE)
    bound = Bound.around(address("field" if name else "sparse_field"), called.x, y, field, called.time_index)
    bound.slices = called.slices
    return bound
