"""The coordinates that determine a motion best, found from motions that are known: the workspace of `best_choice`.

The choice of `rank.independent`, each time the row of K √diag(M) farthest from those taken, K orthonormal in the mass
metric, is made of any motions K that span the same space. It is certain where at each step the rows that count as
farthest are told from the others by more than rounding.
"""

from __future__ import annotations

from dalembert.native.struct import Doubles, Float, Int, Ints, Struct


class Choice(Struct):
    """K and M of a state in, `found` out."""

    n = Int()  # velocities
    k = Int()  # coordinates
    fixed = Int()  # that are taken anyway, the first ones
    m = Int()  # rows of A besides those that K is of, which must follow from them; 0: none do
    found = Int()  # whether the choice is certain
    vanish = Float()  # of a row in its usual length: smaller is zero
    chosen = Ints("k")  # the fixed ones in; all out, those besides in the order of the tree
    K = Doubles("n", "k")
    M = Doubles("n", "n")
    A = Doubles("m", "n")
    sizes = Doubles("m")  # usual length of each row
    upper = Doubles("k", "k")
    rows = Doubles("n", "k")
    taken = Ints("n")
    square = Doubles("n")
