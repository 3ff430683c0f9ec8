"""Reading SDF: worlds and models become one mechanism."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.at_limits import checked_stops, stop_at_limits
from dalembert.formats.folder import Folder
from dalembert.formats.graph import build
from dalembert.formats.links import WORLD, Edge, Graph
from dalembert.formats.notes import Notes
from dalembert.formats.sdf.elements import known_names, note_rest
from dalembert.formats.sdf.frames import FrameScope
from dalembert.formats.sdf.joints import Joints
from dalembert.formats.sdf.models import Models, ScopedElement, version_of
from dalembert.formats.sdf.solids import link_of
from dalembert.formats.xml import Element, parse, shown
from dalembert.mechanism.joints import Fixed

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

GRAVITY = (0.0, 0.0, -9.8)  # of a world that says nothing
_IN_WORLD = ["model", "include", "frame", "joint", "gravity", "physics"]


def read_sdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    base: str | None = None,
    merge_fixed: bool = True,
    model: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    stops: Any = None,
) -> Mechanism:
    """The mechanism of an SDF file, versions 1.4 to 1.12: a model, or a world with its models.

    Joints may form loops: those that close them are cut. Included files are read from the folder of the file and below,
    or from `folder`, one around it that you trust it with and that `model://` then means. strict=True refuses a file
    with elements that have no meaning here, which are otherwise listed in `notes`. base: "fixed" fixes parts that float
    to the ground, "free" lets models float that fixed joints hold to the world; None takes the file as it is.
    merge_fixed=False keeps a body for every link. model: the one of several models to read, by name. path may also be
    the text itself, a string that begins with "<"; it includes no files. stops: what stops joints at
    their limits, "rigid" or a `da.Stops`; None keeps limits as data.

    >>> import dalembert as da
    >>> m = da.read_sdf('''<sdf version="1.9"><model name="pendulum"><link name="rod"/>
    ...     <joint name="pivot" type="revolute"><parent>world</parent><child>rod</child><axis><xyz>0 1 0</xyz></axis>
    ...     </joint></model></sdf>''')
    >>> m
    <mechanism 'pendulum': 1 bodies, 1 joints>
    >>> print(m.notes[0].text)
    has no <inertial>; SDF means 1 kg at its origin, with moments of 1 kg m²
    """
    checks.flag(strict, "strict")
    checks.flag(merge_fixed, "merge_fixed")
    if base is not None:
        checks.choice(base, ("fixed", "free"), "base")
    if model is not None:
        checks.name(model, "model")
    stops = checked_stops(stops)
    notes = Notes(strict)
    if isinstance(path, str) and path.lstrip("\ufeff \t\r\n").startswith("<"):
        m = _SdfReader(parse(path), None, notes).read(base, merge_fixed, model)
    else:
        where = checks.path(path, "path", error=ModelFileError)
        inside = Folder.of(where, folder)
        with inside.inside(where):
            root = parse(where, file=where.name)
            m = _SdfReader(root, inside, notes).read(base, merge_fixed, model)
    m.notes = notes.done()
    return stop_at_limits(m, stops)


class _SdfReader:
    """One file on its way to a mechanism."""

    def __init__(self, root: Element, folder: Folder | None, notes: Notes):
        self.root, self.notes = root, notes
        if self.root.tag != "sdf":
            raise self.root.error('is the first element; needed: <sdf version="…">.')
        self.models = Models(folder, notes)
        self.scope = FrameScope(version=version_of(self.root))

    def read(self, base: str | None, merge_fixed: bool, model: str | None) -> Mechanism:
        place = self._place()
        keys = self._take(place, model)
        found = self.models.contents
        self._name_by(keys, found.links)
        graph = Graph(self._title(place, keys), gravity=self._gravity(place))
        frames = self.models.frames
        for one in found.links:
            link = link_of(one, frames, self.notes, self.models.self_collide.get(one.scope.model, False))
            link.name = self.name(one.key)
            graph.links.append(link)
            if one.static:
                graph.edges.append(Edge(f"{link.name} static", one.element, Fixed(), WORLD, link.name, link.pose))
        joints = Joints(graph, frames, self.notes, self.name)
        for one in found.joints:
            if one.static:
                self.notes.add(one.element, "stands in a static model and does not move")
            else:
                joints.read(one)
        joints.done()
        self._loosen(graph, base)
        self._frames(graph)
        graph.roots = [self.name(frames.link(key)) for key in keys]
        m = build(graph, self.notes, base=base or "free", merge_fixed=merge_fixed)
        for name, q in (("initial", joints.initial), ("drawn", joints.positions)):
            known = {joint: x for joint, x in q.items() if joint.partition(".")[0] in m.joints}
            if known:
                m.add_state(name, q=known)
        return m

    # --- what is read ---------------------------------------------------------------------------------------------

    def _place(self) -> Element:
        """The world, or the root element where models stand alone."""
        worlds = self.root.findall("world")
        for other in worlds[1:]:
            self.notes.add(other, f"only the first world, {shown(worlds[0].name)}, is read")
        note_rest(self.root, ("world", "model") if not worlds else ("world",), self.notes)
        if not worlds and not self.root.findall("model"):
            raise self.root.error("has neither a <world> nor a <model>; there is nothing to read.")
        return worlds[0] if worlds else self.root

    def _take(self, place: Element, model: str | None) -> list[str]:
        """Take in the models; gives their keys."""
        scope = self.scope
        if place.tag == "world":
            note_rest(place, _IN_WORLD, self.notes)
        if model is not None:
            named = {e.name: e for e in place.findall("model")}
            if model not in named:
                raise place.error(f"has no model {shown(model)}; {known_names(named, model)}")
            return [self.models.model(named[model], scope)]
        if place.tag == "sdf":
            return [self.models.model(e, scope) for e in place.findall("model")]
        self.models.take(place, scope)
        return [key for key, node in self.models.frames.nodes.items() if node.kind == "model" and "::" not in key]

    def _name_by(self, keys: list[str], links: list[ScopedElement]) -> None:
        """Names begin with that of their model, except in the only model that moves."""
        moving = {f.key.partition("::")[0] for f in links if not f.static}
        alone = next(iter(moving)) if len(moving) == 1 else keys[0] if len(keys) == 1 else None
        self.prefix = f"{alone}::" if alone is not None else ""

    def name(self, key: str) -> str:
        """The name in the mechanism of what has this key."""
        return key[len(self.prefix) :] if self.prefix and key.startswith(self.prefix) else key

    def _title(self, place: Element, keys: list[str]) -> str:
        alone = self.prefix[:-2]
        return alone or (place.name if place.tag == "world" else "") or (keys[0] if keys else "") or "SDF"

    def _gravity(self, place: Element) -> Any:
        if place.tag != "world":
            return (0.0, 0.0, -9.81)
        holders = [place, *place.findall("physics")]  # inside <physics> before version 1.6
        for holder in holders:
            if (g := holder.only("gravity")) is not None:
                return g.numbers(None, 3, default=GRAVITY)
        return GRAVITY

    def _loosen(self, graph: Graph, base: str | None) -> None:
        """Let models float that fixed joints hold to the world, where that is asked for."""
        if base != "free":
            return
        static = {link.name for one, link in zip(self.models.contents.links, graph.links) if one.static}
        kept = []
        for e in graph.edges:
            held = isinstance(e.joint, Fixed) and not e.cut and WORLD in (e.parent, e.child)
            if held and not {e.parent, e.child} & static:
                self.notes.add(e.origin, "base='free': the joint that holds the model to the world is left out")
            else:
                kept.append(e)
        graph.edges = kept

    def _frames(self, graph: Graph) -> None:
        """Named frames of the file, on the links that carry them."""
        frames, links = self.models.frames, {link.name: link for link in graph.links}
        for one in self.models.contents.frames:
            carrier = frames.link(one.key)
            if carrier == WORLD:
                graph.frames[self.name(one.key)] = frames.pose(one.key)
            else:
                T = frames.pose(carrier).inverse() @ frames.pose(one.key)
                links[self.name(carrier)].frames[self.name(one.key)] = T
