"""The struct of a contact problem with friction cones; `cone` is its native part.

Elements are contacts (a normal impulse n ≥ 0 and none, one or two tangential ones, ‖t‖ ≤ μ n), joints with dry friction
(‖t‖ ≤ F, no normal), stops and ropes (n alone). The rows of an element follow each other, the normal first.
"""

from __future__ import annotations

from dalembert.native.struct import Doubles, Float, Int, Ints, Struct


class ConeProblem(Struct):
    """w = G z + q with Signorini's and Coulomb's laws between w and z; see `cone`.

    room, places: the most rows and elements. Arrays of a smaller problem are used from their beginning.
    """

    room = Int()
    places = Int()
    rows = Int()  # of this problem
    elements = Int()
    tolerance = Float()  # of the natural residual z − P(z − w), over `scale`
    enough = Float()  # residual that will do where the tolerance is not reached
    sweeps = Int()  # of Gauss and Seidel before Newton's method
    rounds = Int()  # of Newton's method with sweeps between, at most

    # --- given
    G = Doubles("room", "room")  # A M⁻¹Aᵀ; overwritten with unit diagonal
    q = Doubles("room")  # w without impulses; overwritten
    first = Ints("places")  # row of each element
    normal = Ints("places")  # whether it has one
    across = Ints("places")  # number of tangential rows
    mu = Doubles("places")
    bound = Doubles("places")  # F

    # --- found
    z = Doubles("room")  # impulses; before, where to start
    w = Doubles("room")
    residual = Float()  # largest |z − P(z − w)| over the largest |q|, rows of unit length
    scale = Float()  # that of the tolerance
    steps = Int()  # of Newton's method
    swept = Int()  # sweeps
    outcome = Int()

    # --- work
    part = Float()  # of friction
    size = Doubles("room")  # lengths of rows, √G_ii
    best = Doubles("room")
    trial = Doubles("room")
    kept = Doubles("room")
    matrix = Doubles("room", "room + 1")
    active = Ints("room")
    F = Doubles("room")
