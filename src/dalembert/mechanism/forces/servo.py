"""Position servos: drives that bring a coordinate to where an input wants it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.forces.limited import limited
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import array, zeros


class Servo(Force):
    """τ = k (u₀ − q) + d (u₁ − v) along coordinate `index` of a joint, within limits; u₁ = 0 where no rate is given."""

    kind = "servo"

    def __init__(
        self, name: str, joint: Attachment, index: int, value: Any, stiffness: Any, damping: Any, limits: np.ndarray
    ):
        self.name, self.joint, self.index, self.value = name, joint, index, value
        self.stiffness, self.damping, self.limits = stiffness, damping, limits

    @property
    def input_units(self) -> list[str]:
        unit = "rad" if self.joint.joint.angular[self.index] else "m"
        return [unit, f"{unit}/s"][: array(self.value).size]

    def act(self, s: TracedState, load: Load) -> None:
        self._put(load, limited(self._force(s), self.limits))

    def act_within(self, s: TracedState, load: Load) -> None:
        self._put(load, self._force(s))

    def _force(self, s: TracedState) -> Any:
        wanted = array(self.value).ravel()
        rate = wanted[1] if len(wanted) > 1 else 0.0
        q, v = (x(self.joint.name)[self.index] for x in (s.q, s.v))
        return self.stiffness * (wanted[0] - q) + self.damping * (rate - v)

    def _put(self, load: Load, force: Any) -> None:
        tau = zeros(self.joint.joint.nv)
        tau[self.index] = force
        load.joint(self.joint.name, tau)
