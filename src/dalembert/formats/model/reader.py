"""Reading the model format: from data with lines to a `Mechanism`, through the methods that users call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats import yaml
from dalembert.formats.data import kind
from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.constraints import add_constraint
from dalembert.formats.model.contacts import add_contact, friction, stops
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.forces import MAKE_INPUTS, add_force, limits, per_dof
from dalembert.formats.model.places import joint_of, place, point, point_on_axis, rotation
from dalembert.formats.model.scope import NUMBERS, Scope
from dalembert.mechanism import inertia
from dalembert.mechanism.body import Frame
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.shapes import Shape
from dalembert.mechanism.solids import Solid, solid
from dalembert.symbols import is_number

MOST_FAULTS = 20  # that one error tells after the first


def read_model(path: str | os.PathLike[str], *, strict: bool = False) -> Mechanism:
    """The mechanism of a file in the format of this library, YAML or JSON.

    path: the file; .json is read as JSON, all else as YAML, which needs the extra `yaml`. strict changes nothing: a key
    that is not known is always an error.
    """
    checks.flag(strict, "strict")
    where = checks.path(path, "path", error=ModelFileError)
    return _mechanism(FileNode(yaml.load(where), str(where), 1), where.stem)


def read_text(text: str, *, file: str = "text", json: bool = False) -> Mechanism:
    """The mechanism of a text in the format of this library.

    text: YAML, or JSON where json is True; file: the name that errors give.
    """
    return _mechanism(FileNode(yaml.loads(text, file, json_only=json), file, 1), "mechanism")


def _mechanism(node: FileNode, name: str) -> Mechanism:
    if not isinstance(node.value, dict) or "dalembert" not in node.value:
        raise node.error(
            f"is no model: it holds {kind(node.value)} without the key 'dalembert'; needed: "
            f"'dalembert: {words.VERSION}' at its head, the version of the format."
        )
    version = node.child("dalembert")
    if isinstance(version.value, bool) or version.value != words.VERSION:
        raise version.error(
            f"is {kind(version.value)}; needed: {words.VERSION}, the version of the format that this library reads."
        )
    node.keys(words.MODEL, "a model")
    if (units := node.get("units")) is not None and units.value != "SI":
        raise units.wrong("SI (kg, m, s, rad), the only units there are")
    given = node.get("name")
    return _ModelReader(node, Mechanism(given.text() if given else name)).read()


class _ModelReader:
    def __init__(self, node: FileNode, m: Mechanism):
        self.node, self.m = node, m
        self.scope = Scope(m)
        self.motors: dict[str, Any] = {}  # forces that make inputs
        self.faults: list[ModelFileError] = []
        self.lost: set[str] = set()  # elements with faults, of which others may miss something
        for name, force in self.each("forces"):
            if isinstance(force.value, dict) and force.value.get("type") in MAKE_INPUTS:
                self.motors[name] = force.value
        self.scope.inputs |= {*self.motors, *(name for name, _ in self.each("inputs"))}

    def read(self) -> Mechanism:
        node, m = self.node, self.m
        for name, value in self.each("parameters"):
            with self.element(name), value.here():
                m.add_parameter(name, value.numbers() if isinstance(value.value, list) else value.number())
        with self.element("let"):
            self.scope.define(node.get("let"), NUMBERS)
        if self.faults:
            self.tell()  # everything may depend on these
        if (gravity := node.get("gravity")) is not None:
            with self.element("gravity"), gravity.here():
                m.gravity = self.scope.vector(gravity)
        for name, value in self.each("points"):
            with self.element(name), value.here():
                m.add_points({name: self.scope.vector(value, 2 if len(value.items()) == 2 else 3)})
        for name, value in self.each("bodies"):
            self.whole(name, value, self.body)
        for name, value in self.each("frames"):
            with self.element(name), value.here():
                if not isinstance(value.value, dict):
                    raise value.wrong("a frame: {body: its name, at: [x, y, z], rotation: …}")
                m.add_frame(name, place(value, self.inner(value), words.FRAME))
        for name, value in self.each("joints"):
            self.whole(name, value, self.joint)
        self.scope.know_joints()
        self.forces()
        for name, value in self.each("contacts"):
            self.whole(name, value, self.described(add_contact))
        for name, value in self.each("states"):
            self.whole(name, value, self.state)
        self.tell()
        return m

    def forces(self) -> None:
        """Add inputs, forces and constraints; forces along loops come after those."""
        m, inputs, forces = self.m, self.inputs(), self.each("forces")
        kinds = {name: value.value.get("type") for name, value in forces if isinstance(value.value, dict)}
        late = [name for name in kinds if kinds[name] == "cut joint spring"]
        for name, value in forces:
            if name not in late:
                self.whole(name, value, self.described(add_force))
        m.inputs = {name: m.inputs[name] for name in dict.fromkeys([*inputs, *m.inputs]) if name in m.inputs}
        for name, value in self.each("constraints"):
            self.whole(name, value, self.described(add_constraint))
        for name, value in forces:
            if name in late:
                self.whole(name, value, self.described(add_force))
        m.forces = {name: m.forces[name] for name, _ in forces if name in m.forces}

    def described(self, add: Callable[[Mechanism, str, FileNode, Scope], None]) -> Callable[[str, FileNode], None]:
        """A function that adds an element of this mechanism."""
        return lambda name, node: add(self.m, name, node, self.scope)

    def whole(self, name: str, node: FileNode, add: Callable[[str, FileNode], None]) -> None:
        """Add an element. After a fault it is read again without the key that has it, so that all its faults are told.

        But for those of what the key was taken out of: they may follow from that.
        """
        known = len(self.faults)
        with self.element(name):
            add(name, node)
        if len(self.faults) == known:
            return
        out = at = self.faults[-1].at
        for _ in range(MOST_FAULTS):
            if not node.drop(at):
                return
            before = len(self.faults)
            with self.element(name):
                add(name, node)
                self.lost.discard(name)
                return
            if len(self.faults) == before:
                return
            at = self.faults[-1].at
            if out.startswith(at):
                self.faults.pop()
            else:
                out = at

    @contextmanager
    def element(self, name: str) -> Iterator[None]:
        """Keep the fault of an element, so that those of others are told with it; not what follows from another's."""
        try:
            yield
        except ModelFileError as fault:
            missed = [f"'{other}'" for other in self.lost - {name}] + [f"body '{name}'"] * (name in self.lost)
            if not any(text in str(fault) for text in missed):
                self.faults.append(fault)
            self.lost.add(name)

    def tell(self) -> None:
        """Raise the faults that were kept, as one error at the first."""
        if not self.faults:
            return
        first, *others = sorted(self.faults, key=lambda fault: fault.line)
        if not others:
            raise first
        told = "".join(f"\n{fault}" for fault in others[:MOST_FAULTS])
        more = f"\n… and {len(others) - MOST_FAULTS} more" if len(others) > MOST_FAULTS else ""
        error = ModelFileError(f"{first.text}{told}{more}", first.file, first.line)
        error.faults = (first, *others)
        raise error from first

    def each(self, section: str) -> list[tuple[str, FileNode]]:
        if self.node.table().get(section) is None:  # an empty section has no elements
            return []
        return list(self.node.child(section).named())

    def inner(self, node: FileNode) -> Scope:
        """The names of an element with definitions of parameters."""
        scope = Scope(self.m, self.scope)
        scope.define(node.get("let"), NUMBERS)
        return scope

    def inputs(self) -> list[str]:
        """Add the inputs that no motor makes; the names of all that are listed, in order."""
        names = []
        for name, size in self.each("inputs"):
            names.append(name)
            with self.element(name), size.here():
                self.input(name, size)
        return names

    def input(self, name: str, size: FileNode) -> None:
        n = size.whole()
        if name not in self.motors:
            self.m.add_input(name, n)
        elif (needed := self.input_size(self.motors[name])) not in (n, None):
            raise size.error(f"is {n}; needed: {needed}, as many as the {self.motors[name]['type']} '{name}' has.")

    def input_size(self, force: Any) -> int | None:
        """How many numbers the input of a motor, actuator or servo has; None: an error that comes later."""
        if force["type"] != "motor":
            return 2 if force.get("rate") is True else 1
        joint = self.m.joints.get(str(force.get("joint")))
        return None if joint is None else joint.joint.nv

    # --- bodies -------------------------------------------------------------------------------------------------

    def body(self, name: str, node: FileNode) -> None:
        if name == "ground":
            node.keys(words.GROUND, "the ground")
            self.shapes(self.m.ground, node, self.scope)
            return
        node.keys(words.BODY, "a body")
        scope = self.inner(node)
        mass, com, J, axes = (node.get(key) for key in ("mass", "com", "inertia", "inertia_axes"))
        physical, at, turn = (node.get(key) for key in ("physical", "at", "rotation"))
        m = 0.0 if mass is None else scope.value(mass)
        with node.here():
            body = self.m.add_body(
                name,
                m,
                (0.0, 0.0, 0.0) if com is None else scope.vector(com),
                (0.0, 0.0, 0.0) if J is None else _inertia(J, m, scope),
                inertia_axes=None if axes is None else rotation(axes, scope),
                physical=True if physical is None else physical.flag(),
                solid=self.solid(node, scope),
                at=None if at is None else point(at, scope),
                rotation=None if turn is None else rotation(turn, scope),
            )
        self.shapes(body, node, scope)

    def solid(self, node: FileNode, scope: Scope) -> Solid | None:
        """The sum of the solids of a body."""
        found = node.get("solids")
        total: Solid | None = None
        for item in [] if found is None else found.items():
            item.keys(words.WEIGHED, "a solid")
            kind_ = item.child("type").choice(words.WEIGHED_KINDS)
            size, at, turn, colour, outline = (item.get(k) for k in ("size", "at", "rotation", "colour", "outline"))
            assert size is not None
            sizes: Any = scope.values(size.items()) if isinstance(size.value, list) else scope.value(size)
            if (outline is None) == (kind_ == "prism"):
                raise item.error("has no 'outline', or one that only a prism has; needed: corners [x, y] of a prism.")
            if outline is not None:
                sizes = [scope.vector(corner, 2) for corner in outline.items()], sizes
            with item.here():
                one = solid(
                    kind_,
                    sizes,
                    density=scope.value(item.child("density")),
                    at=(0.0, 0.0, 0.0) if at is None else scope.vector(at),
                    rotation=None if turn is None else rotation(turn, scope).astype(float),
                    colour=None if colour is None else colour.numbers(4),
                )
                total = one if total is None else total + one
        return total

    def shapes(self, body: Any, node: FileNode, scope: Scope) -> None:
        """Shapes of pictures, and those that may touch."""
        found, touching = node.get("shapes"), node.get("colliders")
        for item in [] if found is None else found.items():
            item.keys(words.SHAPE, "a shape")
            with item.here():
                body.add_shape(**self.shape(item, scope))
        for item in [] if touching is None else touching.items():
            item.keys(words.COLLIDER, "a collider")
            given = self.shape(item, scope)
            R, at = given.pop("rotation"), given.pop("at")
            law: dict[str, Any] = {key: x.number() for key in ("friction", "restitution") if (x := item.get(key))}
            law |= {key: x.value for key in ("group", "against") if (x := item.get(key))}
            law |= {key: [y.text() for y in x.items()] for key in ("apart", "together") if (x := item.get(key))}
            law |= {"combine": x.text()} if (x := item.get("combine")) else {}
            with item.here():
                pose: Any = (np.eye(3) if R is None else R, at)
                body.add_collider(Shape(**given, pose=pose), **law)

    def shape(self, item: FileNode, scope: Scope) -> dict[str, Any]:
        """The arguments of a shape."""
        size, at, turn, colour, file, scale, name = (
            item.get(key) for key in ("size", "at", "rotation", "colour", "file", "scale", "name")
        )
        sizes: Any = ()
        if size is not None:
            sizes = scope.values(size.items()) if isinstance(size.value, list) else scope.value(size)
        with item.here():
            return {
                "kind": item.child("type").text(),
                "size": sizes,
                "at": (0.0, 0.0, 0.0) if at is None else scope.vector(at),
                "rotation": None if turn is None else np.array(rotation(turn, Scope(self.m)), dtype=float),
                "colour": None if colour is None else colour.numbers(4),
                "file": None if file is None else file.text(),
                "scale": (1.0, 1.0, 1.0) if scale is None else scale.numbers(3),
                "name": "" if name is None else name.text(),
            }

    # --- joints -------------------------------------------------------------------------------------------------

    def joint(self, name: str, node: FileNode) -> None:
        kind_ = self.joint_type(node)
        node.keys({"type!": "", **words.JOINTS[kind_], **words.ATTACHMENT}, f"a {kind_} joint")
        scope = self.inner(node)
        options = per_dof(node, scope, ("stiffness", "rest", "damping", "armature"))
        if (dry := node.get("friction")) is not None:
            options["friction"] = friction(dry)
        if (ends := node.get("stops")) is not None:
            options["stops"] = stops(ends)
        if (given := node.get("limits")) is not None:
            options["limits"] = limits(given)
        if (wanted := node.get("tree")) is not None:
            options["tree"] = wanted.flag()
        joint, at = joint_of(kind_, node, scope), node.get("at")
        options["at"] = point_on_axis(node, scope) if at is None else point(at, scope)
        with node.here():
            self.m.add_joint(name, joint, *self.sides(node, scope), **options)

    def sides(self, node: FileNode, scope: Scope) -> list[Frame]:
        """The two sides of a joint, between: [a, b] or parent and child."""
        pair = [node.get(key) for key in ("parent", "child")]
        if (both := node.get("between")) is not None:
            if pair != [None, None]:
                raise both.error("is there beside 'parent' or 'child'; needed: one or the other.")
            return [place(item, scope) for item in both.items(2)]
        for key, side in zip(("parent", "child"), pair):
            if side is None:
                raise node.error(f"has no '{key}', which a joint needs. Add it, or between: [a, b] in place of both.")
        return [place(side, scope) for side in pair if side is not None]

    def joint_type(self, node: FileNode) -> str:
        node.table()
        found = node.get("type")
        if found is None:
            raise node.error(f"has no 'type', which a joint needs; one of {', '.join(words.JOINTS)}.")
        return found.choice(words.JOINTS)

    def state(self, name: str, node: FileNode) -> None:
        node.keys(words.STATE, "a state")
        given: dict[str, Any] = {}
        for key in ("q", "v", "u"):
            if (part := node.get(key)) is not None:
                given[key] = {
                    n: [self.constant(x) for x in value.items()]
                    if isinstance(value.value, list)
                    else self.constant(value)
                    for n, value in part.named()
                }
        t = node.get("t")
        with node.here():
            self.m.add_state(name, **given, t=0.0 if t is None else self.constant(t))

    def constant(self, node: FileNode) -> float:
        """A number, or an expression of numbers and definitions: pi/6, 30deg."""
        if not isinstance(node.value, str):
            return node.number()
        x = self.scope.value(node)
        if not is_number(x):
            raise node.error(f"is {kind(node.value)}, which depends on parameters; needed: a number.")
        return FileNode(float(x), node.file, node.line, node.at).number()


def _inertia(node: FileNode, mass: Any, scope: Scope) -> Any:
    """Three moments, a matrix, or that of a solid of the mass."""
    if not isinstance(node.value, dict):
        rows = node.items(3)
        if not any(isinstance(row.value, list) for row in rows):
            return scope.values(rows)
        return scope.matrix(rows)
    node.keys(dict.fromkeys(words.SOLIDS, ""), "an inertia")
    if len(node.value) != 1:
        raise node.wrong(f"one of {', '.join(words.SOLIDS)} with its sizes")
    (solid,) = node.value
    sizes = node.child(solid)
    if solid == "point" and sizes.value is None:
        return inertia.point_inertia()
    sizes.keys(words.SOLIDS[solid], f"a {solid}")
    if solid == "point":
        return inertia.point_inertia()
    given: dict[str, Any] = {} if solid == "planar" else {"mass": mass}
    for key in sizes.table():
        value = sizes.child(key)
        if key == "axis":
            given[key] = value.choice("xyz")
        else:
            given[key] = scope.vector(value) if key == "sides" else scope.value(value)
    with sizes.here():
        return getattr(inertia, f"{solid}_inertia")(**given)
