"""Back to the manifold next to a singular position: `correct` and `filter` with a factorization that reveals the rank.

Elimination squares the condition of A, a QR factorization does not, so these two lead to within rounding / σ of the
manifold where σ, the smallest singular value, is as small as 1e-7. Inputs are those of the kernel "equations", outputs
those of the kernels "correct" and "filter":

    position   q ⊕ δ with A δ = −Φ and δ the shortest, Φ, margin (2)
    velocity   v + δ with A δ = −(A v + b) and δ the shortest, A v + b, margin (2)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.problem import Problem, make_problem
from dalembert.formulations.right_hand_side import views
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Float, Int, Part, Struct

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Landing(Struct):
    """What both work with; A, M and γ of the problem are outputs of the equations."""

    equations = Part(lambda: Bound)
    plus = Part(lambda: Bound)  # (q, δ) → q ⊕ δ
    problem = Part(lambda: Problem)
    nq = Int()
    first = Int()  # of Φ among the outputs of the equations
    rounding = Float()  # ‖Φ‖∞ that is nothing but rounding: q is left alone


def make_landing(
    name: str,
    equations: Kernel,
    plus: Kernel,
    values: Mapping[str, Any],
    *,
    nq: int,
    nv: int,
    rows: int,
    powers: int,
    options: Mapping[str, Any],
    rounding: float,
) -> Bound:
    """The function `name`, "position" or "velocity", over the kernels "equations" and "plus".

    options: fields of `Problem` by name.
    """
    called = Bound.of(equations, values)
    landing = Landing(
        equations=called,
        plus=Bound.of(plus, {}),
        problem=make_problem(nv, rows, **views(called, nq + powers, nv, rows), **options),
        nq=nq,
        first=called.ny - 3 * rows,
        rounding=rounding,
    )
    y = np.zeros((nq if name == "position" else nv) + rows + 2)
    bound = Bound.around(address(name), called.x, y, landing, called.time_index)
    bound.rows, bound.slices = rows, called.slices
    return bound
