"""Energy, momentum and centre of mass of a tree: sums over its links."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.recursions.tree import Moving, Placed
from dalembert.spatial import AdInverse
from dalembert.symbols import zeros


def kinetic_energy(at: Moving) -> Any:
    """½ Σ V_iᵀ I_i V_i + ½ Σ armature v²."""
    total: Any = 0.0
    for i, link in enumerate(at.tree.links):
        V, vi = at.V(i), at.v[link.v]
        total = total + V @ (link.inertia @ V) + (link.armature * vi) @ vi
    return 0.5 * total


def gravity_energy(at: Placed, gravity: np.ndarray) -> Any:
    """−Σ m_i g·c_i; zero where every centre of mass is at the ground's origin."""
    total: Any = 0.0
    for i, link in enumerate(at.tree.links):
        T = at.pose(i)
        total = total - gravity @ (T.R @ link.inertia.h + link.inertia.m * T.p)
    return total


def center_of_mass(at: Placed) -> np.ndarray:
    """(3,) in the ground's axes. Bodies fixed to the ground are not counted."""
    moment, mass = zeros(3), 0.0
    for i, link in enumerate(at.tree.links):
        T = at.pose(i)
        moment = moment + T.R @ link.inertia.h + link.inertia.m * T.p
        mass = mass + link.inertia.m
    return moment * (1.0 / mass)


def momentum(at: Moving) -> np.ndarray:
    """(angular; linear), (6,), about the ground's origin, in the ground's axes. Armature is not counted."""
    total = zeros(6)
    for i, link in enumerate(at.tree.links):
        total = total + AdInverse(at.pose(i)).T @ (link.inertia @ at.V(i))
    return total
