"""Calling by address inside Numba, and the decorators of everything in this folder. Importing this imports Numba.

They are those of `linalg`: without reference counts, which cost more than the mechanics of a small mechanism. `inline`
is for what is asked at every stage: as a call, it would copy all the parts of a run.
"""

from __future__ import annotations

from dalembert.compiler.call import call_kernel
from dalembert.linalg import kernel as native
from dalembert.linalg import small as inline

__all__ = ["call", "finite", "inline", "native"]


@inline
def call(f, t, x, n):
    """Evaluate f at the first n numbers of x."""
    for i in range(n):
        f.given[i] = x[i]
    if f.place >= 0:
        f.given[f.place] = t
    call_kernel(f.address, f.given, f.out, f.work)  # type: ignore[call-arg]


@inline
def finite(x, n):
    """Whether the first n numbers of x are."""
    total = 0.0
    for i in range(n):
        total += x[i] - x[i]
    return total == 0.0
