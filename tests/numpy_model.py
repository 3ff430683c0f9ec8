"""`DifferentiableModel` of the differentiable functions for NumPy, with its derivatives called by name."""

from __future__ import annotations

import numpy as np

from dalembert.export.differentiable.model import DifferentiableModel


def run(f, arrays, tangents=False, adjoint=False, threads=1):
    """The outputs of a program for arrays (N, n)."""
    count = len(arrays[0])
    program = f.program(count, tangents=tangents, adjoint=adjoint)
    given = [np.ascontiguousarray(a, dtype=float) for a in arrays]
    assert tuple(a.shape[1] for a in given) == program.sizes_in
    out = [np.full((count, n), np.nan) for n in program.sizes_out]
    program.run([a.ctypes.data for a in given], [a.ctypes.data for a in out], count, threads)
    return out


class NumpyArrays:
    """Arrays of NumPy; the function that was applied last, and its arguments, are kept."""

    def array(self, x, what):
        return np.asarray(x, dtype=float)

    def apply(self, f, x, c):
        self.last = f, x.reshape(-1, f.nx), c.reshape(-1, f.nc)
        return run(f, self.last[1:])[0].reshape(*x.shape[:-1], f.ny)

    def concatenate(self, parts):
        return np.concatenate(parts, axis=-1)

    def broadcast(self, x, shape):
        return np.broadcast_to(x, shape)

    def norm(self, x):
        return np.linalg.norm(x, axis=-1, keepdims=True)


class NumpyModel(DifferentiableModel):
    """A model, and the derivatives of what it computed last."""

    def __init__(self, *given, **more):
        super().__init__(*given, **more)
        self._arrays = NumpyArrays()

    @property
    def last(self):
        return self._arrays.last

    def value(self, x):
        """y (N, ny) at other x."""
        f, _, c = self.last
        return run(f, (x, np.broadcast_to(c[:1], (len(x), f.nc))))[0]

    def tangent(self, dx):
        """y and its change along dx, (N, nx)."""
        f, x, c = self.last
        return run(f, (x, dx, c), tangents=True)

    def adjoint(self, w):
        """wᵀ f′."""
        f, x, c = self.last
        y = run(f, (x, c))
        return run(f, (x, c, *(y if f.needs_output else ()), w), adjoint=True)[0]

    def second(self, w, dx):
        """wᵀ f′ and its change along dx."""
        f, x, c = self.last
        y = run(f, (x, dx, c), tangents=True)
        return run(f, (x, dx, c, *(y if f.needs_output else ()), w, 0.0 * w), tangents=True, adjoint=True)
