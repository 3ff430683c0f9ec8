"""Writing SDF 1.11: links, joints and the joints that close loops; what SDF cannot say is listed.

Elements of our own keep what SDF has no word for, and other readers pass over: `dalembert:cut` marks a joint that
closes a loop, `dalembert:position` holds the coordinates that a joint has as drawn, where they are not zero, and
`dalembert:ground` marks a link that is fixed to the world and stands for it where SDF does not take the world itself:
as the child of a joint, and under frames in a model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.links import TakenNames
from dalembert.formats.saving import save
from dalembert.formats.sdf.drawing import DrawnPlaces
from dalembert.formats.sdf.joints_written import WrittenJoints
from dalembert.mechanism.body import Body
from dalembert.mechanism.forces import Force, Wrench
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform, matrix_quaternion
from dalembert.symbols import all_numbers, array


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism as SDF 1.11; gives what SDF cannot say.

    mechanism: what to write; its parameters are written as the numbers they are by default. path: the file, which is
    replaced.

    >>> import dalembert as da, pathlib, tempfile
    >>> from dalembert.formats.sdf.writer import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = write(da.zoo.four_bar(), pathlib.Path(folder, "four_bar.sdf"))
    ...     da.read_sdf(pathlib.Path(folder, "four_bar.sdf"))
    <mechanism 'four-bar': 3 bodies, 3 joints>
    """
    where = checks.path(path, "path", error=ModelFileError)
    writer = SdfWriter(mechanism, where.name)
    text = writer.text()
    save(where, text)
    return writer.notes


