"""Models of SDF: nested and included ones taken in, every link, joint and frame registered under its full name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dalembert.formats.folder import Folder
from dalembert.formats.links import IDENTITY, WORLD
from dalembert.formats.notes import Notes
from dalembert.formats.sdf.elements import flag, note_rest, placed, pose_of, relative_to, text
from dalembert.formats.sdf.frames import FrameNode, Frames, FrameScope
from dalembert.formats.xml import Element, parse, shown

MAX_NESTING = 100
OLDEST, NEWEST = (1, 4), (1, 12)
_IN_MODEL = {
    *("allow_auto_disable", "self_collide", "static", "pose", "link", "joint", "frame", "model", "include"),
    *("drake:joint", "drake:weld_constraint"),
}
_JOINTS = ("joint", "drake:joint", "drake:weld_constraint")


@dataclass(slots=True)
class ScopedElement:
    """An element with its key and the scope it stands in.

    Before version 1.7 a joint might have the name of a link: its key is another one then, and no frame's name.
    """

    key: str
    element: Element
    scope: FrameScope
    static: bool = False

    @property
    def name(self) -> str:
        """Its full name."""
        return self.scope.key(self.element.name)


@dataclass(slots=True)
class ModelContents:
    """Contents of models: links, joints and frames in file order, and the roots of models."""

    links: list[ScopedElement] = field(default_factory=list)
    joints: list[ScopedElement] = field(default_factory=list)
    frames: list[ScopedElement] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)  # keys of canonical links


class Models:
    """Takes in models; `frames` knows the places of all they hold."""

    def __init__(self, folder: Folder | None, notes: Notes):
        self.folder, self.notes = folder, notes
        self.frames, self.contents = Frames(), ModelContents()
        self.unnamed = 0
        self.self_collide: dict[str, bool] = {}  # by the key of a model

    # --- a scope: the world or a model ----------------------------------------------------------------------------

    def take(
        self, parent: Element, scope: FrameScope, near: Path | None = None, *, static: bool = False, depth: int = 0
    ) -> None:
        """All links, joints, frames and models that stand in an element."""
        for e in parent.children:
            if e.tag == "link":
                self._register(
                    self.contents.links, ScopedElement(scope.key(e.required("name")), e, scope, static), "link"
                )
            elif e.tag in _JOINTS:
                self._joint(e, scope, static)
            elif e.tag == "frame":
                self._register(self.contents.frames, ScopedElement(scope.key(e.required("name")), e, scope), "frame")
            elif e.tag == "model":
                self.model(e, scope, near, static=static, depth=depth + 1)
            elif e.tag == "include":
                self.include(e, scope, near, static=static, depth=depth + 1)

    def _register(self, where: list[ScopedElement], found: ScopedElement, kind: str) -> None:
        raw, relative = pose_of(found.element)
        attached = ""
        if kind == "frame":
            attached = found.element.get("attached_to") or "__model__"
            relative = relative or attached
        node = FrameNode(kind, found.element, found.scope, raw, relative or "__model__", attached)
        self.frames.add(found.key, node, found.element.name)
        if kind == "link" and flag(found.element, "dalembert:ground"):
            self.frames.add_ground(found.key)
        else:
            where.append(found)

    def _joint(self, e: Element, scope: FrameScope, static: bool) -> None:
        own = e.tag != "joint"
        child = text(e, "drake:child" if e.tag == "drake:joint" else "child")
        if e.tag == "drake:weld_constraint" and not e.name:
            self.unnamed += 1
            e.attrib["name"] = "weld_constraint" + (f"_{self.unnamed}" if self.unnamed > 1 else "")
        raw, relative = pose_of(e)
        key = scope.key(e.required("name"))
        if scope.version < (1, 7) and key in self.frames.nodes and self.frames.nodes[key].kind != "joint":
            key += " (joint)"
        found = ScopedElement(key, e, scope, static)
        node = FrameNode("joint", e, scope, raw, child if own else relative or child, child)
        self.frames.add(found.key, node, e.name)
        self.contents.joints.append(found)

    # --- models, nested and included ----------------------------------------------------------------------------

    def model(
        self,
        e: Element,
        scope: FrameScope,
        near: Path | None = None,
        *,
        static: bool = False,
        depth: int = 0,
        include: Element | None = None,
        version: tuple[int, int] | None = None,
    ) -> str:
        """A model in a scope, included by an element that may rename, move and fix it; gives the model's key."""
        if depth > MAX_NESTING:
            raise e.error(f"is nested more than {MAX_NESTING} models deep, the most that is read.")
        name, place = e.required("name"), e.only("pose")
        placement, merge = e.get("placement_frame") or "", False
        static = static or flag(e, "static")
        if include is not None:
            name = text(include, "name") if include.find("name") else name
            static = static or flag(include, "static")
            merge = include.get("merge") in ("true", "1")
            if include.find("pose"):
                place, placement = include.only("pose"), ""
            if include.find("placement_frame"):
                if include.find("pose") is None:
                    raise include.error("has a <placement_frame> but no <pose>, which it needs then.")
                placement = text(include, "placement_frame")
        raw, relative = (placed(place), relative_to(place)) if place is not None else (IDENTITY, "")
        key = scope.key(f"_merged__{name}__model__" if merge else name)
        inside = FrameScope(scope.prefix if merge else f"{key}::", key, version or scope.version)
        node = FrameNode("model", include or e, scope, raw, relative or "__model__", inside=inside, placement=placement)
        self.frames.add(key, node, name)
        self.self_collide[key] = flag(e, "self_collide")
        first = len(self.contents.links)
        self.take(e, inside, near, static=static, depth=depth)
        node.attached = e.get("canonical_link") or self._canonical(self.contents.links[first:], inside)
        note_rest(e, _IN_MODEL, self.notes)
        return key

    def _canonical(self, links: list[ScopedElement], inside: FrameScope) -> str:
        """The link that carries a model's own frame: its first link, else the first of a model in it."""
        if not links:
            return WORLD
        own = next((f for f in links if f.scope.model == inside.model), links[0])
        return own.key[len(inside.prefix) :]

    def include(
        self, e: Element, scope: FrameScope, near: Path | None, *, static: bool = False, depth: int = 0
    ) -> str | None:
        """The model of another file; None where it is not in the folder, which is noted."""
        uri = text(e, "uri")
        note_rest(e, ("uri", "name", "pose", "static", "placement_frame"), self.notes)
        path = self._file(uri, e, near)
        if path is None or self.folder is None:
            return None
        with self.folder.inside(path, e):
            root = parse(self.folder.contents(path, e), file=self.folder.shown(path))
            if root.tag != "sdf":
                raise e.error(f"includes {shown(uri)}, which begins with <{root.tag[:60]}>; needed: <sdf>.")
            version = version_of(root)
            models = root.findall("model")
            note_rest(root, ("model",), self.notes)
            if not models:
                return None
            if len(models) > 1:
                raise e.error(f"includes {shown(uri)}, which has {len(models)} models; needed: one.")
            return self.model(models[0], scope, path.parent, static=static, depth=depth, include=e, version=version)

    def _file(self, uri: str, e: Element, near: Path | None) -> Path | None:
        """The file that a URI means: a file, or the one that a folder's model.config names, or its model.sdf."""
        name, base = uri, near
        if self.folder is None:
            self.notes.add(e, f"{shown(uri)} would be in the folder of a file, and this is a text; it is left out")
            return None
        if uri.startswith(("model://", "file://")):
            name, base = uri.partition("://")[2], self.folder.root
        elif "://" in uri:
            self.notes.add(e, f"{shown(uri)} is an address, and none is opened; the model is left out")
            return None
        name = name.rstrip("/")
        if found := self.folder.find(name, e, base):
            return found
        if config := self.folder.find(f"{name}/model.config", e, base):
            files = parse(self.folder.contents(config, e), file=self.folder.shown(config)).findall("sdf")
            if files:
                newest = max(files, key=lambda f: [int(w) for w in (f.get("version") or "0").split(".") if w.isdigit()])
                return self.folder.resolve(newest.text, newest, config.parent)
        found = self.folder.find(f"{name}/model.sdf", e, base)
        if found is None:
            self.notes.add(e, f"{shown(uri)} is not in the folder of the file; the model is left out")
        return found


def version_of(root: Element) -> tuple[int, int]:
    """The version of an <sdf> element, which must be known."""
    given = root.required("version")
    words = given.split(".")
    if len(words) == 2 and all(w.isascii() and w.isdigit() and len(w) < 4 for w in words):
        version = int(words[0]), int(words[1])
        if OLDEST <= version <= NEWEST:
            return version
    raise root.error(f"has version {shown(given)}; needed: 1.4 to 1.12. Convert the file with 'gz sdf'.")
