"""Calling kernels from Numba: one compiled loop serves every mechanism.

The address is a number at run time, so a loop that takes it as an argument is compiled once, not once for each
kernel. This module imports Numba; the rest of the package does not.

    @numba.njit
    def step(address, x, y, w):
        call_kernel(address, x, y, w)
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = ["call_kernel"]


@intrinsic
def call_kernel(typingctx: Any, address: Any, x: Any, y: Any, w: Any) -> Any:
    """``kernel(x, y, w)`` for the kernel at `address`, inside nopython code.

    x, y and w are C-contiguous float64 arrays (slices of such arrays too) that do not overlap, at least as long
    as the kernel's x_size, y_size and work_size; this is not checked.
    """
    if not isinstance(address, types.Integer):
        raise TypingError(f"call_kernel: address is {address}; it must be an integer, the kernel's `address`")
    for name, array in (("x", x), ("y", y), ("w", w)):
        if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
            raise TypingError(f"call_kernel: {name} is {array}; it must be a C-contiguous float64 array")
    if not y.mutable or not w.mutable:
        raise TypingError("call_kernel: y and w must be writable arrays")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        address = context.cast(builder, args[0], signature.args[0], types.intp)
        data = [
            builder.bitcast(context.make_array(kind)(context, builder, value).data, pointer)
            for kind, value in zip(signature.args[1:], args[1:])
        ]
        builder.call(builder.inttoptr(address, function), data)
        return context.get_dummy_value()

    return types.void(address, x, y, w), codegen
