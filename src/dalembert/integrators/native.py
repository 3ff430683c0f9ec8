"""Calling by address inside Numba, and the decorators of everything in this folder. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

# `_nrt=False`: without Numba's allocator and reference counts, as in `linalg.rows`; eight times as fast
_options: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True,
}  # fmt: skip
native = njit(**_options)  # that Python calls
inner = njit(**_options, no_cpython_wrapper=True)  # that only native code calls: half the time to compile
inline = njit(**_options, no_cpython_wrapper=True, forceinline=True)  # the same, for what is asked at every stage


@intrinsic
def floats(typingctx, address):
    """The doubles at an address, to be read and written by index."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), codegen


@intrinsic
def _jump(typingctx, address, x, y, w):
    """address(x, y, w), all of them addresses."""

    def codegen(context, builder, signature, args):
        from llvmlite import ir

        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [builder.inttoptr(a, pointer) for a in args[1:]])
        return context.get_dummy_value()

    return types.void(address, x, y, w), codegen


@native
def call(f, t, x, n):
    """Evaluate f at the first n numbers of x."""
    given = floats(f.given)  # type: ignore[call-arg]
    for i in range(n):
        given[i] = x[i]
    if f.place >= 0:
        given[f.place] = t
    _jump(f.address, f.given, f.out, f.work)  # type: ignore[call-arg]


@inline
def finite(x, n):
    """Whether the first n numbers of x are."""
    total = 0.0
    for i in range(n):
        total += x[i] - x[i]
    return total == 0.0
