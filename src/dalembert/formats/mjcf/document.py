"""The MJCF text that is being written: elements, numbers to the last bit, the neutral pose of every body, notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.formats.mjcf.reading import unused
from dalembert.mechanism.body import Frame
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note
from dalembert.mechanism.traced import TracedState, UserState
from dalembert.spatial import Transform, matrix_quaternion
from dalembert.symbols import array


class XmlNode:
    """An XML element."""

    def __init__(self, tag: str, **attributes: Any):
        self.tag, self.children = tag, list[XmlNode]()
        self.attributes = {k.rstrip("_"): text(v) for k, v in attributes.items() if v is not None}

    def add(self, tag: str, **attributes: Any) -> XmlNode:
        """A new element inside this one."""
        child = XmlNode(tag, **attributes)
        self.children.append(child)
        return child

    def lines(self) -> list[str]:
        """The element as indented lines of XML."""
        out: list[str] = []
        waiting: list[tuple[XmlNode | str, int]] = [(self, 0)]
        while waiting:
            node, depth = waiting.pop()
            if isinstance(node, str):
                out.append("  " * depth + node)
                continue
            head = "".join(f" {k}={quoteattr(v)}" for k, v in node.attributes.items())
            out.append("  " * depth + f"<{node.tag}{head}{'' if node.children else '/'}>")
            if node.children:
                waiting.append((f"</{node.tag}>", depth))
                waiting.extend((child, depth + 1) for child in reversed(node.children))
        return out


def text(value: Any) -> str:
    """A word as it is, numbers so that they come back to the last bit."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(repr(float(x)) if x % 1 or abs(x) > 1e15 else str(int(x)) for x in np.ravel(value))


class Document:
    """A mechanism on its way to an MJCF file."""

    def __init__(self, m: Mechanism, file: str):
        self.m, self.file = m, file
        self.root = XmlNode("mujoco", model=m.name)
        self.notes: list[Note] = []
        self.nodes: dict[str, XmlNode] = {}  # the element of each body
        self.frames: dict[str, Transform] = {}  # the written frame of each body, in the body
        self.coordinates: dict[str, str] = {}  # the joint of the file for each coordinate
        self.names: dict[str, set[str]] = {}  # names in use, by kind
        self.controls: list[tuple[str, int]] = []  # of each actuator, the input that drives it and its number there
        self.sections: dict[str, XmlNode] = {}
        self.references: dict[str, Any] = {}  # of free joints that are not neutral in the written reference position
        self.left_out: dict[str, Any] = {}  # bodies that are a tendon's armature, and the constraints that tie them
        self._layout: TreeLayout | None = None
        self._neutral: UserState | None = None

    def note(self, element: str, words: str) -> None:
        """Something that MJCF does not say."""
        self.notes.append(Note(self.file, 0, element, words))

    def section(self, tag: str) -> XmlNode:
        """A part of the file, made when it is first needed."""
        if tag not in self.sections:
            self.sections[tag] = XmlNode(tag)
        return self.sections[tag]

    def name(self, kind: str, wanted: str) -> str:
        """A name that no other element of the kind has."""
        taken = self.names.setdefault(kind, set())
        free = unused(wanted, taken)
        taken.add(free)
        return free

    def number(self, x: Any) -> np.ndarray:
        """Numbers, with parameters at their defaults."""
        return np.array(self.m.parameters.number(array(x), "a number of the mechanism"), dtype=float)

    def place(self, frame: Frame) -> tuple[XmlNode, np.ndarray, np.ndarray | None]:
        """The element that carries a frame, and its position and quaternion there."""
        inside = self.frames[frame.body.name].inverse() @ self.numeric(frame.T)
        return self.nodes[frame.body.name], inside.p, quaternion(inside.R)

    def numeric(self, T: Transform) -> Transform:
        """A pose in numbers."""
        return Transform(self.number(T.R), self.number(T.p))

    def site(self, name: str, frame: Frame) -> str:
        """A site at a frame; gives its name."""
        node, p, q = self.place(frame)
        own = self.name("site", name)
        node.add("site", name=own, pos=p, quat=q)
        return own

    def actuator(self, tag: str, name: str, of: tuple[str, int], **attributes: Any) -> None:
        """An actuator, driven by part `of` = (input, number) of the inputs; its name is made fresh by the caller."""
        self.section("actuator").add(tag, name=name, **attributes)
        self.controls.append(of)

    def state(self, q: Mapping[str, Any], v: Mapping[str, Any]) -> TracedState:
        """The mechanism at positions and velocities that are given for joints or coordinates, else neutral and 0."""
        if self._layout is None:
            self._layout = TreeLayout(self.m.snapshot())
        joints = self._layout.joints.values()
        at = np.concatenate([np.zeros(0), *(_named(q, a.name, a.coordinates, a.joint.neutral()) for a in joints)])
        rate = np.concatenate([np.zeros(0), *(_named(v, a.name, a.velocities, np.zeros(a.joint.nv)) for a in joints)])
        return TracedState(self._layout, self._layout.tree.moving(at, rate), 0.0)

    def neutral(self) -> UserState:
        """The mechanism in the reference position of the file, for lengths there."""
        if self._neutral is None:
            self._neutral = self.state(self.references, {}).user()
        return self._neutral

    def written(self) -> str:
        """The whole text."""
        order = ("compiler", "option", "asset", "worldbody", "tendon", "equality", "actuator", "keyframe")
        self.root.children = [self.sections[tag] for tag in order if tag in self.sections]
        return "\n".join([*self.root.lines(), ""])


def _named(given: Mapping[str, Any], name: str, parts: list[str], default: np.ndarray) -> np.ndarray:
    """The numbers of a joint in a state, given for the joint or for its parts."""
    x = np.array(given.get(name, default), dtype=float)
    for n, part in enumerate(parts):
        if part in given and part != name:
            x[n] = given[part][0]
    return x


def quaternion(R: np.ndarray) -> np.ndarray | None:
    """(w, x, y, z) of a rotation; None for the identity."""
    return None if np.array_equal(R, np.eye(3)) else np.array(matrix_quaternion(np.array(R, dtype=float)), dtype=float)
