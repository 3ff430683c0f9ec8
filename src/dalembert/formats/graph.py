"""The mechanism of a graph of links and joints: what readers of URDF and SDF have in common.

A reader fills a `Graph`; `build` makes a `Mechanism` of it.

- Links that fixed joints hold together become one body, named after the link nearest the ground; the others stay as
  frames of their names, at their places.
- A spanning tree carries the bodies, chosen by the rules of `mechanism.topology`. What is left over closes loops.
- A joint that the tree meets from its child is turned round. If it has one coordinate, this keeps name, sign and zero.
- Links without mass that carry none are left out with their joints, and stay as frames.
- Parts that no joint connects with the world stand on a joint that is named after their root link.
- Names: a name that is taken gets _2, _3, …; dots in names of joints become underscores. Both are noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.colliding import moved
from dalembert.formats.links import IDENTITY, WORLD, Coupling, Edge, FileLink, Graph, NoteTaker, TakenNames, pose
from dalembert.formats.plan import GraphPlan, turned
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.inertia import is_unphysical, principal_moments
from dalembert.mechanism.joints import Joint, Universal
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform

ROUNDING = 1e-15  # of moments about the origin of a link
Ends = tuple[Body, Transform, Body, Transform]  # the bodies that a joint connects, outward, and its place in each
__all__ = ["IDENTITY", "WORLD", "Coupling", "Edge", "FileLink", "Graph", "build", "pose"]


def build(graph: Graph, notes: NoteTaker, *, base: str = "free", merge_fixed: bool = True) -> Mechanism:
    """The mechanism of a graph.

    base: how parts stand that no joint connects with the world, "free" or "fixed". merge_fixed=False keeps a body for
    every link. notes takes what was repaired or left out.
    """
    return _GraphBuilder(GraphPlan(graph, notes, base, merge_fixed), notes).build()


class _GraphBuilder:
    """Fills a mechanism from a plan."""

    def __init__(self, plan: GraphPlan, notes: NoteTaker):
        self.plan, self.notes = plan, notes
        self.m = Mechanism(plan.graph.name, gravity=plan.graph.gravity)
        self.carrier: dict[int, tuple[Body, Transform]] = {0: (self.m.ground, IDENTITY)}  # of each cluster's head
        self.neutral = {self.m.ground.name: IDENTITY}  # place of each body in the world where every joint is neutral
        self.places = TakenNames(WORLD, "ground")  # of bodies and frames
        self.ties = TakenNames()  # of joints and constraints
        self.known_as: dict[str, str] = {}
        self.turned: set[str] = set()

    def build(self) -> Mechanism:
        plan = self.plan
        for node, c in sorted((plan.head[c], c) for _, c in plan.tree):  # bodies and joints in the order of the file
            mass, com, inertia, physical = self._solid(c)
            body = self.m.add_body(
                self._place_name(plan.links[node - 1]), mass, com.tolist(), inertia, physical=physical
            )
            self.carrier[c] = body, IDENTITY
        ends = {k: self._ends(k, c) for k, c in plan.tree}
        for parent, here, body, there in ends.values():
            back = there if there is IDENTITY else there.inverse()
            self.neutral[body.name] = self.neutral[parent.name] @ here @ back
        for k, c in sorted(plan.tree, key=lambda kc: (kc[0] < len(plan.graph.edges), kc[0])):
            self._hang(k, c, ends[k])
        for c, k in plan.dropped.items():
            inner, at_inner, outer, at_outer = plan.across(k, c)
            body, T = self._at(inner)
            self.carrier[c] = body, T @ at_inner @ (plan.in_head(outer) @ at_outer).inverse()
        for k in plan.loops:
            self._close(plan.edges[k])
        for coupling in plan.graph.couplings:
            self._couple(coupling)
        self._frames()
        return self.m

    # --- bodies and joints --------------------------------------------------------------------------------------

    def _ends(self, k: int, c: int) -> Ends:
        inner, at_inner, outer, at_outer = self.plan.across(k, c)
        (parent, T), (body, S) = self._at(inner), self._at(outer)
        return parent, _product(T, at_inner), body, _product(S, at_outer)

    def _hang(self, k: int, c: int, ends: Ends) -> None:
        e = self.plan.edges[k]
        parent, here, body, there = ends
        if self.plan.is_turned(k, c):
            self.turned.add(e.name)
            e = turned(e, self.notes)
        self.m.add_joint(
            self._tie_name(e.name, e.origin),
            e.joint,
            _frame(parent, here),
            _frame(body, there),
            stiffness=e.stiffness,
            rest=e.rest,
            damping=e.damping,
            armature=e.armature,
            limits=e.limits,
            friction=e.friction,
        )

    def _solid(self, c: int) -> tuple[float, np.ndarray, np.ndarray, bool]:
        """Mass, centre of mass and inertia of a cluster in the frame of its head, and whether a solid can have them."""
        links = [(self.plan.links[n - 1], self.plan.in_head(n)) for n in self.plan.members[c]]
        physical = sum(not self._is_solid(link) for link, _ in links) == 0  # all of them are asked, for their notes
        if len(links) == 1:
            link = links[0][0]
            return link.mass, link.com, link.inertia, physical
        mass = sum(link.mass for link, _ in links)
        at = [T.R @ link.com + T.p for link, T in links]
        com = sum((link.mass * x for (link, _), x in zip(links, at)), np.zeros(3)) / mass if mass else np.zeros(3)
        J = np.zeros((3, 3))
        for (link, T), x in zip(links, at):
            r = x - com
            J += T.R @ link.inertia @ T.R.T + link.mass * (r @ r * np.eye(3) - np.outer(r, r))
        return mass, com, (J + J.T) / 2, physical

    def _is_solid(self, link: FileLink) -> bool:
        size, off, (low, middle, high) = principal_moments(link.inertia)
        if off > 1e-9 * size:
            raise link.origin.error(f"has an inertia that is not symmetric: {link.inertia.tolist()}.")
        if low < 0.0 and size < ROUNDING * link.mass * (link.com @ link.com):
            self.notes.add(link.origin, f"its moments of at most {size:g} kg m² are rounding; the mass is a point")
            link.inertia = np.zeros((3, 3))
            return True
        if link.mass < 0.0 or low < -1e-9 * size:
            what = f"the mass {link.mass:g} kg" if link.mass < 0.0 else f"a principal moment of {low:g} kg m²"
            raise link.origin.error(f"has {what}; needed: neither a negative mass nor a negative moment.")
        if is_unphysical(low, middle, high):
            self.notes.add(
                link.origin,
                f"no solid has this inertia: its largest principal moment ({high:.6g} kg m²) exceeds the sum of the "
                f"others ({low + middle:.6g}); it is used as it is",
            )
            return False
        return True

    # --- constraints --------------------------------------------------------------------------------------------

    def _close(self, e: Edge) -> None:
        (a, Ta), (b, Tb) = (self._at(self.plan.number.get(end, 0)) for end in (e.parent, e.child))
        if a is b:
            self.notes.add(e.origin, f"'{e.parent}' and '{e.child}' are fixed to each other: the joint cannot move")
            return
        if not e.joint.closure:
            self.notes.add(e.origin, f"closes a loop, but a {e.joint.kind} joint forbids no motion; it is left out")
            return
        Ta, Tb = Ta @ e.at_parent, Tb @ e.at_child
        self.m.close_loop(self._tie_name(e.name, e.origin), e.joint, _frame(a, Ta), _frame(b, Tb))
        off, turn = gap(e.joint, (self.neutral[a.name] @ Ta).inverse() @ self.neutral[b.name] @ Tb)
        if off > 1e-6 or turn > 1e-6:
            self.notes.add(
                e.origin,
                f"the loop is open at the neutral position, by {off:.3g} m and {turn:.3g} rad; system.assemble() "
                "closes it if it can",
            )
        self._load_cut(e)

    def _load_cut(self, e: Edge) -> None:
        """Forces along a cut joint: springs and dampers, but no armature and no dry friction."""
        lost = [what for what in e.acted if what in ("armature", "friction") or e.joint.nq != e.joint.nv]
        if lost:
            self.notes.add(e.origin, f"closes a loop and has no coordinate; its {' and '.join(lost)} is left out")
        if set(e.acted) - set(lost):
            name = self.known_as[e.name]
            rest = 0.0 if e.rest is None else e.rest
            self.m.add_cut_joint_spring(name, name, stiffness=e.stiffness, rest=rest, damping=e.damping)

    def _couple(self, coupling: Coupling) -> None:
        terms = {}
        for name, c in coupling.coefficients.items():
            edge, part = self.plan.coordinate(name)
            attachment = self.m.joints.get(self.known_as.get(edge, ""))
            if attachment is None:
                self.notes.add(coupling.origin, f"joint '{edge}' has no coordinate here; the coupling is left out")
                return
            if edge in self.turned and isinstance(attachment.joint, Universal):
                part = {"first": "second", "second": "first"}[part]
            elif edge in self.turned and not isinstance(attachment.joint, AxisJoint):
                self.notes.add(
                    coupling.origin, f"joint '{edge}' hangs its parent on its child; the coupling is left out"
                )
                return
            terms[f"{attachment.name}.{part}" if part else attachment.name] = c
        self.m.add_coupling(self._tie_name(coupling.name, coupling.origin), terms, coupling.offset)

    # --- frames, shapes, weights --------------------------------------------------------------------------------

    def _frames(self) -> None:
        plan = self.plan
        bodies = {plan.head[c] for _, c in plan.tree}
        g = np.asarray(plan.graph.gravity, dtype=float)
        for node, link in enumerate(plan.links, start=1):
            body, T = self._at(node)
            if node not in bodies:
                self.m.add_frame(self._place_name(link), _frame(body, T))
            if link.shapes:
                body.shapes.extend(link.shapes if T is IDENTITY else [shape.moved(T) for shape in link.shapes])
            body.colliders.extend(moved(link.colliders, T))
            if link.weightless and link.mass and body is not self.m.ground:
                self.m.add_wrench(f"{link.name} weightless", _frame(body, T).at(link.com), force=-link.mass * g)
        for name, place in plan.graph.frames.items():
            self.m.add_frame(self.places.fresh(name), _frame(self.m.ground, place))
        for node, link in enumerate(plan.links, start=1):
            body, T = self._at(node)
            for name, place in link.frames.items():
                self.m.add_frame(self._said(name, self.places.fresh(name), link.origin), _frame(body, T @ place))

    def _at(self, node: int) -> tuple[Body, Transform]:
        """The body that carries a link, and the link's place in it."""
        body, T = self.carrier[self.plan.cluster[node]]
        inside = self.plan.in_head(node)
        return body, _product(T, inside)

    # --- names --------------------------------------------------------------------------------------------------

    def _place_name(self, link: FileLink) -> str:
        return self._said(link.name, self.places.fresh(link.name), link.origin)

    def _tie_name(self, name: str, origin: Any) -> str:
        self.known_as[name] = new = self.ties.fresh(name.replace(".", "_"))
        return self._said(name, new, origin)

    def _said(self, name: str, new: str, origin: Any) -> str:
        if new != name:
            why = "has a dot, which would set off a coordinate" if "." in name and "." not in new else "is taken"
            self.notes.add(origin, f"the name '{name}' {why}; it is called '{new}' here")
        return new


