"""Universal (Hooke, Cardan) joint: two crossed perpendicular axes."""

from typing import Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.joints.joint import Joint, axis_text
from dalembert.spatial import Transform, axis_rotation, axis_vector, cross, unit
from dalembert.symbols import all_numbers, array, atan2, cos, sin, snap, sqrt, zeros


class Universal(Joint):
    """Turns by q₁ about `first` (fixed in the parent), then by q₂ about `second` (fixed in the child).

    The axes cross at right angles; they may have parameters in them. Written for first = x, second = y:
    T = Rx(q₁) Ry(q₂).
    """

    kind = "universal"
    coordinate_names = ("first", "second")
    velocity_names = ("first", "second")
    angular = (True, True)
    closure = ("x", "y", "z", "cross")

    def __init__(self, first: Any = "x", second: Any = "y"):
        a = axis_vector(first, "the first axis of a universal joint")
        b = axis_vector(second, "the second axis of a universal joint")
        if not all_numbers(np.concatenate([a, b])):  # perpendicular at the default parameters, or `check_joint` objects
            self.given = tuple(n if all_numbers(n) else array(x) for n, x in ((a, first), (b, second)))
            c = b - (a @ b) * a
            self.axes = (a, c / sqrt(c @ c))
            self.orientation = np.column_stack([*self.axes, cross(*self.axes)])
            return
        if abs(a @ b) > 1e-9:
            raise DescriptionError(
                f"the axes of a universal joint meet at {np.degrees(np.arccos(np.clip(a @ b, -1, 1))):.6g}°; they must "
                "be perpendicular. For other angles put two revolute joints in series with a body between them."
            )
        if abs(a @ b) > 4 * np.finfo(float).eps:
            b = unit(b - (a @ b) * a)
        self.axes = self.given = (a, b)
        self.orientation = snap(np.column_stack([*self.axes, np.cross(*self.axes)]).astype(object), scale=1.0)

    def transform(self, q: np.ndarray) -> Transform:
        """T = Rx(q₁) Ry(q₂)."""
        return Transform(axis_rotation(0, q[0]) @ axis_rotation(1, q[1]), zeros(3))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = [(Ry(q₂)ᵀ x; 0), (y; 0)]."""
        S = zeros(6, 2)
        S[0, 0], S[2, 0] = cos(q[1]), sin(q[1])
        S[1, 1] = 1.0
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """R e_y = (0, cos q₁, sin q₁) and Rᵀ e_x = (cos q₂, 0, sin q₂)."""
        return array([atan2(T.R[2, 1], T.R[1, 1]), atan2(T.R[0, 2], T.R[0, 0])])

    def screws_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The first screw turns against q₂ in the child's frame."""
        dS = zeros(6, 2)
        dS[0, 0], dS[2, 0] = -sin(q[1]) * v[1], cos(q[1]) * v[1]
        return dS

    def __repr__(self) -> str:
        return f"Universal({axis_text(self.axes[0])}, {axis_text(self.axes[1])})"
