"""The order of a program: sines first and in groups, then chunks that pass values through a workspace.

A sine and cosine cost as much as thirty products when taken alone, hardly more when eight are taken at once
in vector registers. So the program is cut in stages: what the first angles need (usually nothing: they
are joint coordinates), those angles' sines and cosines together, what the next angles need, and so on.

The rest is cut into functions of bounded length, because LLVM's instruction selection and register allocation
take more than linear time in the length of a block. A value used outside its own function lives in
a workspace slot from its definition to its last use, and the slot is then free again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from .fusion import LEAVES
from .program import Program
from .repeats import FEWEST, canonical, stretches

DEEP = 64  # operations of a function that wait for each other: LLVM takes 30 times as long for long sums


@dataclass(slots=True)
class TrigGroup:
    """Sines and cosines of several arguments, left in slots `sin + i` and `cos + i` of the workspace."""

    args: list[int]
    width: int  # number of slots for each, at least len(args)
    sin: int = 0
    cos: int = 0


@dataclass(slots=True)
class Chunk:
    """Operations computed by one function."""

    nodes: list[int]
    stores: dict[int, int] = field(default_factory=dict)  # value → slot, for values used by later steps
    copies: list[int] = field(default_factory=list)  # outputs that nothing computes: inputs, constants but 0, sines


@dataclass(slots=True)
class RepeatedBlocks:
    """Blocks of one form, computed one after another by one function: see `repeats`."""

    blocks: list[Chunk]
    outside: list[list[int]]  # of each block: the values from outside it, in the order of the form


@dataclass(slots=True)
class Schedule:
    """Steps in order, the slot every shared value is read from, and the size of the workspace in slots."""

    steps: list[TrigGroup | Chunk | RepeatedBlocks]
    slot: dict[int, int]
    size: int


def schedule(program: Program, chunk: int, group: int, parts: Sequence[slice] = ()) -> Schedule:
    """Stages, groups of up to `group` sines and cosines, and functions of up to `chunk` operations.

    parts: outputs of functions that are called apart, which copy inputs and constants themselves.
    """
    steps: list[TrigGroup | Chunk | RepeatedBlocks] = []
    for nodes, angles in _stages(program):
        steps += _cut(program, nodes, chunk)
        for i in range(0, len(angles), group):
            some = angles[i : i + group]
            steps.append(TrigGroup(some, min(group, max(2, 1 << (len(some) - 1).bit_length()))))
    if not steps or not isinstance(steps[-1], Chunk):
        steps.append(Chunk([]))
    for outputs in parts or (slice(None),):
        kinds = ("sin", "cos") if parts else (*LEAVES, "sin", "cos")
        copies = sorted({k for k in program.outputs[outputs] if program.op[k] in kinds and not program.is_zero(k)})
        for i in range(0, len(copies), chunk):
            if i or parts:
                steps.append(Chunk([]))
            last = steps[-1]
            assert isinstance(last, Chunk)
            last.copies = copies[i : i + chunk]
    return _place(program, steps)


def _stages(program: Program) -> list[tuple[list[int], list[int]]]:
    """(operations, then the angles whose sine and cosine are taken) for each level of nested angles.

    Operations go as late as they can, into the first stage one of whose angles needs them: this keeps few
    values alive across the groups. What no angle needs is in the last stage.
    """
    op, args = program.op, program.args
    level = [0] * len(op)  # stages whose sines must be known before
    angles: dict[int, dict[int, None]] = {}  # level → its angles, each once
    for k, name in enumerate(op):
        if name in LEAVES:
            continue
        level[k] = max(level[a] for a in args[k])
        if name in ("sin", "cos"):
            angles.setdefault(level[k], {})[args[k][0]] = None
            level[k] += 1
    last = max(angles, default=-1) + 1
    stage = [last] * len(op)
    for i, some in angles.items():
        for a in some:
            stage[a] = min(stage[a], i)
    for k in range(len(op) - 1, -1, -1):
        if op[k] not in LEAVES:
            for a in args[k]:
                stage[a] = min(stage[a], stage[k])
    nodes: list[list[int]] = [[] for _ in range(last + 1)]
    for k, name in enumerate(op):
        if name not in LEAVES and name not in ("sin", "cos"):
            nodes[stage[k]].append(k)
    return [(nodes[i], sorted(angles.get(i, {}))) for i in range(last + 1)]


def _cut(program: Program, nodes: list[int], chunk: int) -> list[Chunk | RepeatedBlocks]:
    """Functions of up to `chunk` operations, and loops where blocks of operations repeat."""
    steps: list[Chunk | RepeatedBlocks] = []
    found = stretches([program.op[k] for k in nodes])
    if not found:
        return [Chunk(nodes[i : i + chunk]) for i in range(0, len(nodes), chunk)]
    positions = program.positions
    plain: list[int] = []

    def close() -> None:
        steps.extend(_chunks(program, plain, chunk))
        plain.clear()

    done = 0
    for start, size, count in found:
        plain += nodes[done:start]
        done = start + size * count
        blocks = [nodes[i : i + size] for i in range(start, done, size)]
        forms = [canonical(program, block, positions) for block in blocks]
        for _, run in groupby(range(count), key=lambda i: forms[i][0]):
            same = list(run)
            if len(same) < FEWEST:
                plain += [k for i in same for k in blocks[i]]
            else:
                close()
                steps.append(RepeatedBlocks([Chunk(blocks[i]) for i in same], [forms[i][1] for i in same]))
    plain += nodes[done:]
    close()
    return steps


def _chunks(program: Program, nodes: list[int], chunk: int) -> list[Chunk]:
    """Functions of up to `chunk` operations, of which at most `DEEP` wait for each other, as those of a long sum do."""
    args, out, start = program.args, list[Chunk](), 0
    depth: dict[int, int] = {}  # of the operations of the function
    for i, k in enumerate(nodes):
        deep = 1 + max([depth.get(a, 0) for a in args[k]])
        if deep > DEEP or i - start == chunk:
            out.append(Chunk(nodes[start:i]))
            start, deep = i, 1
            depth.clear()
        depth[k] = deep
    return [*out, Chunk(nodes[start:])] if nodes else out


def _place(program: Program, steps: list[TrigGroup | Chunk | RepeatedBlocks]) -> Schedule:
    """Slots of the workspace by the liveness of values over the steps; the blocks of a loop keep the same values."""
    op, args = program.op, program.args
    last_use: dict[int, int] = {}
    kept: set[int] = set()  # what a block keeps because another of its loop does
    units = [unit for step in steps for unit in (step.blocks if isinstance(step, RepeatedBlocks) else [step])]
    for i, unit in enumerate(units):
        used = set(unit.args) if isinstance(unit, TrigGroup) else {a for k in unit.nodes for a in args[k]}
        last_use.update((a, i) for a in used)
    step_of = {k: i for i, unit in enumerate(units) if isinstance(unit, Chunk) for k in unit.nodes}
    for step in steps:
        if isinstance(step, RepeatedBlocks):
            places = {j for b in step.blocks for j, k in enumerate(b.nodes) if last_use.get(k, -1) > step_of[k]}
            kept |= {b.nodes[j] for b in step.blocks for j in places}

    size = 0
    slot: dict[int, int] = {}
    sine = {args[k][0]: k for k, name in enumerate(op) if name == "sin"}
    cosine = {args[k][0]: k for k, name in enumerate(op) if name == "cos"}
    for step in steps:  # sines and cosines keep their slots: they are few and used everywhere
        if isinstance(step, TrigGroup):
            step.sin, step.cos, size = size, size + step.width, size + 2 * step.width
            for i, a in enumerate(step.args):
                slot.update({k: start + i for k, start in ((sine.get(a), step.sin), (cosine.get(a), step.cos)) if k})

    free: list[int] = []
    expires: dict[int, list[int]] = {}
    for i, unit in enumerate(units):
        if isinstance(unit, Chunk):
            for k in unit.nodes:
                until = last_use.get(k, i)
                if until > i or k in kept:
                    if free:
                        s = heapq.heappop(free)
                    else:
                        s, size = size, size + 1
                    slot[k] = unit.stores[k] = s
                    expires.setdefault(max(until, i), []).append(s)
        for s in expires.pop(i, ()):  # after the step: its own results must not overwrite what it reads
            heapq.heappush(free, s)
    return Schedule(steps, slot, size)
