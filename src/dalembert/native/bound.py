"""A native function with memory of its own: its inputs, outputs and workspace, and where t stands among them.

Every native function is f(x, y, w): x and y arrays of doubles, w doubles or one struct. A `Bound` holds one call's
worth of memory, so whoever makes it may use it in any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.native.library import SIGNATURE
from dalembert.native.struct import Doubles, Float, Int, Opaque, Struct, on_line, zeros

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


class Bound(Struct):
    """A native function, its inputs filled but for state and time; `address` is 0 where there is no function.

    `b["u"]` is the view of an input by name. The limits are of the elimination inside the function: squared sine
    between constraint rows (min_angle) and squared length of a row (min_length) below which it is not trusted.
    """

    address = Int()
    nx = Int()
    ny = Int()
    x = Doubles("nx")
    y = Doubles("ny")
    w = Opaque()
    time_index = Int()  # of t in x, or −1
    rows = Int()  # number of residuals among the outputs
    min_angle = Float()
    min_length = Float()
    row_scale = Float()  # squared length that a constraint row usually has

    owner: Any  # keeps the machine code alive
    slices: Mapping[str, slice]  # places of the inputs in x

    @staticmethod
    def of(kernel: Kernel | Bound, values: Mapping[str, Any], rows: int = 0) -> Bound:
        """A kernel with memory of its own and some inputs given by name; `rows` residuals are among its outputs.

        A function that is bound already stays as it is.
        """
        if isinstance(kernel, Bound):
            return kernel
        nx, ny = max(1, kernel.x_size), max(1, kernel.y_size)
        at_y = on_line(nx)
        at_w = at_y + on_line(ny)
        block = zeros(at_w + max(1, kernel.work_size))
        x, y, w = block[:nx], block[at_y : at_y + ny], block[at_w:]
        place = kernel.slices.get("t")
        b = Bound(address=kernel.address, nx=nx, ny=ny, rows=rows, row_scale=1.0)
        b.time_index = -1 if place is None else place.start
        b.owner, b.slices, b.x, b.y, b.w = kernel, kernel.slices, x, y, w
        for name, value in values.items():
            if name in kernel.slices:
                x[kernel.slices[name]] = value
        return b

    @staticmethod
    def around(
        function: int, x: np.ndarray, y: np.ndarray, w: Struct | np.ndarray, time_index: int = -1, owner: Any = None
    ) -> Bound:
        """Any native function at an address, valid as long as its owner, with the memory given."""
        b = Bound(address=function, nx=len(x), ny=len(y), x=x, y=y, w=w, time_index=time_index, row_scale=1.0)
        b.owner, b.slices = owner, {}
        return b

    def trust(self, min_angle: float, min_length: float, row_scale: float = 1.0) -> Bound:
        """Set the limits below which the elimination inside is not trusted."""
        self.min_angle, self.min_length, self.row_scale = min_angle, min_length, row_scale
        return self

    def __getitem__(self, name: str) -> np.ndarray:
        return self.x[self.slices[name]]

    def at(self, t: float, x: np.ndarray) -> np.ndarray:
        """Outputs at time t and state x, which are the first inputs: a view, valid until the next call."""
        self.x[: len(x)] = x
        if self.time_index >= 0:
            self.x[self.time_index] = t
        SIGNATURE(self.address)(self.at_x, self.at_y, self.at_w)
        return self.y

    def copy(self, memo: dict[int, Any] | None = None) -> Bound:
        """The function with memory of its own."""
        other = super().copy(memo)
        other.owner, other.slices = self.owner, self.slices
        return other


NOTHING = Bound.around(0, np.zeros(1), np.zeros(1), np.zeros(1))