class Lines:
    """Elements of XML as indented lines, numbers to their last digit."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stack: list[str] = []

    def open(self, tag: str, **attributes: str) -> None:
        """Begin an element."""
        given = "".join(f" {k.replace('__', ':')}={quoteattr(v)}" for k, v in attributes.items() if v)
        self.lines.append("  " * len(self.stack) + f"<{tag}{given}>")
        self.stack.append(tag)

    def close(self) -> None:
        """End the innermost element."""
        tag = self.stack.pop()
        self.lines.append("  " * len(self.stack) + f"</{tag}>")

    def one(self, tag: str, value: Any, **attributes: str) -> None:
        """An element with a text or numbers in it."""
        self.open(tag, **attributes)
        self.stack.pop()
        text = value if isinstance(value, str) else " ".join(repr(float(x) + 0.0) for x in np.atleast_1d(value))
        self.lines[-1] += f"{escape(text)}</{tag}>"

    def pose(self, T: Transform, relative_to: str = "") -> None:
        """A <pose>, unless it is none."""
        if relative_to or T.p.any() or not np.array_equal(T.R, np.eye(3)):
            w, x, y, z = matrix_quaternion(T.R)
            self.one("pose", [*T.p, x, y, z, w], rotation_format="quat_xyzw", relative_to=relative_to)


class SdfWriter:
    """One mechanism on its way to a file."""

    def __init__(self, m: Mechanism, file: str):
        self.m, self.file = m, file
        self.notes: list[Note] = []
        self.out = Lines()
        self.names = TakenNames("world")
        self.link = {b: self.name(b, f"body '{b}'") for b in m.bodies if b != m.ground.name}
        self.link[m.ground.name] = "world"
        self.ground = ""  # the link that stands for the ground, where one is needed
        self.drawing = DrawnPlaces(m, self.note)
        self.weightless = {f.frame.body.name for f in m.forces.values() if isinstance(f, Wrench) and self._lifts(f)}

    def note(self, what: str, text: str) -> None:
        """Say that something is not in the file as it is in the mechanism."""
        self.notes.append(Note(self.file, 0, what, text))

    def text(self) -> str:
        m, out = self.m, self.out
        g = self.number(m.gravity)
        world = not np.array_equal(g, [0.0, 0.0, -9.81]) or bool(m.ground.shapes)
        grounded = {n: f for n, f in m.frames.items() if f.body is m.ground}
        title = _clean(m.name)
        out.open("sdf", version="1.11", xmlns__dalembert="urn:dalembert", xmlns__drake="drake.mit.edu")
        if world or grounded:
            out.open("world", name=title)
            out.one("gravity", g)
            self._frames(grounded)
            self._ground(title)
        out.open("model", name=title)
        for body in m.bodies.values():
            if body is not m.ground:
                self._link(body)
        joints = WrittenJoints(self)
        joints.write()
        self._frames({n: f for n, f in m.frames.items() if f.body is not m.ground})
        while out.stack:
            out.close()
        self._not_said(joints.said)
        return '<?xml version="1.0"?>\n' + "\n".join(out.lines) + "\n"

    # --- links and frames -----------------------------------------------------------------------------------------

    def _link(self, body: Body) -> None:
        out = self.out
        out.open("link", name=self.link[body.name])
        out.pose(self.drawing.place[body.name])
        mass, com, J = (self.number(x) for x in ([body.mass], body.com, body.inertia))
        out.open("inertial")
        out.pose(Transform(np.eye(3), com))
        out.one("mass", mass)
        out.open("inertia")
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            out.one(f"i{'xyz'[i]}{'xyz'[j]}", J[i, j])
        out.close()
        out.close()
        if body.name in self.weightless:
            out.one("gravity", "false")
        self._shapes(body.numeric_shapes())
        out.close()

    def _ground(self, title: str) -> None:
        """Shapes of the ground, as a static model."""
        if self.m.ground.shapes:
            self.out.open("model", name=f"{title}_ground")
            self.out.one("static", "true")
            self.out.open("link", name="link")
            self._shapes(self.m.ground.numeric_shapes())
            self.out.close()
            self.out.close()

    def _frames(self, frames: dict[str, Any]) -> None:
        for name, frame in frames.items():
            link = self.link[frame.body.name]
            self.out.open("frame", name=self.name(name, f"frame '{name}'"), attached_to=link)
            self.out.pose(self.drawing.numbers(frame.T))
            self.out.close()

    def _shapes(self, shapes: Iterable[Shape]) -> None:
        out, names = self.out, TakenNames()
        for shape in (given.simpler() for given in shapes):
            out.open("visual", name=names.fresh(_clean(shape.name) or "visual"))
            out.pose(shape.pose)
            out.open("geometry")
            out.open(shape.kind)
            for tag, value in _geometry(shape).items():
                out.one(tag, value)
            out.close()
            out.close()
            if shape.colour is not None:
                out.open("material")
                out.one("diffuse", shape.colour)
                out.close()
            out.close()

    def in_model(self, body: Body) -> str:
        """The link of a body; for the ground one that is fixed to the world, written where it is first needed."""
        if body is not self.m.ground:
            return self.link[body.name]
        if not self.ground:
            self.ground = self.names.fresh(self.m.ground.name)
            self.out.open("link", name=self.ground)
            self.out.one("dalembert:ground", "true")
            self.out.close()
            self.out.open("joint", name=self.names.fresh(f"{self.ground}_fixed"), type="fixed")
            self.out.one("parent", "world")
            self.out.one("child", self.ground)
            self.out.close()
        return self.ground

    # --- what is left over ----------------------------------------------------------------------------------------

    def _lifts(self, f: Force) -> bool:
        """Whether a force is what holds a body up against gravity: SDF says it by <gravity>false</gravity>."""
        if not isinstance(f, Wrench) or f.axes != "world" or callable(f.force) or callable(f.moment):
            return False
        if not all_numbers(array(f.force)) or not all_numbers(array(f.moment)):
            return False
        body = f.frame.body
        up = -float(self.number([body.mass])[0]) * self.number(self.m.gravity)
        at_com = np.allclose(self.number(f.frame.T.p), self.number(body.com), rtol=0, atol=1e-14)
        return at_com and np.array_equal(array(f.force).astype(float), up) and not array(f.moment).astype(float).any()

    def _not_said(self, said: set[str]) -> None:
        """List what the file does not hold; `said` are forces that are in it."""
        m = self.m
        for name in m.parameters.values:
            self.note(f"parameter '{name}'", "is written as the number it is by default")
        for name, f in m.forces.items():
            if name not in said and not self._lifts(f):
                self.note(f"{f.kind} '{name}'", "cannot be said in SDF")
        driven = {f.name for f in m.forces.values() if f.kind == "motor"}
        for name in m.inputs:
            if name not in driven:
                self.note(f"input '{name}'", "cannot be said in SDF")
        for name in m.states:
            self.note(f"state '{name}'", "cannot be said in SDF")
        for name, contact in m.contacts.items():
            self.note(f"{contact.kind} '{name}'", "cannot be said in SDF")
        if any(body.colliders for body in m.bodies.values()):
            self.note("colliders", "shapes that may touch are not written")
        for b, body in m.bodies.items():
            if body is not m.ground and float(self.number([body.mass])[0]) == 0.0:
                self.note(f"body '{b}'", "has no mass, which Gazebo refuses")

    def number(self, x: Any) -> np.ndarray:
        """Numbers of the description with its parameters at their defaults."""
        return self.m.parameters.number(array(x), "the description")

    def name(self, name: str, what: str) -> str:
        """A name that SDF takes and nothing else in the model has."""
        new = _clean(name)
        if what.startswith("joint") and new in self.names.count:
            new += "_joint"
        new = self.names.fresh(new)
        if new != name:
            self.note(what, f"is called '{new}' in SDF, where names differ in a model and '::' is kept for nested ones")
        return new


def _geometry(shape: Shape) -> dict[str, Any]:
    s = shape.size
    if shape.kind == "mesh":
        return {"uri": shape.file or "", "scale": shape.scale}
    if shape.kind == "plane":
        return {"normal": (0.0, 0.0, 1.0), **({"size": s} if s else {})}
    tags = {"box": ("size", s), "ellipsoid": ("radii", s), "sphere": ("radius", s)}
    return dict([tags[shape.kind]]) if shape.kind in tags else {"radius": s[0], "length": s[1]}


def _clean(name: str) -> str:
    """A name without what XML or SDF cannot hold."""
    name = "".join(c if c.isprintable() or c == " " else "_" for c in name).strip().replace("::", "__")
    return f"{name}_" if name.startswith("__") and name.endswith("__") else name
