"""Forces and constraints seen locally: every link they touch stands alone, with its pose and twist as coordinates.

A force or a constraint knows joint coordinates q, v and the poses T_i and twists V_i of the links it touches, not how
these hang together. Traced on `local_state` it is a short formula of z = (q, T_0, T_1, …) and w = (v, V_0, V_1, …), and
its derivatives are those of a short formula. The recursions know how T_i and V_i depend on q and v; the chain
rule does the rest (`dalembert.system.derivatives`). A row of A in these coordinates has the wrench it puts on link i
where V_i stands.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.mechanism.layout import Layout
from dalembert.mechanism.traced import TracedState
from dalembert.recursions.tree import ROOT, Link, Moving, Tree
from dalembert.spatial import RigidInertia, Transform, skew
from dalembert.symbols import eye, symbols, to_sx, zeros

POSE = 12  # numbers of a pose: R row by row, then p


class Pose:
    """A joint that lets a link be anywhere: q = (R, p), v = V."""

    nq, nv = POSE, 6

    def transform(self, q: np.ndarray) -> Transform:
        return Transform(q[:9].reshape(3, 3), q[9:])

    def screws(self, q: np.ndarray) -> np.ndarray:
        return eye(6)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Ṙ = R [ω], ṗ = R v."""
        R = q[:9].reshape(3, 3)
        return np.concatenate([(R @ skew(v[:3])).ravel(), R @ v[3:]])


class LocalMoving(Moving):
    """Links that stand alone: V̇ is what is given, no more."""

    def c(self, i: int) -> np.ndarray:
        return zeros(6)


class LocalState(TracedState):
    """The traced state of links that stand alone. `z` and `w` are its symbols."""

    def __init__(self, layout: Layout, t: object):
        tree, pose = layout.tree, Pose()
        n, nothing = len(tree), (Transform.identity(), RigidInertia.zero(), zeros(6))
        posed = [
            Link(
                link.name,
                ROOT,
                pose,  # type: ignore[arg-type]
                *nothing,
                slice(tree.nq + POSE * i, tree.nq + POSE * (i + 1)),
                slice(tree.nv + 6 * i, tree.nv + 6 * (i + 1)),
            )
            for i, link in enumerate(tree.links)
        ]
        coordinates = [Link(k.name, ROOT, k.joint, *nothing, k.q, k.v) for k in tree.links]
        self.z, zs = symbols("z", tree.nq + POSE * n)
        self.w, ws = symbols("w", tree.nv + 6 * n)
        super().__init__(layout, LocalMoving(Tree([*posed, *coordinates]), zs, ws), t)

    def rates_matrix(self, columns: set[int]) -> ca.SX:
        """N with ż = N w, sparse; only the rows named in `columns` are filled in."""
        N = ca.SX(self.z.numel(), self.w.numel())
        for link in self.at.tree.links:
            if any(k in columns for k in range(link.q.start, link.q.stop)):
                one = np.eye(link.joint.nv).astype(object)
                block = [link.joint.rates(self.at.q[link.q], e) for e in one]
                N[link.q, link.v] = ca.sparsify(to_sx(np.column_stack(block)))
        return N
