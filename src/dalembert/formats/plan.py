"""From a graph of links and joints to a plan: the bodies, the joints that carry them, the joints that close loops."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.formats.links import IDENTITY, WORLD, Edge, FileLink, Graph, NoteTaker, TakenNames
from dalembert.mechanism.joints import Fixed, Free, Planar, Screw, Universal
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.mechanism.spanning import carrying_tree, clusters, in_order, joint_cost
from dalembert.spatial import Transform


class GraphPlan:
    """Which links make one body (a cluster), which joints carry bodies, which close loops; nothing is built yet.

    Node 0 is the world, node i + 1 is links[i]; a cluster is named by the smallest node in it.
    """

    def __init__(self, graph: Graph, notes: NoteTaker, base: str, merge_fixed: bool):
        self.graph, self.links, self.notes = graph, graph.links, notes
        self.number = _numbered(graph.links)
        self.joint_names = {e.name for e in graph.edges}
        self.edges = [*graph.edges, *self._bases(base)]
        self.pairs = [self._pair(e) for e in self.edges]
        rigid = [k for k, e in enumerate(self.edges) if merge_fixed and isinstance(e.joint, Fixed) and not e.cut]
        self.cluster = clusters(len(self.links) + 1, [self.pairs[k] for k in rigid])
        self.members: dict[int, list[int]] = defaultdict(list)
        for node, c in enumerate(self.cluster):
            self.members[c].append(node)
        self.heavy = {c for c, nodes in self.members.items() if any(n and not self.links[n - 1].light for n in nodes)}
        self.coupled = {self.coordinate(q)[0] for c in graph.couplings for q in c.coefficients}
        self.place = self._places(rigid)
        self._grow(set(rigid))
        self._drop_massless()

    def is_turned(self, k: int, c: int) -> bool:
        """Whether edge k has its parent in cluster c, which hangs on it."""
        return self.cluster[self.pairs[k][1]] != c

    def across(self, k: int, c: int) -> tuple[int, Transform, int, Transform]:
        """Edge k seen outward to cluster c: (inner node, joint frame there, outer node, joint frame there)."""
        e, (a, b) = self.edges[k], self.pairs[k]
        return (b, e.at_child, a, e.at_parent) if self.is_turned(k, c) else (a, e.at_parent, b, e.at_child)

    def in_head(self, node: int) -> Transform:
        """Place of a link in the frame of the body it belongs to, which is that of the cluster's head."""
        head = self.head[self.cluster[node]]
        return IDENTITY if head == node else self.place[head].inverse() @ self.place[node]

    def coordinate(self, name: str) -> tuple[str, str]:
        """The joint and the part of its coordinates that a name means: ("wrist", "first")."""
        joint, _, part = (name, "", "") if name in self.joint_names else name.rpartition(".")
        return joint, part

    # --- steps --------------------------------------------------------------------------------------------------

    def _pair(self, e: Edge) -> tuple[int, int]:
        for end in (e.parent, e.child):
            if end != WORLD and end not in self.number:
                raise e.origin.error(f"asks for link '{end}', which is not there.")
        a, b = (self.number.get(end, 0) for end in (e.parent, e.child))
        if a == b:
            raise e.origin.error(f"connects link '{e.parent}' with itself; parent and child must differ.")
        return a, b

    def _bases(self, base: str) -> list[Edge]:
        """A joint with the world for each part that has none, named after its root link."""
        edges = [e for e in self.graph.edges if not e.cut]
        part = clusters(len(self.links) + 1, [self._pair(e) for e in edges])
        children = {e.child for e in edges}
        order = [name for name in self.graph.roots if name in self.number]
        order += [name for name in self.number if name not in children]
        root: dict[int, FileLink] = {}
        for name in (*order, *self.number):
            node = self.number[name]
            root.setdefault(part[node], self.links[node - 1])
        root.pop(part[0], None)  # joined to the world already
        names = TakenNames(*(e.name for e in self.graph.edges))
        joint = Free() if base == "free" else Fixed()
        return [
            Edge(names.fresh(link.name), link.origin, joint, WORLD, link.name, at_parent=link.pose)
            for link in root.values()
        ]

    def _places(self, rigid: list[int]) -> list[Transform]:
        """Place of each link in the frame of the first of its cluster."""
        touching: dict[int, list[int]] = defaultdict(list)
        for k in rigid:
            for node in self.pairs[k]:
                touching[node].append(k)
        place: dict[int, Transform] = {}
        used = set()
        for first in self.members:
            place[first] = IDENTITY
            waiting = [first]
            while waiting:
                node = waiting.pop()
                for k in touching[node]:
                    if k in used:
                        continue
                    used.add(k)
                    (a, b), e = self.pairs[k], self.edges[k]
                    step = e.at_parent @ e.at_child.inverse()
                    other, there = (b, place[node] @ step) if node == a else (a, place[node] @ step.inverse())
                    if other not in place:
                        place[other] = there
                        waiting.append(other)
                    else:
                        self._fixed_again(e, place[other], there)
        return [place[node] for node in range(len(self.links) + 1)]

    def _fixed_again(self, e: Edge, known: Transform, asked: Transform) -> None:
        off, turn = (float(np.abs(x).max()) for x in (known.p - asked.p, known.R - asked.R))
        if off > 1e-6 * (1.0 + float(np.abs(known.p).max())) or turn > 1e-6:
            raise e.origin.error(
                f"fixes '{e.child}' to '{e.parent}', which other fixed joints hold {off:.3g} m and {turn:.3g} rad from "
                "there. Remove one of them, or correct its pose."
            )
        self.notes.add(e.origin, "other joints fix these links to each other already; this one says nothing new")

    def _grow(self, rigid: set[int]) -> None:
        """The tree over clusters, the edges left over, and of each cluster its head: the link by which it hangs."""
        use, pairs, costs = [], [], []
        light = set(self.cluster) - self.heavy - {0}
        for k, e in sorted(enumerate(self.edges), key=lambda ke: ke[1].name):
            a, b = (self.cluster[n] for n in self.pairs[k])
            if k not in rigid and not e.cut and a != b:
                use.append(k)
                pairs.append((a, b))
                costs.append(cost(e, e.driven or e.name in self.coupled, not light.isdisjoint((a, b))))
        grown = [(use[k], c) for k, c in carrying_tree(len(self.links) + 1, pairs, costs, light)]
        self.tree = in_order(grown, [self.cluster[self._inner(k, c)] for k, c in grown])
        inside = rigid | {k for k, _ in self.tree}
        self.loops = [k for k in range(len(self.edges)) if k not in inside]
        self.head = {0: 0}
        for k, c in self.tree:
            a, b = self.pairs[k]
            self.head[c] = a if self.cluster[a] == c else b

    def _drop_massless(self) -> None:
        """Leave out what moves no mass, unless a loop, a coupling or a rotor needs it."""
        above = {c: self.cluster[self._inner(k, c)] for k, c in self.tree}
        kept = self.heavy | {self.cluster[n] for k in self.loops for n in self.pairs[k]}
        moving = set(self.heavy)
        for k, c in self.tree:
            e = self.edges[k]
            if e.name in self.coupled or isinstance(e.joint, Fixed):
                kept.add(c)
            if "armature" in e.acted:
                moving.add(c)
        kept |= moving
        for _, c in reversed(self.tree):
            for group in (kept, moving):
                if c in group:
                    group.add(above[c])
        self.dropped = {c: k for k, c in self.tree if c not in kept}  # cluster: the edge on which it would hang
        self.tree = [(k, c) for k, c in self.tree if c in kept]
        self.idle = [k for k, c in self.tree if c not in moving and self.edges[k].joint.nv]
        for k in self.dropped.values():
            self.notes.add(
                self.edges[k].origin,
                f"link '{self.edges[k].child}' has no mass and carries none: the joint is left out, the link is a "
                "frame at its neutral position",
            )
        for k in self.idle:
            self.notes.add(
                self.edges[k].origin,
                "moves no mass, yet a loop or a coupling needs it: give the link it carries mass or inertia, or the "
                "joint an armature, before the mechanism is compiled",
            )

    def _inner(self, k: int, c: int) -> int:
        a, b = self.pairs[k]
        return b if self.cluster[a] == c else a


