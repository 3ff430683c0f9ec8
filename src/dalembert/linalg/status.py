"""How a kernel ended: a small integer inside Numba, a sentence outside.

Kernels never raise. They return `int(status)`; `Status(code).sentence` is what to tell a person.
A rank below full is not a failure: it is returned beside the status.
"""

from __future__ import annotations

from dalembert.outcome import Spoken


class Status(Spoken):
    """Outcome of a kernel.

    >>> Status(2).name, Status(2).sentence
    ('NOT_POSITIVE', 'the matrix is not positive definite: a pivot is zero, negative or NaN')
    """

    OK = 0, "done"
    NOT_FINITE = 1, "the input holds NaN or infinity"
    NOT_POSITIVE = 2, "the matrix is not positive definite: a pivot is zero, negative or NaN"
    NOT_CONVERGED = 3, "the Jacobi sweeps ended before all rows were orthogonal to working precision"


# The same as plain integers, which compile faster than enum members.
OK = int(Status.OK)
NOT_FINITE = int(Status.NOT_FINITE)
NOT_POSITIVE = int(Status.NOT_POSITIVE)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
