"""Products of two thin matrices at the pairs of a tree only: the O(N²) part of derivatives along long chains.

`ranges` lists stretches of consecutive columns: row i of a result is filled at the columns start to stop. Along a
chain that is one stretch a row, and the inner loops run over consecutive numbers. Importing this imports Numba.
"""

from __future__ import annotations

from dalembert.native.jit import entry, native
from dalembert.native.simd import assign, axpy, fill
from dalembert.recursions.pairs import TreePairs


@native
def products(left, right, rows, ranges, out):
    """out[i, k] = Σ_r left[r, i] right[r, k], r < rows, for (i, start, stop) in `ranges` and k from start to stop."""
    for n in range(ranges.shape[0]):
        i, start, stop = ranges[n, 0], ranges[n, 1], ranges[n, 2]
        assign(left[0, i], right, 0, out, i, start, stop)
        for r in range(1, rows):
            axpy(left[r, i], right, r, out, i, start, stop)


@entry(TreePairs)
@native
def tree_pairs(tree):
    """∂τ/∂q, ∂τ/∂v and M from the columns of `recursions.derivative_columns`."""
    n, left, screws, own, blocks = tree.n, tree.left, tree.screws, tree.own, tree.blocks
    below, above, by_q, by_v, by_a = tree.below, tree.above, tree.by_q, tree.by_v, tree.by_a
    for i in range(n):
        fill(0.0, by_q, i, 0, n)
        fill(0.0, by_v, i, 0, n)
        fill(0.0, by_a, i, 0, n)
    products(screws, tree.forces_q, 6, below, by_q)
    products(screws, tree.forces_v, 6, below, by_v)
    products(screws, left, 6, below, by_a)
    products(left, tree.right_q, 9, above, by_q)
    products(left, tree.right_v, 9, above, by_v)
    products(left, screws, 6, above, by_a)
    third = own.shape[1] // 3
    for k in range(blocks.shape[0]):
        i, j, place = blocks[k, 0], blocks[k, 1], blocks[k, 2]
        by_q[i, j], by_v[i, j], by_a[i, j] = own[i, place], own[i, third + place], own[i, 2 * third + place]
