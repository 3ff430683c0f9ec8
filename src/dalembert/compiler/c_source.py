"""A program as C99: straight-line functions of named arrays, cut like those that LLVM compiles.

The text computes what a `Kernel` computes: the operations of one `Program` in one order, products fused into sums where
the program fuses them. `FMA(a, b, c)`, `turn(x, &sine, &cosine)` and `clear(y, start, stop)` are defined by whoever
joins the text to a file (`export/templates`). Built with a fused FMA and without other contractions it gives the bits
of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .build import CHUNK
from .llvm import runs
from .operations import LIBM
from .program import Program
from .schedule import Chunk, RepeatedBlocks, Schedule, TrigGroup, schedule

Place = tuple[str, str]  # an argument by name, and the expression by which an element of it is read
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_CALLED = ("sqrt", "fabs", "floor", "ceil", "copysign", "fmin", "fmax", *LIBM)


@dataclass(frozen=True, slots=True)
class Dialect:
    """A floating-point type of C: how its numbers are written, and its functions named."""

    single: bool = False  # float instead of double

    @property
    def type(self) -> str:
        """The type itself."""
        return "float" if self.single else "double"

    def literal(self, x: float) -> str:
        """A number that reads back as the same one.

        >>> Dialect().literal(-0.1), Dialect(single=True).literal(2.0), Dialect().literal(math.inf)
        ('(-0.1)', '2.0F', 'INFINITY')
        """
        value = float(np.float32(x)) if self.single else float(x)
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        text = (str(np.float32(value)) if self.single else repr(abs(value))).lstrip("-")
        text += "" if "." in text or "e" in text else ".0"
        text += "F" if self.single else ""
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text

    def function(self, name: str) -> str:
        """The name of a function of the C library for this type."""
        return name + "f" if self.single else name


@dataclass(frozen=True, slots=True)
class CText:
    """Functions of C, the last with the symbol that was asked for, and the numbers of workspace it needs."""

    text: str
    work: int
    operations: int


@dataclass(slots=True)
class _Piece:
    """One function under way: its statements and the arguments they use."""

    lines: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


class _CWriter:
    def __init__(
        self, program: Program, plan: Schedule, reads: Sequence[Place], writes: Sequence[tuple[str, int]], c: Dialect
    ) -> None:
        self.program, self.plan, self.reads, self.writes, self.c = program, plan, reads, writes, c
        self.positions = program.positions
        self.names: dict[int, str] = {}
        self.piece = _Piece()

    def write(self, steps: Sequence[TrigGroup | Chunk]) -> _Piece:
        """Statements of one function."""
        self.names, self.piece = {}, _Piece()
        for step in steps:
            if isinstance(step, TrigGroup):
                for i, a in enumerate(step.args):
                    self._say(f"turn({self._get(a)}, &w[{step.sin + i}], &w[{step.cos + i}]);", "w")
                continue
            for k in step.nodes:
                self._say(f"const real a{k} = {self._value(k)};")
                self.names[k] = f"a{k}"
                if k in step.stores:
                    self._say(f"w[{step.stores[k]}] = a{k};", "w")
                self._put(k)
            for k in step.copies:
                self._put(k)
        return self.piece

    def _say(self, text: str, *used: str) -> None:
        self.piece.lines.append(f"    {text}")
        self.piece.used.update(used)

    def _put(self, k: int) -> None:
        for i in self.positions.get(k, ()):
            name, at = self.writes[i]
            self._say(f"{name}[{at}] = {self._get(k)};", name)

    def _get(self, k: int) -> str:
        name = self.names.get(k)
        if name is None:
            op, args = self.program.op[k], self.program.args[k]
            if op == "const":
                name = self.c.literal(args[0])
            elif op == "input":
                argument, name = self.reads[args[0]]
                self.piece.used.add(argument)
            else:
                name = f"w[{self.plan.slot[k]}]"
                self.piece.used.add("w")
            if op != "const":
                self.names[k] = name
        return name

    def _truth(self, text: str) -> str:
        return f"({text}) ? {self.c.literal(1.0)} : {self.c.literal(0.0)}"

    def _value(self, k: int) -> str:
        """The expression of operation k."""
        op, zero = self.program.op[k], self.c.literal(0.0)
        a = [self._get(i) for i in self.program.args[k]]
        if op in _SIGNS:
            return f"{a[0]} {_SIGNS[op]} {a[1]}"
        if op in _COMPARED:
            return self._truth(f"{a[0]} {_COMPARED[op]} {a[1]}")
        if op in _CALLED:
            return f"{self.c.function(op)}({', '.join(a)})"
        match op:
            case "neg":
                return f"-{a[0]}"
            case "fma":
                return f"FMA({', '.join(a)})"
            case "fms":
                return f"FMA({a[0]}, {a[1]}, -{a[2]})"
            case "fnma":
                return f"FMA(-{a[0]}, {a[1]}, {a[2]})"
            case "if_else_zero":
                return f"({a[0]} != {zero}) ? {a[1]} : {zero}"
            case "sign":  # x itself for zeros and NaN
                one, minus = self.c.literal(1.0), self.c.literal(-1.0)
                return f"({a[0]} > {zero}) ? {one} : (({a[0]} < {zero}) ? {minus} : {a[0]})"
            case "not":
                return self._truth(f"{a[0]} == {zero}")
            case "and" | "or":
                sign = "&&" if op == "and" else "||"
                return self._truth(f"({a[0]} != {zero}) {sign} ({a[1]} != {zero})")
        raise AssertionError(f"operation {op} has no C")


def c_function(
    program: Program,
    symbol: str,
    arguments: Mapping[str, str],
    reads: Sequence[Place],
    writes: Sequence[tuple[str, int]],
    dialect: Dialect,
    chunk: int = CHUNK,
) -> CText:
    """`static void <symbol>(arguments, real *w)`, with the functions that it calls before it.

    arguments: declarations by name, in order. reads: where each input of the program is. writes: the argument and the
    place in it of each output.
    """
    plan = schedule(program, chunk, group=8)
    writer, pieces, waiting = _CWriter(program, plan, reads, writes, dialect), list[_Piece](), list[TrigGroup]()
    for step in plan.steps:
        if isinstance(step, TrigGroup):
            waiting.append(step)
            continue
        for unit in step.blocks if isinstance(step, RepeatedBlocks) else [step]:
            pieces.append(writer.write([*waiting, unit]))
            waiting.clear()
    declared = {**arguments, "w": "real *restrict w"}
    zeros: dict[str, list[int]] = {}
    for i, k in enumerate(program.outputs):
        if program.is_zero(k):
            zeros.setdefault(writes[i][0], []).append(writes[i][1])
    body, texts = _Piece(), list[str]()
    for name, places in zeros.items():
        for start, stop in runs(sorted(places)):
            body.lines.append(f"    clear({name}, {start}, {stop});")
            body.used.add(name)
    if len(pieces) == 1:
        body.lines += pieces[0].lines
        body.used |= pieces[0].used
    else:
        for i, piece in enumerate(p for p in pieces if p.lines):
            texts.append(_defined(f"{symbol}_{i}", {n: d for n, d in declared.items() if n in piece.used}, piece.lines))
            body.lines.append(f"    {symbol}_{i}({', '.join(n for n in declared if n in piece.used)});")
            body.used |= piece.used
    unused = [f"    (void){name};" for name in declared if name not in body.used]
    texts.append(_defined(symbol, declared, [*unused, *body.lines]))
    return CText("\n".join(texts), plan.size, len(program))


def _defined(symbol: str, declared: Mapping[str, str], lines: Sequence[str]) -> str:
    return f"static void {symbol}({', '.join(declared.values())})\n{{\n" + "\n".join(lines) + "\n}\n"
