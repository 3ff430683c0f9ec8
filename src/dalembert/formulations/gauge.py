"""How near constraint rows are to dependent, as a native function of q; `nearness` is its native part.

    y  the least squared sine between a row and those before it, or squared length of one over its usual length
       σ², the square of the least singular value of all rows in the mass metric, each over its usual length

The first is what elimination depends on and is the same for one loop and for a hundred of them. The second tells how
far the singular position is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formulations.envelope import Envelope, make_envelope
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Int, Ints, Part, Struct

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Gauge(Struct):
    """Workspace of the gauge."""

    whitened = Part(lambda: Bound)  # q → entries of rows in the mass metric over usual lengths, and their places
    envelope = Part(lambda: Envelope)
    m = Int()
    count = Int()  # of entries
    place = Ints("count")  # of each in `rows` of the envelope


def make_gauge(whitened: Kernel, values: Mapping[str, Any], *, nv: int, rows: int) -> Bound:
    """The gauge of so many rows over the kernel "whitened_rows", some of whose inputs are given by name."""
    called = Bound.of(whitened, values)
    called.at(0.0, np.zeros(0))  # places are the same at any position
    count = called.ny // 2
    row, column = np.divmod(called.y[count:].astype(np.int64), nv)
    envelope = make_envelope(rows, nv, (row, column))
    gauge = Gauge(whitened=called, envelope=envelope, m=rows, count=count, place=envelope.base[row] + column)
    bound = Bound.around(address("gauge"), called.x, np.zeros(2), gauge, called.time_index, owner=gauge)
    bound.slices = called.slices
    return bound
