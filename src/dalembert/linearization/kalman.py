"""Kalman filters on the minimal model: states from noisy outputs, at a fixed rate.

    x₋ = A x + B δu + rate,    x = x₋ + L (y − C x₋ − D δu − output),    L = P Cᵀ (C P Cᵀ + R)⁻¹

P is the steady covariance of x₋, which solves Riccati's equation of the dual problem.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.linearization.law_files import write_law
from dalembert.linearization.lqr import Weights, positive_definite, weight_matrix
from dalembert.linearization.model import LinearModel, check_model


@dataclass(frozen=True, eq=False)
class Estimator:
    """A steady Kalman filter; `control.Observed` runs it in a loop."""

    L: np.ndarray  # (states, outputs) gain
    covariance: np.ndarray  # (states, states) P of the prediction error
    model: LinearModel  # it was made for, with a step

    def update(self, x: np.ndarray, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(states,) x after a measurement y (outputs,), x before it; u (inputs,) acts at that time."""
        m = self.model
        du = u - m.operating.u
        return x + self.L @ (y - m.output - m.C @ x - m.D @ du)

    def predict(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(states,) x a step later, for a state x (states,) and inputs u (inputs,)."""
        m = self.model
        return m.A @ x + m.B @ (u - m.operating.u) + m.rate

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the filter as JSON: names, its model A, B, C, D, the gain L and where it holds.

        path: of the file.
        """
        m = self.model
        parts = {"L": self.L, "A": m.A, "B": m.B, "C": m.C, "D": m.D, "rate": m.rate, "output": m.output}
        write_law(path, "estimator", m, {name: x.tolist() for name, x in parts.items()})

    @property
    def eigenvalues(self) -> np.ndarray:
        """(states,) eigenvalues of the error of the estimate, per step: (1 − L C) A."""
        m = self.model
        return np.linalg.eigvals((np.eye(len(m.A)) - self.L @ m.C) @ m.A)


@explained
def kalman(model: LinearModel, Q: Weights = None, R: Weights = None) -> Estimator:
    """The steady Kalman filter of a model with a step.

    model: a `LinearModel` with outputs, made discrete by `model.discretize(step)`. Q: variances of what disturbs
    the states in a step, R: variances of the outputs' noise; each a matrix, a diagonal, one number, or by
    name (those not named: 0 and 1); default 1.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.cart_pole().compile()
    >>> upright = system.state(*zoo.cart_pole_start())
    >>> model = da.linearize(system, upright, outputs=["cart", "phi1"]).discretize(0.01)
    >>> estimator = da.kalman(model, Q=1e-6, R=1e-4)
    >>> law = control.Observed(da.lqr(model, {"cart": 1.0, "phi1": 10.0}, 0.1), estimator, noise=0.01)
    >>> run = da.simulate(system, upright.replace(q=upright.q + 0.02), 5.0, u=law, period=0.01)
    >>> bool(abs(run["phi1"][-1] - upright["phi1"]) < 0.05)
    True
    """
    check_model(model)
    if model.step is None:
        raise ArgumentError("the model has no step; needed: model.discretize(step), the rate of the measurements.")
    if not len(model.output_names):
        raise ArgumentError("the model has no outputs; needed: da.linearize(..., outputs=[...]).")
    from scipy.linalg import solve_discrete_are

    process = weight_matrix(Q, model.state_names, 0.0, "Q")
    noise = positive_definite(weight_matrix(R, model.output_names, 1.0, "R"))
    unseen = [h for h in model.unobservable if abs(h.eigenvalue) > 1 - 1e-9]
    if unseen:
        raise ArgumentError(f"no filter can follow the model: no output sees {'; '.join(map(str, unseen))}.")
    try:
        P = solve_discrete_are(model.A.T, model.C.T, process, noise)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ArgumentError(
            f"Riccati's equation has no solution ({error}): a mode on the stability boundary is not disturbed. Give it "
            "a variance in Q."
        ) from None
    return Estimator(np.linalg.solve(model.C @ P @ model.C.T + noise, model.C @ P).T, P, model)
