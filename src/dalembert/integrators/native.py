"""Memory by address inside Numba, and the decorators of everything in this folder. Importing this imports Numba."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

# `_nrt=False`: without Numba's allocator and reference counts, as in `linalg.rows`; eight times as fast. Nothing here
# is called from Python but through `entries`; without wrappers for Python it takes half the time to compile.
_options: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}  # fmt: skip
native = njit(**_options, cache=True)
inline = njit(**_options, cache=True, forceinline=True)  # for what is asked at every stage
entry = njit(**_options)  # for `native_entries`, whose machine code is kept elsewhere


def _floats(typingctx, address):
    """The doubles at an address, to be read and written by index."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(address), codegen


def _jump(typingctx, address, x, y, w):
    """address(x, y, w), all of them addresses."""

    def codegen(context, builder, signature, args):
        from llvmlite import ir

        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [builder.inttoptr(a, pointer) for a in args[1:]])
        return context.get_dummy_value()

    return types.void(address, x, y, w), codegen


def _view(item: Any, ndim: int) -> Any:
    """The array of a shape at an address."""
    kind = types.Array(item, ndim, "C")

    def view(typingctx, address, shape):
        def codegen(context, builder, signature, args):
            array = context.make_array(kind)(context, builder)
            sizes = cgutils.unpack_tuple(builder, args[1], ndim)
            width = context.get_constant(types.intp, 8)
            strides = [width] if ndim == 1 else [builder.mul(sizes[1], width), width]
            data = builder.inttoptr(args[0], array.data.type)
            populate_array(array, data, sizes, strides, width, meminfo=None)
            return array._getvalue()

        return kind(address, types.UniTuple(types.intp, ndim)), codegen

    return intrinsic(view)


floats: Any = intrinsic(_floats)
jump: Any = intrinsic(_jump)
vector, matrix, integers = _view(types.float64, 1), _view(types.float64, 2), _view(types.int64, 1)


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
