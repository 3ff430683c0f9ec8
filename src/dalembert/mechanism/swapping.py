"""An element of a mechanism in place of another, or under another name: what refers to it is made anew."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import Constraint, Expressions
from dalembert.mechanism.curves import Curve
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.merging import PartLaw
from dalembert.mechanism.motions import Constant, Table
from dalembert.mechanism.states import NamedState

#: kinds of elements, in the order in which they refer to each other, and the tables that hold them
TABLES = {
    "body": "bodies", "frame": "frames", "joint": "joints", "constraint": "constraints", "contact": "contacts",
    "force": "forces", "state": "states",
}  # fmt: skip


def referred(element: Any) -> Iterator[Any]:
    """Bodies, joints and constraints that an element is made with, and names of coordinates; not those in functions."""
    if isinstance(element, (Attachment, Frame)):
        frames = (element.parent, element.child) if isinstance(element, Attachment) else (element,)
        yield from (frame.body for frame in frames)
    elif isinstance(element, NamedState):
        yield from (*element.q, *element.v)
    elif isinstance(element, Expressions) and element.recipe is not None:
        yield from _parts(element.recipe[1][1:])
    elif not isinstance(element, Body):
        yield from _parts(list(vars(element).values()))


def _parts(x: Any) -> Iterator[Any]:
    if isinstance(x, Frame):
        yield x.body
    elif isinstance(x, (Body, Attachment, Constraint, str)):
        yield x
    elif isinstance(x, (list, tuple)):
        for part in x:
            yield from _parts(part)
    elif isinstance(x, dict):
        yield from _parts([*x, *x.values()])


class Swap:
    """The element `old` of a kind, which becomes `name`; `new` in its place, if it is another object."""

    def __init__(self, m: Elements, kind: str, old: str, name: str, new: Any = None):
        self.m, self.kind, self.old, self.to = m, kind, old, name
        before = getattr(m, TABLES[kind])[old]
        self.new: dict[int, Any] = {} if new is None else {id(before): new}
        self.kept = [before]  # so that no other object gets its id

    # --- what functions of the state ask for, as `merging.PartState` passes it on

    def name(self, own: str) -> str:
        """The name of a joint or coordinate, or of the force whose length is asked for."""
        if self.kind in ("joint", "force") and own == self.old:
            return self.to
        if self.kind == "joint" and isinstance(own, str) and own.startswith(f"{self.old}."):
            return self.to + own[len(self.old) :]
        return own

    def frame(self, frame: Any) -> Any:
        """A frame, a body, or the name of one."""
        if isinstance(frame, str):
            return self.to if self.kind in ("body", "frame") and frame == self.old else frame
        return self.moved(frame)

    def value(self, x: Any) -> Any:
        """Values stay as they are."""
        return x

    # --- elements

    def everywhere(self) -> None:
        """Put all tables of the mechanism in order."""
        m = self.m
        for kind, table in TABLES.items():
            names = {self.old: self.to} if kind == self.kind else {}
            setattr(m, table, {names.get(n, n): self.element(x, kind) for n, x in getattr(m, table).items()})
        if self.kind == "force" and self.old in m.inputs and m.forces[self.to].input_units:
            m.inputs = {self.to if n == self.old else n: u for n, u in m.inputs.items()}

    def element(self, x: Any, kind: str) -> Any:
        """An element with what it refers to; itself, if nothing of it has changed."""
        if id(x) in self.new:
            return self.new[id(x)]
        own = kind == self.kind and getattr(x, "name", None) == self.old
        new = self._made(x, own)
        if new is not x:
            self.new[id(x)] = new
            self.kept.append(x)
        return new

    def _made(self, x: Any, own: bool) -> Any:
        if isinstance(x, Body):
            return replace(x, name=self.to, shapes=list(x.shapes), colliders=list(x.colliders)) if own else x
        if isinstance(x, Frame):
            return self.moved(x)
        if isinstance(x, Attachment):
            a, b = self.moved(x.parent), self.moved(x.child)
            name = self.to if own else x.name
            return x if a is x.parent and b is x.child and not own else replace(x, name=name, parent=a, child=b)
        if isinstance(x, NamedState):
            q, v, u = ({self.name(n): y for n, y in given.items()} for given in (x.q, x.v, x.u))
            return replace(x, name=self.to if own else x.name, q=q, v=v, u=u)
        if isinstance(x, Expressions) and x.recipe is not None:
            make, (name, *rest) = x.recipe
            moved = [self.moved(y) for y in rest]
            same = all(one is other for one, other in zip(rest, moved)) and not own
            return x if same else make(self.to if own else name, *moved)
        changed = {key: self.moved(y) for key, y in vars(x).items() if key not in ("name", "kind", "text")}
        if own:
            changed["name"] = self.to
        if all(changed[key] is vars(x)[key] for key in changed):
            return x
        new = copy(x)
        vars(new).update(changed)
        return new

    def moved(self, x: Any) -> Any:
        """A part of an element."""
        if id(x) in self.new:
            return self.new[id(x)]
        if isinstance(x, Frame):
            body = self.new.get(id(x.body))
            return x if body is None else Frame(body, x.T)
        if isinstance(x, str):
            return self.name(x) if self.kind == "joint" else x
        if isinstance(x, (list, tuple)):
            parts = [self.moved(y) for y in x]
            return x if all(one is other for one, other in zip(x, parts)) else type(x)(parts)
        if isinstance(x, dict):
            return {self.moved(key): self.moved(y) for key, y in x.items()}
        if callable(x) and not isinstance(x, (ca.SX, Curve, Table, Constant)) and not hasattr(x, "function"):
            return PartLaw(x, self)  # type: ignore[arg-type]
        return x
