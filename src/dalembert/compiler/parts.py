"""Several functions compiled as one: each part calls those pieces of the whole program that its outputs need.

The right-hand side, the projections and the gauge of a run share the rows of the constraints and the factor of their
elimination, most of the operations of each. Of a large mechanism they are traced, numbered and compiled together. A
part has the signature of a kernel: it copies its inputs to their places in the inputs of the whole, which lie with the
outputs of the whole at the head of the workspace, calls the pieces, and copies its outputs from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from .ir import SIGNATURE, Module, literal, table
from .llvm import CLEAR, LlvmText, runs
from .program import Program
from .schedule import RepeatedBlocks, TrigGroup

if TYPE_CHECKING:
    import casadi as ca


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """A function that takes some inputs of a whole one, by number, and gives its outputs from `first` to `stop`."""

    name: str
    inputs: tuple[int, ...]
    first: int
    stop: int


def outputs_of(function: ca.Function, parts: Sequence[ProgramPart]) -> list[slice]:
    """The places of each part's outputs among all."""
    y = [0, *accumulate(function.numel_out(i) for i in range(function.n_out()))]
    return [slice(y[part.first], y[part.stop]) for part in parts]


def add_parts(
    whole: LlvmText, function: ca.Function, parts: Sequence[ProgramPart], program: Program, size: int, symbol: str
) -> dict[str, dict[str, int]]:
    """Write `<symbol>_<part>` of every part into the first module; the doubles of its workspace and its operations.

    size: doubles of the whole program's workspace.
    """
    x = [0, *accumulate(function.numel_in(i) for i in range(function.n_in()))]
    module, pieces, head = whole.modules[0], list(whole.functions), x[-1] + len(program.outputs)
    needs, writes, sizes = _dependencies(whole, program)
    module.definitions |= {"clear": CLEAR, "copy": COPY}
    facts = {}
    for part, outputs in zip(parts, outputs_of(function, parts)):
        first, stop = outputs.start, outputs.stop
        wanted = {writes[k] for k in program.outputs[outputs] if k in writes}
        for i in reversed(range(len(pieces))):
            if i in wanted:
                wanted |= needs[i]
        lines = [f"define void @{symbol}_{part.name}{SIGNATURE} {{", f"  call void @clear(ptr %w, i64 0, i64 {x[-1]})"]
        start = 0
        for i in part.inputs:
            n = x[i + 1] - x[i]
            lines += _copy(f"i{i}", ("%w", x[i]), ("%x", start), n)
            start += n
        lines += [f"  {name} = {_at('%w', k)}" for name, k in (("%outputs", x[-1]), ("%rest", head))]
        lines += [f"  call void @{pieces[i]}(ptr %w, ptr %outputs, ptr %rest)" for i in sorted(wanted)]
        lines += _copy("o", ("%y", 0), ("%w", x[-1] + first), stop - first)
        lines += _leaves(module, program, program.outputs[outputs], f"{symbol}_{part.name}")
        module.definitions[f"{symbol}_{part.name}"] = "\n".join([*lines, "  ret void", "}"])
        facts[part.name] = {"work_size": head + size, "instructions": sum(sizes[i] for i in wanted)}
    return facts


def _dependencies(whole: LlvmText, program: Program) -> tuple[list[set[int]], dict[int, int], list[int]]:
    """The pieces that each piece reads from, itself left out; the piece that puts out each value; their operations."""
    op, args = program.op, program.args
    turned: dict[int, list[int]] = {}  # sines and cosines by their angle
    for k, name in enumerate(op):
        if name in ("sin", "cos"):
            turned.setdefault(args[k][0], []).append(k)
    made: dict[int, int] = {}
    copied: dict[int, int] = {}
    needs: list[set[int]] = []
    sizes: list[int] = []
    for i, steps in enumerate(whole.functions.values()):
        read: set[int] = set()
        before = len(made)
        for step in steps:
            if isinstance(step, TrigGroup):
                read.update(step.args)
                made.update((k, i) for a in step.args for k in turned[a])
                continue
            for block in step.blocks if isinstance(step, RepeatedBlocks) else [step]:
                read.update(a for k in block.nodes for a in args[k])
                read.update(block.copies)
                made.update(dict.fromkeys(block.nodes, i))
                copied.update(dict.fromkeys(block.copies, i))
        needs.append({made[k] for k in read if k in made} - {i})
        sizes.append(len(made) - before)
    return needs, made | copied, sizes


def _leaves(module: Module, program: Program, outputs: Sequence[int], symbol: str) -> list[str]:
    """Calls that copy those outputs that are constants or inputs, in runs."""
    op, args = program.op, program.args
    constant = [i for i, k in enumerate(outputs) if op[k] == "const"]
    lines = []
    for start, stop in runs(constant):
        values, name = [args[k][0] for k in outputs[start:stop]], f"{symbol}_constants_{start}"
        module.definitions[name] = table(name, "double", [[literal(x) for x in values]])
        lines += _copy(f"c{start}", ("%y", start), (f"@{name}", 0), stop - start)
    given = [i for i, k in enumerate(outputs) if op[k] == "input"]
    place = {i: args[outputs[i]][0] for i in given}
    for start, stop in runs(given):
        for first, end in _rising([place[i] for i in range(start, stop)]):
            lines += _copy(f"g{start + first}", ("%y", start + first), ("%w", place[start + first]), end - first)
    return lines


def _rising(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """(start, stop) of the stretches of a list that rise by one."""
    cuts = [i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1]
    return list(zip([0, *cuts], [*cuts, len(numbers)]))


COPY = """define internal void @copy(ptr %to, ptr %from, i64 %n) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %after, %next ]
  %source = getelementptr double, ptr %from, i64 %i
  %target = getelementptr double, ptr %to, i64 %i
  %value = load double, ptr %source, align 8
  store double %value, ptr %target, align 8
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %n
  br i1 %more, label %next, label %done
done:
  ret void
}"""


def _at(base: str, offset: int) -> str:
    return f"getelementptr double, ptr {base}, i64 {offset}"


def _copy(label: str, to: tuple[str, int], source: tuple[str, int], n: int) -> list[str]:
    """The call that copies n doubles."""
    if not n:
        return []
    a, b = f"%to_{label}", f"%from_{label}"
    return [f"  {a} = {_at(*to)}", f"  {b} = {_at(*source)}", f"  call void @copy(ptr {a}, ptr {b}, i64 {n})"]
