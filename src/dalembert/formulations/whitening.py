"""Constraint rows in the mass metric from the kernel "equations", as a native function of q.

    y  the entries of A R⁻¹ with M = RᵀR, for some rows of A, each over its usual length; then their places i nv + j

`whitened` is its native part. It takes the place of the kernel "whitened_rows" where straight-line elimination would be
long (`RowNames.dense`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.right_hand_side import views
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Doubles, Int, Ints, Struct, StructPart

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Whitening(Struct):
    """Workspace; M and A are outputs of the equations."""

    equations = StructPart(lambda: Bound)
    n = Int()
    m = Int()
    M = Doubles("n", "n")
    A = Doubles("m", "n")
    chosen = Int()
    row = Ints("chosen")  # of A, for each row of the answer
    sizes = Doubles("chosen")  # usual length of each
    upper = Doubles("n", "n")  # R
    white = Doubles("1", "n")


def make_whitening(
    equations: Kernel,
    values: Mapping[str, Any],
    *,
    nq: int,
    nv: int,
    powers: int,
    rows: Sequence[int],
    sizes: np.ndarray,
) -> Bound:
    """The function over the kernel "equations" of all rows; rows: those of the answer, sizes: their usual lengths."""
    called = Bound.of(equations, values)
    ends = np.cumsum(equations.sizes_out)
    m = int(ends[4] - ends[3]) // nv
    parts = views(called, nq + powers, nv, m)
    k = len(rows)
    w = Whitening.sized(
        equations=called,
        n=nv,
        m=m,
        M=parts["M"],
        A=parts["A"],
        chosen=k,
        row=np.array(rows, dtype=np.int64),
        sizes=sizes.copy(),
    )
    y = np.concatenate([np.zeros(k * nv), np.arange(float(k * nv))])
    bound = Bound.around(address("whitened"), called.x, y, w, called.time_index, owner=w)
    bound.slices = called.slices
    return bound
