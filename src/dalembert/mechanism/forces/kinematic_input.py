"""Kinematic inputs: the acceleration of a coordinate is an input, and its drive exerts whatever force that takes."""

from __future__ import annotations

from typing import Any

from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState


class KinematicInput(Force):
    """v̇ = u at velocity `index` of a joint. Its force follows from the motion (`system.prescribed`) and is no load."""

    kind = "kinematic input"

    def __init__(self, name: str, joint: Attachment, index: int, value: Any):
        self.name, self.joint, self.index, self.value = name, joint, index, value

    @property
    def conservative(self) -> bool:
        return True  # its work is counted with that of drivers

    @property
    def input_units(self) -> list[str]:
        return ["rad/s²" if self.joint.joint.angular[self.index] else "m/s²"]

    def act(self, s: TracedState, load: Load) -> None:
        """Nothing: accelerations do not follow from its force, its force follows from them."""
