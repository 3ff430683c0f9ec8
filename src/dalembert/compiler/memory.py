"""Memory by address inside Numba: pointers, arrays and calls. Importing this imports Numba.

`vector`, `matrix` and `integers` cut arrays out of a block, in Python and natively in the same way; natively without a
check, since slices and reshapes would cost more than the work on small arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_options: Any = {"error_model": "numpy", "_nrt": False, "forceinline": True}


def vector(block, at, n):
    """n numbers from `at` on, and where the next ones begin."""
    return block[at : at + n], at + n


def matrix(block, at, m, n):
    """m × n numbers from `at` on, and where the next ones begin."""
    return block[at : at + m * n].reshape((m, n)), at + m * n


def integers(block, at, n):
    """The same as `vector`, read as integers."""
    return block[at : at + n].view(np.int64), at + n


@overload(vector, jit_options=_options)
def _vector(block, at, n):
    return lambda block, at, n: (_view(block, at, (n,)), at + n)


@overload(matrix, jit_options=_options)
def _matrix(block, at, m, n):
    return lambda block, at, m, n: (_view(block, at, (m, n)), at + m * n)


@overload(integers, jit_options=_options)
def _integers(block, at, n):
    return lambda block, at, n: (_integers_view(block, at, (n,)), at + n)


def _inside(item: Any) -> Any:
    """The array at block[at], of the block's items or of others."""

    def view(typingctx, block, at, shape):
        kind = types.Array(item or block.dtype, len(shape), "C")

        def codegen(context, builder, signature, args):
            given = context.make_array(signature.args[0])(context, builder, args[0])
            place = context.cast(builder, args[1], signature.args[1], types.intp)
            pointer = context.get_value_type(types.CPointer(kind.dtype))
            data = builder.bitcast(builder.gep(given.data, [place]), pointer)
            return _array(context, builder, kind, data, args[2])

        return kind(block, at, shape), codegen

    return intrinsic(view)


def _at_address(item: Any) -> Any:
    def view(typingctx, address, shape):
        kind = types.Array(item, len(shape), "C")

        def codegen(context, builder, signature, args):
            pointer = context.get_value_type(types.CPointer(item))
            return _array(context, builder, kind, builder.inttoptr(args[0], pointer), args[1])

        return kind(address, shape), codegen

    return intrinsic(view)


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: Any) -> Any:
    sides = cgutils.unpack_tuple(builder, shape)
    eight = context.get_constant(types.intp, 8)
    strides = [eight] if kind.ndim == 1 else [builder.mul(sides[1], eight), eight]
    out = context.make_array(kind)(context, builder)
    context.populate_array(out, data=data, shape=list(sides), strides=strides, itemsize=eight, meminfo=None)
    return out._getvalue()


def _floats(typingctx, address):
    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), codegen


def _jump(typingctx, address, x, y, w):
    def codegen(context, builder, signature, args):
        from llvmlite import ir

        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [builder.inttoptr(a, pointer) for a in args[1:]])
        return context.get_dummy_value()

    return types.void(address, x, y, w), codegen


_view, _integers_view = _inside(None), _inside(types.int64)
#: array_at(address, shape), integers_at(address, shape): the array that stands there
array_at, integers_at = _at_address(types.float64), _at_address(types.int64)
#: floats(address): the doubles there, by index; less to compile than an array
floats: Any = intrinsic(_floats)
#: jump(address, x, y, w): calls the kernel at an address with the addresses of its arrays
jump: Any = intrinsic(_jump)
