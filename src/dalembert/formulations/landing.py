"""Back to the manifold next to a singular position: `correct` and `filter` with a factorization that reveals the rank.

Elimination squares the condition of A, a QR factorization does not, so these two lead to within rounding / σ of the
manifold where σ, the smallest singular value, is as small as 1e-7. Inputs are those of the kernel "equations", outputs
those of the kernels "correct" and "filter":

    position   q ⊕ δ with A δ = −Φ and δ the shortest, Φ, margin (2)
    velocity   v + δ with A δ = −(A v + b) and δ the shortest, A v + b, margin (2)

Rounding of Φ still moves q by 1/σ, which turns the admissible velocities by 1/σ again. So positions have a `low` part
of their own and Φ is computed of both (`precise`), where its operations are known; then nothing is squared. They move
by q̇ = N(q) δ, of which Newton's next step corrects what is of second order; quaternions are first made unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.precise import Precise, PreciseRows, no_precise_rows
from dalembert.formulations.problem import make_problem
from dalembert.formulations.right_hand_side import views
from dalembert.formulations.sparse import make_sparse_problem
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Doubles, Float, Int, Ints, Opaque, Struct, StructPart

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Landing(Struct):
    """Workspace of both landings; A, M and γ of the problem are outputs of the equations."""

    equations = StructPart(lambda: Bound)
    plus = StructPart(lambda: Bound)  # (q, δ) → q ⊕ δ, or N(q) δ where positions have a low part
    problem = Opaque()  # a `Problem`, or a `SparseProblem`
    nq = Int()
    first = Int()  # of Φ among the outputs of the equations
    rounding = Float()  # ‖Φ‖∞ that is nothing but rounding: q is left alone
    exact = Int()  # whether positions have a low part
    low = Doubles("nq")
    turning = Int()
    turns = Ints("turning")  # where quaternions begin that have a low part
    program = StructPart(lambda: Precise)  # of Φ
    rows = StructPart(lambda: PreciseRows)


def make_landing(
    name: str,
    equations: Kernel | Bound,
    plus: Kernel,
    values: Mapping[str, Any],
    *,
    nq: int,
    nv: int,
    rows: int,
    powers: int,
    options: Mapping[str, Any],
    rounding: float,
    program: Callable[[Mapping[str, slice]], Precise | None] | None = None,
    low: np.ndarray | None = None,
    rates: Kernel | None = None,
    turns: np.ndarray | None = None,
    sparse: bool = False,
    unit: bool = False,
    precise_rows: Callable[[Mapping[str, slice]], PreciseRows] | None = None,
) -> Bound:
    """The function `name`, "position" or "velocity", over the kernels "equations" and "plus".

    options: fields of `Problem` by name. program: of Φ, from the places of the inputs; low: (nq,) where the low parts
    of positions are; rates: the kernel N(q) v; turns: where quaternions begin. sparse: the kernel is
    "sparse_equations", and the options are fields of `SparseProblem`. unit: make quaternions unit also where positions
    have no low part.
    """
    called = Bound.of(equations, values)
    precise = None if program is None else program(called.slices)
    if turns is None or (precise is None and not unit):
        turns = np.zeros(0, dtype=np.int64)
    if sparse:
        problem: Struct = make_sparse_problem(called, nv, rows, options)
    else:
        problem = make_problem(nv, rows, **views(called, nq + powers, nv, rows), **options)
    landing = Landing(
        equations=called,
        plus=Bound.of(plus if precise is None or rates is None else rates, {}),
        problem=problem,
        nq=nq,
        first=called.ny - 3 * rows,
        rounding=rounding if precise is None else 0.0,
        exact=int(precise is not None),
        low=np.zeros(nq) if low is None else low,
        turning=len(turns),
        turns=turns,
        program=Precise() if precise is None else precise,
        rows=no_precise_rows() if precise_rows is None else precise_rows(called.slices),
    )
    y = np.zeros((nq if name == "position" else nv) + rows + 2)
    entry = f"sparse_{name}" if sparse else name
    bound = Bound.around(address(entry), called.x, y, landing, called.time_index, owner=landing)
    bound.rows, bound.slices = rows, called.slices
    return bound
