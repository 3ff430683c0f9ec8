"""Spherical joint: any rotation, as a unit quaternion."""

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.joints.joint import Joint
from dalembert.mechanism.values import as_matrix, check_rotation
from dalembert.spatial import (
    Transform,
    matrix_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    quaternion_rate,
    rotation_quaternion,
    skew,
    unit,
)
from dalembert.symbols import array, eye, sqrt, zeros

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class Spherical(Joint):
    """A ball in its socket. q = (w, x, y, z), v = angular velocity in the child's axes.

    A position may be given as a quaternion, a (3, 3) rotation matrix or a SciPy `Rotation`.
    """

    kind = "spherical"
    coordinate_names = ("qw", "qx", "qy", "qz")
    velocity_names = ("wx", "wy", "wz")
    angular = (True, True, True)
    closure = ("x", "y", "z")

    def transform(self, q: np.ndarray) -> Transform:
        """T = (R(q), 0)."""
        return Transform(quaternion_matrix(q), zeros(3))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = [1; 0]."""
        return np.concatenate([eye(3), zeros(3, 3)])

    def locate(self, T: Transform) -> np.ndarray:
        """The quaternion of R."""
        return rotation_quaternion(T.R)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ = ½ q ∘ (0, ω)."""
        return quaternion_rate(q, v)

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ∘ exp(δ)."""
        return quaternion_product(q, quaternion_exp(delta))

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """log(q₀⁻¹ ∘ q₁), a rotation vector of length ≤ π."""
        return quaternion_log(quaternion_product(array(_CONJUGATE) * q0, q1))

    def transport(self, v: np.ndarray) -> np.ndarray:
        """[ω]: the child's axes turn."""
        return skew(v)

    def unit(self, q: np.ndarray) -> np.ndarray:
        """q / ‖q‖."""
        return q * (1.0 / sqrt(q @ q))

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def position_from(self, value: Any) -> np.ndarray:
        """A quaternion (w, x, y, z) from one, from a rotation matrix or from a SciPy Rotation."""
        x = checks.array(as_matrix(value), None, "the position of a spherical joint")
        if x.shape != (3, 3):
            return x
        check_rotation(x, "the position of a spherical joint", ArgumentError)
        return matrix_quaternion(x)

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """q / ‖q‖, as it is where that is 1."""
        length = float(np.linalg.norm(q))
        if not 0.5 < length < 2.0:
            raise ArgumentError(f"the quaternion {q.tolist()} has length {length:.3g}; needed: 1, as (w, x, y, z).")
        return unit(q)
