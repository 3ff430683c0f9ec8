"""Many states through one kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from .python_call import OFFSETS, layout_is_known

if TYPE_CHECKING:
    from .kernel import Kernel


def run_batch(kernel: Kernel, inputs: Sequence[Any], out: Any) -> Any:
    """Outputs of N states, of shape (N, …), new or in `out`.

    Workspaces are this call's own and Python's lock is released, so threads may share a kernel.
    """
    n, rows = _states(kernel, inputs)
    if out is None:
        results = [np.empty((n, *shape)) for shape in kernel.shapes_out]
        _run(kernel, n, rows, results)
        return results[0] if len(results) == 1 else tuple(results)
    outs = kernel._outs(out, (n,))
    direct = all(o.flags.c_contiguous and o.flags.aligned for o in outs) and _apart(rows, outs)
    targets = outs if direct else [np.empty(o.shape) for o in outs]
    _run(kernel, n, rows, targets)
    if not direct:
        for o, values in zip(outs, targets):
            o[...] = values
    return out


def _states(kernel: Kernel, inputs: Sequence[Any]) -> tuple[int, list[np.ndarray]]:
    """The number of states, and each input as float64 of shape (N, n_i) with contiguous rows, or (n_i,) for all."""
    rows: list[np.ndarray] = []
    count, first = -1, 0
    for i, (given, n) in enumerate(zip(inputs, kernel.n_in)):
        values = np.asarray(kernel._numbers(i, given), np.float64)
        if n == 1 and values.ndim < 2:
            values = values.reshape(-1, 1) if values.size != 1 else values.reshape(1)
        if values.ndim not in (1, 2) or values.shape[-1] != n:
            raise ArgumentError(
                f"{kernel._input(i)} has shape {values.shape}; it must be (N, {n}), or ({n},) to serve all states"
            )
        if values.ndim == 2:
            if count < 0:
                count, first = len(values), i
            elif len(values) != count:
                raise ArgumentError(
                    f"{kernel._input(i)} has {len(values)} states, but {kernel._input(first)} has {count}"
                )
        if values.strides[-1] != 8 or values.strides[0] % 8 or not values.flags.aligned:
            values = np.ascontiguousarray(values)
        rows.append(values)
    if count < 0:
        raise ArgumentError(f"no input of kernel '{kernel.name}' has a row for each state; give one of shape (N, n)")
    return count, rows


def _run(kernel: Kernel, n: int, rows: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
    if not n:
        return
    call, pointers, _ = _compiled()
    buffer = np.empty(kernel.x_size + kernel.y_size + kernel.work_size + 24)
    objects, kept = pointers((*rows, *outs))
    k, lanes = len(rows), kernel.lanes
    strides = [values.strides[0] >> 3 if values.ndim == 2 else 0 for values in rows]
    words = (
        kernel.address, lanes, 0, -(-n // lanes), n, k, len(outs), kernel.x_size, kernel.y_size, 0, _address(buffer),
        *objects[:k], *kernel.n_in, *strides, *objects[k:], *kernel.sizes_out,
    )  # fmt: skip
    call((ctypes.c_int64 * len(words))(*words))
    del buffer, kept  # alive until here


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _apart(rows: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
    """Whether no output overlaps an input or another output."""
    return not any(np.may_share_memory(out, other) for i, out in enumerate(outs) for other in (*rows, *outs[:i]))


@cache
def _compiled() -> tuple[Any, Any, Any]:
    """The compiled loop, what makes pointers to arrays for it, and the library that must stay."""
    from .batch_ir import batch_ir
    from .runtime import runtime

    library = runtime("batch", batch_ir(OFFSETS["data"]), ("batch",))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.addresses["batch"])
    return call, _by_identity if layout_is_known() else _by_address, library


def _by_identity(arrays: Sequence[np.ndarray]) -> tuple[list[int], None]:
    """Pointers to the arrays themselves: asking Python for each array's address would take as long as the loop."""
    return [id(array) for array in arrays], None


def _by_address(arrays: Sequence[np.ndarray]) -> tuple[list[int], np.ndarray]:
    """Pointers to stand-ins that hold the address where an array would, and the stand-ins, to be kept."""
    word = OFFSETS["data"] // 8
    stand_ins = np.zeros((len(arrays), word + 1), np.int64)
    stand_ins[:, word] = [array.ctypes.data for array in arrays]
    start, step = stand_ins.ctypes.data, stand_ins.strides[0]
    return [start + i * step for i in range(len(arrays))], stand_ins
