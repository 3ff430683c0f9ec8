"""`Model` for tensors of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dalembert.errors import ArgumentError
from dalembert.export.differentiable import model
from dalembert.export.differentiable.function import DifferentiableFunction
from dalembert.torch.operators import evaluate


class TorchArrays:
    """Tensors of PyTorch."""

    def array(self, x: Any, what: str) -> torch.Tensor:
        """x as float64 on the CPU."""
        if not isinstance(x, torch.Tensor):
            try:
                return torch.tensor(np.asarray(x, dtype=float))
            except (TypeError, ValueError, OverflowError) as error:
                raise ArgumentError(f"{what} is a {type(x).__name__}; needed: a tensor of numbers ({error}).") from None
        if x.dtype != torch.float64:
            raise ArgumentError(f"{what} is {x.dtype}; needed: torch.float64, as in {what}.double().")
        if x.device.type != "cpu":
            raise ArgumentError(f"{what} is on {x.device}; mechanisms are computed on the CPU: {what}.cpu().")
        return x

    def apply(self, f: DifferentiableFunction, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """f(x; c)."""
        return evaluate(f, x, c.detach())

    def concatenate(self, parts: list[torch.Tensor]) -> torch.Tensor:
        """Along the last axis."""
        return torch.cat(parts, dim=-1)

    def broadcast(self, x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        """x in a larger shape."""
        return x.expand(shape)

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        """Along the last axis."""
        return (x * x).sum(dim=-1, keepdim=True).sqrt()


class Model(model.DifferentiableModel):
    __doc__ = model.DifferentiableModel.__doc__
    _arrays = TorchArrays()
