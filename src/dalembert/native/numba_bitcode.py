"""LLVM bitcode of a native function, from Numba: the one place that knows Numba's calling convention."""

from __future__ import annotations

import inspect
import re
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.dispatcher import Dispatcher

from dalembert.native.jit import OPTIONS
from dalembert.native.numba_struct import struct_at

SIGNATURE = (types.int64, types.int64, types.int64)


def make(function: Any, symbol: str) -> bytes:
    """Bitcode of `void symbol(x, y, w)` for a function marked with `jit.entry`.

    Numba's functions write a value and an exception through their first two arguments; neither is used. Its
    environments belong to the interpreter, and nothing reads them. Two of its helpers are the C library's.
    """
    compiled = njit(**OPTIONS)(_from_addresses(function))
    compiled.compile(SIGNATURE)
    name = compiled.overloads[SIGNATURE].fndesc.llvm_func_name
    text = compiled.inspect_llvm(SIGNATURE)
    text = re.sub(r"= common ", "= internal ", text)
    text = text.replace("@numba_frexp", "@frexp").replace("@numba_ldexp", "@ldexp")
    text += (
        f"\ndefine void @{symbol}(i64 %x, i64 %y, i64 %w) {{\n"
        "  %value = alloca ptr\n  %exception = alloca ptr\n"
        f"  %status = call i32 @{name}(ptr %value, ptr %exception, i64 %x, i64 %y, i64 %w)\n"
        "  ret void\n}\n"
    )
    module = llvm.parse_assembly(text, llvm.create_context())
    return module.as_bitcode()


def _from_addresses(function: Any) -> Any:
    """f(x, y, w) of three addresses, for a function (struct) or (x, y, struct)."""
    point = struct_at(function.struct)
    plain = not isinstance(function, Dispatcher)
    inner = njit(**OPTIONS)(function) if plain else function
    if len(inspect.signature(function if plain else function.py_func).parameters) == 1:

        def with_struct(x, y, w):
            inner(point(w))

        return with_struct

    def with_all(x, y, w):
        inner(x, y, point(w))

    return with_all
