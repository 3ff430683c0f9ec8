"""The Jacobian of the equations of motion of a large tree without constraints; arguments as in `large_slope`.

∂v̇/∂q = −M⁻¹ ∂τ/∂q and ∂v̇/∂v = −M⁻¹ ∂τ/∂v at the accelerations of the motion, from columns of each joint and their
products (`recursions.pairs`).
"""

from __future__ import annotations

from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Int, Ints, Struct, StructPart
from dalembert.recursions.pairs import TreePairs


class TreeSlope(Struct):
    """The kernels of v̇, of the columns and of q̇, and room for the algebra."""

    nq = Int()
    nv = Int()
    given = Int()  # numbers of x
    ode = StructPart(lambda: Bound)  # q̇ and v̇
    ode_places = Ints("given")  # of each number of x in its inputs, or −1
    columns = StructPart(lambda: Bound)  # of `long_chain_columns`
    column_places = Ints("given")
    vdot = Int()  # place of v̇ in the inputs of the columns
    forced = Int()  # place of the slopes of described forces among their outputs, or −1
    tree = StructPart(lambda: TreePairs)
    rates = StructPart(lambda: Bound)
    upper = Int()
    lower = Int()
    upper_places = Ints("upper", "2")
    lower_places = Ints("lower", "2")
    factor = Doubles("nv", "nv")
    right = Doubles("nv", "2 * nv")
