"""The memory of one control update, shared by Python and native code; whoever asks for an update has one of its own.

`Allocation` is what `allocation.allocate` reads and writes, `Controller` what `controller.follow` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.control.native.levels_struct import Levels, make_levels
from dalembert.formulations.problem import EUCLIDEAN, Factor, Problem, make_problem
from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart

if TYPE_CHECKING:
    from dalembert.control.plant import Plant

#: what an update does: the motion of a task, a motion that is given, or the motion without inputs; or only the forces
#: for `required_force`, or only λ for `required_force` and `u`, both where the last update was
TASK, GIVEN, FREE, FORCES, REACTIONS = 0, 1, 2, 3, 4
#: what a force costs: uᵀG u with G constant, of the mass matrix, or of weights
CONSTANT, MASS_COST, WEIGHTED = 0, 1, 2


class Allocation(Struct):
    """One control update: a plant at a state, what is asked of it, and the forces found."""

    n = Int()  # velocities
    m = Int()  # rows of constraints
    na = Int()  # actuators
    nt = Int()  # rows of the task
    ns = Int()  # multipliers that are wanted
    nm = Int()  # measures: combinations of multipliers
    nc = Int()  # bounds of multipliers and measures
    nk = Int()  # friction cones
    nf = Int()  # velocities whose motion is bounded
    plant = StructPart(lambda: Bound)  # the kernel of all that follows up to `bias`
    problem = StructPart(lambda: Problem)  # M, f, A, γ and the factorization of A
    B = Doubles("n", "na")
    theta = Doubles("nt")
    rate = Doubles("nt")  # θ̇
    J = Doubles("nt", "n")
    bias = Doubles("nt")  # J̇ v
    S = Doubles("nm", "m")  # measures are S λ
    v = Doubles("n")
    # what is asked
    mode = Int()
    reference = Doubles("3 * nt")  # θ_d, θ̇_d, θ̈_d
    gains = Doubles("2 * nt", "nt")  # G_P over G_D
    pull = Doubles("nt")  # added to what the gains ask for: integral action
    impedance = Int()  # 1: the gains are stiffness and damping, forces along the task
    free_damping = Float()  # of motions the task leaves free
    epsilon = Float()  # singular values of A up to this are zero (Aghili 68); 0: rounding alone decides
    damping = Float()  # part of a map's length below which its inverse is damped; 0: never
    layered = Int()  # 1: the task has priorities or weights
    priorities = Int()  # levels of the task
    priority = Ints("nt")  # level of each row, from 1
    period = Doubles("nt")  # of rows that are turns about one axis, 2π; 0: none
    row_size = Doubles("nt")  # in which rows are compared: a length of the mechanism, or 1 rad
    unit_of = Doubles("m")  # the same of the constraints' rows
    wanted_motion = Doubles("n")  # v̇, for GIVEN
    active = Ints("m")  # 1 where a row counts
    cost_kind = Int()
    cost = Doubles("na", "na")  # upper factor of G
    weight = Doubles("n", "n")  # upper factor of W, for WEIGHTED
    pick = Doubles("ns", "m + nm")  # multipliers and measures that are wanted
    wanted = Doubles("ns")  # their values
    # bounds; infinite where there is none
    bounded = Int()  # 1 if there are any
    u_lower = Doubles("na")
    u_upper = Doubles("na")
    C = Doubles("nc", "m + nm")
    c_lower = Doubles("nc")
    c_upper = Doubles("nc")
    cones = Doubles("3 * nk", "m + nm")  # normal and tangents of each
    friction = Doubles("nk")
    tangents = Ints("nk")  # 1 or 2
    freedom = Ints("nf")  # velocities
    place = Ints("nf")  # their coordinates
    f_bounds = Doubles("6 * nf")  # lower and upper of position, speed and acceleration, of each
    limit_rate = Float()  # 1/s: how fast bounds of positions and speeds may be approached
    # what is found
    c = Doubles("n")  # the shortest solution of A c = −γ
    along = Doubles("n")  # y of the motion that is asked for
    desired = Doubles("nt")  # J K y of it
    motion = Doubles("n")  # v̇
    required_force = Doubles("n")  # M v̇ − f
    u = Doubles("na")
    K = Doubles("n", "n")  # rows: admissible motions, KᵀMK = 1
    mobility = Int()
    task_rank = Int()
    reach = Int()  # rank of KᵀB
    drive = Float()  # length of KᵀB in the metric of forces, if there were no constraints
    force_rank = Int()
    before = Doubles("na")  # u without bounds
    limited = Int()  # 0: bounds change nothing; 1: they keep the motion; 2: they do not
    status = Int()  # an `Outcome`
    # work
    right = Doubles("3", "n + na + nt + ns")  # right sides and solutions
    task = StructPart(lambda: Problem)  # its A: J K
    white_task = Doubles("nt * n")  # J R⁻¹, in sizes of the rows
    force_size = Doubles("ns")  # sizes of the wanted multipliers and measures
    actuation = Doubles("n * na")  # KᵀB
    drives = StructPart(lambda: Problem)  # its A: KᵀB in the metric of forces
    null_forces = Doubles("na * na")  # forces that move nothing
    shaping = StructPart(lambda: Problem)  # its A: what forces that move nothing do to λ, or forces to the task
    sieve = StructPart(lambda: Factor)  # of A, for `epsilon`
    task_rows = Doubles("nt * n")  # J K
    identity = Doubles("n * n")
    row = Doubles("m")
    cone_row = Doubles("m")
    unknown = Doubles("na")
    free_y = Doubles("n")  # y without forces, Kᵀf
    picked = Doubles("ns", "m")  # pick, measures resolved
    unit = Doubles("na", "na")  # rows: u of a unit of cost
    drives_of = Doubles("na", "n")  # rows: KᵀB u of each
    carries_of = Doubles("na", "m")  # rows: λ of each
    moves_of = Doubles("na", "n")  # rows: v̇ of each
    resting = Doubles("m")  # λ without forces
    ids = Ints("2 * na + 2 * nc + 5 * nk + 40 * nk + 2 * nf")  # bound of each inequality
    planes = Doubles("45 * nk", "m")  # of cones
    plane_of = Ints("45 * nk")
    plane_count = Int()
    levels = StructPart(lambda: Levels)


class Controller(Struct):
    """An allocation with the trajectories it follows."""

    nq = Int()
    nu = Int()
    na = Int()
    allocate = Int()  # address of `allocation.allocate`
    allocation = StructPart(lambda: Allocation)
    moves = Int()  # 1 if there is a task
    trajectory = StructPart(lambda: Bound)  # of t; its outputs are the allocation's reference
    presses = Int()  # 1 if constraint forces are wanted
    forces = StructPart(lambda: Bound)  # of t; its outputs begin with the wanted forces
    pulls = Int()  # 1 if the generalized forces themselves are given
    pull = StructPart(lambda: Bound)  # of q, v, parameters and t; its outputs are the generalized forces (n,)
    inputs = Ints("na")  # which inputs the actuators are


def make_allocation(plant: Plant, **values: Any) -> Allocation:
    """Memory for a plant, and for bounds and wanted forces, whose arrays are given; numbers of the update by name."""
    n, m, na, nt = plant.n, plant.m, plant.na, plant.nt
    nm, ns = plant.nm, len(values["pick"])
    nc, nk, nf = len(values["C"]), len(values["friction"]), len(values["freedom"])
    called = plant.bound()
    at, views = 0, {}
    shapes = {"M": (n, n), "f": (n,), "A": (m, n), "gamma": (m,), "B": (n, na)}
    task = {"theta": (nt,), "rate": (nt,), "J": (nt, n), "bias": (nt,), "S": (nm, m)}
    for name, shape in {**shapes, **task}.items():
        size = int(np.prod(shape))
        views[name] = called.y[at : at + size].reshape(shape)
        at += size
    equations = {name: views.pop(name) for name in ("M", "f", "A", "gamma")}
    options = {name: values.pop(name) for name in ("tolerance", "floor") if name in values}
    soft = 2 * nc + 45 * nk + 2 * nf
    bounded = bool(values.get("bounded") or values.get("layered"))
    rows, wide = (2 * na + soft, max(n, nt, ns, soft)) if bounded else (1, 1)
    a = Allocation.sized(
        n=n,
        m=m,
        na=na,
        nt=nt,
        ns=ns,
        nm=nm,
        nc=nc,
        nk=nk,
        nf=nf,
        plant=called,
        problem=make_problem(n, m, **equations, **options),
        v=called.x[plant.system.nq : plant.system.nq + n],
        task=make_problem(n, nt, metric=EUCLIDEAN),
        drives=make_problem(na, n, metric=EUCLIDEAN),
        shaping=make_problem(na, max(ns, nt), metric=EUCLIDEAN),
        sieve=Factor.sized(m=m, n=n),
        period=plant.periods.copy(),
        levels=make_levels(na, rows, wide),
        **views,
        **values,
    )
    a.active[:] = 1
    for size in (a.row_size, a.unit_of):
        size[size == 0.0] = 1.0
    for square in (a.cost, a.weight):
        np.fill_diagonal(square, 1.0)
    return a
