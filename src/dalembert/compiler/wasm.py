"""WebAssembly: functions, and memory for them, as one module that a browser runs; no linker is needed.

LLVM writes an object file whose indices and addresses are already those of a module, as long as it is the only one. So
everything is linked before, as LLVM modules, and `wasm_binary` gives the object what a linker would: memory, a stack, a
table of functions, exports. Addresses are 32 bits wide here. Structs keep eight bytes for each (`native.struct`), of
which the lower half is read, so they look the same on both sides.

A product and a sum are never fused here: numbers differ from those of a processor that fuses by rounding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from ..errors import CompileError
from . import cache
from .build import CHUNK
from .ir import LaneLayout
from .llvm import modules
from .program import program_from_casadi
from .schedule import schedule
from .wasm_binary import Wasm, assembled

if TYPE_CHECKING:
    import casadi as ca

TRIPLE = "wasm32-unknown-unknown"
#: what every browser since 2021 has
FEATURES = "+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals,+simd128"
STACK = 1 << 18  # bytes
#: functions of the C library that JavaScript gives
IMPORTS = (
    "exp", "log", "log1p", "expm1", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sin", "cos", "pow", "atan2", "hypot", "fmod", "remainder", "frexp", "ldexp",
)  # fmt: skip
_LESS = """
define internal double @{name}(double %a, double %b) {{
  %first = fcmp {sign} double %a, %b
  %nan = fcmp uno double %b, %b
  %take = or i1 %first, %nan
  %out = select i1 %take, double %a, double %b
  ret double %out
}}
"""
_ROOT = "declare double @llvm.sqrt.f64(double)\n"
_FENCE = """
declare void @native_{name}(i64, i64, i64)
define void @{name}(ptr %x, ptr %y, ptr %w) {{
  %a = ptrtoint ptr %x to i64
  %b = ptrtoint ptr %y to i64
  %c = ptrtoint ptr %w to i64
  call void @native_{name}(i64 %a, i64 %b, i64 %c)
  ret void
}}
"""


@dataclass(frozen=True)
class Memory:
    """Initial memory: bytes by address, and the end address."""

    blocks: Sequence[tuple[int, bytes]] = ()
    end: int = 0


def wasm_module(functions: Mapping[str, ca.Function | bytes], memory: Memory, start: int = 1024) -> bytes:
    """A module that exports the functions by name, its `memory`, and `table`, in which they stand in this order from 1.

    functions: SX functions of dense vectors, called like a `Kernel`, and bitcode of native functions, as
    `native.library` has it. memory: its contents; addresses below `start` are kept for constants of the code.
    """
    made = Wasm.read(_object(functions))
    unknown = sorted(set(made.imported) - set(IMPORTS))
    if unknown:
        raise CompileError(
            f"the equations call {', '.join(unknown)}, which browsers do not have. Describe the force without it."
        )
    return assembled(made, list(functions), memory.blocks, memory.end, STACK, start)


def _object(functions: Mapping[str, ca.Function | bytes]) -> bytes:
    """One object file of all functions, from the cache where it is known."""
    texts = [given if isinstance(given, bytes) else given.serialize() for given in functions.values()]
    key = cache.key(TRIPLE, FEATURES, ".".join(map(str, llvm.llvm_version_info)), *functions, *texts)
    entry = cache.read(key)
    if entry is None:
        whole = llvm.parse_assembly(_without_calls(str(_linked(functions))), llvm.create_context())
        whole.triple, whole.data_layout = TRIPLE, str(_machine().target_data)
        entry = cache.CacheEntry({}, [_machine().emit_object(whole)])
        cache.write(key, entry.facts, entry.objects)
    return entry.objects[0]


def _linked(functions: Mapping[str, ca.Function | bytes]) -> Any:
    """All functions in one LLVM module; only those with a name of their own can be called from outside."""
    context = llvm.create_context()
    whole = llvm.parse_assembly("", context)
    for name, given in functions.items():
        if isinstance(given, bytes):
            part = llvm.parse_bitcode(given, context)
            part.get_function("entry").name = f"native_{name}"
            _link(whole, part)
            _link(whole, llvm.parse_assembly(_FENCE.format(name=name), context))
        else:
            for text in kernel_ir(given, name):
                _link(whole, llvm.parse_assembly(text, context))
    for function in whole.functions:
        if not function.is_declaration and function.name not in functions:
            function.linkage = "internal"
    return whole


def kernel_ir(function: ca.Function, symbol: str) -> list[str]:
    """LLVM IR of a kernel as text, in one lane, for any target; see `build`."""
    program = program_from_casadi(function)
    plan = schedule(program, CHUNK, group=8)
    made = [str(module) for module in modules(program, plan, LaneLayout(1, 1), symbol, CHUNK, False).modules]
    return [text.replace('"stackrealign"', "") for text in made]


def _without_calls(text: str) -> str:
    """The module with short code in place of calls of the C library, which LLVM would make for these."""
    text = re.sub(r"^declare .*@(llvm\.minnum\.f64|llvm\.maxnum\.f64|llvm\.sqrt\.f64|sqrt)\(.*\n", "", text, flags=re.M)
    for found, put in (("llvm.minnum.f64", "least"), ("llvm.maxnum.f64", "most"), ("sqrt", "llvm.sqrt.f64")):
        text = text.replace(f"@{found}(", f"@{put}(")
    return text + _LESS.format(name="least", sign="olt") + _LESS.format(name="most", sign="ogt") + _ROOT


def _link(whole: Any, part: Any) -> None:
    part.triple, part.data_layout = whole.triple, whole.data_layout = TRIPLE, str(_machine().target_data)
    whole.link_in(part)


@lru_cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="mvp", features=FEATURES, opt=2)
