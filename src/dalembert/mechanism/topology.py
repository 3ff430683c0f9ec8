"""The tree of a mechanism: which of its joints carry bodies, which close loops.

Joints are described between any two bodies, in any order. Where each body is the child of one of them, up from the
ground, they are a tree as they stand. Otherwise a spanning tree of least cost is taken; what is left over closes loops.

- Joints with `tree=True`, and those whose coordinate something needs (motors, servos, drivers, couplings, armature, dry
  friction, stops), are in it.
- Then come joints beside massless bodies, which should carry others, and joints with springs, limits or a place in a
  named state.
- Of the others, those with many degrees of freedom are cut first; then paths from the ground are short, so that loops
  are cut in their middle; then the name decides. Nothing depends on the order of description.

A joint that the tree meets from its second body is turned round (`joints.inverse`); its coordinates stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Body
from dalembert.mechanism.constraints import Constraint, LoopJoint
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.forces import CutJointSpring
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.spanning import spanning_tree
from dalembert.mechanism.values import is_exact_zero

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

NEEDED, PREFERRED, DEAR = 0, 1, 100  # costs of joints in the tree; others cost 2 and one for each degree of freedom
Tree = list[tuple[int, int]]  # (edge, the node it reaches), outward


def with_tree(m: Mechanism) -> Mechanism:
    """The mechanism with joints that are a tree and loops as constraints; itself where that is how it is described."""
    free = {name: a for name, a in m.joints.items() if a.tree is not False}
    if len(free) == len(m.joints) and _is_tree(m, free.values()):
        return m
    needed = _needed(m)
    tree = _spanning(m, free, needed)
    out = m.snapshot()
    out.joints = {name: tree[name] for name in m.joints if name in tree}
    cut = {name: a for name, a in m.joints.items() if name not in tree}
    _check_cut(cut, needed, m)
    loops = {name: LoopJoint(name, a.joint, a.parent, a.child) for name, a in cut.items()}
    out.constraints = {**loops, **m.constraints}
    for name, a in cut.items():
        if not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping)):
            force = _free_name(name, out.forces)
            out.forces[force] = CutJointSpring(force, loops[name], a.stiffness, a.rest, a.damping)
    return out


def _is_tree(m: Mechanism, joints: Iterable[Attachment]) -> bool:
    """Whether each body is the child of one joint; that they all reach the ground is checked by `Layout`."""
    children = [a.child.body.name for a in joints]
    return len(set(children)) == len(children) and m.ground.name not in children


def _spanning(m: Mechanism, joints: dict[str, Attachment], needed: dict[str, str]) -> dict[str, Attachment]:
    """The joints of the tree, each outward from the ground."""
    graph = _Graph(m, sorted(joints.values(), key=lambda a: a.name), needed)
    out = {}
    for k, node in graph.tree():
        a = graph.sides[k]
        out[a.name] = a if a.child.body.name == graph.bodies[node] else a.inverted()
    return out


class _Graph:
    """Bodies as nodes, the ground first, and joints as edges, both by name; nothing depends on their order."""

    def __init__(self, m: Mechanism, sides: list[Attachment], needed: dict[str, str]):
        self.sides, self.needed = sides, needed
        self.bodies = sorted(m.bodies, key=lambda name: (name != m.ground.name, name))
        number = {name: k for k, name in enumerate(self.bodies)}
        self.light = {number[b.name] for b in m.bodies.values() if b is not m.ground and _massless(b)}
        stated = {q.partition(".")[0] for s in m.states.values() for q in s.q}
        self.pairs = [(number[a.parent.body.name], number[a.child.body.name]) for a in sides]
        self.costs = [self._cost(a, pair, stated) for a, pair in zip(sides, self.pairs)]

    def _cost(self, a: Attachment, pair: tuple[int, int], stated: set[str]) -> int:
        if a.name in self.needed or isinstance(a.joint, Fixed):
            return NEEDED
        sprung = not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping))
        limited = bool((abs(a.limits) != float("inf")).any())
        preferred = sprung or limited or a.name in stated or not self.light.isdisjoint(pair)
        return PREFERRED if preferred else 2 + a.joint.nv

    def tree(self) -> Tree:
        """The spanning tree of least cost; of those with other cuts, one in which massless bodies carry others."""
        tree = spanning_tree(len(self.bodies), self.pairs, self.costs)
        idle = self._idle(tree)
        while idle:
            better = next(filter(lambda t: len(self._idle(t)) < len(idle), self._others(tree, idle)), None)
            if better is None:  # `check_masses` names the joints
                return tree
            tree, idle = better, self._idle(better)
        return tree

    def _idle(self, tree: Tree) -> list[int]:
        """Massless bodies at the ends of branches."""
        inner = {self._inner(k, node) for k, node in tree}
        return [node for _, node in tree if node in self.light and node not in inner]

    def _others(self, tree: Tree, idle: list[int]) -> Iterator[Tree]:
        """Trees without one of the joints that close a loop with an idle body; the dearest of them first."""
        above = {node: (k, self._inner(k, node)) for k, node in tree}
        inside = {k for k, _ in tree}
        loops = set()
        for k, pair in enumerate(self.pairs):
            if k not in inside and not set(idle).isdisjoint(pair):
                loops |= {j for end in pair for j in self._path(end, above)}
        for k in sorted(loops, key=lambda j: (-self.costs[j], j)):
            if self.costs[k] != NEEDED:
                costs = [DEAR if j == k else c for j, c in enumerate(self.costs)]
                yield spanning_tree(len(self.bodies), self.pairs, costs)

    def _inner(self, k: int, node: int) -> int:
        a, b = self.pairs[k]
        return a if b == node else b

    @staticmethod
    def _path(node: int, above: dict[int, tuple[int, int]]) -> Iterator[int]:
        while node in above:
            k, node = above[node]
            yield k


def _needed(m: Mechanism) -> dict[str, str]:
    """{joint: why it must have a coordinate}."""
    out: dict[str, str] = {}
    for a in m.joints.values():
        if a.tree:
            out[a.name] = "tree=True"
        elif not a.joint.closure and not isinstance(a.joint, Fixed):
            out[a.name] = "no constraint to offer"
        elif any(f is not None for f in a.friction) or a.stops is not None:
            out[a.name] = "dry friction" if a.stops is None else "stops"
        elif not all(is_exact_zero(x) for x in a.armature):
            out[a.name] = "an armature"
    elements: list[Any] = [*m.forces.values(), *m.constraints.values(), *m.contacts.values()]
    for element in elements:
        for name in joints_of(element, m):
            out.setdefault(name, f"{element.kind} '{element.name}'")
    return out


def joints_of(element: Any, m: Mechanism) -> set[str]:
    """Names of the joints whose coordinates a force or constraint acts on."""
    values: list[Any] = [*vars(element).values()]
    if isinstance(element, Expressions) and element.recipe is not None:
        values += [_coordinates(x, m) for x in element.recipe[1]]
    out: set[str] = set()
    while values:
        x = values.pop()
        if isinstance(x, Attachment):
            out.add(x.name)
        elif isinstance(x, (list, tuple, set)):
            values += x
        elif isinstance(x, Constraint) and x is not element:
            values += vars(x).values()
    return out


def _coordinates(x: Any, m: Mechanism) -> list[Attachment]:
    """The joints that texts in an argument of a constraint name."""
    texts = [x] if isinstance(x, str) else list(x) if isinstance(x, dict) else []
    joints = (m.joints.get(t) or m.joints.get(t.rpartition(".")[0]) for t in texts if isinstance(t, str))
    return [a for a in joints if a is not None]


def _check_cut(cut: dict[str, Attachment], needed: dict[str, str], m: Mechanism) -> None:
    for name, a in cut.items():
        if name in needed and a.tree is False:
            raise DescriptionError(
                f"joint '{name}' is to close a loop (tree=False), but needs a coordinate: it has {needed[name]}. Leave "
                "tree=False away, or take that from it."
            )
        if name in needed:
            if not a.joint.closure and a.joint.nv:
                raise DescriptionError(
                    f"joint '{name}' is {a.joint.kind} and forbids no motion, but its bodies are connected by others "
                    "that are needed in the tree; leave it out."
                )
            others = ", ".join(f"'{n}' ({why})" for n, why in needed.items() if n != name)
            raise DescriptionError(
                f"joint '{name}' has {needed[name]} and closes a loop in which every other joint needs its coordinate "
                f"too: {others}. One of them must do without."
            )
        if a.joint.nq != a.joint.nv and not all(is_exact_zero(x) for x in (*a.stiffness, *a.damping)):
            raise DescriptionError(
                f"joint '{name}' closes a loop and has stiffness or damping, which a {a.joint.kind} joint has only in "
                "the tree. Add tree=True to it, or use add_bushing."
            )


def _massless(body: Body) -> bool:
    return all(is_exact_zero(x) for x in (body.mass, *body.inertia.ravel()))


def _free_name(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += " spring"
    return name
