"""Memory for `linalg.envelope`, laid out once by where rows and the mass matrix have elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.native.struct import Doubles, Int, Ints, Struct


class Envelope(Struct):
    """m rows of n columns in the mass metric, and the factor of the metric, both by their envelopes."""

    m = Int()
    n = Int()
    room = Int()
    tree_room = Int()
    lower = Doubles("tree_room", "1")  # F
    foot = Ints("n")  # column j of row k of F is number foot[k] + j of it,
    first = Ints("n")  # from column first[k] on
    rows = Doubles("room", "1")
    base = Ints("m")  # column j of row i is number base[i] + j of it
    start = Ints("m")  # columns of the row as it is given: the first one, and the one after the last
    stop = Ints("m")
    begin = Ints("m")  # the same of the factored row
    end = Ints("m")
    order = Ints("m")  # in which rows are factored: by their first columns
    diagonal = Doubles("m")
    inverse = Doubles("m")
    tau = Doubles("m")
    weak = Doubles("m")
    right = Doubles("m")


def make_envelope(
    m: int, n: int, rows: tuple[np.ndarray, np.ndarray], mass: tuple[np.ndarray, np.ndarray] | None = None
) -> Envelope:
    """Memory for m rows of n columns; rows, mass: (count,) row and column of each element of A and of M.

    Without the mass matrix the rows are given in its metric, else they are brought into it, which fills in the columns
    between their bodies and the ground.
    """
    tree = _filled(_patterns(n, *mass)) if mass is not None else [1 << k for k in range(n)]
    reached = [_reached(pattern, tree) for pattern in _patterns(m, *rows)]
    start = [max(0, (x & -x).bit_length() - 1) for x in reached]
    stop = [x.bit_length() for x in reached]
    order = sorted(range(m), key=lambda i: start[i])
    begin, end = _factored(start, stop, order)
    foot, first = _stored([(x & -x).bit_length() - 1 for x in tree], range(1, n + 1))
    base, _ = _stored(begin, end)
    out = Envelope.sized(m=m, n=n, room=_room(base, end), tree_room=_room(foot, range(1, n + 1)))
    for name, value in (("foot", foot), ("first", first), ("base", base), ("order", order)):
        getattr(out, name)[:] = value
    out.start[:], out.stop[:] = start, stop
    return out


def _patterns(count: int, row: np.ndarray, column: np.ndarray) -> list[int]:
    """The columns of each row that has elements, as the bits of a number."""
    out = [0] * count
    for i, j in zip(row.tolist(), column.tolist()):
        out[i] |= 1 << j
    return out


def _filled(mass: list[int]) -> list[int]:
    """The columns of each row of F, M = FᵀF, from those of M: a tree fills in nothing, and another matrix may."""
    tree = [pattern & ((2 << k) - 1) for k, pattern in enumerate(mass)]
    for k in reversed(range(len(tree))):
        below = rest = tree[k] & ~(1 << k)
        while rest:
            i = rest.bit_length() - 1
            tree[i] |= below & ((2 << i) - 1)
            rest ^= 1 << i
    return tree


def _reached(pattern: int, tree: list[int]) -> int:
    """The columns of a row in the mass metric."""
    out = 0
    while pattern:
        k = pattern.bit_length() - 1
        out |= 1 << k
        pattern = (pattern | tree[k]) & ~(1 << k)
    return out


def _factored(start: Sequence[int], stop: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The columns of factored rows, first and after the last, as `linalg.envelope.envelope_qr` fills them in."""
    begin, end, reach = list(start), list(stop), 0
    for k, r in enumerate(order):
        begin[r], end[r] = min(begin[r], k), max(end[r], k + 1)
        reach = max(reach, end[r])
        for i in range(k + 1, len(order)):
            s = order[i]
            if start[s] >= reach:
                break
            if max(k, begin[s]) < min(end[r], end[s]):
                begin[s], end[s] = min(begin[s], k), max(end[s], end[r])
    return begin, end


def _stored(begin: Sequence[int], end: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Where column 0 of each row would be if rows are stored one after the other, and their first columns."""
    first = np.array(begin, dtype=np.int64)
    sizes = np.array(end, dtype=np.int64) - first
    return np.cumsum(sizes) - sizes - first, first


def _room(base: np.ndarray, end: Sequence[int]) -> int:
    """Numbers that all rows have."""
    return int(base[-1] + end[-1]) if len(base) else 0
