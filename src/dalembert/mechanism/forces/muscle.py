"""Muscles of Hill's type on a path through points."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp as number_exp
from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.forces.cable import Line
from dalembert.mechanism.forces.limited import limited
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import array, exp, positive_part, where_less

# Thelen, J. Biomech. Eng. 125 (2003) 70-77, young adults: width of the force-length curve, curvature of the force-speed
# curve, force while it is stretched over that at rest, shape and strain of the passive force
WIDTH, CURVATURE, STRETCHED, SHAPE, STRAIN = 0.45, 0.25, 1.4, 5.0, 0.6


class Muscle(Line):
    """T = F₀ (a f_l(λ) f_v(ν) + f_p(λ)) with λ = (L − L_t)/l₀ and ν = L̇/(l₀ v_max); a, its activation, is an input.

        f_l = exp(−(λ − 1)²/γ)                                                                                     (1)
        f_v = max(0, (1 + ν)/(1 − ν/A)) while it shortens, (b + F ν)/(b + ν) while it is stretched,
              b = (F − 1) A/(1 + A), where the two have one slope at ν = 0                                         (2)
        f_p = (e^{k (λ − 1)/ε} − 1)/(e^k − 1) beyond λ = 1                                                         (3)

    The tendon, of length L_t, does not give; the fibres lie along it. The energy is that of f_p.
    """

    kind = "muscle"

    def __init__(
        self,
        name: str,
        points: Sequence[Frame],
        value: Any,
        strength: Any,
        optimal_length: Any,
        tendon: Any,
        speed: Any,
    ):
        self.name, self.points, self.value, self.strength = name, points, value, strength
        self.optimal_length, self.tendon, self.speed_limit = optimal_length, tendon, speed
        self.limits = np.array([0.0, 1.0])

    @property
    def input_units(self) -> list[str]:
        return ["1"]

    def _fibre(self, s: TracedState) -> tuple[Any, Any]:
        """λ and ν."""
        l0 = self.optimal_length
        return (self.length(s) - self.tendon) / l0, self.speed(s) / (l0 * self.speed_limit)

    def _tension(self, s: TracedState, activation: Any) -> Any:
        stretch, rate = self._fibre(s)
        length = exp(-((stretch - 1.0) * (stretch - 1.0)) / WIDTH)  # (1)
        passive = (exp(SHAPE / STRAIN * positive_part(stretch - 1.0)) - 1.0) / (number_exp(SHAPE) - 1.0)  # (3)
        return self.strength * (activation * length * force_speed(rate) + passive)

    def act(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, self._tension(s, limited(self._activation(), self.limits)))

    def act_within(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, self._tension(s, self._activation()))

    def _activation(self) -> Any:
        return array(self.value).ravel()[0]

    @property
    def bends(self) -> bool:
        return True

    def kinks(self, s: TracedState) -> list[Any]:
        stretch, rate = self._fibre(s)
        return [stretch - 1.0, rate + 1.0]

    def energy(self, s: TracedState) -> Any:
        x = positive_part(self._fibre(s)[0] - 1.0)
        area = STRAIN / SHAPE * (exp(SHAPE / STRAIN * x) - 1.0) - x
        return self.strength * self.optimal_length * area / (number_exp(SHAPE) - 1.0)


def force_speed(rate: Any) -> Any:
    """f_v of ν, (2)."""
    b = (STRETCHED - 1.0) * CURVATURE / (1.0 + CURVATURE)
    return where_less(
        rate,
        0.0,
        lambda: positive_part((1.0 + rate) / (1.0 - rate / CURVATURE)),
        lambda: (b + STRETCHED * rate) / (b + rate),
    )
