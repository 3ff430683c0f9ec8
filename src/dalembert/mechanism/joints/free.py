"""Free joint: any rigid motion, for floating bases."""

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.joints.joint import Joint
from dalembert.mechanism.joints.spherical import Spherical
from dalembert.spatial import (
    Transform,
    exp_translation,
    log_translation,
    quaternion_matrix,
    skew,
)
from dalembert.symbols import eye, zeros

_BALL = Spherical()


class Free(Joint):
    """No constraint at all. q = (qw, qx, qy, qz, x, y, z), v = twist (ω; v) in the child's axes.

    x, y, z place the child's origin in the parent frame. A position may also be given as a (4, 4) matrix.
    """

    kind = "free"
    coordinate_names = ("qw", "qx", "qy", "qz", "x", "y", "z")
    velocity_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    angular = (True, True, True, False, False, False)
    closure = ()

    def transform(self, q: np.ndarray) -> Transform:
        """T = (R(q), p)."""
        return Transform(quaternion_matrix(q[:4]), q[4:])

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = 1."""
        return eye(6)

    def locate(self, T: Transform) -> np.ndarray:
        """Quaternion and position."""
        return np.concatenate([_BALL.locate(T), T.p])

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The quaternion's rate, and ṗ = R v."""
        return np.concatenate([_BALL.rates(q[:4], v[:3]), quaternion_matrix(q[:4]) @ v[3:]])

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """T ∘ exp(δ)."""
        p = q[4:] + quaternion_matrix(q[:4]) @ exp_translation(delta)
        return np.concatenate([_BALL.plus(q[:4], delta[:3]), p])

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """log(T₀⁻¹ T₁)."""
        phi = _BALL.minus(q1[:4], q0[:4])
        p = quaternion_matrix(q0[:4]).T @ (q1[4:] - q0[4:])
        return np.concatenate([phi, log_translation(phi, p)])

    def transport(self, v: np.ndarray) -> np.ndarray:
        """ad(V)."""
        return np.block([[skew(v[:3]), zeros(3, 3)], [skew(v[3:]), skew(v[:3])]])

    def unit(self, q: np.ndarray) -> np.ndarray:
        """The quaternion made unit."""
        return np.concatenate([_BALL.unit(q[:4]), q[4:]])

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0, 0, 0, 0, 0, 0])

    def position_from(self, value: Any) -> np.ndarray:
        """Seven numbers from themselves or from a (4, 4) matrix."""
        x = checks.array(value, None, "the position of a free joint")
        if x.shape != (4, 4):
            return x
        if not np.array_equal(x[3], [0.0, 0.0, 0.0, 1.0]):
            raise ArgumentError(
                f"the position of a free joint is a matrix with the last row {x[3].tolist()}; needed: (0, 0, 0, 1)."
            )
        return np.concatenate([_BALL.position_from(x[:3, :3]), x[:3, 3]])

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """The quaternion made unit."""
        return np.concatenate([_BALL.normalized(q[:4]), q[4:]])
