"""Parts of a program that repeat: equal links of a chain, equal loops of a ladder.

Traced one after another, equal parts give the same operations over and over, on other operands. Where a long program
has such a stretch, its blocks become one function that is compiled once and runs through tables of operands:
compile time grows with the number of kinds of parts, not of parts. Short programs stay straight lines, which run
faster by the loads of the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .program import Program

LONG = (
    30_000  # operations from which a program is searched for repeats: at 20,000 a chain runs 1.6 times slower in a loop
)
WINDOW = 24  # operations that must agree for two places to be compared
BLOCK = 100  # operations of a block, at least: shorter parts go several together
FEWEST = 4  # blocks in a loop
CANDIDATES = 12  # distances between equal places that are looked at

Stretch = tuple[int, int, int]  # start, operations in a block, blocks


def stretches(names: Sequence[str]) -> list[Stretch]:
    """Where a list of operations repeats itself, in order: (start, operations in a block, blocks)."""
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    ops = np.array([number[name] for name in names], dtype=np.int64)
    if len(ops) < LONG:
        return []
    taken, out = np.zeros(len(ops), dtype=bool), list[Stretch]()
    for period in _periods(ops):
        same = np.concatenate([[0], (ops[:-period] == ops[period:]) & ~taken[:-period] & ~taken[period:], [0]])
        edges = np.flatnonzero(np.diff(same.astype(np.int8)))
        for start, stop in edges.reshape(-1, 2):
            block = period * max(1, -(-BLOCK // period))
            count = (stop - start + period) // block
            if count >= FEWEST and not taken[start : start + block * count].any():
                taken[start : start + block * count] = True
                out.append((int(start), int(block), int(count)))
    return sorted(out)


def _periods(ops: np.ndarray) -> list[int]:
    """Distances at which equal windows follow each other, the most frequent first."""
    code = np.zeros(len(ops) - WINDOW, dtype=np.uint64)
    for i in range(WINDOW):
        code = code * np.uint64(1_000_003) + ops[i : i + len(code)].astype(np.uint64)
    order = np.argsort(code, kind="stable")
    follows = np.flatnonzero(code[order][1:] == code[order][:-1])
    distance, count = np.unique(order[follows + 1] - order[follows], return_counts=True)
    often = np.argsort(-count, kind="stable")[:CANDIDATES]
    return [int(distance[i]) for i in often if count[i] >= FEWEST * WINDOW]


Form = tuple[tuple, ...]


def canonical(program: Program, nodes: Sequence[int], positions: Mapping[int, Sequence[int]]) -> tuple[Form, list[int]]:
    """Shape of a block's computation, independent of its operands, and the outside values it uses, by first use."""
    op, args = program.op, program.args
    place = {k: i for i, k in enumerate(nodes)}
    outside: dict[int, int] = {}
    form = []
    for k in nodes:
        uses: list[Any] = []
        for a in args[k]:
            if a in place:
                uses.append(place[a])
            else:
                kind = op[a] if op[a] in ("const", "input") else "value"
                uses.append((kind, outside.setdefault(a, len(outside))))
        form.append((op[k], *uses, len(positions.get(k, ()))))
    return tuple(form), list(outside)
