"""Bushings: stiffness and damping in six directions between two frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.relative import Relative
from dalembert.mechanism.curves import Curve, corners, response, stored
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.traced import Load, TracedState
from dalembert.mechanism.values import is_exact_zero
from dalembert.spatial import log_translation, quaternion_log, rotation_quaternion
from dalembert.symbols import zeros

Curves = tuple[tuple[tuple[int, Curve], ...], tuple[tuple[int, Curve], ...]]  # of stiffness, of damping


class Bushing(Force):
    """A linear law of the pose T = (R, p) of frame b in frame a, measured by ξ = (φ; p) in the axes of a.

    φ = log R is the rotation vector, ‖φ‖ ≤ π: exact for finite rotations, and the same in the axes of a and b. With
    V = (ω; v) the twist of b in a, in the axes of b,

        ξ̇ = D V,  D = diag(J⁻¹, R),  J⁻¹ ω = ω + ½ φ×ω + (1 − ½θ cot ½θ)/θ² φ×(φ×ω)                    (1)

    and the wrench W = −Dᵀ (K ξ + C ξ̇) on b, in its axes, and its reaction on a, take the power W·V from ½ ξᵀ K ξ, and
    ξ̇ᵀ C ξ̇ is lost. At θ = π the moment jumps. A `Curve` of one direction, of its ξᵢ or ξ̇ᵢ, adds to K ξ or C ξ̇.
    """

    kind = "bushing"

    def __init__(
        self, name: str, a: Frame, b: Frame, stiffness: np.ndarray, damping: np.ndarray, curves: Curves = ((), ())
    ):
        """stiffness, damping: (6, 6) K and C, rotations first; curves: (direction, curve) of either."""
        self.name, self.a, self.b, self.stiffness, self.damping = name, a, b, stiffness, damping
        self.curves = curves

    @property
    def _turns(self) -> bool:
        """Whether rotations matter."""
        linear = [x for X in (self.stiffness, self.damping) for x in [*X[:3].flat, *X[:, :3].flat]]
        return any(not is_exact_zero(x) for x in linear) or any(k < 3 for curves in self.curves for k, _ in curves)

    def _measured(self, s: TracedState) -> tuple[Relative, np.ndarray]:
        """The relative motion, and ξ."""
        r = s.at.once(("relative", self), lambda: Relative(s, self.a, self.b))
        phi = quaternion_log(rotation_quaternion(r.R)) if self._turns else zeros(3)
        return r, np.concatenate([phi, r.p])

    def _rates(self, r: Relative, phi: np.ndarray) -> np.ndarray:
        """ξ̇, (1)."""
        turning = log_translation(-phi, r.V[:3]) if self._turns else zeros(3)
        return np.concatenate([turning, r.R @ r.V[3:]])

    def act(self, s: TracedState, load: Load) -> None:
        r, xi = self._measured(s)
        phi, force = xi[:3], _responses(self.stiffness, self.curves[0], xi)
        if not self.conservative:
            force = force + _responses(self.damping, self.curves[1], self._rates(r, phi))
        moment = log_translation(phi, force[:3]) if self._turns else zeros(3)
        r.exert(-np.concatenate([moment, r.R.T @ force[3:]]), load)

    @property
    def bends(self) -> bool:
        return any(curve.breaks for curves in self.curves for _, curve in curves)

    def kinks(self, s: TracedState) -> list[Any]:
        r, xi = self._measured(s)
        rates = self._rates(r, xi[:3])
        return [x for curves, y in zip(self.curves, (xi, rates)) for k, curve in curves for x in corners(curve, y[k])]

    @property
    def conservative(self) -> bool:
        return not self.curves[1] and all(is_exact_zero(c) for c in self.damping.flat)

    def energy(self, s: TracedState) -> Any:
        xi = self._measured(s)[1]
        return 0.5 * (self.stiffness @ xi) @ xi + sum((stored(curve, xi[k]) for k, curve in self.curves[0]), 0.0)


def _responses(matrix: np.ndarray, curves: tuple[tuple[int, Curve], ...], x: np.ndarray) -> np.ndarray:
    out = matrix @ x
    for k, curve in curves:
        out[k] = out[k] + response(curve, x[k])
    return out
