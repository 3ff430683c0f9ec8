"""Actuators between two points: hydraulic cylinders, linear drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.forces.cable import Line
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import Scalar, array, element_sx, minimum


class Actuator(Line):
    """The force u (N) of an input along the line between two points; positive drives them apart.

    Outside `limits` (lower, upper), which have 0 between them, the force is that of the nearest limit.
    """

    kind = "actuator"

    def __init__(self, name: str, points: Sequence[Frame], value: Any, limits: np.ndarray):
        self.name, self.points, self.value, self.limits = name, points, value, limits

    def act(self, s: TracedState, load: Load) -> None:
        u = array(self.value).ravel()[0]
        lower, upper = self.limits
        if np.isfinite(upper):
            u = minimum(u, float(upper))
        if np.isfinite(lower):
            u = -minimum(-u, -float(lower))
        self.pull(s, load, -u)

    def act_within(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, -Scalar(element_sx(array(self.value).ravel()[0])))
