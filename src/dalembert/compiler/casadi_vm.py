"""CasADi's virtual machine behind the same signature as a compiled kernel."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from .build import SIGNATURE


@dataclass(frozen=True, slots=True, eq=False)
class VirtualMachine:
    """An address that evaluates a function; valid while this object lives."""

    callback: Any
    address: int
    instructions: int
    work_size: int = 0


def virtual_machine(function: ca.Function, lanes: int) -> VirtualMachine:
    """Evaluate `function` on packed x and y, one lane after another.

    CasADi reads and writes two arrays of ours, under a lock: handing it arrays would cost microseconds more.
    """
    packed = _packed(function)
    given, result = np.zeros(packed.numel_in(0)), np.zeros(packed.numel_out(0))
    buffer, evaluate = packed.buffer()
    views: list[Any] = [memoryview(given.data), memoryview(result.data)]
    buffer.set_arg(0, views[0])  # type: ignore[call-arg]
    buffer.set_res(0, views[1])  # type: ignore[call-arg]
    lock = threading.Lock()

    def call(x: int, y: int, _: int) -> None:
        with lock:
            for lane in range(lanes):
                given[:] = _doubles(x, given.size, lanes)[lane::lanes]
                evaluate()
                _doubles(y, result.size, lanes)[lane::lanes] = result

    callback = SIGNATURE(call)
    callback.buffer = buffer  # type: ignore[attr-defined]  # evaluate does not own it
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return VirtualMachine(callback, address, function.n_instructions() if function.is_a("SXFunction") else 0)


def _doubles(address: int, size: int, lanes: int) -> np.ndarray:
    if not size:
        return np.empty(0)
    memory: Any = (ctypes.c_double * (size * lanes)).from_address(address)
    return np.frombuffer(memory)


def _packed(function: ca.Function) -> ca.Function:
    """y(x): all inputs in one vector, all outputs dense and row by row in another."""
    kind: Any = ca.SX if function.is_a("SXFunction") else ca.MX
    sizes = [function.numel_in(i) for i in range(function.n_in())]
    x = kind.sym("x", sum(sizes))
    outputs = function.call(ca.vertsplit(x, [0, *np.cumsum(sizes).tolist()]) if sizes else [])
    rows: list[Any] = [ca.vec(ca.densify(output).T) for output in outputs]
    return ca.Function(function.name(), [x], [ca.densify(ca.vertcat(*rows)) if rows else kind(0, 1)])
