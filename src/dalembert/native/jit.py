"""The options every kernel is compiled with. Importing this imports Numba.

    native    for other kernels to call
    inline    the same, put into the place of its call
    kernel    for Python to call too (small dense algebra)
    small     the same, put into the place of its call
    entry     called by address through `native.library`, with one struct

`_nrt=False` leaves out Numba's allocator and reference counts: a kernel that would allocate does not compile, and small
ones run up to eight times as fast. Of fast math only `contract` (fused multiply-add): scaling by powers of two must not
be regrouped. Wrappers for Python and C are left out where nobody uses them: they double the time to compile. Nothing is
cached by Numba, which does not see that a kernel called from another file has changed; `native.library` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from dalembert.native.struct import Struct

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "_nrt": False,
}
native = njit(**OPTIONS)
inline = njit(**OPTIONS, forceinline=True)
kernel = njit(**{**OPTIONS, "no_cpython_wrapper": False})
small = njit(**{**OPTIONS, "no_cpython_wrapper": False}, forceinline=True)


def entry(kind: type[Struct]) -> Callable[[Any], Any]:
    """Mark f(struct) or f(x, y, struct) as a function that `native.library` compiles; its struct is of this kind.

    f is a plain Python function, or one of the above where other kernels call it too. x and y are addresses.
    """

    def mark(f: Any) -> Any:
        f.struct = kind
        return f

    return mark
