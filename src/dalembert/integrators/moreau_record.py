"""The struct of Moreau's time stepping: rows of a mechanism, their laws, and room; `moreau` is its native part."""

from __future__ import annotations

from dalembert.integrators.cone_problem import ConeProblem
from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart


class TimeStepping(Struct):
    """Everything a step needs besides the record of the run.

    Rows are those of the mechanism with all its one-sided elements: m of them, some of which always hold (loops,
    drivers); those of contacts, stops and ropes; those of joints with dry friction.
    """

    # --- sizes
    nq = Int()
    nv = Int()
    m = Int()
    held = Int()
    contacts = Int()  # contacts, stops and ropes
    frictions = Int()  # joints
    room = Int()  # rows that impulses are sought for, at most
    places = Int()  # contacts + frictions
    work_at = Int()  # in x: works of the system, then that of contacts, the residual of a step, and forces of rows
    works = Int()  # of the system
    powers = Int()  # of these, those that are a power of v; that of drivers follows from impulses

    # --- functions
    equations = StructPart(lambda: Bound)  # (q, v, u, p, t) → M, f, A, Φ, b, D, K
    residuals = StructPart(lambda: Bound)  # (q, v, p, t) → Φ, A v + b
    plus = StructPart(lambda: Bound)  # (q, δ) → q ⊕ δ, quaternions made unit
    power = StructPart(lambda: Bound)  # (q, v, u, p, t) → powers
    u_index = Int()  # of the inputs in what `equations` is given
    u_power = Int()
    forces = StructPart(lambda: Bound)  # (q, v, u, p, t) → f
    u_forces = Int()

    # --- rows
    held_rows = Ints("held")
    held_unit = Doubles("held")  # 1 rad, or a length
    gap_row = Ints("contacts")
    gap_unit = Doubles("contacts")
    slip_row = Ints("contacts")  # the first of them
    slips = Ints("contacts")  # how many
    mu = Doubles("contacts")
    static = Doubles("contacts")
    restitution = Doubles("contacts")
    stick_row = Ints("frictions")
    coulomb = Doubles("frictions")
    more = Doubles("frictions")  # breakaway force, less that
    stribeck = Doubles("frictions")
    exponent = Doubles("frictions")
    place = Ints("m")  # of the force of a row among the forces in x, or −1

    # --- work
    R = Doubles("nv", "nv")  # M + h/2 D + h²/4 K = RᵀR
    Y = Doubles("m", "nv")  # A R⁻¹
    H = Doubles("held", "nv")  # factors of the rows that hold, at unit length
    basis = Doubles("nv", "nv")
    scratch = Doubles("4", "max(held, nv, 1)")
    perm = Ints("held")
    length = Doubles("held")
    rank = Int()
    right = Doubles("max(held, 1)")
    part = Doubles("max(held, 1)")
    nu = Doubles("nv")
    free = Doubles("nv")
    change = Doubles("nv")
    mean = Doubles("nv")
    middle = Doubles("nq")
    cut = Doubles("room", "nv")  # rows of the cone problem without what the held ones determine
    row = Ints("room")  # which row
    element = Ints("places")  # which contact, or contacts + which friction
    rest = Doubles("room")  # w without impulses, and the gap's share of s
    offset = Doubles("room")  # that share
    rebound = Doubles("room")  # e w⁻ of what is hit
    start = Doubles("room")  # impulses that the solver starts from
    hits = Int()
    blocked = Int()  # whether a contact is closed by rows that hold
    speed = Doubles("m")  # A v + b at the start of the step
    bears = Ints("contacts")  # 1: pressed in this step, and did not bounce
    pushed = Ints("places")
    cone = StructPart(lambda: ConeProblem)
    push = StructPart(lambda: ConeProblem)

    # --- evidence of the run
    residual = Float()  # largest of a step's contact problem
    newton_steps = Int()
    lowered = Int()  # steps whose restitution was lowered
