"""Calling by address inside Numba, and the decorators of everything in this folder. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from numba import njit

from dalembert.compiler.call import call_kernel

# `_nrt=False`: without Numba's allocator and reference counts, as in `linalg.rows`; eight times as fast
_options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
native = njit(**_options)
inline = njit(**_options, forceinline=True)  # for what is asked at every stage: a call would copy all parts of a run


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