def cost(e: Edge, needed: bool, light: bool) -> int:
    """Cost of keeping a joint in the tree, by the rules of `mechanism.topology`."""
    needed = needed or isinstance(e.joint, Fixed) or not {"armature", "friction"}.isdisjoint(e.acted)
    limited = e.limits is not None and bool(np.isfinite(np.asarray(e.limits, dtype=float)).any())
    return joint_cost(e.joint.nv, needed=needed, preferred=light or limited or bool(e.acted))


def turned(e: Edge, notes: NoteTaker) -> Edge:
    """The joint from its child to its parent; where one number says its position, the number stays the same."""
    j = e.joint
    if isinstance(j, Screw):
        return replace(e, joint=Screw(-j.axis, pitch=j.pitch))
    if isinstance(j, AxisJoint) and not isinstance(j, Planar):
        return replace(e, joint=type(j)(-j.axis))
    if isinstance(j, Universal):
        notes.add(e.origin, "hangs its parent on its child: its coordinates 'first' and 'second' are exchanged")
        swapped: dict[str, Any] = {
            name: value[::-1]
            for name in ("stiffness", "rest", "damping", "armature", "limits", "friction")
            if np.ndim(value := getattr(e, name)) == (2 if name == "limits" else 1)
        }
        return replace(e, joint=Universal(-j.axes[1], -j.axes[0]), **swapped)
    if j.nv and not isinstance(j, Free):
        notes.add(e.origin, "hangs its parent on its child: its coordinates are those of the inverse motion")
    return e


def _numbered(links: list[FileLink]) -> dict[str, int]:
    number: dict[str, int] = {}
    for i, link in enumerate(links, start=1):
        if link.name in number or link.name == WORLD:
            raise DescriptionError(f"there are two links '{link.name}'; names must differ.")
        number[link.name] = i
    return number
