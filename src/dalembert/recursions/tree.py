"""A tree of links, as the recursions see it.

Link i hangs on its parent P by a joint: T_Pi = T_fixed · T_joint(q_i) (Spencer A.2.3). The link's frame is the joint's
child frame, so the screws S_i are those of the joint type; where a body's own frame lies in it is the mechanism's
business. Links are numbered so that parents come first; `ROOT` is the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dalembert.spatial import AdInverse, RigidInertia, Transform, bracket
from dalembert.symbols import array, zeros

ROOT = -1


class JointMotion(Protocol):
    """The questions recursions ask of a joint; see `dalembert.mechanism.joints.joint`."""

    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
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

    def path(self, i: int) -> list[int]:
        """Links from the ground to i, i included."""
        out = []
        while i != ROOT:
            out.append(i)
            i = self.links[i].parent
        return out[::-1]

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
        self._made: dict[Any, Any] = {}

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
        for k in self.tree.path(i):
            if k not in self._poses:
                self._poses[k] = self._poses[self.tree.links[k].parent] @ self.T(k)
        return self._poses[i]


class Moving(Placed):
    """A tree at one configuration and velocity: twists and velocity-product accelerations besides."""

    def __init__(self, tree: Tree, q: np.ndarray, v: np.ndarray):
        super().__init__(tree, q)
        self.v = v
        self._V: dict[int, np.ndarray] = {ROOT: zeros(6)}
        self._c: dict[int, np.ndarray] = {}

    def V(self, i: int) -> np.ndarray:
        """V_i = X_i V_P + S_i v_i: twist of link i in its own frame (Spencer A.3)."""
        for k in self.tree.path(i):
            if k not in self._V:
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
