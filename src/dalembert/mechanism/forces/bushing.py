"""Bushings: stiffness and damping in six directions between two frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.relative import Relative
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.traced import Load, TracedState
from dalembert.mechanism.values import is_exact_zero
from dalembert.spatial import log_translation, quaternion_log, rotation_quaternion
from dalembert.symbols import zeros


class Bushing(Force):
    """A linear law of the pose T = (R, p) of frame b in frame a, measured by ξ = (φ; p) in the axes of a.

    φ = log R is the rotation vector, ‖φ‖ ≤ π: exact for finite rotations, and the same in the axes of a and b. With
    V = (ω; v) the twist of b in a, in the axes of b,

        ξ̇ = D V,  D = diag(J⁻¹, R),  J⁻¹ ω = ω + ½ φ×ω + (1 − ½θ cot ½θ)/θ² φ×(φ×ω)                    (1)

    and the wrench W = −Dᵀ (K ξ + C ξ̇) on b, in its axes, and its reaction on a, take the power W·V from ½ ξᵀ K ξ, and
    ξ̇ᵀ C ξ̇ is lost. At θ = π the moment jumps.
    """

    kind = "bushing"

    def __init__(self, name: str, a: Frame, b: Frame, stiffness: np.ndarray, damping: np.ndarray):
        """stiffness, damping: (6, 6) K and C, rotations first."""
        self.name, self.a, self.b, self.stiffness, self.damping = name, a, b, stiffness, damping

    @property
    def _turns(self) -> bool:
        """Whether rotations matter."""
        return any(not is_exact_zero(x) for X in (self.stiffness, self.damping) for x in [*X[:3].flat, *X[:, :3].flat])

    def _measured(self, s: TracedState) -> tuple[Relative, np.ndarray]:
        """The relative motion, and ξ."""
        r = s.at.once(("relative", self), lambda: Relative(s, self.a, self.b))
        phi = quaternion_log(rotation_quaternion(r.R)) if self._turns else zeros(3)
        return r, np.concatenate([phi, r.p])

    def act(self, s: TracedState, load: Load) -> None:
        r, xi = self._measured(s)
        phi, force = xi[:3], self.stiffness @ xi
        if not self.conservative:
            turning = log_translation(-phi, r.V[:3]) if self._turns else zeros(3)
            force = force + self.damping @ np.concatenate([turning, r.R @ r.V[3:]])  # (1)
        moment = log_translation(phi, force[:3]) if self._turns else zeros(3)
        r.exert(-np.concatenate([moment, r.R.T @ force[3:]]), load)

    @property
    def conservative(self) -> bool:
        return all(is_exact_zero(c) for c in self.damping.flat)

    def energy(self, s: TracedState) -> Any:
        xi = self._measured(s)[1]
        return 0.5 * (self.stiffness @ xi) @ xi
