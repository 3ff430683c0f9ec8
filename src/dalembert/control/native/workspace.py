"""The memory of one control update, shared by Python and native code; whoever asks for an update has one of its own.

`Allocation` is what `allocation.allocate` reads and writes, `Controller` what `controller.follow` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.problem import EUCLIDEAN, Problem, make_problem
from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Part, Struct

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
    plant = Part(lambda: Bound)  # the kernel of all that follows up to `bias`
    problem = Part(lambda: Problem)  # M, f, A, γ and the factorization of A
    B = Doubles("n", "na")
    theta = Doubles("nt")
    rate = Doubles("nt")  # θ̇
    J = Doubles("nt", "n")
    bias = Doubles("nt")  # J̇ v
    v = Doubles("n")
    # what is asked
    mode = Int()
    reference = Doubles("3 * nt")  # θ_d, θ̇_d, θ̈_d
    gains = Doubles("2 * nt", "nt")  # G_P over G_D
    free_damping = Float()  # of motions the task leaves free
    wanted_motion = Doubles("n")  # v̇, for GIVEN
    active = Ints("m")  # 1 where a row counts
    cost_kind = Int()
    cost = Doubles("na", "na")  # upper factor of G
    weight = Doubles("n", "n")  # upper factor of W, for WEIGHTED
    selected = Ints("ns")  # rows of λ that are wanted
    wanted = Doubles("ns")  # their values
    # what is found
    motion = Doubles("n")  # v̇
    required_force = Doubles("n")  # M v̇ − f
    u = Doubles("na")
    K = Doubles("n", "n")  # rows: admissible motions, KᵀMK = 1
    mobility = Int()
    task_rank = Int()
    reach = Int()  # rank of KᵀB
    drive = Float()  # length of KᵀB in the metric of forces, if there were no constraints
    force_rank = Int()
    status = Int()  # an `Outcome`
    # work
    right = Doubles("3", "n + na + nt + ns")  # right sides and solutions
    task = Part(lambda: Problem)  # its A: J K
    white_task = Doubles("nt * n")  # J R⁻¹
    actuation = Doubles("n * na")  # KᵀB
    drives = Part(lambda: Problem)  # its A: KᵀB in the metric of forces
    null_forces = Doubles("na * na")  # forces that move nothing
    shaping = Part(lambda: Problem)  # its A: what forces that move nothing do to λ, or forces to the task


class Controller(Struct):
    """An allocation with the trajectory it follows."""

    nq = Int()
    nu = Int()
    na = Int()
    allocate = Int()  # address of `allocation.allocate`
    allocation = Part(lambda: Allocation)
    trajectory = Part(lambda: Bound)  # of t; its outputs are the allocation's reference
    inputs = Ints("na")  # which inputs the actuators are


def make_allocation(plant: Plant, selected: Sequence[int], **values: Any) -> Allocation:
    """Memory for a plant and the rows of λ it is to set; numbers of the update and options of the problem by name."""
    n, m, na, nt, ns = plant.n, plant.m, plant.na, plant.nt, len(selected)
    called = plant.bound()
    at, views = 0, {}
    shapes = {"M": (n, n), "f": (n,), "A": (m, n), "gamma": (m,), "B": (n, na)}
    for name, shape in {**shapes, "theta": (nt,), "rate": (nt,), "J": (nt, n), "bias": (nt,)}.items():
        size = int(np.prod(shape))
        views[name] = called.y[at : at + size].reshape(shape)
        at += size
    equations = {name: views.pop(name) for name in ("M", "f", "A", "gamma")}
    options = {name: values.pop(name) for name in ("tolerance", "floor") if name in values}
    a = Allocation.sized(
        n=n,
        m=m,
        na=na,
        nt=nt,
        ns=ns,
        plant=called,
        problem=make_problem(n, m, **equations, **options),
        v=called.x[plant.system.nq : plant.system.nq + n],
        task=make_problem(n, nt, metric=EUCLIDEAN),
        drives=make_problem(na, n, metric=EUCLIDEAN),
        shaping=make_problem(na, max(ns, nt), metric=EUCLIDEAN),
        **views,
        **values,
    )
    a.active[:], a.selected[:] = 1, selected
    for square in (a.cost, a.weight):
        np.fill_diagonal(square, 1.0)
    return a
