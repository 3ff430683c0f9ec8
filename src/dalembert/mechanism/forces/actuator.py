"""Actuators between two points: hydraulic cylinders, linear drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.forces.cable import Line
from dalembert.mechanism.forces.limited import limited
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import array


class Actuator(Line):
    """The force u (N) of an input along the line between two points; positive drives them apart.

    Outside `limits` (lower, upper), which have 0 between them, the force is that of the nearest limit.
    """

    kind = "actuator"

    def __init__(self, name: str, points: Sequence[Frame], value: Any, limits: np.ndarray):
        self.name, self.points, self.value, self.limits = name, points, value, limits

    @property
    def input_units(self) -> list[str]:
        return ["N"]

    def act(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, -limited(self._force(), self.limits))

    def act_within(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, -self._force())

    def _force(self) -> Any:
        return array(self.value).ravel()[0]
