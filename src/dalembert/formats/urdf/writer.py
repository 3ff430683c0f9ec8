"""Writing URDF: the tree of a mechanism, and its loops in the ways that `read_urdf` reads.

Loops closed by a ball or rigidly go into a YAML file beside the URDF (Gepetto's convention), those by other joints into
`<loop>` of URDF+, rods and springs into Drake's `<drake:distance_constraint>`, couplings of two joints into `<mimic>`.
What URDF cannot say, or few readers of it understand, is listed.

Elements of our own, which other readers pass over, keep what they would refuse the file for: `<dalembert:loops>` names
the file of loops, `<dalembert:dynamics>` has numbers for each velocity of a joint, `<dalembert:frame>` is where the
frame of a body is in its link.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.saving import save
from dalembert.formats.urdf import sidecar
from dalembert.formats.urdf.joints import shortest_turn
from dalembert.formats.urdf.text import Text
from dalembert.formats.urdf.ties import Ties
from dalembert.mechanism.body import Body
from dalembert.mechanism.contacts import Friction
from dalembert.mechanism.joints import Cylindrical, Fixed, Free, Joint, Planar, Prismatic, Revolute, Screw, Spherical
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note
from dalembert.spatial import Transform, congruence

ENDLESS = 1e30  # URDF asks for limits of prismatic joints


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism as URDF, and its loops into a YAML file beside it; gives what URDF cannot say.

    mechanism: what to write; its parameters are written as the numbers they are by default. path: the file, which is
    replaced; the file of loops has the same name with the suffix .loops.yaml, and is named in the URDF.

    >>> import dalembert as da, pathlib, tempfile
    >>> from dalembert.formats.urdf import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = write(da.zoo.four_bar(), pathlib.Path(folder, "four_bar.urdf"))
    ...     m = da.formats.urdf.read_urdf(pathlib.Path(folder, "four_bar.urdf"))
    >>> m
    <mechanism 'four-bar': 3 bodies, 3 joints>
    """
    where = checks.path(path, "path", error=ModelFileError)
    writer = UrdfWriter(mechanism, where)
    text, loops, beside = writer.robot(), writer.ties.sidecar(), sidecar.beside(where)
    if loops:
        sidecar.check_free(where)
        save(beside, loops)
    elif beside.is_file() and sidecar.holds_loops(beside):
        beside.unlink()  # loops of an older mechanism
    save(where, text)
    return writer.notes


