"""Joints of SDF as edges of a graph, gearboxes and mimicking joints as couplings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import pi

import numpy as np

from dalembert.formats.links import IDENTITY, WORLD, Coupling, Edge, FileLink, Graph
from dalembert.formats.notes import Notes
from dalembert.formats.sdf.axes import Axis, axis_of
from dalembert.formats.sdf.drawing import displaced
from dalembert.formats.sdf.elements import flag, note_rest, number, text
from dalembert.formats.sdf.frames import Frames
from dalembert.formats.sdf.models import ScopedElement
from dalembert.formats.sdf.turning import Turning
from dalembert.formats.xml import Element, shown
from dalembert.mechanism.joints import Fixed, Joint, Planar, Prismatic, Revolute, Screw, Spherical, Universal
from dalembert.spatial import Transform

_ONE_AXIS = ("revolute", "continuous", "prismatic", "screw")
_TWO_AXES = ("universal", "revolute2")
TYPES = (*_ONE_AXIS, *_TWO_AXES, "ball", "fixed", "gearbox")
_IN_JOINT = {
    *("pose", "parent", "child", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "gearbox_ratio"),
    *("gearbox_reference_body", "drake:rotor_inertia", "drake:gear_ratio", "dalembert:cut", "dalembert:position"),
}


@dataclass(slots=True)
class Joints:
    """Reads joints into a graph; `name` gives links and joints the names they have in the mechanism."""

    graph: Graph
    frames: Frames
    notes: Notes
    name: Callable[[str], str]
    initial: dict[str, float] = field(default_factory=dict)  # coordinates that do not begin at zero
    mimics: list[tuple[str, str, ScopedElement, Element]] = field(default_factory=list)
    gears: list[tuple[ScopedElement, Transform]] = field(default_factory=list)
    kinds: dict[str, list[str]] = field(default_factory=dict)  # of each joint's key, the names of its coordinates
    drawn: dict[str, float] = field(default_factory=dict)  # coordinates that are not zero as drawn
    positions: dict[str, np.ndarray] = field(default_factory=dict)  # and all of their joints

    def read(self, found: ScopedElement) -> None:
        """One joint."""
        e = found.element
        if e.tag != "joint":
            self._drake(found)
            return
        kind = e.choice("type", TYPES)
        note_rest(e, _IN_JOINT, self.notes)
        T = self.frames.pose(found.key)
        if kind == "gearbox":
            self.gears.append((found, T))
            return
        parent, at_parent = self._end(text(e, "parent"), found, T)
        child, at_child = self._end(text(e, "child"), found, T)
        if parent == child == WORLD and self.frames.find(found.scope, text(e, "child"), e) in self.frames.ground:
            return
        self._off(found, T)
        edge = Edge(self.name(found.name), e, Fixed(), parent, child, at_parent, at_child)
        edge.cut = flag(e, "dalembert:cut")
        if kind in _TWO_AXES:
            self._two_axes(edge, found, T)
            return
        if kind in _ONE_AXIS:
            self._one_axis(edge, found, axis_of(found, "axis", T, self.frames, self.notes), kind)
        elif kind == "ball":
            edge.joint = Spherical()
            self._not_used(e, ("axis", "axis2"), "a ball joint has no axis; what the element says is left out")
            self._start(edge)
        if kind in _ONE_AXIS or kind == "fixed":
            extra = ("axis2",) if kind in _ONE_AXIS else ("axis", "axis2")
            self._not_used(e, extra, "has no meaning for a joint of this type")
        self.graph.edges.append(edge)

    def done(self) -> None:
        """Couplings, once every joint is read."""
        for follower, axis, found, e in self.mimics:
            self._mimic(follower, axis, found, e)
        turning = Turning(self.graph, self.notes) if self.gears else None
        for found, T in self.gears:
            assert turning is not None
            self._gear(found, T, turning)

    # --- ends and axes --------------------------------------------------------------------------------------------

    def _end(self, frame: str, found: ScopedElement, T: Transform) -> tuple[str, Transform]:
        """The link that a frame's name means, and the joint's frame in it."""
        link = self.frames.link(self.frames.find(found.scope, frame, found.element))
        if link == WORLD:
            return WORLD, T
        return self.name(link), self.frames.pose(link).inverse() @ T

    def _off(self, found: ScopedElement, T: Transform) -> None:
        """Say where a parent frame that is no link stands apart from its joint."""
        e = found.element
        key = self.frames.find(found.scope, text(e, "parent"), e)
        if key in self.frames.nodes and self.frames.nodes[key].kind == "frame":
            gap = float(np.linalg.norm(self.frames.pose(key).p - T.p))
            if gap > 1e-6:
                self.notes.add(
                    e,
                    f"its parent frame stands {gap:.4g} m from it: SDF takes only the link of that frame, and places "
                    "the joint by its child, as drawn",
                )

    def _not_used(self, e: Element, tags: tuple[str, ...], why: str) -> None:
        for tag in tags:
            if child := e.find(tag):
                self.notes.add(child, why)

    # --- types ----------------------------------------------------------------------------------------------------

    def _one_axis(self, edge: Edge, found: ScopedElement, axis: Axis, kind: str) -> None:
        e = found.element
        edge.joint = self._moving(e, kind, axis)
        rotor, ratio = number(e, "drake:rotor_inertia", 0.0), number(e, "drake:gear_ratio", 1.0)
        edge.armature = rotor * ratio**2
        edge.stiffness, edge.damping, edge.rest = axis.stiffness, axis.damping, axis.rest
        edge.friction = axis.friction
        edge.limits = axis.limits if kind != "continuous" else None
        self._start(edge)
        self._remember(edge.name, found, {"axis": (edge.name, axis)})

    def _moving(self, e: Element, kind: str, axis: Axis) -> Joint:
        if kind == "prismatic":
            return Prismatic(axis.direction)
        pitch = _pitch(e) if kind == "screw" else 0.0
        return Screw(axis.direction, pitch=pitch) if pitch else Revolute(axis.direction)

    def _two_axes(self, edge: Edge, found: ScopedElement, T: Transform) -> None:
        """A universal joint, or two revolute joints in series where the axes are not perpendicular."""
        e = found.element
        one, two = (
            axis_of(found, "axis", T, self.frames, self.notes),
            axis_of(found, "axis2", T, self.frames, self.notes),
        )
        cosine = abs(float(one.direction @ two.direction))
        if cosine > 1.0 - 1e-9:
            raise e.error(
                "has two parallel axes, about which the angles are not determined; needed: an <axis2> across <axis>. "
                "For one axis use type 'revolute'."
            )
        if cosine <= 1e-9:
            edge.joint = Universal(one.direction, two.direction)
            for what in ("stiffness", "damping", "rest", "limits", "friction"):
                setattr(edge, what, [getattr(one, what), getattr(two, what)])
            self._start(edge)
            self.graph.edges.append(edge)
            names = (f"{edge.name}.first", f"{edge.name}.second")
        else:
            self.notes.add(e, "its axes are not perpendicular; it is two revolute joints with a massless link between")
            cross = FileLink(f"{edge.name}_cross", e, pose=T)
            self.graph.links.append(cross)
            names = (f"{edge.name}_first", f"{edge.name}_second")
            ends = ((edge.parent, cross.name), (cross.name, edge.child))
            places = ((edge.at_parent, IDENTITY), (IDENTITY, edge.at_child))
            for name, axis, (a, b), (A, B) in zip(names, (one, two), ends, places):
                new = Edge(name, e, Revolute(axis.direction), a, b, A, B, axis.stiffness, axis.rest, axis.damping)
                new.limits, new.friction = axis.limits, axis.friction
                self.graph.edges.append(new)
        self._remember(edge.name, found, {"axis": (names[0], one), "axis2": (names[1], two)})

    def _start(self, edge: Edge) -> None:
        """Coordinates that a writer of ours gave the joint as drawn, where SDF has zero."""
        e = edge.origin.only("dalembert:position")
        if e is None:
            return
        q = self.positions[edge.name] = e.numbers(None, edge.joint.nq)
        if isinstance(edge.joint, Universal):  # the first axis is that of the parent
            first, second = edge.joint.axes
            edge.joint = Universal(displaced(edge.joint, [0.0, q[1]]).R @ first, second)
        edge.at_parent = edge.at_parent @ displaced(edge.joint, q).inverse()
        if edge.joint.nq != edge.joint.nv:
            return
        edge.rest = q if edge.rest is None else edge.rest + q
        if edge.limits is not None:
            edge.limits = np.reshape(edge.limits, (-1, 2)) + q[:, None]
        names = [f"{edge.name}.{part}" if part else edge.name for part in edge.joint.coordinate_names]
        self.drawn.update(zip(names, q.tolist()))

    def _remember(self, joint: str, found: ScopedElement, axes: dict[str, tuple[str, Axis]]) -> None:
        self.kinds[found.key] = [name for name, _ in axes.values()]
        for name, axis in axes.values():
            if axis.initial:
                self.initial[name] = axis.initial
            if axis.mimic is not None:
                self.mimics.append((name, joint, found, axis.mimic))

    def _drake(self, found: ScopedElement) -> None:
        """Joints and constraints of Drake, whose two frames are where they say."""
        e = found.element
        weld = e.tag == "drake:weld_constraint"
        kind = "weld" if weld else e.required("type")
        if kind not in ("planar", "weld"):
            raise e.error(f"has the type {shown(kind)}, which is not modelled; needed: {', '.join(TYPES)} or planar.")
        note_rest(
            e,
            ("parent", "child") if weld else ("drake:parent", "drake:child", "drake:damping", "dalembert:cut"),
            self.notes,
        )
        ends = []
        for tag in ("parent", "child"):
            name = text(e, tag if weld else f"drake:{tag}")
            key = self.frames.find(found.scope, name, e)
            ends.append(self._end(name, found, self.frames.pose(key)))
        (parent, A), (child, B) = ends
        edge = Edge(self.name(found.name), e, Fixed() if weld else Planar("z"), parent, child, A, B)
        edge.cut = weld or flag(e, "dalembert:cut")
        if damping := e.only("drake:damping"):
            edge.damping = damping.numbers(None, 3)
        self.kinds[found.key] = []
        self.graph.edges.append(edge)

    # --- couplings ------------------------------------------------------------------------------------------------

    def _mimic(self, follower: str, joint: str, found: ScopedElement, e: Element) -> None:
        """q = multiplier (q_leader − reference) + offset."""
        key = self.frames.find(found.scope, e.required("joint"), e)
        names = self.kinds.get(key, [])
        which = e.choice("axis", ("axis", "axis2"), "axis")
        place = ("axis", "axis2").index(which)
        if place >= len(names):
            raise e.error(f"follows {which} of {shown(e.required('joint'))}, which is no axis of a joint that moves.")
        m, leader = number(e, "multiplier", 1.0), names[place]
        offset = number(e, "offset", 0.0) - m * number(e, "reference", 0.0)
        offset += self.drawn.get(follower, 0.0) - m * self.drawn.get(leader, 0.0)
        if leader == follower:
            raise e.error("follows its own joint; needed: another one.")
        note_rest(e, ("multiplier", "offset", "reference"), self.notes)
        self.graph.couplings.append(Coupling(f"{joint} mimic", e, {follower: 1.0, leader: -m}, offset))

    def _gear(self, found: ScopedElement, T: Transform, turning: Turning) -> None:
        """θ₂ = −ratio θ₁: angles from the reference body, θ₁ to the parent about axis, θ₂ to the child about axis2."""
        e = found.element
        if e.find("gearbox_reference_body") is None:
            raise e.error("is a gearbox without <gearbox_reference_body>: the body in which both of its wheels turn.")
        ratio = number(e, "gearbox_ratio", 1.0)
        reference = self._end(text(e, "gearbox_reference_body"), found, T)[0]
        terms: dict[str, float] = {}
        second = "axis2" if e.find("axis2") else "axis"
        for tag, which, c in (("child", second, 1.0), ("parent", "axis", ratio)):
            wheel = self._end(text(e, tag), found, T)[0]
            n = T.R @ axis_of(found, which, T, self.frames, self.notes).direction
            name, sign = turning.between(reference, wheel, n, e)
            terms[name] = terms.get(name, 0.0) + c * sign
        self.graph.couplings.append(Coupling(self.name(found.name), e, terms))


def _pitch(e: Element) -> float:
    """Metres per radian: from screw_thread_pitch (metres per turn), or from thread_pitch (minus radians per metre)."""
    if e.find("screw_thread_pitch") or not e.find("thread_pitch"):
        return number(e, "screw_thread_pitch", 1.0) / (2 * pi)
    given = number(e, "thread_pitch", 1.0)
    if given == 0.0:
        raise e.child("thread_pitch").error("is 0 radians per metre, a screw that never advances a finite length.")
    return -1.0 / given
