"""Threads of the BLAS behind NumPy: factorizations of a few hundred rows are faster without them.

Each of their many short steps would wait for all threads to meet; where other processes use the processor these waits
take far longer than the arithmetic. OpenBLAS can be told so at run time; any other BLAS is left as it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from dalembert.forks import held_over_forks

_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
_lock = held_over_forks(Lock())
_inside = 0  # how many threads of Python are in `one_thread`
_usual = 1  # what the first of them found


@contextmanager
def one_thread() -> Iterator[None]:
    """Let NumPy's linear algebra use one thread; the last to leave puts the number back that the first one found."""
    global _inside, _usual
    found = _functions()
    if found is None:
        yield
        return
    get, set_ = found
    with _lock:
        if not _inside:
            _usual = get()
            set_(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                set_(_usual)


@cache
def _functions() -> tuple[Any, Any] | None:
    """`get_num_threads` and `set_num_threads` of OpenBLAS, looked up in what NumPy's linear algebra is linked with."""
    try:
        from numpy.linalg import _umath_linalg

        library = ctypes.CDLL(_umath_linalg.__file__)
    except (ImportError, OSError):
        return None
    for name in _NAMES:
        try:
            return getattr(library, name.format("get_num_threads")), getattr(library, name.format("set_num_threads"))
        except AttributeError:
            continue
    return None
