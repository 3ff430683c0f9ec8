"""Body Jacobians: V_f = J(q) v.

    J_i = X_i J_P, with S_i in the columns of joint i          (Spencer 4.4.1)

Only the joints between the ground and the frame have columns; the others are exact zeros.
"""

from __future__ import annotations

import numpy as np

from dalembert.recursions.tree import Placed
from dalembert.spatial import AdInverse, Transform
from dalembert.symbols import zeros


def body_jacobian(at: Placed, i: int, offset: Transform) -> np.ndarray:
    """J, (6, nv), of frame `offset` of link i, in the frame's own axes.

    The columns are carried from the frame inward, so that each costs one transform: J[:, k] = Ad(T_kf⁻¹) S_k.
    """
    J = zeros(6, at.tree.nv)
    T = offset  # T_kf: the frame seen from link k
    for k in reversed(at.tree.path(i)):
        J[:, at.tree.links[k].v] = AdInverse(T) @ at.S(k)
        T = at.T(k) @ T
    return J
