"""A URDF on its way to a mechanism: the graph, names of the file, and what is added when the mechanism is there."""

from __future__ import annotations

from collections.abc import Callable, Container

from dalembert.formats.colliding import moved
from dalembert.formats.graph import IDENTITY, WORLD, Edge, FileLink, Graph
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element, shown
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform, congruence

MAX_STEPS = 10**6


class Robot:
    """Links and joints by the names of the file."""

    def __init__(self, name: str, notes: Notes):
        self.graph = Graph(name)
        self.notes = notes
        self.links: dict[str, FileLink] = {}
        self.joints: dict[str, Edge] = {}
        self.aliases: dict[str, str] = {WORLD: WORLD}  # names of links that are the ground
        self.has_world = False  # whether a link of the file is the ground
        self.base = "fixed"  # how links without a parent stand
        self.later: list[Callable[[Mechanism], None]] = []  # what needs the mechanism: rods, springs
        self._steps = 0  # joints that sums along paths have met
        self._taken: set[str] = set()  # names of links and frames, when all are there
        self._carrier: dict[str, Edge] | None = None
        self._neutral: dict[str, Transform] = {WORLD: IDENTITY}

    def link(self, name: str, e: Element) -> str:
        """The name of a link of the graph, from a name that element e gives."""
        if name in self.aliases:
            return self.aliases[name]
        if name not in self.links:
            raise e.error(f"asks for link {shown(name)}, which is not there.")
        return name

    def close(self, edge: Edge) -> None:
        """Add a cut joint."""
        self.graph.edges.append(edge)

    @property
    def carrier(self) -> dict[str, Edge]:
        """The joint on which each link hangs; asked for when all joints are there."""
        if self._carrier is None:
            self._carrier = {e.child: e for e in reversed(self.graph.edges) if not e.cut}
        return self._carrier

    def path(self, link: str) -> list[Edge]:
        """The joints from the root to a link."""
        found: list[Edge] = []
        while link in self.carrier:
            found.append(self.carrier[link])
            link = found[-1].parent
        self._steps += len(found)
        if self._steps > MAX_STEPS:
            raise found[0].origin.error(
                f"is at the end of paths of more than {MAX_STEPS} joints in all; too long to sum."
            )
        return found[::-1]

    def neutral(self, link: str) -> Transform:
        """The place of a link where every joint is neutral, in its root."""
        found: list[Edge] = []
        while link in self.carrier and link not in self._neutral:
            found.append(self.carrier[link])
            link = found[-1].parent
        place = self._neutral.get(link, IDENTITY)
        for edge in reversed(found):
            place = self._neutral[edge.child] = place @ edge.at_parent @ edge.at_child.inverse()
        return place

    def mark(self, link: str, name: str, place: Transform) -> Callable[[Mechanism], object]:
        """A named frame of a link, to be looked up in the mechanism when it is there."""
        if link == WORLD:
            return lambda m: m.ground.at(place.p, rotation=place.R)
        if not self._taken:
            self._taken = {n for known in self.links.values() for n in known.frames} | set(self.links)
        fresh = self.fresh(name, self._taken)
        self._taken.add(fresh)
        self.links[link].frames[fresh] = place
        return lambda m: m.frames[fresh]

    def move(self, name: str, frame: Transform) -> None:
        """Give a link another frame, which is at `frame` in the old one; nothing else moves."""
        link, back = self.links[name], frame.inverse()
        link.com, link.inertia = back.R @ link.com + back.p, congruence(back.R, link.inertia)
        link.shapes, link.colliders = [shape.moved(back) for shape in link.shapes], moved(link.colliders, back)
        link.frames = {n: back @ T for n, T in link.frames.items()}
        for e in self.graph.edges:
            e.at_parent = back @ e.at_parent if e.parent == name else e.at_parent
            e.at_child = back @ e.at_child if e.child == name else e.at_child

    def fresh(self, name: str, taken: Container[str], e: Element | None = None) -> str:
        """The name, or name_2, name_3, … where it is taken, which is noted at e."""
        k, new = 1, name
        while new in taken:
            k += 1
            new = f"{name}_{k}"
        if e is not None and new != name:
            self.notes.add(e, f"the name {shown(name)} is taken; it is called '{new}' here")
        return new
