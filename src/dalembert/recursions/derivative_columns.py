"""The derivatives of inverse dynamics for long chains: columns by recursion, pairs by matrix products.

(4) and (5) of `newton_euler_derivatives` have a term for every pair of joints of which one carries the other. For a
chain of 200 joints that is a million operations, too many for straight-line code. Carried to the ground's axes, what
each joint gives is a column of a few numbers, found in O(N), and the pairs are products of two thin matrices. This is
the form in which Singh, Russell and Wensing print it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.recursions.motion_derivatives import MotionDerivatives
from dalembert.recursions.newton_euler_derivatives import joint_forces, own_slopes, passed_on
from dalembert.spatial import AdInverse
from dalembert.symbols import zeros

OWN = 6  # most velocities of one joint


def derivative_columns(
    motion: MotionDerivatives, gravity: np.ndarray, wrenches: dict[int, np.ndarray]
) -> tuple[Any, ...]:
    """left (9, nv), right for q and v (9, nv) each, screws (6, nv), forces for q and v (6, nv) each, own (nv, 3 · 6).

    left is [w; y], right [F; D] and [G; S], forces U − ad(S)ᵀf and U′; D, S, y with their angular part only. own holds
    the blocks of the joints themselves, side by side for q, v and a.
    """
    at, tree = motion.at, motion.at.tree
    n = tree.nv
    left, right_q, right_v, own = zeros(9, n), zeros(9, n), zeros(9, n), zeros(n, 3 * OWN)
    screws, forces_q, forces_v = (zeros(6, n) for _ in range(3))
    for j, x in enumerate(joint_forces(motion, gravity, wrenches)):
        dofs, k = tree.links[j].v, tree.links[j].joint.nv
        T, S = at.pose(j), at.S(j)
        twist, wrench = AdInverse(T.inverse()), AdInverse(T).T
        screws[:, dofs] = twist @ S
        forces_q[:, dofs], forces_v[:, dofs] = wrench @ passed_on(motion, j, x), wrench @ x.U_v
        left[:6, dofs], left[6:, dofs] = wrench @ x.w, T.R @ x.y
        right_q[:6, dofs], right_q[6:, dofs] = twist @ x.F, T.R @ motion.D[j][:3]
        right_v[:6, dofs], right_v[6:, dofs] = twist @ motion.G[j], screws[:3, dofs]
        by_q, by_v = own_slopes(motion, j, x)
        by_a = S.T @ x.w + np.diag(tree.links[j].armature)
        for i, block in enumerate((by_q, by_v, by_a)):
            own[dofs, i * OWN : i * OWN + k] = block
    return left, right_q, right_v, screws, forces_q, forces_v, own
