"""Contacts, ropes, dry friction and stops of a model file: read and written."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.forces import kind_of, local, places
from dalembert.formats.model.laws_written import written_row
from dalembert.formats.model.places import drawn, place
from dalembert.formats.model.scope import NUMBERS, POSITION, Scope
from dalembert.mechanism.contacts import Contact, Friction, OneSided, Rope, Stops, Unilateral
from dalembert.mechanism.contacts.nearest import Core
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.outlines import CORES, Outline, is_zero_length

if TYPE_CHECKING:
    from dalembert.formats.model.writing import Data, Writing
    from dalembert.mechanism.joints.attachment import Attachment


def add_contact(m: Mechanism, name: str, node: FileNode, outer: Scope) -> None:
    """Add the contact or rope that a node describes."""
    kind = kind_of(node, words.CONTACTS, "contact")
    node.keys({"type!": "", **words.CONTACTS[kind], **words.LOCAL}, f"a {kind}")
    scope = local(m, node, outer, POSITION if kind == "unilateral constraint" else NUMBERS)
    given: dict[str, Any] = {
        key: node.child(key).number()
        for key in ("restitution", "friction", "static_friction")
        if node.get(key) is not None
    }
    with node.here():
        if kind == "rope":
            m.add_rope(name, places(node.child("through"), scope), **_long(node, scope), **given)
            return
        if kind == "strut":
            a, b = places(node.child("between"), scope, 2)
            m.add_strut(name, a, b, **_long(node, scope), **given)
            return
        if kind == "unilateral constraint":
            flag = node.get("angular")
            gap = scope.law([node.child("gap")], POSITION)
            m.add_unilateral(name, gap, angular=False if flag is None else flag.flag(), **given)
            return
        on, radius, other = node.get("on"), node.get("radius"), node.get("on_radius")
        m.add_contact(
            name,
            place(node.child("frame"), scope),
            on=None if on is None else place(on, scope),
            radius=0.0 if radius is None else scope.value(radius),
            on_radius=None if other is None else scope.value(other),
            shape=_outline(node, "shape", scope),
            on_shape=_outline(node, "on_shape", scope),
            at=drawn(node, scope),
            **given,
        )


def _outline(node: FileNode, key: str, scope: Scope) -> Any:
    """The (kind, size) of a shape that touches."""
    if (given := node.get(key)) is None:
        return None
    given.keys(words.OUTLINE, "the shape of a contact")
    size = given.child("size")
    sizes = scope.values(size.items()) if isinstance(size.value, list) else scope.value(size)
    return given.child("type").choice(list(CORES)), sizes


def _long(node: FileNode, scope: Scope) -> dict[str, Any]:
    """The length of a rope or strut, and where it is drawn."""
    length = node.get("length")
    return {"length": None if length is None else scope.value(length), "at": drawn(node, scope, several=True)}


def friction(node: FileNode) -> Any:
    """The dry friction of a joint: numbers, laws, or a list of them."""
    if isinstance(node.value, list):
        return [friction(n) for n in node.items()]
    if not isinstance(node.value, dict):
        return node.number()
    return _of(node, words.FRICTION, Friction, "a friction law")


def stops(node: FileNode) -> Any:
    """The stops of a joint: "rigid", or their numbers."""
    return node.choice(["rigid"]) if isinstance(node.value, str) else _of(node, words.STOPS, Stops, "stops")


def _of(node: FileNode, keys: words.Keys, kind: Any, what: str) -> Any:
    node.keys(keys, what)
    with node.here():
        return kind(**{key: node.child(key).number() for key in node.table()})


def contact_data(w: Writing, contact: OneSided) -> Data:
    """A contact or rope as data."""
    data: Data = {"type": contact.kind}
    recorder = None
    if isinstance(contact, Unilateral):
        recorder = w.recorder()
        data["gap"] = written_row(contact.value, recorder, f"the gap of {contact.kind} '{contact.name}'")
        data |= {"angular": True} if contact.angular else {}
    elif isinstance(contact, Rope):
        word = "through" if contact.kind == "rope" else "between"
        data |= {word: [w.place(f) for f in contact.points], "length": contact.length}
    elif isinstance(contact, Contact):
        a = Outline(contact.frame, contact.core, contact.size, contact.radius)
        data |= {"frame": w.place(a.frame), "on": w.place(contact.on), **_outline_data(a, "shape", "radius")}
        if not contact.on_plane:
            b = Outline(contact.on, contact.on_core, contact.on_size, contact.on_radius)
            data |= _outline_data(b, "on_shape", "on_radius") or {"on_radius": 0.0}
    if contact.restitution:
        data["restitution"] = contact.restitution
    if contact.static:
        data |= {"friction": contact.friction, "static_friction": contact.static}
    return w.finished(data, f"contact '{contact.name}'", recorder)


def _outline_data(x: Outline, shape: str, radius: str) -> Data:
    """The radius of a sphere, nothing of a point; kind and size of another shape."""
    if x.core is Core.POINT:
        return {} if is_zero_length(x.radius) else {radius: x.radius}
    size = list(x.plain_size)
    return {shape: {"type": x.kind, "size": size if len(size) > 1 else size[0]}}


def joint_data(a: Attachment) -> Data:
    """The dry friction and the stops of a joint as data."""
    data: Data = {}
    laws = [0.0 if f is None else f.coulomb if f == Friction(f.coulomb) else _plain(f) for f in a.friction]
    if any(laws):
        data["friction"] = laws[0] if all(law == laws[0] for law in laws) else laws
    if a.stops is not None:
        data["stops"] = "rigid" if a.stops == Stops() else _plain(a.stops)
    return data


def _plain(x: Any) -> Data:
    known = {f.name: (getattr(x, f.name), f.default) for f in fields(x)}
    return {name: value for name, (value, default) in known.items() if value != default}
