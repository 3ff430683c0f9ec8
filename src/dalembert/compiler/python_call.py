"""`kernel(q, v, a)` without the interpreter: a compiled method that reads NumPy arrays in place.

A call through ctypes costs more than most kernels. So `Kernel.__call__` is a C-level method, made with LLVM
like the kernels: it looks at each argument's type, dtype, dimensions and flags, copies the numbers into the
kernel's own x, runs the kernel into a new array or into `out`, and returns. Whatever is not a plain contiguous
float64 array of the right length (or a float, for length 1) it hands to `Kernel._call_checked`, which converts
or says what is wrong.

The interpreter lock is held from the first copy to the last and nothing in between can run Python code (the
tuple of results, whose allocation may collect garbage, is made first), so x, y and w of a kernel are shared by
all calls and threads.

The layout of Python's and NumPy's objects is part of their binary interfaces; it is still compared with
known objects before use, and where it differs (other interpreters, builds without the lock) `install` leaves
`__call__` in Python.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

_HEAD = object.__basicsize__
OFFSETS = {
    **{"data": _HEAD, "nd": _HEAD + 8, "dims": _HEAD + 16, "descr": _HEAD + 40, "flags": _HEAD + 48},  # of an array
    **{"size": _HEAD, "items": tuple.__basicsize__},  # of a tuple
    "value": _HEAD,  # of a float
}
_FASTCALL_KEYWORDS = 0x80 | 0x2


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_kept: list[Any] = []  # what the method points to, for the life of the process


def config(kernel: Any) -> np.ndarray:
    """Data that the compiled method reads about a kernel: an array of addresses and sizes (see `python_call_ir`).

    The last element keeps what the addresses point to from being freed.
    """
    x, y, w = (np.empty(n) for n in (kernel.x_size, kernel.y_size, kernel.work_size))
    sizes = np.array(kernel.n_in, np.int64)
    outputs = np.zeros((len(kernel.shapes_out), 4), np.int64)  # doubles, dimensions, shape
    for row, shape, size in zip(outputs, kernel.shapes_out, kernel.sizes_out):
        row[:2] = size, len(shape)
        row[2 : 2 + len(shape)] = shape
    addresses = [a.ctypes.data for a in (x, y, w, sizes, outputs)]
    numbers = np.array([kernel.address, len(kernel.n_in), len(kernel.shapes_out), *addresses], np.int64)
    return numbers.view(_Config).keep(x, y, w, sizes, outputs)


class _Config(np.ndarray):
    """An array that owns others."""

    owned: tuple

    def keep(self, *owned: np.ndarray) -> _Config:
        self.owned = owned
        return self


def install(kernel_type: type, blank: Any) -> bool:
    """Give `kernel_type` a compiled `__call__`; False if this interpreter's objects are laid out otherwise.

    `blank` is an instance without state whose slot `_config` may be set, to find where the slot lies.
    """
    offset = _slot_offset(blank) if layout_is_known() else None
    if offset is None:
        return False
    from .python_call_ir import python_call_ir
    from .runtime import runtime

    api = np.array(_api(kernel_type._call_checked), np.int64)  # type: ignore[attr-defined]
    library = runtime(
        "python_call", python_call_ir({**OFFSETS, "config": offset}), ("call",), {"dalembert_api": api.ctypes.data}
    )
    doc = f"__call__($self, *inputs, out=None)\n--\n\n{kernel_type.__call__.__doc__}"
    method = _MethodDef(b"__call__", library.addresses["call"], _FASTCALL_KEYWORDS, doc.encode())
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.POINTER(_MethodDef)]
    _kept.extend([api, library, method, kernel_type._call_checked])  # type: ignore[attr-defined]
    kernel_type.__call__ = new(kernel_type, ctypes.byref(method))  # type: ignore[method-assign]
    return True


def _api(checked: Any) -> list[int]:
    """Addresses the method needs, in the order of `python_call_ir.API`."""
    try:
        from numpy._core.multiarray import _ARRAY_API
    except ImportError:  # NumPy 1
        from numpy.core.multiarray import _ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    assert table[2] == id(np.ndarray)  # the table's order is NumPy's binary interface

    def python(name: str) -> int:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0

    out = sys.intern("out")
    _kept.append(out)
    return [
        id(np.ndarray), id(np.dtype(np.float64)), table[94] or 0, table[76] or 0,  # PyArray_NewFromDescr, _Return
        python("Py_IncRef"), python("Py_DecRef"), python("PyTuple_New"), python("PyObject_Vectorcall"),
        id(checked), id(out), id(float), id(tuple), id(None),
    ]  # fmt: skip


@cache
def layout_is_known() -> bool:
    """Compare the offsets above with objects whose content is known."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or _HEAD != 16:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    for probe in (np.zeros((2, 3)), np.zeros((6, 5))[:, 1], np.zeros(7, np.float32)):
        at = id(probe)
        dims = ctypes.c_void_p.from_address(at + OFFSETS["dims"]).value
        found = (
            ctypes.c_void_p.from_address(at + OFFSETS["data"]).value,
            ctypes.c_int.from_address(at + OFFSETS["nd"]).value,
            dims and ctypes.c_ssize_t.from_address(dims).value,
            ctypes.c_void_p.from_address(at + OFFSETS["descr"]).value,
            ctypes.c_int.from_address(at + OFFSETS["flags"]).value,
        )
        if found != (probe.ctypes.data, probe.ndim, probe.shape[0], id(probe.dtype), probe.flags.num):
            return False
    items = (object(), object())
    number = 1.5
    return (
        ctypes.c_ssize_t.from_address(id(items) + OFFSETS["size"]).value == 2
        and ctypes.c_void_p.from_address(id(items) + OFFSETS["items"] + 8).value == id(items[1])
        and ctypes.c_double.from_address(id(number) + OFFSETS["value"]).value == number
    )


def _slot_offset(blank: Any) -> int | None:
    """Where `_config` lies inside an instance."""
    blank._config = mark = object()
    for offset in range(_HEAD, type(blank).__basicsize__, 8):
        if ctypes.c_void_p.from_address(id(blank) + offset).value == id(mark):
            return offset
    return None
