"""Graphs of links and joints as trees: clusters of links that move as one, and the joints that hang them on each other.

Nodes are numbers, the ground is 0; edges are pairs of them. Nothing recurses.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence

Pair = tuple[int, int]
Tree = list[tuple[int, int]]  # (edge, the node it reaches), outward

NEEDED, PREFERRED, DEAR = 0, 1, 100  # costs of joints in the tree; others cost 2 and one for each degree of freedom


def joint_cost(nv: int, *, needed: bool, preferred: bool) -> int:
    """What a joint of nv velocities costs in the tree: nothing if it must be there, little if it had better be."""
    return NEEDED if needed else PREFERRED if preferred else 2 + nv


def clusters(n: int, pairs: Sequence[Pair]) -> list[int]:
    """(n,) the cluster of each of n nodes, where pairs hold nodes together: the smallest node number in it.

    >>> clusters(5, [(3, 1), (4, 3)])
    [0, 1, 2, 1, 1]
    """
    up = list(range(n))

    def top(i: int) -> int:
        while up[i] != i:
            up[i] = i = up[up[i]]
        return i

    for a, b in pairs:
        low, high = sorted((top(a), top(b)))
        up[high] = low
    return [top(i) for i in range(n)]


def spanning_tree(n: int, pairs: Sequence[Pair], costs: Sequence[int], root: int = 0) -> Tree:
    """The tree of least cost from the root: (pair, the node it reaches), in an order that reaches nodes outward.

    Prim's algorithm. Where costs are equal the shallower node is reached first, so that loops are cut where their two
    branches are as long as each other; then what comes first in `pairs`.

    >>> spanning_tree(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [1, 1, 1, 1])
    [(0, 1), (3, 3), (1, 2)]
    >>> spanning_tree(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [3, 1, 1, 1])           # the dear one is cut
    [(3, 3), (2, 2), (1, 1)]
    """
    touching: list[list[int]] = [[] for _ in range(n)]
    for k, (a, b) in enumerate(pairs):
        touching[a].append(k)
        touching[b].append(k)
    depth = [-1] * n
    heap = [(0, 0, -1, root)]
    tree: Tree = []
    while heap:
        _, deep, k, node = heapq.heappop(heap)
        if depth[node] >= 0:
            continue
        depth[node] = deep
        if k >= 0:
            tree.append((k, node))
        for j in touching[node]:
            a, b = pairs[j]
            other = b if a == node else a
            if depth[other] < 0:
                heapq.heappush(heap, (costs[j], deep + 1, j, other))
    return tree


def in_order(tree: Sequence[tuple[int, int]], above: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of a tree by their numbers, except that one waits until the node it starts from (`above`) is reached.

    >>> in_order([(7, 1), (9, 2), (8, 3)], above=[2, 0, 0])
    [(8, 3), (9, 2), (7, 1)]
    """
    waiting: dict[int, list[tuple[int, int]]] = {}
    for item, node in zip(tree, above):
        waiting.setdefault(node, []).append(item)
    nodes = {node for _, node in tree}
    ready = [item for node, items in waiting.items() if node not in nodes for item in items]
    heapq.heapify(ready)
    out: list[tuple[int, int]] = []
    while ready:
        item = heapq.heappop(ready)
        out.append(item)
        for beyond in waiting.get(item[1], ()):
            heapq.heappush(ready, beyond)
    return out


def carrying_tree(n: int, pairs: Sequence[Pair], costs: Sequence[int], light: Collection[int]) -> Tree:
    """The spanning tree of least cost; of those with other cuts, one in which massless (light) nodes carry others.

    >>> carrying_tree(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [1, 1, 1, 1], light=[2])       # else 2 would carry nothing
    [(3, 3), (2, 2), (1, 1)]
    """
    return _Carrying(n, pairs, costs, frozenset(light)).tree()


class _Carrying:
    """The search of `carrying_tree`: the tree of least cost, then those without a joint of an idle node's loops."""

    def __init__(self, n: int, pairs: Sequence[Pair], costs: Sequence[int], light: frozenset[int]):
        self.n, self.pairs, self.costs, self.light = n, pairs, costs, light

    def tree(self) -> Tree:
        tree = spanning_tree(self.n, self.pairs, self.costs)
        idle = self._idle(tree)
        while idle:
            better = next(filter(lambda t: len(self._idle(t)) < len(idle), self._others(tree, idle)), None)
            if better is None:  # no tree does; whoever checks masses names the joints
                return tree
            tree, idle = better, self._idle(better)
        return tree

    def _idle(self, tree: Tree) -> list[int]:
        """Massless nodes at the ends of branches."""
        if not self.light:
            return []
        inner = {self._inner(k, node) for k, node in tree}
        return [node for _, node in tree if node in self.light and node not in inner]

    def _others(self, tree: Tree, idle: list[int]) -> Iterator[Tree]:
        """Trees without one of the joints that close a loop with an idle node; the dearest of them first."""
        above = {node: (k, self._inner(k, node)) for k, node in tree}
        inside = {k for k, _ in tree}
        loops = set()
        for k, pair in enumerate(self.pairs):
            if k not in inside and not set(idle).isdisjoint(pair):
                loops |= {j for end in pair for j in self._path(end, above)}
        for k in sorted(loops, key=lambda j: (-self.costs[j], j)):
            if self.costs[k] != NEEDED:
                costs = [DEAR if j == k else c for j, c in enumerate(self.costs)]
                yield spanning_tree(self.n, self.pairs, costs)

    def _inner(self, k: int, node: int) -> int:
        a, b = self.pairs[k]
        return a if b == node else b

    @staticmethod
    def _path(node: int, above: dict[int, tuple[int, int]]) -> Iterator[int]:
        while node in above:
            k, node = above[node]
            yield k
