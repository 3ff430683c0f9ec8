"""The text of an MJCF file as MuJoCo will see it: with what it includes, checked, without what has no meaning here.

MuJoCo never opens a file of the model, and never sees the file itself: it gets one text, made from the elements that
passed these checks, in which every element has a line of its own. So a line of MuJoCo's messages is an element here,
and an element has its file and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from math import inf, isnan, nan, prod
from pathlib import Path
from xml.sax.saxutils import quoteattr

from dalembert.formats.folder import Folder
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element, parse, shown

MAX_BODIES = 2000  # MuJoCo's compiler takes a time that grows with the square of it
MAX_ELEMENTS = 10_000
MAX_DEPTH = 300  # of elements in each other, which MuJoCo's compiler follows by recursion
Size = tuple[int, int, int]  # elements, bodies, levels
LARGEST = 1e30
#: attributes that MuJoCo takes as sizes of memory, and the most of them
COUNTS = {"params": 100, "nsample": 1000, "actdim": 1000, "maxhullvert": 10_000, "octree_maxdepth": 10}

#: sections of the file that have no meaning here, as a whole
SECTIONS = {
    "visual": "settings of pictures have no meaning here",
    "statistic": "MuJoCo's own statistics have no meaning here",
    "size": "sizes of MuJoCo's memory have no meaning here",
}
#: sections and assets that are left out element by element
LISTED = {
    "sensor": "sensors are not modelled",
    "custom": "custom data are not read",
    "contact": "contact is not modelled until m.add_contacts is called",
    "deformable": "deformable bodies are not modelled",
    "extension": "plugins are not run",
}
#: elements that are left out wherever they stand
ELEMENTS = {
    "texture": "textures are not kept",
    "hfield": "height fields are not kept",
    "skin": "skins are not kept",
    "camera": "cameras are not kept",
    "light": "lights are not kept",
    "flexcomp": "deformable bodies are not modelled, and what it would make is not in the model",
    "plugin": "plugins are not run",
    "layer": "textures are not kept",
}
_WORDS = {
    "name", "class", "childclass", "file", "model", "prefix", "content_type", "material", "mesh", "dclass", "plugin",
    "instance", "target", "data", "text", "info", "texture", "hfield", "joint", "site", "body", "geom", "tendon",
    "refsite", "cranksite", "slidersite", "sidesite", "jointinparent", "body1", "body2", "site1", "site2", "joint1",
    "joint2", "tendon1", "tendon2", "meshdir", "texturedir", "assetdir", "eulerseq", "frame", "sep", "key", "value",
}  # fmt: skip
_VAGUE = re.compile(r"[+-]?(nan|inf|infinity)(\(.*\))?", re.IGNORECASE)


class Source:
    """The checked elements of an MJCF file and of the models it attaches, and their texts for MuJoCo."""

    def __init__(self, path: Path, notes: Notes, folder: str | os.PathLike[str] | None = None):
        self.folder, self.notes = Folder.of(path, folder), notes
        self.sizes_change = False  # whether something with coordinates or controls was left out
        self.attached: list[Element] = []  # roots of the models that <asset><model> names
        self.contacts: list[Element] = []  # what <contact> holds
        self.lines: list[Element] = []  # the element on each line of the texts
        self.sizes: dict[int, Size] = {}  # of each document, by the identity of its root
        self.named: set[str] = set()  # bodies, and sites of sensors of forces, that elements of the file name
        self.root = self._document(path, None)
        self.main, self.include = self._texts()

    # --- the elements -------------------------------------------------------------------------------------------

    def _document(self, path: Path, asked: Element | None) -> Element:
        """The root of one model, expanded and cleaned."""
        with self.folder.inside(path, asked):
            root = parse(self.folder.contents(path, asked), file=self.folder.shown(path))
            if root.tag != "mujoco":
                raise root.error("is not the root of an MJCF file; needed: <mujoco>.")
            root.attrib = {k: v for k, v in root.attrib.items() if not k.startswith("xmlns")}
            self._expand(root, path.parent)
            check_size(root, {})  # of this file alone, before anything is done with it
            self._names(root)
            self._clean(root, None)
            _place_files(root)
            sizes: dict[str, Size] = {}
            for model in [m for asset in root.findall("asset") for m in asset.findall("model")]:
                file = self.folder.resolve(model.required("file"), model, path.parent)
                child = self._document(file, model)
                model.attrib.setdefault("name", child.attrib.get("model", ""))
                model.attrib["file"] = f"attached{len(self.attached)}.xml"
                self.attached.append(child)
                sizes[model.attrib["name"]] = self.sizes[id(child)]
            self.sizes[id(root)] = check_size(root, sizes)
        return root

    def _expand(self, element: Element, near: Path, depth: int = 0) -> None:
        """Put the contents of included files in the places of <include>; their paths are relative to the main file."""
        if depth > MAX_DEPTH:
            raise element.error(f"is inside of more than {MAX_DEPTH} elements and includes, the most that is read.")
        children: list[Element] = []
        for child in element.children:
            if child.tag != "include":
                self._expand(child, near, depth + 1)
                children.append(child)
                continue
            file = self.folder.resolve(child.required("file"), child, near)
            with self.folder.inside(file, child):
                root = parse(self.folder.contents(file, child), file=self.folder.shown(file))
                self._expand(root, near, depth + 1)
                children.extend(root.children)
        element.children = children

    def _names(self, root: Element) -> None:
        """Remember the bodies that elements name, those that are left out too."""
        for e in root.iter():
            for name in ("body", "body1", "body2", "target"):
                self.named.add(f"body {e.get(name)}")
            for kind, name in (("objtype", "objname"), ("reftype", "refname")):
                if e.get(kind) in ("body", "xbody"):
                    self.named.add(f"body {e.get(name)}")
            if e.tag in ("force", "torque"):
                self.named.add(f"site {e.get('site')}")

    def is_named(self, body: str, sites: list[str]) -> bool:
        """Whether something names a body of the model, or measures forces at one of its sites.

        Names in attached models have prefixes in the model, which count as theirs.
        """
        whole = [f"body {body}", *(f"site {site}" for site in sites)]
        if not self.attached:
            return any(name in self.named for name in whole)
        split = [name.partition(" ")[::2] for name in self.named]
        return any(w.startswith(f"{kind} ") and w.endswith(name) for kind, name in split for w in whole)

    def _clean(self, element: Element, parent: Element | None) -> None:
        """Leave out, with a note, what has no meaning here; check the numbers of what stays."""
        kept = []
        for child in element.children:
            if parent is None and child.tag in SECTIONS:
                self.notes.add(child, SECTIONS[child.tag])
            elif parent is None and child.tag in LISTED:
                for one in child.children:
                    self.notes.add(one, LISTED[child.tag])
                self.contacts += child.children if child.tag == "contact" else []
            elif child.tag in ELEMENTS:
                if element.tag != "default":
                    self.notes.add(child, ELEMENTS[child.tag])
                    self.sizes_change |= child.tag == "flexcomp" or element.tag == "actuator"
            elif element.tag != "default" or child.tag != "pair":
                check_numbers(child)
                child.attrib.pop("texture", None)
                self._clean(child, element)
                kept.append(child)
        element.children = kept
        if parent is None:  # else MuJoCo would simulate models with muscles to find their ranges
            limits = Element("compiler", {}, element.file, element.line)
            limits.children = [Element("lengthrange", {"mode": "none"}, element.file, element.line)]
            element.children.append(limits)

    # --- the texts ----------------------------------------------------------------------------------------------

    def _texts(self) -> tuple[str, dict[str, bytes]]:
        """The text of the model, and of those it attaches; no two have an element on the same line."""
        self.lines = [self.root]
        main = self._text(self.root)
        return main, {f"attached{k}.xml": self._text(child).encode() for k, child in enumerate(self.attached)}

    def _text(self, root: Element) -> str:
        """XML with one element a line."""
        out = [""] * (len(self.lines) - 1)
        waiting: list[tuple[Element, bool]] = [(root, False)]
        while waiting:
            e, closing = waiting.pop()
            attributes = "".join(f" {name}={quoteattr(value)}" for name, value in e.attrib.items())
            out.append(f"</{e.tag}>" if closing else f"<{e.tag}{attributes}{'' if e.children else '/'}>")
            self.lines.append(e)
            if e.children and not closing:
                waiting.append((e, True))
                waiting.extend((c, False) for c in reversed(e.children))
        return "\n".join(out)

    def at(self, info: str) -> Element:
        """The element that MuJoCo means by a text with "line 12" in it; the root where there is none."""
        found = re.findall(r"line (\d+)", info)
        line = int(found[-1]) if found else 0
        return self.lines[line] if line < len(self.lines) else self.root


def _place_files(root: Element) -> None:
    """Give every mesh the path of its file from the folder of the model, and its name."""
    folder, strip = "", False
    for compiler in root.findall("compiler"):
        folder = compiler.attrib.pop("meshdir", compiler.attrib.pop("assetdir", folder))
        strip = compiler.attrib.pop("strippath", str(strip)).strip() in ("true", "True")
        for name in ("meshdir", "texturedir", "assetdir"):
            compiler.attrib.pop(name, None)
    for asset in root.findall("asset"):
        for mesh in asset.findall("mesh"):
            file = mesh.get("file")
            if file:
                base = re.split(r"[/\\]", file)[-1]
                mesh.attrib.setdefault("name", base.rpartition(".")[0] or base)
                path = base if strip else file
                mesh.attrib["file"] = f"{folder.rstrip('/')}/{path}" if folder and not path.startswith("/") else path


def check_numbers(element: Element) -> None:
    """Refuse NaN, infinity and absurd numbers, but in ranges; MuJoCo itself says where a word is no number at all."""
    for name, text in element.attrib.items():
        if name in _WORDS:
            continue
        for word in text.split():
            try:
                value = abs(float(word))
            except ValueError:
                value = nan if _VAGUE.fullmatch(word) else 0.0
            most = COUNTS.get(name, inf if name.endswith("range") else LARGEST)
            if isnan(value) or value > most:
                raise element.error(
                    f"has {shown(word)} in its attribute '{name}'; needed: finite numbers of at most {most:g}."
                )


def check_size(root: Element, attached: Mapping[str, Size]) -> Size:
    """Refuse a file that asks for more than MuJoCo compiles in seconds: replicas and attached models are counted."""
    size = _expanded(root, attached)
    for found, most, what in zip(size, (MAX_ELEMENTS, MAX_BODIES, MAX_DEPTH), ("elements", "bodies", "levels")):
        if found > most:
            raise root.error(f"describes {found} {what}, replicas and attached models counted; needed: at most {most}.")
    return size


def _expanded(root: Element, attached: Mapping[str, Size]) -> Size:
    """Numbers of elements, bodies and levels once every replica is made: from the leaves inward."""
    totals: dict[int, Size] = {}
    for e in reversed(list(root.iter())):
        parts = [totals[id(c)] for c in e.children]
        if e.tag == "attach" and (e.get("model") or "") in attached:
            parts.append(attached[e.get("model") or ""])
        elements, bodies, depth = 1 + sum(x[0] for x in parts), (e.tag == "body") + sum(x[1] for x in parts), 1
        depth += max((x[2] for x in parts), default=0)
        count = 1
        if e.tag in ("replicate", "composite") and "count" in e.attrib:
            values = e.numbers("count")
            if any(x < 0 or x > 1e9 for x in values):
                raise e.error(f"has the count {shown(e.attrib['count'])}; needed: numbers from 0 to {MAX_BODIES}.")
            count = int(prod(max(x, 1.0) for x in values))
            bodies = max(bodies, 1) if e.tag == "composite" else bodies
        totals[id(e)] = elements * count, bodies * count, depth
    return totals[id(root)]
