"""The pairs of velocities of a tree of which one carries the other, and products of columns at these pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.native import library
from dalembert.native.struct import Doubles, Int, Ints, Struct

if TYPE_CHECKING:
    from dalembert.recursions.tree import Tree


class TreePairs(Struct):
    """Columns of a tree, the pairs of its velocities, and the products of the columns at these pairs."""

    n = Int()  # velocities
    stretches_below = Int()
    stretches_above = Int()
    places = Int()
    below = Ints("stretches_below", "3")  # (row, start, stop)
    above = Ints("stretches_above", "3")
    blocks = Ints("places", "3")  # (row, column, place in own)
    left = Doubles("9", "n")
    right_q = Doubles("9", "n")
    right_v = Doubles("9", "n")
    screws = Doubles("6", "n")
    forces_q = Doubles("6", "n")
    forces_v = Doubles("6", "n")
    own = Doubles("n", "18")
    by_q = Doubles("n", "n")
    by_v = Doubles("n", "n")
    by_a = Doubles("n", "n")


class Pairs:
    """Which velocities carry which, of a tree, as stretches of consecutive columns."""

    def __init__(self, tree: Tree):
        n = tree.nv
        carries = np.zeros((n, n), dtype=bool)  # [i, j]: i carries j
        blocks = []
        for link in tree.links:
            dofs, i = range(link.v.start, link.v.stop), link.parent
            blocks += [(r, c, c - dofs.start) for r in dofs for c in dofs]
            while i >= 0:  # up to the ground
                carries[tree.links[i].v, link.v] = True
                i = tree.links[i].parent
        self.below, self.above = _stretches(carries), _stretches(carries.T)
        self.blocks = np.array(blocks, dtype=np.int64).reshape(-1, 3)
        self.n = n

    def around(self, *columns: np.ndarray) -> TreePairs:
        """The struct for the columns of `derivative_columns`, with room for the products."""
        sizes = {"stretches_below": len(self.below), "stretches_above": len(self.above), "places": len(self.blocks)}
        names = ("left", "right_q", "right_v", "screws", "forces_q", "forces_v", "own")
        return TreePairs.sized(
            n=self.n, **sizes, below=self.below, above=self.above, blocks=self.blocks, **dict(zip(names, columns))
        )

    def product(self, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
        """∂τ/∂q, ∂τ/∂v and M, (nv, nv) each, of the columns of `derivative_columns`."""
        tree = self.around(*columns)
        library.call("tree_pairs", tree)
        return tree.by_q, tree.by_v, tree.by_a


def _stretches(related: np.ndarray) -> np.ndarray:
    """(row, start, stop) of every run of True in the rows."""
    out = []
    for i, row in enumerate(related):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        out += [(i, start, stop) for start, stop in edges.reshape(-1, 2)]
    return np.array(out, dtype=np.int64).reshape(-1, 3)
