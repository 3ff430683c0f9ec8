"""Frames of SDF: their poses in the world as drawn, and the links that carry them.

Every model, link, joint and frame is a node with a key, its name from the world down ("arm::wrist::camera"). It has a
pose relative to another node, and all but links are attached to another one. Chains of both are followed without
recursion, and circles are found; models hold frames that place them (`placement_frame`), one level each.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.formats.links import IDENTITY, WORLD
from dalembert.formats.sdf.elements import known_names
from dalembert.formats.xml import Element, shown
from dalembert.spatial import Transform


@dataclass(frozen=True, slots=True)
class FrameScope:
    """Where names are looked up: what stands before them, and the node that "__model__" means."""

    prefix: str = ""
    model: str = WORLD
    version: tuple[int, int] = (1, 11)

    def key(self, name: str) -> str:
        """The key of a name in this scope."""
        return self.prefix + name


@dataclass(slots=True)
class FrameNode:
    """A frame: its pose relative to `relative`, and what it is attached to; names are looked up in `scope`."""

    kind: str  # "model", "link", "joint" or "frame"
    element: Element
    scope: FrameScope
    raw: Transform
    relative: str  # "__model__" where nothing else is said
    attached: str = ""  # a link is attached to itself
    inside: FrameScope | None = None  # of a model: the scope in which `attached` and `placement` are looked up
    placement: str = ""  # of a model: the frame in it that the pose places


class Frames:
    """All nodes, by key."""

    def __init__(self) -> None:
        self.nodes: dict[str, FrameNode] = {}
        self.poses: dict[str, Transform] = {WORLD: IDENTITY}
        self.links: dict[str, str] = {WORLD: WORLD}
        self.ground: set[str] = set()  # links that a writer of ours put in the place of the world

    def add(self, key: str, node: FrameNode, name: str) -> None:
        """A new node; the names of what stands in one model must differ."""
        if name == WORLD or "::" in name or (name.startswith("__") and name.endswith("__")):
            raise node.element.error(f"has the name {shown(name)}, which SDF keeps for itself; give it another one.")
        if key in self.nodes:
            other = self.nodes[key].element
            raise node.element.error(
                f"has the name of {other} on line {other.line} of {other.file}; names in a model must differ."
            )
        self.nodes[key] = node

    def add_ground(self, key: str) -> None:
        """Let a link be the world."""
        self.ground.add(key)
        self.links[key] = WORLD

    def find(self, scope: FrameScope, name: str, element: Element) -> str:
        """The key of the frame that a name means where the element stands."""
        if name == "__model__":
            return scope.model
        key = scope.key(name)
        if key in self.nodes:
            return key
        if name in (WORLD, "__root__"):
            return WORLD
        here = (k[len(scope.prefix) :] for k in self.nodes if k.startswith(scope.prefix))
        raise element.error(f"asks for {shown(name)}, which is not there; {known_names(here, name)}")

    def pose(self, key: str) -> Transform:
        """Pose of a frame in the world, as drawn."""
        chain: list[str] = []
        seen: set[str] = set()
        while key not in self.poses:
            self._not_twice(key, seen, "relative to")
            chain.append(key)
            key = self._relative(key)
        for k in reversed(chain):
            self.poses[k] = self.poses[key] @ self._local(k)
            key = k
        return self.poses[key]

    def link(self, key: str) -> str:
        """The key of the link that carries a frame, or `WORLD`."""
        chain: list[str] = []
        seen: set[str] = set()
        while key not in self.links:
            self._not_twice(key, seen, "attached to")
            chain.append(key)
            node = self.nodes[key]
            if node.kind == "link":
                self.links[key] = key
                break
            key = self.find(node.inside or node.scope, node.attached, node.element)
        for k in chain:
            self.links[k] = self.links[key]
        return self.links[key]

    def _relative(self, key: str) -> str:
        node = self.nodes[key]
        return self.find(node.scope, node.relative, node.element.find("pose") or node.element)

    def _local(self, key: str) -> Transform:
        """Pose of a node relative to the one it names."""
        node = self.nodes[key]
        if not node.placement or node.inside is None:
            return node.raw
        T, inner = IDENTITY, self.find(node.inside, node.placement, node.element)
        seen: set[str] = set()
        while inner != key:
            if inner == WORLD:
                raise node.element.error(
                    f"is placed by {shown(node.placement)}, whose own place does not follow from that of the model."
                )
            self._not_twice(inner, seen, "relative to")
            T = self._local(inner) @ T
            inner = self._relative(inner)
        return node.raw @ T.inverse()

    def _not_twice(self, key: str, seen: set[str], how: str) -> None:
        if key in seen:
            raise self.nodes[key].element.error(
                f"is {how} itself, by way of other frames. Remove one of these relations."
            )
        seen.add(key)
