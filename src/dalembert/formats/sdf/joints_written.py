"""Joints of a mechanism as elements of SDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.formats.links import IDENTITY
from dalembert.formats.sdf.drawing import displaced
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.contacts import Friction
from dalembert.mechanism.forces import CutJointSpring
from dalembert.mechanism.joints import Cylindrical, Free, Joint, Planar, Prismatic, Revolute, Screw, Spherical
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.joints.universal import Universal
from dalembert.spatial import Transform

if TYPE_CHECKING:
    from dalembert.formats.sdf.writer import SdfWriter

TYPES = {Revolute: "revolute", Prismatic: "prismatic", Screw: "screw", Universal: "universal", Spherical: "ball"}


class WrittenJoints:
    """Writes joints, loops and couplings into the lines of a writer."""

    def __init__(self, writer: SdfWriter):
        self.w, self.out, self.m, self.drawing = writer, writer.out, writer.m, writer.drawing
        self.axes: dict[str, tuple[str, str, float]] = {}  # of each coordinate: joint and axis in the file, q as drawn
        self.names: dict[str, list[str]] = {}  # of each joint and loop, its joints in the file
        self.said: set[str] = set()  # forces that are in the file
        loops = [c for c in self.drawing.loops if c.name not in self.drawing.open]
        for name, joint in [(a.name, a.joint) for a in self.m.joints.values()] + [(c.name, c.joint) for c in loops]:
            self._name(name, joint)
        self.mimics: dict[str, tuple[str, float, float]] = {}  # of a coordinate: the leader's, multiplier, offset
        for c in self.m.constraints.values():
            if isinstance(c, Expressions) and c.kind == "coupling":
                self._coupling(c)
            elif not isinstance(c, LoopJoint):
                self.w.note(f"{c.kind} '{c.name}'", "cannot be said in SDF")

    def write(self) -> None:
        """All joints of the tree, then those that close loops."""
        for a in self.m.joints.values():
            if isinstance(a.joint, Free):
                self._free(a)
                continue
            given = {k: self.w.number(getattr(a, k)) for k in ("stiffness", "damping", "rest", "armature")}
            given["friction"] = self._dry(a)
            self._any(a.name, a.joint, a.parent, a.child, given | {"limits": a.limits}, cut=False)
        for c in self.drawing.loops:
            if c.name not in self.drawing.open:
                self._any(c.name, c.joint, c.a, c.b, self._acting(c), cut=True)

    def _dry(self, a: Attachment) -> np.ndarray:
        """Coulomb's force of each velocity, N m or N; other laws are noted."""
        known = [f for f in a.friction if f is not None]
        axes = isinstance(a.joint, (Revolute, Prismatic, Screw, Universal))
        if any(f != Friction(f.coulomb) for f in known) or (known and not axes):
            self.w.note(f"joint '{a.name}'", "has dry friction that SDF, which has Coulomb's on axes, cannot say")
        if a.stops is not None:
            self.w.note(f"joint '{a.name}'", "has stops, which SDF cannot say; only the limits are written")
        return np.array([f.coulomb if f is not None and f == Friction(f.coulomb) else 0.0 for f in a.friction])

    def _acting(self, loop: LoopJoint) -> dict[str, Any]:
        """Springs and dampers along a cut joint, written as for a tree joint."""
        found = [f for f in self.m.forces.values() if isinstance(f, CutJointSpring) and f.loop is loop]
        if len(found) != 1 or not isinstance(loop.joint, (Revolute, Prismatic, Screw, Universal)):
            return {}
        self.said.add(found[0].name)
        n = loop.joint.nv
        given = {k: self.w.number(getattr(found[0], k)) for k in ("stiffness", "damping", "rest")}
        return {**given, "armature": np.zeros(n), "friction": np.zeros(n), "limits": np.tile([-np.inf, np.inf], (n, 1))}

    def _name(self, name: str, joint: Joint) -> None:
        what = f"joint '{name}'"
        if isinstance(joint, Free):
            return
        if isinstance(joint, Cylindrical):
            self.names[name] = [self.w.name(f"{name}_{part}", what) for part in joint.coordinate_names]
            self.w.note(what, f"is cylindrical: in SDF a turn and a slide, {' and '.join(self.names[name])}")
        else:
            self.names[name] = [self.w.name(name, what)]
        if name in self.m.joints and isinstance(joint, (*TYPES, Cylindrical)) and joint.nq == joint.nv:
            for k, q in enumerate(self.m.joints[name].coordinates):
                files = self.names[name]
                file, axis = (files[k], "axis") if len(files) == 2 else (files[0], ("axis", "axis2")[k])
                self.axes[q] = file, axis, float(self.drawing.position[name][k])

    # --- joints ---------------------------------------------------------------------------------------------------

    def _free(self, a: Attachment) -> None:
        link = self.w.link[a.child.body.name]
        what = f"joint '{a.name}'"
        if a.parent.body is not self.m.ground or a.name != link:
            self.w.note(what, f"is a free joint, which SDF leaves out; it is read again as '{link}', from the ground")
        here, T = self.drawing.numbers(a.child.T), self.drawing.place[a.child.body.name]
        if not _same(here, IDENTITY) or not _same(T, self.drawing.in_world(a.parent)):
            self.w.note(what, "is read again with the frame of its link, measured from where the link is drawn")
        if any(self.w.number(getattr(a, k)).any() for k in ("stiffness", "damping")):
            self.w.note(what, "has a spring or damper, which cannot be said in SDF")

    def _any(self, name: str, joint: Joint, a: Frame, b: Frame, given: dict[str, Any], *, cut: bool) -> None:
        parent, child = self.w.link[a.body.name], self.w.in_model(b.body)
        q, at_child = self.drawing.position[name], self.drawing.numbers(b.T)
        if isinstance(joint, Planar):
            self._planar(name, joint, a, b, given, cut=cut)
        elif isinstance(joint, Cylindrical):
            self._cylindrical(name, joint, a, parent, child, at_child, given)
        else:
            self._joint(self.names[name][0], name, joint, (parent, child), at_child, q, given, cut=cut)

    def _joint(
        self,
        file_name: str,
        name: str,
        joint: Joint,
        ends: tuple[str, str],
        at_child: Transform,
        q: np.ndarray,
        given: dict[str, Any],
        *,
        cut: bool,
    ) -> None:
        out, what = self.out, f"joint '{name}'"
        out.open("joint", name=file_name, type=TYPES.get(type(joint), "fixed"))
        out.pose(at_child)
        out.one("parent", ends[0])
        out.one("child", ends[1])
        if isinstance(joint, Screw):
            out.one("screw_thread_pitch", 2 * np.pi * self.w.number([joint.pitch]))
        for k, (tag, direction) in enumerate(_axes(joint, q).items()):
            self._axis(file_name, tag, direction, {key: x[k] for key, x in given.items()}, float(q[k]))
        if given and given["armature"].any():
            if joint.nv == 1:
                out.one("drake:rotor_inertia", given["armature"])
            else:
                self.w.note(what, "has an armature, which SDF cannot say for a joint of this type")
        if given and isinstance(joint, Spherical) and (given["stiffness"].any() or given["damping"].any()):
            self.w.note(what, "has a spring or damper, which SDF cannot say for a ball joint")
        if cut:
            out.one("dalembert:cut", "true")
        if len(q) and not np.array_equal(q, joint.neutral()):
            out.one("dalembert:position", q)
        out.close()

    def _axis(self, joint: str, tag: str, direction: np.ndarray, given: dict[str, Any], q: float) -> None:
        out = self.out
        out.open(tag)
        out.one("xyz", direction)
        if given and np.isfinite(given["limits"]).any():
            out.open("limit")
            for bound, value in zip(("lower", "upper"), given["limits"] - q):
                if np.isfinite(value):
                    out.one(bound, value)
            out.close()
        if given and (given["stiffness"] or given["damping"] or given["friction"]):
            out.open("dynamics")
            out.one("damping", given["damping"])
            if given["friction"]:
                out.one("friction", given["friction"])
            out.one("spring_stiffness", given["stiffness"])
            out.one("spring_reference", given["rest"] - q)
            out.close()
        for follower, (leader, multiplier, offset) in self.mimics.items():
            if self.axes[follower][:2] == (joint, tag):
                out.open("mimic", joint=self.axes[leader][0], axis=self.axes[leader][1])
                out.one("multiplier", multiplier)
                out.one("offset", offset)
                out.one("reference", 0.0)
                out.close()
        out.close()

    def _cylindrical(
        self, name: str, joint: Joint, a: Frame, parent: str, child: str, at_child: Transform, given: dict[str, Any]
    ) -> None:
        """A turn and a slide in series, with a massless link between; which joint is cut is the reader's choice."""
        q = self.drawing.position[name]
        between = self.w.name(f"{name}_between", f"joint '{name}'")
        self.out.open("link", name=between)
        self.out.pose(self.drawing.in_world(a) @ displaced(joint, [q[0], 0.0]))
        self.out.open("inertial")
        self.out.one("mass", 0.0)
        self.out.open("inertia")
        for moment in ("ixx", "iyy", "izz"):
            self.out.one(moment, 0.0)
        for _ in range(3):
            self.out.close()
        axis = joint.axis  # type: ignore[attr-defined]
        parts = ((Revolute(axis), (parent, between), IDENTITY), (Prismatic(axis), (between, child), at_child))
        for k, (part, ends, at) in enumerate(parts):
            own = {key: x[k : k + 1] for key, x in given.items()}
            self._joint(self.names[name][k], name, part, ends, at, q[k : k + 1], own, cut=False)

    def _planar(self, name: str, joint: Joint, a: Frame, b: Frame, given: dict[str, Any], *, cut: bool) -> None:
        """A joint of Drake between two frames."""
        out, what = self.out, f"joint '{name}'"
        C = Transform(joint.orientation.astype(float), np.zeros(3))
        frames = []
        for which, frame in (("parent", a), ("child", b)):
            frames.append(self.w.name(f"{name}_{which}", what))
            link = self.w.in_model(frame.body)
            out.open("frame", name=frames[-1], attached_to=link)
            out.pose(self.drawing.numbers(frame.T) @ C)
            out.close()
        out.open("drake:joint", name=self.names[name][0], type="planar")
        out.one("drake:parent", frames[0])
        out.one("drake:child", frames[1])
        out.one("drake:damping", given["damping"] if given else np.zeros(3))  # Drake asks for it
        if cut:
            out.one("dalembert:cut", "true")
        out.close()
        if given and (given["stiffness"].any() or np.isfinite(given["limits"]).any() or given["armature"].any()):
            self.w.note(what, "has springs, limits or an armature, which SDF cannot say for a planar joint")

    # --- couplings ------------------------------------------------------------------------------------------------

    def _coupling(self, c: Expressions) -> None:
        """q = multiplier q_leader + offset on an axis of SDF, of those that tie two coordinates."""
        assert c.recipe is not None
        _, given, rest, _ = c.recipe[1]
        terms = {q: float(self.w.number([x])[0]) for q, x in given.items()}
        offset = float(self.w.number([rest])[0])
        free = [q for q in terms if q in self.axes and q not in self.mimics and terms[q]]
        if len(terms) != 2 or not free or not set(terms) <= set(self.axes):
            self.w.note(f"coupling '{c.name}'", "cannot be said in SDF, where one axis follows one other")
            return
        follower = min(free, key=lambda q: abs(terms[q] - 1.0))
        leader = next(q for q in terms if q != follower)
        m = -terms[leader] / terms[follower]
        shift = m * self.axes[leader][2] - self.axes[follower][2]
        self.mimics[follower] = leader, m, offset / terms[follower] + shift
        new = f"{self.axes[follower][0]} mimic"
        if new != c.name:
            self.w.note(f"coupling '{c.name}'", f"has no name in SDF; it is read again as '{new}'")


def _axes(joint: Joint, q: np.ndarray) -> dict[str, np.ndarray]:
    """Directions of a joint's axes in its child frame, as drawn at q."""
    if isinstance(joint, Universal):
        first, second = joint.axes
        back = displaced(joint, [0.0, q[1]]).R.T
        return {"axis": back @ first, "axis2": second}
    return {"axis": joint.axis} if isinstance(joint, (Revolute, Prismatic, Screw)) else {}


def _same(S: Transform, T: Transform) -> bool:
    return bool(np.allclose(S.R, T.R, rtol=0, atol=1e-14) and np.allclose(S.p, T.p, rtol=0, atol=1e-14))
