"""From a scheduled program to LLVM modules.

Every function has the kernel's signature `void f(const double* x, double* y, double* w)`. Text is joined from
templates: LLVM's parser takes a few microseconds a line, builder objects many times that.

With `lanes` L each scalar of x and y is L consecutive doubles. The vectors computed with have `width` V ≤ L
elements, so a pass of the program serves V states and the kernel makes L/V passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .ir import SIGNATURE, LaneLayout, Module
from .llvm_function import FunctionWriter
from .program import Program
from .schedule import Chunk, RepeatedBlocks, Schedule, TrigGroup
from .simd import sincos_ir

MANY = 32  # groups of sines and cosines in one function


@dataclass(slots=True)
class LlvmText:
    """The modules of a kernel, the first with the kernel itself; the names of its functions and what each computes."""

    modules: list[Module] = field(default_factory=lambda: [Module()])
    functions: dict[str, list[TrigGroup | Chunk | RepeatedBlocks]] = field(default_factory=dict)


def modules(
    program: Program, plan: Schedule, layout: LaneLayout, symbol: str, per_module: int, fused: bool
) -> LlvmText:
    """The kernel named `symbol`, as modules of about `per_module` operations that can be compiled apart.

    Each chunk and each loop is a function `<symbol>_<i>`. A chunk begins with the sines and cosines scheduled before
    it. The first module has the kernel itself, which calls them all.
    """
    positions = program.positions
    zeros = [i for i, k in enumerate(program.outputs) if program.is_zero(k)]
    out, groups, name = LlvmText(), list[TrigGroup](), ""
    first = module = out.modules[0]

    def begin(size: int, *steps: TrigGroup | Chunk | RepeatedBlocks) -> FunctionWriter:
        nonlocal module, name
        if module.size and module.size + size > per_module:
            module = Module()
            out.modules.append(module)
        module.size += size
        name = f"{symbol}_{len(out.functions)}"
        out.functions[name] = [*groups, *steps]
        return FunctionWriter(program, plan, layout, module)

    def end(text: str) -> None:
        module.definitions[name] = text
        if module is not first:
            first.needs[name] = f"declare void @{name}(ptr, ptr, ptr)"

    def angles(function: FunctionWriter) -> None:
        for group in groups:
            _define_sincos(module, group.width * layout.width, fused)
            function.trig(group)
        groups.clear()

    for step in plan.steps:
        if isinstance(step, TrigGroup):
            groups.append(step)
        if len(groups) == MANY or (groups and isinstance(step, RepeatedBlocks)):
            function = begin(20 * len(groups))
            angles(function)
            end(function.chunk(Chunk([]), name, positions))
        if isinstance(step, Chunk):
            function = begin(len(step.nodes), step)
            angles(function)
            end(function.chunk(step, name, positions))
        elif isinstance(step, RepeatedBlocks):
            function = begin(len(step.blocks[0].nodes), step)
            end(function.loop(step, name, positions))
    if zeros:
        first.definitions["clear"] = CLEAR
    first.definitions[symbol] = _kernel(list(out.functions), runs(zeros), layout, symbol)
    return out


CLEAR = """define internal void @clear(ptr %y, i64 %start, i64 %stop) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [ %start, %entry ], [ %after, %next ]
  %at = getelementptr double, ptr %y, i64 %i
  store double 0.0, ptr %at, align 8
  %after = add i64 %i, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %done
done:
  ret void
}"""


def runs(places: list[int]) -> list[tuple[int, int]]:
    """(start, stop) of consecutive numbers."""
    out: list[tuple[int, int]] = []
    for i in places:
        if out and out[-1][1] == i:
            out[-1] = out[-1][0], i + 1
        else:
            out.append((i, i + 1))
    return out


def _define_sincos(module: Module, width: int, fused: bool) -> None:
    module.definitions[f"sincos_{width}"] = sincos_ir(width, fused)
    module.intrinsic("fabs", width, 1)
    module.intrinsic("fmuladd", width, 3)
    module.libm("sin")
    module.libm("cos")


def _kernel(functions: list[str], zeros: list[tuple[int, int]], layout: LaneLayout, symbol: str) -> str:
    """The kernel: outputs that are always 0, then all functions in order, once for every `width` lanes."""
    lines, n = [f"define void @{symbol}{SIGNATURE} {{"], layout.lanes
    lines += [f"  call void @clear(ptr %y, i64 {start * n}, i64 {stop * n})" for start, stop in zeros]
    for start in range(0, layout.lanes, layout.width):
        x, y = f"%x{start}", f"%y{start}"
        lines.append(f"  {x} = getelementptr double, ptr %x, i64 {start}")
        lines.append(f"  {y} = getelementptr double, ptr %y, i64 {start}")
        lines += [f"  call void @{name}(ptr {x}, ptr {y}, ptr %w)" for name in functions]
    return "\n".join([*lines, "  ret void", "}"])