class UrdfWriter:
    """A mechanism as the text of a URDF file, with notes on what URDF cannot say."""

    def __init__(self, m: Mechanism, path: Path):
        self.m, self.path, self.notes, self.text = m, path, list[Note](), Text()
        self.links = {*m.bodies, *m.frames} - {"ground"} | {"world"}
        self.link = {name: self._link_name(name, f"body '{name}'") for name in m.bodies} | {"ground": "world"}
        self.moved: dict[str, Transform] = {}  # of each body, the place of its link in its frame
        self.ties = Ties(self)

    def note(self, what: str, text: str) -> None:
        self.notes.append(Note(self.path.name, 0, what, text))

    def robot(self) -> str:
        m, text = self.m, self.text
        if m.parameters.symbols:
            self.note("parameters", f"{', '.join(m.parameters.symbols)} are written as the numbers they are by default")
        if not np.array_equal(self.numbers(m.gravity), [0.0, 0.0, -9.81]):
            self.note("gravity", f"{self.numbers(m.gravity).tolist()} is not said; readers take (0, 0, -9.81)")
        for name in m.states:
            self.note(f"state '{name}'", "named states cannot be said")
        for name, contact in m.contacts.items():
            self.note(f"{contact.kind} '{name}'", "cannot be said in URDF")
        if any(body.colliders for body in m.bodies.values()):
            self.note("colliders", "shapes that may touch are not written")
        for a in m.joints.values():
            self.moved[a.child.body.name] = self._link_place(a)
        text.open("robot", name=m.name, xmlns__drake="http://drake.mit.edu", xmlns__dalembert="urn:dalembert")
        for body in m.bodies.values():
            self._link(body)
        for a in m.joints.values():
            self._joint(a)
        for name, frame in m.frames.items():
            here, place = self.at(frame.body, frame.T)
            if (name, here) != ("world", "world") or _moved(place):
                self.fixed_link(self._link_name(name, f"frame '{name}'"), frame.body, frame.T)
        self.ties.write()
        self._name_loops()
        text.close()
        return str(text)

    def _name_loops(self) -> None:
        """The file of loops, by name; that there is none, where a reader would find one of something else."""
        if self.ties.sidecar():
            name = sidecar.beside(self.path).name
            self.text.one("dalembert:loops", file=name)
            self.note("loops", f"are in '{name}'; Gepetto's readers look for '{self.path.with_suffix('.yaml').name}'")
        elif sidecar.find(self.path, sidecar.SUFFIXES[1:]) is not None:
            self.text.one("dalembert:loops")

    def _link_name(self, name: str, what: str) -> str:
        """The name of a link; 'world' is that of the ground."""
        if name != "world":
            return name
        new = self.fresh("world_", self.links)
        self.note(what, f"is called '{new}' in URDF, where 'world' is the ground")
        return new

    # --- links --------------------------------------------------------------------------------------------------------

    def _link_place(self, a: Attachment) -> Transform:
        """A link's frame is its joint's; where a body's is not, the link has the joint's and the body's is noted."""
        T = Transform(self.numbers(a.child.T.R), self.numbers(a.child.T.p))
        T = T @ self.turn(a.joint)
        if _moved(T):
            self.note(
                f"body '{a.child.body.name}'",
                "its link has the frame of its joint, as URDF wants; readers other than this library take that as its "
                "frame",
            )
        return T

    @staticmethod
    def turn(joint: Joint) -> Transform:
        """How the frame of a joint is turned in URDF, which gives some joints their own axes and no others."""
        R = joint.orientation.astype(float)
        if joint.kind == "planar":
            same = np.array_equal(R, shortest_turn(joint.axis))  # type: ignore[attr-defined]
        else:
            same = joint.kind != "universal" or UrdfWriter.letters(joint) is not None
        return Transform(np.eye(3) if same else R, np.zeros(3))

    def at(self, body: Body, T: Transform) -> tuple[str, Transform]:
        """The link of a body, and a place of the body in it."""
        T = Transform(self.numbers(T.R), self.numbers(T.p))
        return self.link[body.name], self.moved[body.name].inverse() @ T if body.name in self.moved else T

    def _link(self, body: Body) -> None:
        text, T = self.text, self.moved.get(body.name)
        text.open("link", name=self.link[body.name])
        if body is not self.m.ground:
            mass, com = float(self.numbers([body.mass])[0]), self.numbers(body.com)
            J = self.numbers(body.inertia)
            if T is not None:
                com, J = T.R.T @ (com - T.p), J if np.array_equal(T.R, np.eye(3)) else congruence(T.R.T, J)
            if mass or J.any():
                text.open("inertial")
                text.origin(Transform(np.eye(3), com))
                text.one("mass", value=mass)
                text.one("inertia", **{f"i{'xyz'[i]}{'xyz'[j]}": J[i, j] for i in range(3) for j in range(i, 3)})
                text.close()
        for shape in body.numeric_shapes():
            self._shape(shape.simpler(), T)
        if T is not None:
            text.origin(T.inverse(), "dalembert:frame")
        text.close()

    def _shape(self, shape: Any, T: Transform | None) -> None:
        text, size = self.text, shape.size
        if shape.kind == "plane":
            self.note(f"plane '{shape.name}'", "planes cannot be shown")
            return
        text.open("visual", name=shape.name or None)
        text.origin(shape.pose if T is None else T.inverse() @ shape.pose)
        text.open("geometry")
        if shape.kind == "box":
            text.one("box", size=size)
        elif shape.kind == "sphere":
            text.one("sphere", radius=size[0])
        elif shape.kind in ("cylinder", "capsule"):
            text.one(shape.kind if shape.kind == "cylinder" else "drake:capsule", radius=size[0], length=size[1])
        elif shape.kind == "ellipsoid":
            text.one("drake:ellipsoid", a=size[0], b=size[1], c=size[2])
        else:
            scale = None if shape.scale == (1.0, 1.0, 1.0) else shape.scale
            text.one("mesh", filename=shape.file, scale=scale)
        text.close()
        if shape.colour is not None:
            text.open("material", name=f"rgba {' '.join(f'{c:g}' for c in shape.colour)}")
            text.one("color", rgba=shape.colour)
            text.close()
        text.close()

    def fixed_link(self, name: str, body: Body, T: Transform) -> None:
        """A link without mass at a place of a body: how URDF says a frame."""
        parent, place = self.at(body, T)
        self.text.one("link", name=name)
        self.text.open("joint", name=self.fresh(f"{name}_fixed", set(self.m.joints)), type="fixed")
        self.text.one("parent", link=parent)
        self.text.one("child", link=name)
        self.text.origin(place)
        self.text.close()

    # --- joints -------------------------------------------------------------------------------------------------------

    def _joint(self, a: Attachment) -> None:
        text, low_high = self.text, self.numbers(a.limits)
        limited = a.joint.nv == 1 and bool(np.isfinite(low_high).any())
        kind = self._kind(a, limited)
        parent, place = self.at(a.parent.body, a.parent.T)
        turn = self.turn(a.joint)
        place = place @ turn
        text.open("joint", name=a.name, type=kind)
        text.one("parent", link=parent)
        text.one("child", link=self.link[a.child.body.name])
        text.origin(place)
        axis = getattr(a.joint, "axis", None)
        if axis is not None:
            text.one("axis", xyz=turn.R.T @ self.numbers(axis))
        if isinstance(a.joint, Screw):
            text.one("drake:screw_thread_pitch", value=float(self.numbers([a.joint.pitch])[0]) * 2 * np.pi)
        if limited or isinstance(a.joint, Prismatic):
            low, high = np.clip(low_high[0], -ENDLESS, ENDLESS)
            text.one("limit", lower=low, upper=high, effort=ENDLESS, velocity=ENDLESS)
        elif a.joint.nv > 1 and np.isfinite(low_high).any():
            self.note(f"joint '{a.name}'", f"limits of a {a.joint.kind} joint cannot be said")
        self._dynamics(a)
        self.ties.mimic(a.name)
        text.close()

    def _kind(self, a: Attachment, limited: bool) -> str:
        """The type of a joint in URDF; what the YAML file beside it makes of it."""
        joint, what = a.joint, f"joint '{a.name}'"
        if isinstance(joint, Revolute):
            return "revolute" if limited else "continuous"
        for kind, of in (("prismatic", Prismatic), ("fixed", Fixed), ("floating", Free), ("planar", Planar)):
            if isinstance(joint, of):
                return kind
        if isinstance(joint, Spherical):
            self.ties.kinds[a.name] = "SPHERICAL"
        elif joint.kind == "universal":
            self.ties.kinds[a.name] = f"UJOINT_{(self.letters(joint) or 'xy').upper()}"
        else:
            assert isinstance(joint, (Cylindrical, Screw))
            self.ties.kinds[a.name] = joint.kind.upper()
        self.note(
            what,
            f"is {joint.kind}, which the YAML file beside the URDF says; readers of the URDF alone take it as revolute",
        )
        return "revolute" if limited else "continuous"

    @staticmethod
    def letters(joint: Joint) -> str | None:
        """'xy' for a universal joint about coordinate axes, None for others."""
        found = ""
        for axis in joint.axes:  # type: ignore[attr-defined]
            if sorted(axis) != [0.0, 0.0, 1.0]:
                return None
            found += "xyz"[int(np.argmax(axis))]
        return found

    def _dynamics(self, a: Attachment) -> None:
        """<dynamics>, in which urdfdom wants one damping or friction, or our own where there are several numbers."""
        damping, stiffness, armature, rest = (self.numbers(x) for x in (a.damping, a.stiffness, a.armature, a.rest))
        what, given = f"joint '{a.name}'", dict[str, Any]()
        tag = "dalembert:dynamics" if isinstance(a.joint, Planar) or len(set(damping)) > 1 else "dynamics"
        if damping.any():
            given["damping"] = damping[0] if len(set(damping)) == 1 else damping
        dry = {0.0 if f is None else f.coulomb for f in a.friction}
        if any(f is not None and f != Friction(f.coulomb) for f in a.friction) or len(dry) > 1:
            self.note(what, "its law of dry friction cannot be said: URDF has one number, Coulomb's")
        elif any(dry):
            given["friction"] = dry.pop()
        if a.stops is not None:
            self.note(what, "its stops cannot be said; only the limits are written")
        if armature.any() and len(set(armature)) == 1:
            given["armature"] = armature[0]
            self.note(what, "its armature is an attribute of <dynamics> that few readers know")
        elif armature.any():
            self.note(what, "its armatures cannot be said")
        if stiffness.any() and a.joint.nv == 1:
            given |= {"spring_stiffness": stiffness[0], "spring_reference": rest[0]}
            self.note(what, "its spring is written as attributes of <dynamics> that few readers know")
        elif stiffness.any():
            self.note(what, "its springs cannot be said")
        if given and tag != "dynamics":
            self.note(what, f"its damping and friction are written as <{tag}>, which other readers do not know")
        if given:
            self.text.one(tag, **{"damping": 0.0, **given})

    # --- helpers ------------------------------------------------------------------------------------------------------

    def numbers(self, x: Any) -> np.ndarray:
        """Values with every parameter at its default, as floats."""
        return self.m.parameters.number(np.asarray(x, dtype=object), "a value")

    @staticmethod
    def fresh(name: str, taken: set[str]) -> str:
        k, new = 1, name
        while new in taken:
            k += 1
            new = f"{name}_{k}"
        taken.add(new)
        return new


def _moved(T: Transform) -> bool:
    return bool(T.p.any()) or not np.array_equal(T.R, np.eye(3))
