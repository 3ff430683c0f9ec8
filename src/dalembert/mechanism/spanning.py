"""Graphs of links and joints as trees: clusters of links that move as one, and the joints that hang them on each other.

Nodes are numbers, edges pairs of them. Nothing recurses and nothing is quadratic.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

Pair = tuple[int, int]


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


def spanning_tree(n: int, pairs: Sequence[Pair], costs: Sequence[int], root: int = 0) -> list[tuple[int, int]]:
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
    tree: list[tuple[int, int]] = []
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
