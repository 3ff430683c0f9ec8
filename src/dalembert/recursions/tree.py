"""A tree of links, as the recursions see it.

Link i hangs on its parent P by a joint: T_Pi = T_fixed · T_joint(q_i) (Spencer A.2.3). The link's frame is the joint's
child frame, so the screws S_i are those of the joint type; where a body's own frame lies in it is the mechanism's
business. Links are numbered so that parents come first; `ROOT` is the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dalembert.lazy import cached_property
from dalembert.spatial import AdInverse, RigidInertia, Transform, bracket
from dalembert.symbols import array, is_number, snap, zeros

ROOT = -1


class JointMotion(Protocol):
    """The questions recursions ask of a joint; see `dalembert.mechanism.joints.joint`."""

    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def angular(self) -> tuple[bool, ...]: ...
    def transform(self, q: np.ndarray) -> Transform: ...
    def screws(self, q: np.ndarray) -> np.ndarray: ...
    def screws_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray: ...
    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray: ...
    def transport(self, v: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One moving body (with what is fixed to it) and the joint that carries it."""

    name: str  # of the joint
    parent: int
    joint: JointMotion
    placement: Transform  # T_fixed: joint frame in the parent link's frame
    inertia: RigidInertia  # about the link frame
    armature: np.ndarray  # (nv,) inertia added to the joint's own motion
    q: slice
    v: slice


class Tree:
    """Links, parents first."""

    def __init__(self, links: list[Link]):
        self.links = tuple(links)
        self.nq = sum(link.joint.nq for link in links)
        self.nv = sum(link.joint.nv for link in links)

    def __len__(self) -> int:
        return len(self.links)

    def outward(self) -> range:
        """Link numbers from the ground to the tips."""
        return range(len(self.links))

    def inward(self) -> Iterator[int]:
        """Link numbers from the tips to the ground."""
        return reversed(self.outward())

    def path(self, i: int, start: int = ROOT) -> list[int]:
        """Links from `start`, which carries i and is left out, to i itself."""
        out = []
        while i != start:
            out.append(i)
            i = self.links[i].parent
        return out[::-1]

    def common(self, i: int, j: int) -> int:
        """The last link that carries both i and j, or is one of them; `ROOT` where only the ground does."""
        while i != j:  # parents have lower numbers
            if i > j:
                i = self.links[i].parent
            else:
                j = self.links[j].parent
        return i

    @cached_property
    def children(self) -> list[list[int]]:
        """Links that hang on each link."""
        out: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent != ROOT:
                out[link.parent].append(i)
        return out

    def at(self, q: np.ndarray) -> Placed:
        """The tree at the configuration q."""
        return Placed(self, array(q))

    def moving(self, q: np.ndarray, v: np.ndarray) -> Moving:
        """The tree at the configuration q with the velocity v."""
        return Moving(self, array(q), array(v))


