"""The Jacobian of the equations of motion of a large mechanism for implicit methods, by rows; see `make_large_slope`.

x  q, v, u, p, t
y  ∂(q̇, v̇)/∂(q, v), (nq + nv, nq + nv), the numbers of q taken one by one
w  a `LargeSlope`
"""

from __future__ import annotations

from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Int, Ints, Struct, StructPart


class LargeSlope(Struct):
    """The kernel of rows (`system.equation_rows`) with its lanes, that of q̇, and room for the algebra."""

    nq = Int()
    nv = Int()
    m = Int()  # rows of constraints
    given = Int()  # numbers of x
    columns = Int()  # of a row: x, z, and the value of the equation
    unknowns = Int()  # place of z in a row
    lanes = Int()
    rows = StructPart(lambda: Bound)
    moved = Ints("given")  # place of each number of x in the kernel's inputs, or −1
    vdot = Int()  # place of v̇ there
    multipliers = Int()
    weights = Int()
    rates = StructPart(lambda: Bound)  # the elements of ∂q̇/∂(q, v) and of ∂δ/∂q that are not zero
    upper = Int()  # how many of the first
    lower = Int()  # and of the second
    upper_places = Ints("upper", "2")
    lower_places = Ints("lower", "2")
    J = Doubles("nv + m", "columns")
    left = Doubles("nv + m", "nv + m")
    pivots = Ints("nv + m")
    right = Doubles("nv + m", "2 * nv")
    z = Doubles("nv + m")
