"""The base of all joints. A new joint is one file that subclasses `Joint` and one line in this folder's __init__.

A joint places its child frame in its parent frame: T(q). It is written for the axes that make it simplest (usually z)
and turned to the user's axes by `orientation`, a constant rotation the tree folds into the fixed placements; screws are
therefore unit vectors and their zeros disappear from the compiled code.

    V = S(q) v            twist of the child relative to the parent, in the child's frame
    V̇ = S v̇ + Ṡ v        `bias` is Ṡ v
    q̇ = N(q) v            `rates`
    q ⊕ δ                 `plus`: the position reached from q by the constant unit-time velocity δ, exactly on the group
    q₁ ⊖ q₀               `minus`: the δ with q₀ ⊕ δ = q₁
    δ̇ = δv − B δ          `transport` is B: how small motions are carried along
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from dalembert import checks
from dalembert.spatial import Transform, axis_vector
from dalembert.symbols import all_numbers, array, element_sx, eye, snap, where_less, zeros


class Joint(ABC):
    """A joint type: how a child frame can move in a parent frame.

    q, q0 and q1 are coordinates (nq,), v velocities (nv,), delta a small motion (nv,), T a pose of the child in the
    parent, `value` a position as a user may give it.
    """

    kind: ClassVar[str]
    coordinate_names: ClassVar[tuple[str, ...]]  # "": the joint's own name
    velocity_names: ClassVar[tuple[str, ...]]
    angular: ClassVar[tuple[bool, ...]]  # per velocity: radians per second, or metres per second
    closure: ClassVar[tuple[str, ...]]  # the motions it forbids, as rows of `constraints.loop` when it closes a loop

    orientation: np.ndarray = eye(3)  # (3, 3): columns are the joint's own x, y, z in the user's frame

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinate_names)

    @property
    def nv(self) -> int:
        """Number of velocities: degrees of freedom."""
        return len(self.velocity_names)

    @abstractmethod
    def transform(self, q: np.ndarray) -> Transform:
        """T(q), child in parent."""

    @abstractmethod
    def screws(self, q: np.ndarray) -> np.ndarray:
        """S(q), (6, nv), in the child's frame."""

    @abstractmethod
    def locate(self, T: Transform) -> np.ndarray:
        """The coordinates at which `transform` is T, or what comes nearest; angles in (−π, π]."""

    def screws_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṡ, (6, nv); zero where S is constant."""
        return zeros(6, self.nv)

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṡ v, (6,)."""
        return self.screws_rate(q, v) @ v if self.nv else zeros(6)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ = N(q) v."""
        return v

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ δ."""
        return q + delta

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """q₁ ⊖ q₀."""
        return q1 - q0

    def transport(self, v: np.ndarray) -> np.ndarray:
        """B, (nv, nv), of δ̇ = δv − B δ: how a small motion δ from q(t) changes as both move; zero where q̇ = v."""
        return zeros(self.nv, self.nv)

    def unit(self, q: np.ndarray) -> np.ndarray:
        """q with its quaternion, if it has one, made unit; traced or numeric."""
        return q

    def neutral(self) -> np.ndarray:
        """The position at which parent and child frames agree."""
        return np.zeros(self.nq)

    def position_from(self, value: Any) -> np.ndarray:
        """Coordinates from a user's value: numbers in the order of `coordinate_names`; subclasses take more."""
        return np.atleast_1d(checks.array(value, None, f"the position of a {self.kind} joint"))

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """The valid coordinates nearest q (unit quaternions); raises where there is none."""
        return q

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def axis_text(n: np.ndarray) -> str:
    """'z' for a coordinate axis, else its numbers."""
    if not all_numbers(n):
        return "(" + ", ".join(str(element_sx(x)) for x in n) + ")"
    for sign in (1.0, -1.0):
        for k, letter in enumerate("xyz"):
            if np.array_equal(n, sign * np.eye(3)[k]):
                return repr("-"[: sign < 0] + letter)
    return "(" + ", ".join(f"{x:g}" for x in n) + ")"


_PERMUTATIONS = [np.roll(np.eye(3), k + 1, axis=0).astype(object) for k in range(3)]


def orient_z(axis: Any, what: str) -> np.ndarray:
    """A rotation whose third column is the axis: a cyclic permutation for x, y, z, else the shortest turn from z.

    For an axis of parameters it is the shortest turn from z or, below the x-y plane, that from −z after half a turn
    about x.
    """
    n = axis_vector(axis, what)
    if not all_numbers(n):
        return _traced_orientation(n)
    x, y, z = n.tolist()
    if x + y + z == 1.0 and 1.0 in (x, y, z):
        return _PERMUTATIONS[(x, y, z).index(1.0)].copy()
    u = np.array([-n[1], n[0], 0.0])  # z × n
    if u @ u == 0.0:  # z or −z, to rounding
        return np.diag([1.0, n[2], n[2]]).astype(object)
    K = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    # 1 + n_z as u²/(1 − n_z) where it would cancel
    factor = 1 / (1 + n[2]) if n[2] > 0 else (1 - n[2]) / (u @ u)
    return snap((np.eye(3) + K + K @ K * factor).astype(object), scale=1.0)


def _traced_orientation(n: np.ndarray) -> np.ndarray:
    """I + [u] + [u]²/(1 + s n_z) with u = s z × n, s the sign of n_z; s = −1 after half a turn about x."""
    s = where_less(n[2], 0.0, lambda: -1.0, lambda: 1.0)
    x, y, factor = n[0], n[1], 1.0 / (1.0 + s * n[2])
    R = eye(3)
    R[0] = [1.0 - x * x * factor, -x * y * factor * s, x]
    R[1] = [-x * y * factor, s - s * y * y * factor, y]
    R[2] = [-s * x, -y, n[2]]
    return R


class AxisJoint(Joint):
    """A joint with one axis, its own z: "x", "-y", …, three numbers, or three expressions of parameters."""

    def __init__(self, axis: Any = "z"):
        what = f"the axis of a {self.kind} joint"
        self.axis = axis_vector(axis, what)
        self.orientation = orient_z(axis, what)
        self.given = self.axis if all_numbers(self.axis) else array(axis)  # of any length, as model files keep it

    def __repr__(self) -> str:
        return f"{type(self).__name__}({axis_text(self.axis)})"
