"""Machine code of a function of many states: what a batch loop, or a handler of XLA, needs to know of it."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from dalembert.compiler import Kernel
from dalembert.compiler.batch_ir import batch_ir
from dalembert.compiler.runtime import runtime
from dalembert.compiler.xla_ir import PLAN
from dalembert.native.struct import address

GRAIN = 2e4  # ns: work of one thread that is worth handing to it
LANES = 8  # states at once, where there are several


@dataclass(frozen=True, eq=False)
class LaneProgram:
    """A native function f(x, y, w) of several states side by side, x and y made of rows of arrays (N, n)."""

    address: int
    lanes: int
    sizes_in: tuple[int, ...]
    sizes_out: tuple[int, ...]
    y_size: int  # doubles; more than the results where the rest is workspace
    work: int  # doubles of w, where it is not `shared`
    shared: int  # address of the w that all threads read, or 0
    cost: float  # ns of one call, roughly
    name: str  # equal for equal functions, in any process
    owners: tuple[Any, ...] = field(repr=False)  # keep the machine code alive

    @staticmethod
    def of(kernel: Kernel, sizes_in: Sequence[int], sizes_out: Sequence[int]) -> LaneProgram:
        """A kernel of one input and one output, which are made of several arrays."""
        assert sum(sizes_in) * kernel.lanes == kernel.x_size
        assert sum(sizes_out) * kernel.lanes == kernel.y_size
        return LaneProgram(
            kernel.address, kernel.lanes, tuple(sizes_in), tuple(sizes_out), kernel.y_size, kernel.work_size, 0,
            kernel_cost(kernel), digest(kernel.code_name, sizes_in, sizes_out), (kernel,),
        )  # fmt: skip

    @property
    def x_size(self) -> int:
        """Doubles of x."""
        return sum(self.sizes_in) * self.lanes

    @property
    def room(self) -> int:
        """Doubles of the memory of one thread, with what aligning takes."""
        return self.x_size + self.y_size + self.work + 24

    @property
    def grain(self) -> int:
        """Blocks of states that make a chunk for a thread."""
        return max(1, int(GRAIN / self.cost))

    def plan(self) -> np.ndarray:
        """The words that a handler reads; see `compiler.xla_ir`."""
        known = {
            "kernel": self.address, "lanes": self.lanes, "n_in": len(self.sizes_in), "n_out": len(self.sizes_out),
            "x_size": self.x_size, "y_size": self.y_size, "shared": self.shared, "room": self.room, "grain": self.grain,
        }  # fmt: skip
        return np.array([*(known[name] for name in PLAN), *self.sizes_in, *self.sizes_out], np.int64)

    def run(self, inputs: Sequence[int], outputs: Sequence[int], count: int, threads: int = 1) -> None:
        """Compute `count` states; inputs and outputs: addresses of dense arrays of doubles, (count, n) each."""
        blocks = -(-count // self.lanes)
        chunks = min(threads, -(-blocks // self.grain))
        objects = np.array([*inputs, *outputs], np.int64)
        places = (address(objects) + 8 * np.arange(len(objects))).tolist()  # `batch` reads addresses through pointers
        ends = np.linspace(0, blocks, chunks + 1).astype(int).tolist()

        def part(first: int, last: int) -> None:
            buffer, k = np.empty(self.room), len(inputs)
            words = (
                self.address, self.lanes, first, last, count, k, len(outputs), self.x_size, self.y_size, self.shared,
                address(buffer), *places[:k], *self.sizes_in, *self.sizes_in, *places[k:], *self.sizes_out,
            )  # fmt: skip
            _batch()((ctypes.c_int64 * len(words))(*words))

        if chunks < 2:
            part(0, blocks)
        else:
            list(_pool().map(part, ends, ends[1:]))


def kernel_cost(kernel: Kernel) -> float:
    """ns of a call, roughly: a third of one an operation and vector."""
    return 10.0 + 0.3 * kernel.instructions * max(1, kernel.lanes // 4)


def digest(*facts: Any) -> str:
    """A name made of everything that a program consists of."""
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:24]


def lanes_for(count: int) -> int:
    """Lanes for a number of states."""
    return 1 if count == 1 else LANES


@cache
def _batch() -> Callable[[Any], None]:
    library = runtime("batch", batch_ir(0), ("batch",))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.addresses["batch"])
    call.library = library  # type: ignore[attr-defined]
    return call


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="dalembert")
