"""The decorators of everything in this folder, and the smallest functions. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from numba import njit

from dalembert.compiler.memory import floats, jump

# `_nrt=False`: without Numba's allocator and reference counts, as in `linalg.rows`; eight times as fast. Nothing here
# is called from Python but through `entries`; without wrappers for Python it takes half the time to compile.
OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}  # fmt: skip
native = njit(**OPTIONS, cache=True)
inline = njit(**OPTIONS, cache=True, forceinline=True)  # for what is asked at every stage
entry = njit(**OPTIONS)  # for what `entries` calls; its machine code is kept by `compiler.loops`


@native
def call(f, t, x, n):
    """Evaluate f at the first n numbers of x."""
    given = floats(f.given)
    for i in range(n):
        given[i] = x[i]
    if f.place >= 0:
        given[f.place] = t
    jump(f.address, f.given, f.out, f.work)


@inline
def finite(x, n):
    """Whether the first n numbers of x are."""
    total = 0.0
    for i in range(n):
        total += x[i] - x[i]
    return total == 0.0
