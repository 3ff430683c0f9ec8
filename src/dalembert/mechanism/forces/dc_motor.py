"""Electric motors by their constants, behind a gear."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.forces.limited import limited
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import Scalar, array, positive_part, tanh, where_less, zeros


class DCMotor(Force):
    """A DC motor of voltage u behind a gear of ratio n (rotor over joint), its inductance neglected.

        i = (u − kₑ n v)/R,  T = n kₜ i                                                                            (1)

    With an efficiency η the joint gets η T while it is driven (T v > 0) and has to give T/η while it drives; the factor
    passes from one to the other over the speed `creep`.
    """

    kind = "dc motor"

    def __init__(
        self, name: str, joint: Attachment, index: int, value: Any, constants: tuple[Any, Any, Any], ratio: Any,
        efficiency: Any, creep: Any, limits: np.ndarray,
    ):  # fmt: skip
        """constants: kₜ (N m/A), kₑ (V s/rad), R (Ω); limits of the voltage (2,)."""
        self.name, self.joint, self.index, self.value = name, joint, index, value
        self.constants, self.ratio, self.efficiency, self.creep, self.limits = (
            constants,
            ratio,
            efficiency,
            creep,
            limits,
        )

    @property
    def input_units(self) -> list[str]:
        return ["V"]

    @property
    def _lossless(self) -> bool:
        return not isinstance(self.efficiency, Scalar) and self.efficiency == 1.0

    def _speed(self, s: TracedState) -> Any:
        return s.v(self.joint.name)[self.index]

    def _torque(self, s: TracedState, voltage: Any) -> Any:
        kt, ke, R = self.constants
        return self.ratio * kt * ((voltage - ke * self.ratio * self._speed(s)) / R)  # (1)

    def _put(self, s: TracedState, load: Load, voltage: Any) -> None:
        T = self._torque(s, voltage)
        if not self._lossless:
            turning = tanh(self._speed(s) / self.creep)
            driven = where_less(T, 0.0, lambda: -turning, lambda: turning)
            eta = self.efficiency
            T = T * (1.0 - (1.0 - eta) * positive_part(driven) + (1.0 / eta - 1.0) * positive_part(-driven))
        tau = zeros(self.joint.joint.nv)
        tau[self.index] = T
        load.joint(self.joint.name, tau)

    def act(self, s: TracedState, load: Load) -> None:
        self._put(s, load, limited(self._voltage(), self.limits))

    def act_within(self, s: TracedState, load: Load) -> None:
        self._put(s, load, self._voltage())

    def _voltage(self) -> Any:
        return array(self.value).ravel()[0]

    @property
    def bends(self) -> bool:
        return not self._lossless

    def kinks(self, s: TracedState) -> list[Any]:
        return [self._torque(s, limited(self._voltage(), self.limits)), self._speed(s)]