class Placed:
    """A tree at one configuration: transforms, adjoints, screws and poses, each made once."""

    def __init__(self, tree: Tree, q: np.ndarray):
        self.tree, self.q = tree, q
        self._T: dict[int, Transform] = {}
        self._S: dict[int, np.ndarray] = {}
        self._poses: dict[int, Transform] = {ROOT: Transform.identity()}
        self._arms: dict[tuple[int, int], Transform] = {}
        self._made: dict[Any, Any] = {}

    def _new(self, known: dict[int, Any], i: int) -> list[int]:
        """Links on the way to i that are not known yet."""
        out = []
        while i not in known:
            out.append(i)
            i = self.tree.links[i].parent
        return out[::-1]

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of make(), evaluated once here for a key: what several functions of this configuration share."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def T(self, i: int) -> Transform:
        """T_Pi: link i in its parent."""
        if i not in self._T:
            link = self.tree.links[i]
            self._T[i] = link.placement @ link.joint.transform(self.q[link.q])
        return self._T[i]

    def X(self, i: int) -> AdInverse:
        """X_i = Ad(T_Pi⁻¹): carries the parent's twists to link i."""
        return AdInverse(self.T(i))

    def S(self, i: int) -> np.ndarray:
        """(6, nv_i) screws of joint i in link i."""
        if i not in self._S:
            link = self.tree.links[i]
            self._S[i] = link.joint.screws(self.q[link.q])
        return self._S[i]

    def pose(self, i: int) -> Transform:
        """T_0i: link i in the ground."""
        for k in self._new(self._poses, i):
            self._poses[k] = self._poses[self.tree.links[k].parent] @ self.T(k)
        return self._poses[i]

    def between(self, i: int, Ti: Transform, j: int, Tj: Transform) -> Transform:
        """Frame Tj of link j in frame Ti of link i, by the way between them.

        Two constant places at the turn, on the last link that carries both, are joined first where they are turned:
        however the two branches are mounted there, what that cancels is exactly zero. Places that are not turned are
        left as they are given, to the last bit.
        """
        c = self.tree.common(i, j)
        (fixed_i, arm_i), (fixed_j, arm_j) = self._arm(c, i, Ti), self._arm(c, j, Tj)
        if _square(fixed_i.R) and _square(fixed_j.R):
            return arm_i.inverse() @ (fixed_i.inverse() @ (fixed_j @ arm_j))
        return arm_i.inverse() @ (joined(fixed_i, fixed_j) @ arm_j)

    def _arm(self, c: int, i: int, offset: Transform) -> tuple[Transform, Transform]:
        """A frame of link i seen from link c, which carries i: the first, constant place, and the rest of the way."""
        if i == c:
            return offset, Transform.identity()
        path = self.tree.path(i, c)
        first = self.tree.links[path[0]]
        arm = first.joint.transform(self.q[first.q])
        for k in path[1:]:
            arm = self._arms[c, k] = self._arms.get((c, k)) or arm @ self.T(k)
        return first.placement, arm @ offset


class Moving(Placed):
    """A tree at one configuration and velocity: twists and velocity-product accelerations besides."""

    origin = ROOT  # the link whose rest these are measured against

    def __init__(self, tree: Tree, q: np.ndarray, v: np.ndarray):
        super().__init__(tree, q)
        self.v = v
        self._V: dict[int, np.ndarray] = {ROOT: zeros(6)}
        self._c: dict[int, np.ndarray] = {}
        self._seen: dict[int, Moving] = {ROOT: self}

    def seen_from(self, origin: int) -> Moving:
        """The subtree of the link `origin` seen from that link: twists and accelerations with `origin` at rest."""
        if origin not in self._seen:
            seen = self._seen[origin] = copy(self)  # transforms and screws are shared
            seen.origin, seen._V, seen._c, seen._made = origin, {origin: zeros(6)}, {}, {}
        return self._seen[origin]

    def V(self, i: int) -> np.ndarray:
        """V_i = X_i V_P + S_i v_i: twist of link i in its own frame (Spencer A.3)."""
        for k in self._new(self._V, i):
            link = self.tree.links[k]
            self._V[k] = self.X(k) @ self._V[link.parent] + self.S(k) @ self.v[link.v]
        return self._V[i]

    def c(self, i: int) -> np.ndarray:
        """c_i = Ṡ_i v_i − ad(S_i v_i) V_i: what V̇_i = X_i V̇_P + S_i v̇_i + c_i owes to the velocities."""
        if i not in self._c:
            link = self.tree.links[i]
            vi = self.v[link.v]
            self._c[i] = link.joint.bias(self.q[link.q], vi) - bracket(self.S(i) @ vi, self.V(i))
        return self._c[i]


def _square(R: np.ndarray) -> bool:
    """Whether the axes of a rotation are those of its base, in some order and direction."""
    return all(is_number(x) and x in (0.0, 1.0, -1.0) for x in R.ravel().tolist())


def joined(A: Transform, B: Transform) -> Transform:
    """A⁻¹ B of two constant places, with what is left of rounding made exact."""
    T = A.inverse() @ B
    size = sum(abs(x) for x in (*A.p, *B.p) if is_number(x))
    return Transform(snap(T.R, scale=1.0, rounding=16.0), snap(T.p, least=size))
