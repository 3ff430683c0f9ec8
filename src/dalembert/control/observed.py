"""Feedback from outputs: a regulator on the state that a Kalman filter estimates (LQG)."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import array, function, number, shown, vector, whole
from dalembert.errors import ArgumentError
from dalembert.linearization.kalman import Estimator
from dalembert.linearization.lqr import Regulator
from dalembert.system.state import State


class Observed:
    """u(t, state) = u₀ − K x̂ with x̂ of a Kalman filter: the law sees the outputs of the mechanism, not its state.

    regulator: from `da.lqr`. estimator: from `da.kalman`, of a model with the same states; its step is the `period` of
    the run, and another one is refused. sensor: a function (t, state) → outputs, (k,); default: those of the model,
    linear in the deviation of the state. noise: standard deviations of normal errors, one number or one for each
    output; seed: makes runs repeatable. Like other laws with a memory it starts afresh in every run.
    """

    needs_period = True

    def __init__(
        self,
        regulator: Regulator,
        estimator: Estimator,
        *,
        sensor: Callable[[float, State], Any] | None = None,
        noise: ArrayLike = 0.0,
        seed: int = 0,
    ):
        if not isinstance(regulator, Regulator):
            raise ArgumentError(f"regulator is {shown(regulator)}; needed: what da.lqr returns.")
        if not isinstance(estimator, Estimator):
            raise ArgumentError(f"estimator is {shown(estimator)}; needed: what da.kalman returns.")
        if regulator.model.state_names != estimator.model.state_names:
            raise ArgumentError(
                f"the regulator is for {', '.join(regulator.model.state_names)}, the estimator for "
                f"{', '.join(estimator.model.state_names)}; needed: the same states."
            )
        self.regulator, self.estimator = regulator, estimator
        self.sensor = None if sensor is None else function(sensor, "sensor")
        k = len(estimator.model.output_names)
        given = array(noise, None, "noise")
        self.noise = np.broadcast_to(given, (k,)) if given.ndim == 0 else vector(given, k, "noise")
        if (self.noise < 0).any():
            raise ArgumentError(f"noise is {shown(noise)}; needed: standard deviations, not negative.")
        self.seed = whole(seed, "seed", least=0)
        self.reset()

    @property
    def sampling_period(self) -> float:
        """The sampling period of the estimator's model, s."""
        assert self.estimator.model.step is not None
        return self.estimator.model.step

    def reset(self) -> None:
        """Forget the past: the estimate begins at the model's state."""
        self.estimate = np.zeros(len(self.estimator.model.A))
        self._u = self.estimator.model.operating.u.copy()
        self._rng = np.random.default_rng(self.seed)

    def fresh(self) -> Observed:
        """A copy of the law with fresh memory; `simulate` makes one per run."""
        other = copy(self)
        other.reset()
        return other

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (inputs,), at the time t (s) and a state, of which the outputs are measured."""
        model, t = self.estimator.model, number(t, "t")
        if self.sensor is None:
            y = model.output + model.C @ model.deviation(state) + model.D @ (self._u - model.operating.u)
        else:
            y = vector(self.sensor(t, state), len(self.noise), "the outputs that the sensor gives")
        y = y + self.noise * self._rng.normal(size=len(self.noise))
        x = self.estimator.update(self.estimate, y, self._u)
        u = self.regulator.model.operating.u - self.regulator.K @ x
        if self.regulator.limits is not None:
            u = np.clip(u, self.regulator.limits[:, 0], self.regulator.limits[:, 1])
        self.estimate, self._u = self.estimator.predict(x, u), u
        return u
