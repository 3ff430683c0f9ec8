"""From a description to a tree: which link carries each body, and the place of each name in q, v, u and p."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.digest import description_digest
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.recursions.tree import ROOT, Link, Tree
from dalembert.spatial import RigidInertia, Transform
from dalembert.symbols import is_number, snap, zeros

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism


def _clean(T: Transform) -> Transform:
    return Transform(snap(T.R, scale=1.0), snap(T.p))


class TreeLayout:
    """The tree of a mechanism and the places of its names."""

    def __init__(self, mechanism: Mechanism, lump: bool = True):
        """`lump`: bodies fixed to others become one link with them; False keeps a link for every body.

        The mechanism must not change any more: see `Mechanism.snapshot`.
        """
        self.mechanism, self.lump = mechanism, lump
        bodies, joints = list(mechanism.bodies.values()), list(mechanism.joints.values())
        self.bodies, self.frames = mechanism.bodies, mechanism.frames
        self.joints = {joint.name: joint for joint in _parents_first(bodies, joints)}
        self._place: dict[str, tuple[int, Transform]] = {bodies[0].name: (ROOT, Transform.identity())}
        self._dofs: dict[str, tuple[slice, slice]] = {}
        self.tree = self._build()
        self.q_names = [name for joint in self.joints.values() for name in joint.coordinates]
        self.v_names = [name for joint in self.joints.values() for name in joint.velocities]

    def _build(self) -> Tree:
        links: list[Link] = []
        nq = nv = 0
        for a in self.joints.values():
            link, T_body = self._place[a.parent.body.name]
            placement = T_body @ a.parent.T
            joint = a.joint
            self._dofs[a.name] = slice(nq, nq + joint.nq), slice(nv, nv + joint.nv)
            if isinstance(joint, Fixed) and self.lump:
                here = _clean(placement @ a.child.T.inverse())
                self._place[a.child.body.name] = link, here
                if link != ROOT:
                    links[link] = _heavier(links[link], a.child.body, here)
                continue
            turn = Transform(joint.orientation, zeros(3))
            here = _clean((a.child.T @ turn).inverse())
            self._place[a.child.body.name] = len(links), here
            new = Link(
                a.name,
                link,
                joint,
                _clean(placement @ turn),
                RigidInertia.zero(),
                a.armature,
                *self._dofs[a.name],
            )
            links.append(_heavier(new, a.child.body, here))
            nq, nv = nq + joint.nq, nv + joint.nv
        return Tree(links)

    def __reduce__(self) -> tuple[Any, ...]:
        """By the mechanism: a system and its states that are pickled together share one layout on arrival."""
        return TreeLayout, (self.mechanism, self.lump)

    def same(self, other: TreeLayout) -> bool:
        """Whether states of the other layout are states of this one: equal descriptions of bodies and joints."""
        return self is other or self.fingerprint == other.fingerprint

    @cached_property
    def description_digest(self) -> str | None:
        """Digest of the whole mechanism: equal where the equations are; None where functions of the user enter."""
        return description_digest(self.mechanism)

    @cached_property
    def facts(self) -> dict[str, str | np.ndarray]:
        """All that motions may depend on, by where it is in the description."""
        from dalembert.mechanism.facts import described

        return described(self.mechanism)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of bodies and joints: names, types, places, masses."""
        parts: list[Any] = [self.lump]
        for a in self.joints.values():
            body = a.child.body
            pitch = getattr(a.joint, "pitch", "")
            parts += [a.name, type(a.joint).__name__, pitch, a.joint.orientation, body.name, body.mass, body.com]
            parts += [body.inertia, a.armature, a.parent.body.name]
            parts += [x for frame in (a.parent, a.child) for x in (frame.T.R, frame.T.p)]
        text = repr([x.tolist() if isinstance(x, np.ndarray) else x for x in parts])
        return sha256(text.encode()).hexdigest()

    def joint(self, name: str) -> Attachment:
        """A joint by name."""
        if not isinstance(name, str) or name not in self.joints:
            raise unknown("joint", name, self.joints)
        return self.joints[name]

    def q_slice(self, joint: str) -> slice:
        """The place of a joint's coordinates in q."""
        return self._dofs[self.joint(joint).name][0]

    def v_slice(self, joint: str) -> slice:
        """The place of a joint's velocities in v."""
        return self._dofs[self.joint(joint).name][1]

    def loop(self, name: str) -> Any:
        """The joint that closes a loop, by name."""
        loops = {c.name: c for c in self.mechanism.constraints.values() if c.kind == "loop"}
        if name not in loops:
            raise unknown("loop", name, loops)
        return loops[name]

    def cut_coordinate(self, name: Any, which: str) -> tuple[str, slice] | None:
        """The joint that closes a loop, and which of its coordinates ("q") or velocities ("v") a name means."""
        if not isinstance(name, str) or name in self.joints:
            return None
        joint, _, part = (name, "", "") if name in self.mechanism.constraints else name.rpartition(".")
        found = self.mechanism.constraints.get(joint)
        if found is None or found.kind != "loop":
            return None
        names = self.loop(joint).joint.coordinate_names if which == "q" else self.loop(joint).joint.velocity_names
        if not part:
            return joint, slice(None)
        return (joint, slice(names.index(part), names.index(part) + 1)) if part in names else None

    @cached_property
    def scalar_rates(self) -> dict[str, str]:
        """The velocity that is a coordinate's rate, by the coordinate's name; no joints with quaternions."""
        return {
            q: v for a in self.joints.values() if a.joint.nq == a.joint.nv for q, v in zip(a.coordinates, a.velocities)
        }

    def frame(self, frame: Any) -> Frame:
        """A frame from itself, a body, or the name of either."""
        if isinstance(frame, Frame):
            found = frame
        elif isinstance(frame, Body):
            found = frame.frame
        elif not isinstance(frame, str):
            raise ArgumentError(f"frame is {checks.shown(frame)}; needed: a body, a frame (body.at(...)) or a name.")
        elif frame in self.frames:
            found = self.frames[frame]
        elif frame in self.bodies:
            found = self.bodies[frame].frame
        else:
            raise unknown("frame or body", frame, [*self.frames, *self.bodies])
        if self.bodies.get(found.body.name) is not found.body:
            raise ArgumentError(f"{found} belongs to another mechanism; use a frame of this one, or its name.")
        return found

    @cached_property
    def is_hybrid(self) -> bool:
        """Whether there are contacts, ropes, rigid stops or dry friction: the structure changes as it moves."""
        joints = self.joints.values()
        rigid = any(a.stops is not None and a.stops.stiffness == 0.0 for a in joints)
        dry = any(f.sticks for f in self.mechanism.forces.values())
        dry = dry or any(f is not None for a in joints for f in a.friction)
        return bool(self.mechanism.contacts) or rigid or dry

    @cached_property
    def length(self) -> float:
        """A length of the mechanism's size: the farthest joint or centre of mass on a link; else 1 m."""
        far = [abs(x) for link in self.tree.links for x in link.placement.p if is_number(x)]
        far += [abs(x) for body in self.bodies.values() for x in body.com if is_number(x)]
        return max(far, default=0.0) or 1.0

    def locate(self, frame: Frame) -> tuple[int, Transform]:
        """The link that carries a frame and the frame's place in the link."""
        link, T = self._place[frame.body.name]
        return link, _clean(T @ frame.T)


