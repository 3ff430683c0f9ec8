"""Functions of the state, recorded: what they ask for becomes symbols with the names the grammar has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError, unknown
from dalembert.formats.model.grammar import is_plain, quoted
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.traced import UserState


class ExpressionNames:
    """The names of a mechanism as expressions write them."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.leaves: dict[int, str] = {}  # the text of each number of parameters and inputs, by hash
        self.symbols = {**mechanism.parameters.symbols, **mechanism.inputs}
        for name, x in self.symbols.items():
            text = quoted(name)
            for k in range(x.numel()):
                self.leaves[x[k].element_hash()] = text if x.numel() == 1 else f"{text}[{k}]"
        joints = mechanism.joints.values()
        self.coordinates = {
            "q": dict.fromkeys(n for j in joints for n in j.coordinates),
            "v": dict.fromkeys(n for j in joints for n in j.velocities),
        }
        self._frames = {id(frame): name for name, frame in mechanism.frames.items()}

    def of(self, frame: Frame) -> str | None:
        """The name of a frame: one it was given, or its body's where it is the body's own frame; else None."""
        name = self._frames.get(id(frame))
        return frame.body.name if name is None and same_place(frame, frame.body.frame) else name


class SymbolicState(UserState):
    """A state whose every number is a fresh symbol: `leaves` has its text, `frames` the frames that have no name.

    It answers what a `UserState` answers.
    """

    def __init__(self, names: ExpressionNames):
        self._names, self._m = names, names.mechanism
        self.t = ca.SX.sym("t")
        self.leaves: dict[int, str] = {self.t.element_hash(): "t"}
        self.frames: dict[str, Frame] = {}
        self._asked: dict[tuple[str, str], ca.SX] = {}

    def user(self) -> SymbolicState:
        """Itself: it stands for a `TracedState` too, of which functions see no more."""
        return self

    @property
    def _forces(self) -> Mapping[str, Any]:
        return self._m.forces

    def __getitem__(self, name: str) -> ca.SX:
        return self._joint("q", name)

    def rate(self, name: str) -> ca.SX:
        return self._joint("v", name)

    def position(self, frame: Any) -> ca.SX:
        return self._asked_of("position", frame, 3, ".xyz")

    def velocity(self, frame: Any) -> ca.SX:
        return self._asked_of("velocity", frame, 3, ".xyz")

    def _own_twist(self, frame: Any) -> ca.SX:
        return self._asked_of("twist", frame, 6)

    def rotation(self, frame: Any) -> ca.SX:
        name = self.name_of(frame)
        key = "rotation", name
        if key not in self._asked:
            R = self._asked[key] = ca.SX.sym("R", 3, 3)
            for i in range(3):
                for j in range(3):
                    self.leaves[R[i, j].element_hash()] = f"rotation({_text(name)})[{i}, {j}]"
        return self._asked[key]

    def name_of(self, frame: Any) -> str:
        """The name of a body or frame; a frame without one gets one in `frames`."""
        m = self._m
        if isinstance(frame, str):
            if frame not in m.frames and frame not in m.bodies:
                raise unknown("frame or body", frame, [*m.frames, *m.bodies])
            return frame
        if isinstance(frame, Body):
            frame = frame.frame
        if not isinstance(frame, Frame) or m.bodies.get(frame.body.name) is not frame.body:
            raise DescriptionError(f"{frame!r} is no frame of mechanism '{m.name}'")
        named = self._names.of(frame)
        if named is not None:
            return named
        for name, other in self.frames.items():
            if other is frame or same_place(other, frame):
                return name
        k = 1
        while (name := f"frame_{k}") in m.frames or name in m.bodies or name in self.frames:
            k += 1
        self.frames[name] = frame
        return name

    def _joint(self, which: str, name: str) -> ca.SX:
        joints, names = self._m.joints, self._names.coordinates[which]
        if isinstance(name, str) and name in names:
            return self._coordinate(which, name)
        if not isinstance(name, str) or name not in joints:
            raise unknown("joint or coordinate", name, dict.fromkeys([*joints, *names]))
        parts = joints[name].coordinates if which == "q" else joints[name].velocities
        return ca.vertcat(*(self._coordinate(which, n) for n in parts)) if parts else ca.SX(0, 1)

    def _coordinate(self, which: str, name: str) -> ca.SX:
        key = which, name
        if key not in self._asked:
            x = self._asked[key] = ca.SX.sym(name)
            self.leaves[x.element_hash()] = f"{which}({_text(name)})"
        return self._asked[key]

    def _asked_of(self, what: str, frame: Any, n: int, letters: str = "") -> ca.SX:
        name = self.name_of(frame)
        key = what, name
        if key not in self._asked:
            x = self._asked[key] = ca.SX.sym(what, n)
            for k in range(n):
                index = f".{letters[k + 1]}" if letters else f"[{k}]"
                self.leaves[x[k].element_hash()] = f"{what}({_text(name)}){index}"
        return self._asked[key]


def same_place(a: Frame, b: Frame) -> bool:
    """Whether two frames are on one body with equal numbers."""
    if a.body is not b.body:
        return False
    one, other = (np.concatenate([T.R.ravel(), T.p]) for T in (a.T, b.T))
    return all(x.__class__ is float and y.__class__ is float and x == y for x, y in zip(one, other))


def _text(name: str) -> str:
    """A name inside the parentheses of a reference: words joined by dots, else in quotes."""
    return name if all(is_plain(word) for word in name.split(".")) else "'" + name.replace("'", "''") + "'"
