"""Arrays cut from a block inside Numba, without the checks of slices and reshapes. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _cut(typingctx: Any, block: Any, at: Any, shape: Any) -> Any:
    kind = types.Array(block.dtype, len(shape), "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, args[0])
        place = context.cast(builder, args[1], signature.args[1], types.intp)
        sides = cgutils.unpack_tuple(builder, args[2])
        eight = context.get_constant(types.intp, 8)
        strides = [eight] if kind.ndim == 1 else [builder.mul(sides[1], eight), eight]
        out = context.make_array(kind)(context, builder)
        context.populate_array(
            out, data=builder.gep(given.data, [place]), shape=list(sides), strides=strides, itemsize=eight, meminfo=None
        )
        return out._getvalue()

    return kind(block, at, shape), codegen


def _doubles(typingctx: Any, address: Any, n: Any) -> Any:
    kind = types.Array(types.float64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], context.get_value_type(types.CPointer(types.float64)))
        size = context.cast(builder, args[1], signature.args[1], types.intp)
        eight = context.get_constant(types.intp, 8)
        out = context.make_array(kind)(context, builder)
        context.populate_array(out, data=pointer, shape=[size], strides=[eight], itemsize=eight, meminfo=None)
        return out._getvalue()

    return kind(address, n), codegen


#: doubles(address, n): the array of n doubles at an address
doubles: Any = intrinsic(_doubles)
#: cut(block, at, shape): the array of this shape, (n,) or (m, n), that begins at block[at]
cut: Any = intrinsic(_cut)
