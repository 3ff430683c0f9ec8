"""Elements of a URDF beside its tree: loops, couplings, motors; and the YAML file of loops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import article
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import LoopJoint, Rod
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.forces import JointForce, Spring
from dalembert.mechanism.joints import Fixed, Free, Planar, Screw, Spherical, Universal
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform

if TYPE_CHECKING:
    from dalembert.formats.urdf.writer import UrdfWriter


class Ties:
    """Sorts the constraints and forces of a mechanism by how URDF says them."""

    def __init__(self, writer: UrdfWriter):
        self.writer, self.m = writer, writer.m
        self.kinds: dict[str, str] = {}  # joints that the YAML file gives another type
        self.pairs: list[tuple[str, str, str]] = []  # frame, frame, 3d or 6d
        self.mimics: dict[str, dict[str, Any]] = {}
        for c in self.m.constraints.values():
            if isinstance(c, Expressions) and c.kind == "coupling":
                self._couple(c)

    def write(self) -> None:
        """Write loops, rods, springs and motors; note what cannot be said."""
        for c in self.m.constraints.values():
            if isinstance(c, LoopJoint):
                self._loop(c)
            elif isinstance(c, Rod):
                self._distance(c.name, (c.a, c.b), c.length, None, None)
            elif not (isinstance(c, Expressions) and c.kind == "coupling"):
                self.writer.note(f"constraint '{c.name}'", f"{article(c.kind)} {c.kind} cannot be said")
        for f in self.m.forces.values():
            if isinstance(f, JointForce) and f.kind == "motor":
                self._motor(f)
            elif isinstance(f, Spring) and not f.slack:
                self._distance(f.name, f.points, f.rest_length, f.stiffness, f.damping)
            else:
                self.writer.note(f"force '{f.name}'", f"{article(f.kind)} {f.kind} cannot be said")
        driven = {f.name for f in self.m.forces.values() if isinstance(f, JointForce) and f.kind == "motor"}
        for name in self.m.inputs:
            if name not in driven:
                self.writer.note(f"input '{name}'", "inputs of other forces than motors cannot be said")

    # --- couplings ----------------------------------------------------------------------------------------------------

    def _couple(self, c: Expressions) -> None:
        assert c.recipe is not None
        _, terms, offset, _ = c.recipe[1]
        numbers = {q: float(self.writer.numbers([x])[0]) for q, x in terms.items()}
        rest = float(self.writer.numbers([offset])[0])
        follows = sorted((q for q in numbers if q not in self.mimics), key=lambda q: numbers[q] != 1.0)
        follows = [q for q in follows if numbers[q] and q in self.m.joints]
        if len(numbers) != 2 or not follows or not all(q in self.m.joints for q in numbers):
            self.writer.note(f"constraint '{c.name}'", "only couplings of two joints, one a follower, can be said")
            return
        q = follows[0]
        other = next(k for k in numbers if k != q)
        usual = f"{q}_mimic"
        self.mimics[q] = {
            "joint": other,
            "multiplier": -numbers[other] / numbers[q],
            "offset": rest / numbers[q],
            "name": None if c.name == usual else c.name,
        }

    def mimic(self, joint: str) -> None:
        """The <mimic> of a joint, where it has one."""
        if joint in self.mimics:
            self.writer.text.one("mimic", **self.mimics[joint])

    # --- loops --------------------------------------------------------------------------------------------------------

    def _loop(self, c: LoopJoint) -> None:
        joint, w = c.joint, self.writer
        if isinstance(joint, (Spherical, Fixed)):
            names = self._ends(c)
            self.pairs.append((names[0], names[1], "3d" if isinstance(joint, Spherical) else "6d"))
            return
        turn = Transform(joint.orientation.astype(float), np.zeros(3))
        axis = None
        if isinstance(joint, AxisJoint):
            axis, turn = w.numbers(joint.axis), Transform(np.eye(3), np.zeros(3))
        w.text.open("loop", name=c.name, type=joint.kind)
        for tag, frame in (("predecessor", c.a), ("successor", c.b)):
            link, place = w.at(frame.body, frame.T @ turn)
            w.text.open(tag, link=link)
            w.text.origin(place)
            w.text.close()
        if axis is not None:
            w.text.one("axis", xyz=axis)
        if isinstance(joint, Screw):
            w.text.one("drake:screw_thread_pitch", value=float(w.numbers([joint.pitch])[0]) * 2 * np.pi)
        w.text.close()
        about = " (about its own x and y)" if isinstance(joint, Universal) else ""
        w.note(f"loop '{c.name}'", f"is written as <loop> of URDF+{about}, which few readers know")

    def _ends(self, c: LoopJoint) -> list[str]:
        """Links at the two sides of a loop, NAME_A and NAME_B: such frames of the mechanism, or new ones."""
        w, gap = self.writer, "_"
        names = [f"{c.name}{gap}{side}" for side in "AB"]
        known = [self.m.frames.get(n) for n in names]
        if all(k is not None and _same(k, frame) for k, frame in zip(known, (c.a, c.b))):
            return names
        while not w.links.isdisjoint(names):  # the reader leaves out underscores before A and B
            gap += "_"
            names = [f"{c.name}{gap}{side}" for side in "AB"]
        w.links.update(names)
        for name, frame in zip(names, (c.a, c.b)):
            w.fixed_link(name, frame.body, frame.T)
        return names

    def _distance(self, name: str, points: Any, length: Any, stiffness: Any, damping: Any) -> None:
        w, tag = self.writer, "drake:distance_constraint"
        if points[0].body is points[1].body:
            w.note(f"'{name}'", "joins two points of one body, which moves nothing; it is not written")
            return
        if stiffness is not None and float(w.numbers([length])[0]) <= 0.0:
            w.note(f"'{name}'", f"is a spring of no length at rest, which <{tag}> cannot say")
            return
        w.text.open(tag, name=name)
        for side, at, point in zip("AB", ("AP", "BQ"), points):
            link, place = w.at(point.body, point.T)
            w.text.one(f"{tag}_body_{side}", name=link)
            w.text.one(f"{tag}_p_{at}", value=place.p)
        for what, value in (("distance", length), ("stiffness", stiffness), ("damping", damping)):
            if value is not None:
                w.text.one(f"{tag}_{what}", value=float(w.numbers([value])[0]))
        w.text.close()
        w.note(f"'{name}'", f"is written as <{tag}>, which Drake and this library know")

    # --- motors -------------------------------------------------------------------------------------------------------

    def _motor(self, f: JointForce) -> None:
        text, own = self.writer.text, isinstance(f.joint.joint, (Free, Planar))
        if own:  # Drake refuses transmissions on them
            kind = f.joint.joint.kind
            self.writer.note(
                f"motor '{f.name}'", f"drives a {kind} joint, which no other reader than this library takes"
            )
        text.open("dalembert:transmission" if own else "transmission", name=f"{f.name}_transmission")
        text.lines.append("    <type>transmission_interface/SimpleTransmission</type>")
        text.one("joint", name=f.joint.name)
        text.one("actuator", name=f.name)
        text.close()

    def sidecar(self) -> str:
        """The YAML file of loops and joint types; '' where there is nothing to say."""
        if not self.pairs and not self.kinds:
            return ""
        motors = [f.joint.name for f in self.m.forces.values() if isinstance(f, JointForce) and f.kind == "motor"]
        entries: dict[str, Any] = {
            "closed_loop": [[a, b] for a, b, _ in self.pairs],
            "type": [k for *_, k in self.pairs],
        }
        if motors:
            entries["name_mot"] = motors
        if self.kinds:
            entries |= {"joint_name": list(self.kinds), "joint_type": list(self.kinds.values())}
        return "".join(f"{key}: {json.dumps(value)}\n" for key, value in entries.items())


def _same(a: Frame, b: Frame) -> bool:
    return a.body is b.body and np.array_equal(a.T.R, b.T.R) and np.array_equal(a.T.p, b.T.p)
