"""The plan of a rollout: what its native functions read, shared by threads and never written to.

Memory of one call is an array of doubles, results first; the fields `at_…` are places in it. A state may have parts:
the state itself, and its tangent (2 parts), which go through the same steps with kernels that carry both.
"""

from __future__ import annotations

from dalembert.native.struct import Float, Int, Struct


class RolloutPlan(Struct):
    """N steps of RK4, each projected on the constraints, for several runs side by side."""

    # --- sizes; numbers of one lane
    lanes = Int()
    parts = Int()  # 1, or 2 with tangents
    n = Int()  # of a state, one part
    nu = Int()
    np = Int()
    steps = Int()
    rows = Int()  # residuals of `correct`
    corrections = Int()  # Newton steps of a projection, at most
    least = Int()  # and at least: the second derivatives of one are not those of the projection
    room = Int()  # of the whole memory

    h = Float()  # s
    tolerance = Float()  # of residuals: the Newton step after it is the last
    limit = Float()  # of the last residual: beyond, the state is not on the manifold
    least_angle = Float()  # margins below which an elimination is not trusted
    least_length = Float()

    # --- addresses of kernels, 0 where there is none: (states, inputs, parameters, t) → states, residuals, margins
    ode = Int()
    correct = Int()
    filter = Int()
    # and of their transposed derivatives: (states, inputs, parameters, t, weights) → weights
    ode_adjoint = Int()
    correct_adjoint = Int()
    filter_adjoint = Int()

    # --- places in memory
    at_given = Int()  # arguments of a kernel
    at_out = Int()  # and its results
    at_stages = Int()  # ẋ of the four stages
    at_tape = Int()  # states that kernels were evaluated at: stages, corrections, filter
    at_state = Int()
    at_weights = Int()  # of the state, in the adjoint; then of ẋ of a stage
    at_driven = Int()  # of inputs and parameters
    at_marks = Int()  # of each correction and the filter, whether a lane took it; last, whether a lane failed
    at_work = Int()  # workspace of kernels


def lay_out(plan: RolloutPlan, results: int, outputs: int, work: int) -> None:
    """Set the places and `room`. results: numbers of the call; outputs: of a kernel; work: doubles of a workspace."""
    w, n, c = plan.lanes, plan.parts * plan.n, plan.parts * (plan.nu + plan.np)
    sizes = {
        "given": (2 * n + c + 1) * w, "out": outputs * w, "stages": 4 * n * w, "tape": (plan.corrections + 5) * n * w,
        "state": n * w, "weights": 2 * n * w, "driven": c * w, "marks": (plan.corrections + 2) * w, "work": work,
    }  # fmt: skip
    at = _line(results * w)
    for name, size in sizes.items():
        setattr(plan, f"at_{name}", at)
        at = _line(at + size)
    plan.room = at


def _line(at: int) -> int:
    return -(-at // 8) * 8
