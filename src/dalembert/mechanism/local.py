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

from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.traced import TracedState
from dalembert.recursions.tree import ROOT, Link, Moving, Tree
from dalembert.spatial import RigidInertia, Transform, skew
from dalembert.symbols import eye, symbols, to_sx, zeros

POSE = 12  # numbers of a pose: R row by row, then p


class Pose:
    """A joint that lets a link be anywhere: q = (R, p), v = V."""

    nq, nv, angular = POSE, 6, (True, True, True, False, False, False)

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

    def __init__(self, layout: TreeLayout, t: object):
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

    def slopes(self, f: ca.SX) -> ca.SX:
        """∂f/∂z N, (len(f), len(w)): along small motions of joints and links, by forward sweeps.

        ∂f/∂R first and its product with Ṙ after would take more operations. Links that no row of f has in common share
        their sweeps.
        """
        pattern = ca.jacobian_sparsity(f, self.z)
        rows_of: dict[int, set[int]] = {}
        for row, column in zip(*pattern.get_triplet()):
            rows_of.setdefault(column, set()).add(row)
        out = ca.SX(f.numel(), self.w.numel())
        groups: list[tuple[set[int], list[tuple[Link, list[int]]]]] = []
        for link in self.at.tree.links:
            touched = {r for k in range(link.q.start, link.q.stop) for r in rows_of.get(k, ())}
            if touched:
                free = next((g for g in groups if not g[0] & touched), None)
                if free is None:
                    groups.append(free := (set(), []))
                free[0].update(touched)
                free[1].append((link, sorted(touched)))
        for _, members in groups:
            seed = ca.SX(self.z.numel(), 6)
            for link, _ in members:
                one = np.eye(link.joint.nv).astype(object)
                columns = [link.joint.rates(self.at.q[link.q], e) for e in one]
                seed[link.q, : link.joint.nv] = to_sx(np.column_stack(columns))
            along = ca.jtimes(f, self.z, seed)
            for link, rows in members:
                out[rows, link.v] = along[rows, : link.joint.nv]
        return ca.sparsify(out)
