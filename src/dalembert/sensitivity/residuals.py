"""Sensitivities as SciPy's optimizers want them: functions of an array, with their Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError, DalembertError
from dalembert.sensitivity.result import Sensitivities


class Residuals:
    """Values of a model less their targets, as a function of an array of parameters, and the Jacobian of it.

    model: a function of {name: value} that returns the `Sensitivities` of what is compared. wrt: the names, in the
    order of the array x; the model's `wrt` must be the same. target: what the values should be, in their shape; left
    out, the values themselves are returned, as for constraints. scale: a number or array in the same shape by which
    differences are divided. Where the mechanism cannot be assembled all residuals are infinite, which makes SciPy
    shorten its step.

    >>> import dalembert as da
    >>> from scipy.optimize import least_squares
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> L = m.add_parameter("L", 1.0)
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    >>> system, times = m.compile(), [0.5, 1.0, 1.5]
    >>> def model(p):
    ...     run = da.simulate(system, {"A": 1.0}, 1.5, p=p)
    ...     return da.sensitivities(run, of=["A"], wrt=["L"], at=times)
    >>> seen = model({"L": 1.3}).value
    >>> r = da.Residuals(model, ["L"], seen)
    >>> least_squares(r, [1.0], jac=r.jacobian).x.round(6)
    array([1.3])
    """

    def __init__(
        self,
        model: Callable[[Mapping[str, float]], Sensitivities],
        wrt: Sequence[str],
        target: ArrayLike | None = None,
        scale: ArrayLike = 1.0,
    ):
        self.model = checks.function(model, "model")
        if isinstance(wrt, str) or not isinstance(wrt, Sequence) or not all(isinstance(n, str) for n in wrt):
            raise ArgumentError(f"wrt is {checks.shown(wrt)}; needed: a list of names of parameters.")
        self.wrt = tuple(wrt)
        self.target = None if target is None else checks.array(target, None, "target")
        self.scale = checks.array(scale, None, "scale")
        if not (self.scale > 0).all():
            raise ArgumentError("scale has an entry that is not above zero; differences are divided by it.")
        self._last: tuple[bytes, Sensitivities | None] = (b"", None)
        self._size = 0

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """(values,) the residuals at parameters x."""
        s = self.at(x)
        if s is None:
            if not self._size:
                raise ArgumentError("the mechanism cannot be assembled at the first parameters; start from others.")
            return np.full(self._size, np.inf)
        return self._flat(s.value)

    def jacobian(self, x: ArrayLike) -> np.ndarray:
        """(values, parameters) ∂residuals/∂x."""
        s = self.at(x)
        if s is None:
            raise ArgumentError("there is no Jacobian where the mechanism cannot be assembled.")
        m = len(self.wrt)
        scale = np.broadcast_to(self.scale, s.value.shape)
        return (s.jacobian / scale[..., None]).reshape(-1, m)

    def to_casadi(self, x: ArrayLike) -> ca.Function:
        """The residuals as a CasADi function of a column of parameters, with their exact Jacobian, for `casadi.nlpsol`.

        x: parameters at which the mechanism can be assembled, such as those to start from; they give the number of
        residuals. There are no second derivatives: take IPOPT's `hessian_approximation="limited-memory"`. Where the
        mechanism cannot be assembled the values are infinite, and IPOPT shortens its step. Keep the function as long as
        a solver uses it.

        >>> import casadi as ca
        >>> import numpy as np
        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
        >>> L = m.add_parameter("L", 1.0)
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
        >>> system = m.compile()
        >>> def model(p):
        ...     return da.sensitivities(system, system.state({"A": 0.5}), of=["energy"], wrt=["L"], p=p)
        >>> r = da.Residuals(model, ["L"], [-9.81])
        >>> f, x = r.to_casadi([1.0]), ca.MX.sym("x")
        >>> quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}
        >>> options = {"ipopt.hessian_approximation": "limited-memory", **quiet}
        >>> solve = ca.nlpsol("solve", "ipopt", {"x": x, "f": ca.sumsqr(f(x))}, options)
        >>> bool(abs(solve(x0=1.0)["x"] - 1 / np.cos(0.5)) < 1e-6)         # E = −m g L cos A
        True
        """
        from dalembert.sensitivity.casadi_function import ResidualFunction

        return ResidualFunction(self, self.jacobian, len(self.wrt), len(self(x)))

    def at(self, x: ArrayLike) -> Sensitivities | None:
        """The model's run at parameters x, kept for the next call; None if the mechanism cannot be assembled."""
        values = checks.vector(x, len(self.wrt), "x")
        key = values.tobytes()
        if self._last[0] != key:
            try:
                found = self.model(dict(zip(self.wrt, values.tolist())))
            except AssemblyError:
                self._last = key, None
                return None
            except DalembertError:
                raise
            except Exception as error:
                raise ArgumentError(f"model raised {type(error).__name__}: {error}") from error
            if not isinstance(found, Sensitivities) or found.wrt != self.wrt:
                raise ArgumentError(f"model returned {checks.shown(found)}; needed: sensitivities wrt {self.wrt}.")
            self._size, self._last = found.value.size, (key, found)
        return self._last[1]

    def _flat(self, value: np.ndarray) -> np.ndarray:
        if self.target is not None:
            if self.target.shape != value.shape:
                raise ArgumentError(f"target has shape {self.target.shape}; the model gives {value.shape}.")
            value = value - self.target
        return np.asarray(value / self.scale).ravel()