def _heavier(link: Link, body: Body, T: Transform) -> Link:
    """The link with a body at T added to it."""
    I = body.spatial_inertia().seen_from(T)
    total = link.inertia + RigidInertia(I.m, snap(I.h), snap(I.J))
    return Link(link.name, link.parent, link.joint, link.placement, total, link.armature, link.q, link.v)


def _parents_first(bodies: Sequence[Body], joints: Sequence[Attachment]) -> list[Attachment]:
    """The joints as they were added, except that one waits until its parent body is placed."""
    hung: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        hung.setdefault(joint.parent.body.name, []).append(k)
    placed, out = {bodies[0].name}, []
    ready = hung.pop(bodies[0].name, [])  # a heap: the order of description is kept
    while ready:
        joint = joints[heapq.heappop(ready)]
        placed.add(joint.child.body.name)
        out.append(joint)
        for k in hung.pop(joint.child.body.name, []):
            heapq.heappush(ready, k)
    lost = [body.name for body in bodies if body.name not in placed]
    if lost:
        names = ", ".join(f"'{n}'" for n in lost[:8]) + (" …" if len(lost) > 8 else "")
        raise DescriptionError(
            f"bod{'ies' if len(lost) > 1 else 'y'} {names} not connected to the ground by joints; "
            "add a joint to it (da.Free() for a floating base), or leave it out."
        )
    return out
