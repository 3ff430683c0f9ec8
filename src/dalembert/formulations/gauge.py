"""How near constraint rows are to dependent, as a native function of q; `nearness` is its native part.

    y  the least squared sine between a row and those before it, or squared length of one over its usual length
       σ², the square of the least singular value of all rows in the mass metric, each over its usual length

The first is what elimination depends on and is the same for one loop and for a hundred of them. The second tells how
far the singular position is.

Of rows that depend on others for good as many count as the rank r. Any choice of these may be poor where the mechanism
is not singular, or come close to dependent faster than all rows do; so r of them are chosen at every position,

    W = L Q + (what is left of rows that depend on others),   L (m × r), Q (r × nv) orthonormal,            (1)

by Gram and Schmidt's method with pivoting, and σ is the r-th singular value of all rows, the least of L.
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.envelope import Envelope, make_envelope
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.native.struct import Doubles, Int, Ints, Struct, StructPart


class Gauge(Struct):
    """Workspace of the gauge."""

    whitened = StructPart(lambda: Bound)  # q → entries of rows in the mass metric over usual lengths, and their places
    envelope = StructPart(lambda: Envelope)
    m = Int()
    rank = Int()  # of the rows, away from singular positions
    spare = Int()  # m where that is less, else 0
    nv = Int()
    all = Doubles("spare", "nv")  # rows, and what is left of them in (1)
    lengths = Doubles("spare")  # squared, of the rows
    count = Int()  # of entries
    place = Ints("count")  # of each in `rows` of the envelope, or in `all`


def make_gauge(called: Bound, *, nv: int, rows: int, rank: int) -> Bound:
    """The gauge of rows of this rank over the kernel "whitened_rows", or over another function with its outputs."""
    called.at(0.0, np.zeros(0))  # places are the same at any position
    count = called.ny // 2
    place = called.y[count:].astype(np.int64)
    if rank < rows:
        spare, envelope = rows, make_envelope(rank, rows, np.divmod(np.arange(rank * rows), rows))
    else:
        row, column = np.divmod(place, nv)
        spare, envelope = 0, make_envelope(rows, nv, (row, column))
        place = envelope.base[row] + column
    gauge = Gauge(
        whitened=called, envelope=envelope, m=rows, rank=rank, spare=spare, nv=nv, all=np.zeros((spare, nv)),
        lengths=np.zeros(spare), count=count, place=place,
    )  # fmt: skip
    bound = Bound.around(address("gauge"), called.x, np.zeros(2), gauge, called.time_index, owner=gauge)
    bound.slices = called.slices
    return bound
