"""Residuals as a CasADi function with an exact Jacobian, for `casadi.nlpsol` and its solvers (IPOPT, SQP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

Values = Callable[[np.ndarray], np.ndarray]


class ResidualFunction(ca.Callback):
    """r(x), (m, 1) of x, (n, 1). It has first derivatives only, so solvers need an approximation of the Hessian."""

    def __init__(self, values: Values, jacobian: Values, n: int, m: int):
        super().__init__()
        self._values, self._jacobian, self._n, self._m = values, jacobian, n, m
        self._derivative: _Jacobian | None = None
        self.construct("residuals", {})

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._n, 1)

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(self._m, 1)

    def eval(self, arguments: Any) -> list[np.ndarray]:
        return [self._values(np.asarray(arguments[0].full()).ravel())]

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> ca.Function:
        self._derivative = _Jacobian(name, self._jacobian, self._n, self._m)  # CasADi does not keep it alive
        return self._derivative


class _Jacobian(ca.Callback):
    """∂r/∂x, (m, n), of x and r, as CasADi calls it."""

    def __init__(self, name: str, jacobian: Values, n: int, m: int):
        super().__init__()
        self._jacobian, self._n, self._m = jacobian, n, m
        self.construct(name, {})

    def get_n_in(self) -> int:
        return 2

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self._m if i else self._n, 1)

    def get_sparsity_out(self, i: int) -> Any:
        return ca.Sparsity.dense(self._m, self._n)

    def eval(self, arguments: Any) -> list[np.ndarray]:
        return [self._jacobian(np.asarray(arguments[0].full()).ravel())]
