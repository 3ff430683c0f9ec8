"""Meaning of names in the expressions of one element: parameters, inputs, definitions, coordinates, frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dalembert.errors import repair
from dalembert.formats.data import shown
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.grammar import (
    FUNCTIONS,
    REFERENCES,
    RESERVED,
    GrammarError,
    StackStep,
    is_plain,
    nearest,
    parse,
)
from dalembert.formats.model.laws import LawText, MotionText, Steps, needed
from dalembert.mechanism.body import Frame
from dalembert.mechanism.mechanism import Mechanism
from dalembert.symbols import array

MAX_WORK = 5 * 10**6
NUMBERS: Collection[str] = ()
FRAMES = ("position", "velocity", "rotation", "twist")
MOTION = ("t",)
POSITION = ("t", "q", "position", "rotation")
CONFIGURATION = ("q", "position", "rotation")
STATE = ("t", *REFERENCES)
FORCE = ("inputs", *STATE)


class Scope:
    """The names an element may use. `may` says what besides parameters and definitions: "inputs", "t", references."""

    def __init__(self, mechanism: Mechanism, outer: Scope | None = None):
        self.m = mechanism
        self.known: dict[str, Any] = {} if outer is None else dict(outer.known)  # definitions of parameters, evaluated
        self.weights: dict[str, int] = {} if outer is None else dict(outer.weights)  # how many steps are in each
        self.total: int = 0 if outer is None else outer.total  # of all these
        self.let: dict[str, Steps] = {}  # definitions that need the state
        self.work: list[int] = [0] if outer is None else outer.work  # steps of all laws of the file so far
        self.frames: dict[str, Frame] = {}
        self.inputs: set[str] = set() if outer is None else outer.inputs  # of the whole file, there or to come
        self.coordinates: dict[str, dict[str, int]] = (
            {"q": {}, "v": {}} if outer is None else outer.coordinates
        )  # how many numbers each name has; of all joints, once they are there

    def know_joints(self) -> None:
        """Take the names of the joints' coordinates."""
        for joint in self.m.joints.values():
            for which, names in (("q", joint.coordinates), ("v", joint.velocities)):
                self.coordinates[which][joint.name] = len(names)
                self.coordinates[which].update(dict.fromkeys(names, 1))

    def define(self, node: FileNode | None, may: Collection[str]) -> None:
        """Take the definitions of a `let`."""
        if node is None:
            return
        for name, value in node.named():
            taken = self._symbol(name) is not None or name in self.let
            if taken or name in RESERVED or name in FUNCTIONS or name in REFERENCES or not is_plain(name):
                raise value.error(
                    f"{shown(name)} cannot be defined: "
                    + ("it is a name already." if taken else "needed: one new word.")
                )
            steps = self.steps(value, may)
            if any(s.do in STATE or s.text in self.let for s in steps):
                self.let[name] = steps
                continue
            with value.here():
                symbols = {s.text: self._symbol(s.text) for s in steps if s.do == "name"}
                self.known[name] = LawText([steps], {}, symbols, {}).evaluated()[0]
            self.total += len(steps)
            self.weights[name] = min(self._weight([steps]), self.total)  # shared parts count once

    def steps(self, node: FileNode, may: Collection[str]) -> Steps:
        """The steps of a number or an expression, with all its names known."""
        if not isinstance(node.value, str):
            if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
                return (StackStep("number", value=node.number()),)
            raise node.wrong("a number or an expression")
        with node.here():
            steps = parse(node.value)
            for step in steps:
                self._check(step, may)
            return steps

    def law(self, nodes: Sequence[FileNode], may: Collection[str]) -> LawText:
        """A function of the state from some expressions."""
        values = [self.steps(n, may) for n in nodes]
        let = needed(values, self.let)
        symbols, frames = {}, {}
        self.work[0] += self._weight([*let.values(), *values])
        if self.work[0] > MAX_WORK:
            raise nodes[-1].error(f"with this the expressions of the file have more than {MAX_WORK} steps, the most.")
        for step in (s for steps in (*let.values(), *values) for s in steps):
            if step.do == "name" and step.text not in let:
                symbols[step.text] = self._symbol(step.text)
            elif step.do in FRAMES:
                frames[step.text] = self.frame(step.text)
        law = (MotionText if may is MOTION else LawText)(values, let, symbols, frames)
        if lost := law.needs - set(may):
            raise nodes[0].error(
                f"depends on {', '.join(sorted(lost))} by a definition, which it cannot; {_allowed(may)}."
            )
        return law

    def values(self, nodes: Sequence[FileNode], may: Collection[str] = NUMBERS) -> np.ndarray | LawText:
        """Numbers and expressions of parameters and inputs as an array; a law where they need the state or time."""
        if all(n.value.__class__ in (float, int) for n in nodes):
            return array([n.number() for n in nodes])
        law = self.law(nodes, may)
        if law.needs:
            return law
        try:
            return array(law.evaluated())
        except GrammarError:
            for node in nodes:  # which of them it is
                with node.here():
                    self.law([node], may).evaluated()
            raise

    def matrix(self, rows: Sequence[FileNode]) -> np.ndarray:
        """(3, 3) numbers and expressions of parameters."""
        return np.reshape(np.array(self.values([x for row in rows for x in row.items(3)]), dtype=object), (3, 3))

    def frame(self, name: str) -> Frame:
        """A frame or body by name."""
        m = self.m
        found = self.frames.get(name) or m.frames.get(name)
        if found is None and name in m.bodies:
            found = m.bodies[name].frame
        if found is None:
            known = [*self.frames, *m.frames, *m.bodies]
            raise GrammarError(
                f"there is no frame or body {shown(name)}; known: {_listed(known)}.{nearest(name, known)}",
                repair(name, known),
            )
        return found

    def _weight(self, values: Sequence[Steps]) -> int:
        """How many steps there are in expressions, those of definitions of parameters included."""
        used = {s.text for steps in values for s in steps if s.text in self.weights}
        return sum(map(len, values)) + sum(self.weights[name] for name in used)

    def _symbol(self, name: str) -> Any:
        for known in (self.known, self.m.parameters.symbols, self.m.inputs):
            if name in known:
                return known[name]
        return None

    def value(self, node: FileNode, may: Collection[str] = NUMBERS) -> Any:
        """One number or expression, or a law."""
        x = self.values([node], may)
        return x if isinstance(x, LawText) else x[0]

    def vector(self, node: FileNode, count: int = 3, may: Collection[str] = NUMBERS) -> Any:
        """Several of them."""
        return self.values(node.items(count), may)

    def _check(self, step: StackStep, may: Collection[str]) -> None:
        m = self.m
        if step.do == "name":
            if step.text in self.let and not step.index:
                return
            x = self._symbol(step.text)
            if step.text in self.inputs and step.text not in m.parameters.symbols:
                if "inputs" not in may:
                    raise GrammarError(f"{shown(step.text)} is an input, which only a force may depend on")
                if x is None:
                    raise GrammarError(f"{shown(step.text)} is the input of a motor further down; put the motor before")
            if x is None:
                known = [*m.parameters.symbols, *m.inputs, *self.known, *self.let]
                raise GrammarError(
                    f"there is no parameter, input or definition {shown(step.text)}; known: {_listed(known)}."
                    f"{nearest(step.text, known)}{_hint(step.text, self.coordinates['q'])}",
                    repair(step.text, known),
                )
            _check_index(step, x.numel(), step.text)
        elif step.do in REFERENCES or step.do == "t":
            if step.do not in may:
                what = "the time t" if step.do == "t" else f"{step.do}(…)"
                raise GrammarError(f"the expression uses {what}, which cannot stand here; {_allowed(may)}")
            if step.do in ("q", "v"):
                known_joints = self.coordinates[step.do]
                if step.text not in known_joints:
                    raise GrammarError(
                        f"there is no joint or {'coordinate' if step.do == 'q' else 'velocity'} {shown(step.text)}; "
                        f"known: {_listed(known_joints)}.{nearest(step.text, known_joints)}",
                        repair(step.text, known_joints),
                    )
                _check_index(step, known_joints[step.text], f"{step.do}({step.text})")
            elif step.do in FRAMES:
                self.frame(step.text)


def _check_index(step: StackStep, size: int, name: str) -> None:
    if step.index and step.index[0] >= size:
        raise GrammarError(f"{shown(name)} has {size} number(s), counted from 0; there is no [{step.index[0]}]")
    if not step.index and size != 1:
        raise GrammarError(f"{shown(name)} has {size} numbers; needed: one of them, such as {name}[0]")


def _listed(names: Collection[str]) -> str:
    first = [shown(n)[1:-1] for n in list(names)[:12]]
    return ", ".join(first) + (f", … ({len(names)} in all)" if len(names) > 12 else "") or "none"


def _hint(name: str, coordinates: Collection[str]) -> str:
    return f" The coordinate of joint '{name}' is q({name})." if name in coordinates else ""


def _allowed(may: Collection[str]) -> str:
    if not may:
        return "it may depend on parameters alone"
    return "it may depend on parameters and on " + ", ".join(
        {"inputs": "inputs", "t": "t"}.get(x, f"{x}(…)") for x in may
    )
