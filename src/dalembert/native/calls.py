"""Native functions called from native code, by address. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dalembert.native.jit import inline
from dalembert.native.numba_struct import BYTES, StructType
from dalembert.native.simd import assign

_FUNCTION = ir.FunctionType(ir.VoidType(), [BYTES] * 3).as_pointer()


def _jump(typingctx: Any, address: Any, x: Any, y: Any, w: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [
            a if isinstance(kind, StructType) else builder.inttoptr(a, BYTES)
            for a, kind in zip(args[1:], signature.args[1:])
        ]
        builder.call(builder.inttoptr(args[0], _FUNCTION), pointers)
        return context.get_dummy_value()

    return types.void(address, x, y, w), codegen


def _data(typingctx: Any, array: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.ptrtoint(made.data, ir.IntType(64))

    return types.int64(array), codegen


#: jump(address, x, y, w): call the function at an address with addresses of arrays, or structs
jump: Any = intrinsic(_jump)
#: data(array): the address of its first number
data: Any = intrinsic(_data)


@inline
def invoke(f):
    """Call a `Bound` function with the inputs that are in place."""
    jump(f.address, data(f.x), data(f.y), f.w)


@inline
def invoke_into(f, y):
    """Call a `Bound` function with the inputs that are in place; its outputs go to y."""
    jump(f.address, data(f.x), data(y), f.w)


@inline
def call(f, t, x, n):
    """Call a `Bound` function at time t and the first n numbers of x."""
    call_into(f, t, x, n, f.y)


@inline
def call_into(f, t, x, n, y):
    """Call a `Bound` function at time t and the first n numbers of x; its outputs go to y."""
    given = f.x
    assign(1.0, x, 0, given, 0, 0, n)  # in vectors, as the function reads it: eight bytes at a time, it would wait
    if f.time_index >= 0:
        given[f.time_index] = t
    invoke_into(f, y)


@inline
def finite(x, n):
    """Whether the first n numbers of x are finite."""
    total = 0.0
    for i in range(n):
        total += x[i] - x[i]
    return total == 0.0