def _frame(body: Body, T: Transform) -> Frame:
    return body.frame if T is IDENTITY else body.at(T.p, rotation=T.R)


def _product(S: Transform, T: Transform) -> Transform:
    """S @ T; most places are the identity."""
    return T if S is IDENTITY else S if T is IDENTITY else S @ T


def gap(joint: Joint, T: Transform) -> tuple[float, float]:
    """How far the two halves of a cut joint are from each other, T being one in the other: m and rad, roughly."""
    C = joint.orientation.astype(float)
    R, p = C.T @ T.R @ C, C.T @ T.p
    h = float(getattr(joint, "pitch", 1.0))
    off = {"x": p[0], "y": p[1], "z": p[2], "thread": h * np.sin(p[2] / h - np.arctan2(R[1, 0], R[0, 0]))}
    turn = {"rx": R[1, 2], "ry": R[0, 2], "rz": R[1, 0], "cross": R[0, 1]}
    angles = [abs(np.arcsin(np.clip(turn[k], -1, 1))) for k in joint.closure if k in turn]
    if ("rx" in joint.closure and R[2, 2] < 0) or ("rz" in joint.closure and R[0, 0] < 0):
        angles.append(np.pi)  # antiparallel: the rows vanish there too
    return max((abs(off[k]) for k in joint.closure if k in off), default=0.0), max(angles, default=0.0)
