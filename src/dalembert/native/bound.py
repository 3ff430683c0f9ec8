"""A native function with memory of its own: its inputs, outputs and workspace, and where t and u stand among them.

Every native function is f(x, y, w): x and y arrays of doubles, w doubles or one struct. A `Bound` holds one call's
worth of memory, so whoever makes it may use it in any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.native.library import SIGNATURE
from dalembert.native.struct import Doubles, Float, Int, Struct, address

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Bound(Struct):
    """A native function, its arguments filled but for state and time; `address` is 0 where there is no function.

    `b["u"]` is the view of an input by name. min_angle and min_length are limits of the elimination inside the
    function: squared sine between constraint rows, and squared length of a row, below which it is not trusted.
    """

    __slots__ = ("keeps", "slices")

    address = Int()
    nx = Int()
    ny = Int()
    x = Doubles("nx")
    y = Doubles("ny")
    w = Int()  # address of doubles or of a struct
    time_index = Int()  # of t in x, or −1
    rows = Int()  # number of residuals among the outputs
    min_angle = Float()
    min_length = Float()
    row_scale = Float()  # squared length that a constraint row usually has

    slices: Mapping[str, slice]
    keeps: Any  # keeps the code and the workspace alive

    @staticmethod
    def of(kernel: Kernel, values: Mapping[str, Any], *, rows: int = 0) -> Bound:
        """A kernel with some of its inputs given by name."""
        nx, ny, nw = max(1, kernel.x_size), max(1, kernel.y_size), kernel.work_size
        block = np.zeros(nx + ny + nw)
        b, start = object.__new__(Bound), address(block)
        time_index = kernel.slices["t"].start if "t" in kernel.slices else -1
        y = start + 8 * nx
        b._memory = Bound.layout(kernel.address, nx, ny, start, y, y + 8 * ny, time_index, rows, 0.0, 0.0, 1.0)
        x = block[:nx]
        b._held = {"x": x, "y": block[nx : nx + ny]}
        b.slices, b.keeps = kernel.slices, (kernel, block)
        for name, value in values.items():
            place = kernel.slices.get(name)
            if place is not None:
                x[place] = value
        return b

    @staticmethod
    def around(
        function: int, x: np.ndarray, y: np.ndarray, w: Struct | np.ndarray, time_index: int, keeps: Any
    ) -> Bound:
        """Any native function at an address, with the memory given."""
        b = Bound(address=function, nx=len(x), ny=len(y), x=x, y=y, time_index=time_index, row_scale=1.0)
        b.w = w.pointer if isinstance(w, Struct) else address(w)
        b.slices, b.keeps = {}, (keeps, w)
        return b

    def __getitem__(self, name: str) -> np.ndarray:
        return self.x[self.slices[name]]

    def at(self, t: float, x: np.ndarray) -> np.ndarray:
        """Outputs at time t and state x, which are the first inputs: a view, until the next call."""
        self.x[: len(x)] = x
        if self.time_index >= 0:
            self.x[self.time_index] = t
        memory = self._memory
        SIGNATURE(memory.address)(memory.x, memory.y, memory.w)
        return self.y

    def copy(self, memo: dict[int, Any] | None = None) -> Bound:
        """The function with memory of its own; a workspace that is a struct is copied too."""
        memo = {} if memo is None else memo
        if id(self) in memo:
            return memo[id(self)]
        other = super().copy(memo)
        owner, w = self.keeps
        if isinstance(w, Struct):
            w = w.copy(memo)
            other.w = w.pointer
        elif self.address:
            if id(w) not in memo:
                copy = w.copy()
                memo[id(w)] = copy, address(w), address(copy)
            copy, before, after = memo[id(w)]
            other.w, w = after + self.w - before, copy
        other.slices, other.keeps = self.slices, (owner, w)
        return other


NOTHING = Bound(x=np.zeros(0), y=np.zeros(0), row_scale=1.0)
NOTHING.slices, NOTHING.keeps = {}, (None, np.zeros(1))
