"""Motion of frames: poses, twists and accelerations of frames fixed to links.

Twists and accelerations are body-fixed (Spencer A.1.5, A.3). A frame f fixed to link i at T_if has
V_f = Ad(T_if⁻¹) V_i.
"""

from __future__ import annotations

import numpy as np

from dalembert.recursions.tree import Moving, Placed
from dalembert.spatial import AdInverse, Transform, cross
from dalembert.symbols import zeros


def pose(at: Placed, i: int, offset: Transform) -> Transform:
    """T_0f: frame `offset` of link i in the ground."""
    return at.pose(i) @ offset


def twist(at: Moving, i: int, offset: Transform) -> np.ndarray:
    """V_f, (6,), in the frame's own axes."""
    return AdInverse(offset) @ at.V(i)


def twist_rate(at: Moving, a: np.ndarray, i: int, offset: Transform) -> np.ndarray:
    """V̇_f, (6,): the derivative of the numbers `twist` returns, V̇_i = X_i V̇_P + S_i v̇_i + c_i."""
    dV = zeros(6)
    for k in at.tree.path(i, at.origin):
        dV = at.X(k) @ dV + at.S(k) @ a[at.tree.links[k].v] + at.c(k)
    return AdInverse(offset) @ dV


def in_world_axes(R: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A body twist (or columns of a body Jacobian) turned to world axes at the same point: (R ω; R v)."""
    return np.concatenate([R @ V[:3], R @ V[3:]])


def world_acceleration(R: np.ndarray, V: np.ndarray, dV: np.ndarray) -> np.ndarray:
    """d/dt of `in_world_axes`: (R ω̇; R (v̇ + ω × v))."""
    return np.concatenate([R @ dV[:3], R @ (dV[3:] + cross(V[:3], V[3:]))])
