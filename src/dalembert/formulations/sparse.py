"""A problem by its elements: independent rows in the mass metric, which careful steps factor by `ordered`.

M, f, A and γ are outputs of the kernel "sparse_equations", which has the elements of M and A and their places, so that
a chain of loops costs in proportion to its length. It takes the place of a `Problem` in a `Field` or a `Landing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.formulations.envelope import Envelope, make_envelope
from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart


class SparseProblem(Struct):
    """The equations of one instant by their elements, and the solution; names as in `Problem`."""

    n = Int()
    m = Int()
    tolerance = Float()
    floor = Float()
    # equations
    masses = Int()
    mass = Doubles("masses")  # elements of the lower triangle of M
    mass_place = Ints("masses")  # of each in `lower` of the envelope
    elements = Int()
    element = Doubles("elements")  # of A
    element_place = Ints("elements")  # in `rows` of the envelope
    element_row = Ints("elements")
    f = Doubles("n")
    gamma = Doubles("m")
    sizes = Doubles("m")
    # solution
    vdot = Doubles("n")
    multipliers = Doubles("m")
    rank = Int()
    usual_rank = Int()
    status = Int()
    largest = Float()
    smallest = Float()
    # workspace
    envelope = StructPart(lambda: Envelope)


def make_sparse_problem(called: Bound, nv: int, rows: int, options: Mapping[str, Any]) -> SparseProblem:
    """A problem of the elements among the outputs of the kernel; options: sizes, tolerance and floor by name."""
    ends = np.cumsum(called.owner.sizes_out)
    M, f, A, gamma, M_places, A_places = (called.y[ends[k] : ends[k + 1]] for k in range(1, 7))
    called.at(0.0, np.zeros(0))  # places are the same at any position
    of_mass, of_rows = (np.divmod(places.astype(np.int64), nv) for places in (M_places, A_places))
    envelope = make_envelope(rows, nv, of_rows, of_mass)
    return SparseProblem.sized(
        n=nv, m=rows, usual_rank=rows, envelope=envelope, f=f, gamma=gamma, **options,
        masses=len(M), mass=M, mass_place=envelope.foot[of_mass[0]] + of_mass[1],
        elements=len(A), element=A, element_place=envelope.base[of_rows[0]] + of_rows[1], element_row=of_rows[0],
    )  # fmt: skip
