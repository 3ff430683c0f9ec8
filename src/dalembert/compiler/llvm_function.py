"""The text of one LLVM function: groups of sines and cosines, then a chunk of a program.

No fast-math flags: what is fused was fused by `fusion`, so that scalar, vector and differently cut programs
give the same bits, and NaN and infinities come through.
"""

from __future__ import annotations

from .ir import SIGNATURE, LaneLayout, Module, literal, splat, table, vector
from .operations import COMPARISONS, LIBM
from .program import Program
from .schedule import Chunk, RepeatedBlocks, Schedule, TrigGroup

_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTRINSIC = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "copysign": "copysign",
    "fmin": "minnum",  # as C's fmin: the other operand if one is NaN
    "fmax": "maxnum",
    "fma": "fmuladd",
}


class FunctionWriter:
    """Writes one function. `names[k]` is the operand text of value k once it is at hand, `bits[k]` its truth."""

    def __init__(self, program: Program, plan: Schedule, layout: LaneLayout, module: Module) -> None:
        self.program, self.plan, self.layout, self.module = program, plan, layout, module
        self.type, self.width = layout.type, layout.width
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.bits: dict[int, str] = {}
        self.count = 0

    def chunk(self, chunk: Chunk, symbol: str, positions: dict[int, list[int]]) -> str:
        """Compute the chunk's operations; `positions[k]` are the places of value k in y."""
        for k in chunk.nodes:
            value = self.value(k)
            if k in chunk.stores:
                self.store("w", chunk.stores[k] * self.width, value)
            for i in positions.get(k, ()):
                self.store("y", i * self.layout.lanes, value)
        for k in chunk.copies:
            for i in positions[k]:
                self.store("y", i * self.layout.lanes, self.get(k))
        return "\n".join([f"define void @{symbol}{SIGNATURE} {{\nentry:", *self.lines, "  ret void", "}"])

    def loop(self, loop: RepeatedBlocks, symbol: str, positions: dict[int, list[int]]) -> str:
        """Compute the blocks one after another, operands and results at places from tables, one row for a block."""
        first, op, args = loop.blocks[0], self.program.op, self.program.args
        numbers = [j for j, k in enumerate(loop.outside[0]) if op[k] == "const"]
        values = [j for j, k in enumerate(loop.outside[0]) if op[k] != "const"]
        for column, j in enumerate(numbers):
            at = self.op(f"getelementptr double, ptr %numbers, i64 {column}")
            self.names[loop.outside[0][j]] = self.spread(self.op(f"load double, ptr {at}, align 8"))
        columns = 0

        def place(base: str) -> str:
            nonlocal columns
            at = self.op(f"getelementptr i32, ptr %places, i64 {columns}")
            columns += 1
            offset = self.op(f"zext i32 {self.op(f'load i32, ptr {at}, align 4')} to i64")
            return self.op(f"getelementptr double, ptr %{base}, i64 {offset}")

        for j in values:
            k = loop.outside[0][j]
            self.names[k] = self.op(f"load {self.type}, ptr {place('x' if op[k] == 'input' else 'w')}, align 8")
        for k in first.nodes:
            value = self.value(k)
            for base in ["w"] * (k in first.stores) + ["y"] * len(positions.get(k, ())):
                self.lines.append(f"  store {self.type} {value}, ptr {place(base)}, align 8")

        rows, constants = [], []
        for block, outside in zip(loop.blocks, loop.outside):
            row = [
                args[k][0] * self.layout.lanes if op[k] == "input" else self.plan.slot[k] * self.width
                for k in (outside[j] for j in values)
            ]
            for k in block.nodes:
                row += [block.stores[k] * self.width] if k in block.stores else []
                row += [i * self.layout.lanes for i in positions.get(k, ())]
            rows.append(row)
            constants.append([args[outside[j]][0] for j in numbers])
        tables = [
            table(f"{symbol}_places", "i32", [[str(i) for i in row] for row in rows]),
            table(f"{symbol}_numbers", "double", [[literal(x) for x in row] for row in constants]),
        ]
        head = [
            f"define void @{symbol}{SIGNATURE} {{\nentry:\n  br label %next\nnext:",
            "  %i = phi i64 [ 0, %entry ], [ %after, %next ]",
            f"  %places = getelementptr [{columns} x i32], ptr @{symbol}_places, i64 %i",
            f"  %numbers = getelementptr [{len(numbers)} x double], ptr @{symbol}_numbers, i64 %i",
        ]
        tail = [
            "  %after = add i64 %i, 1",
            f"  %more = icmp ult i64 %after, {len(loop.blocks)}",
            "  br i1 %more, label %next, label %done\ndone:\n  ret void\n}",
        ]
        return "\n".join([*tables, *head, *self.lines, *tail])

    def spread(self, number: str) -> str:
        """A double in every lane of a vector."""
        if self.width == 1:
            return number
        one = self.op(f"insertelement {self.type} undef, double {number}, i64 0")
        return self.op(f"shufflevector {self.type} {one}, {self.type} undef, <{self.width} x i32> zeroinitializer")

    def value(self, k: int) -> str:
        """Compute value k from its operands."""
        name, args = self.program.op[k], self.program.args[k]
        simple = _BINARY.get(name)
        if simple is not None:
            a, b = args
            value = self.op(f"{simple} {self.type} {self.get(a)}, {self.get(b)}")
        else:
            value = self.compute(k, name, args)
        self.names[k] = value
        return value

    def trig(self, group: TrigGroup) -> None:
        """Join the arguments of the group in one long vector, padded with the last, and call `sincos`.

        Called before the chunk, when no register holds anything.
        """
        values = [self.get(a) for a in group.args]
        values += values[-1:] * (group.width - len(values))
        total = group.width * self.width
        if self.width == 1:
            joined = "undef"
            for i, value in enumerate(values):
                joined = self.op(f"insertelement {vector(total)} {joined}, double {value}, i64 {i}")
        else:
            width = self.width
            while len(values) > 1:
                both = ", ".join(f"i32 {i}" for i in range(2 * width))
                values = [
                    self.op(f"shufflevector {vector(width)} {a}, {vector(width)} {b}, <{2 * width} x i32> <{both}>")
                    for a, b in zip(values[::2], values[1::2])
                ]
                width *= 2
            joined = values[0]
        sine, cosine = self.pointer("w", group.sin * self.width), self.pointer("w", group.cos * self.width)
        self.lines.append(f"  call void @sincos_{total}({vector(total)} {joined}, ptr {sine}, ptr {cosine})")

    # operands

    def op(self, text: str) -> str:
        """Append an instruction, return the name of its result."""
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def get(self, k: int) -> str:
        """Operand text of value k: a constant, an input, a workspace slot or a result of this function."""
        name = self.names.get(k)
        if name is None:
            op = self.program.op[k]
            if op == "const":
                name = splat(self.program.args[k][0], self.width)
            elif op == "input":
                name = self.load("x", self.program.args[k][0] * self.layout.lanes)
            else:
                name = self.load("w", self.plan.slot[k] * self.width)
            self.names[k] = name
        return name

    def pointer(self, base: str, offset: int) -> str:
        """Address of a double of x, y or w."""
        return self.op(f"getelementptr double, ptr %{base}, i64 {offset}")

    def load(self, base: str, offset: int) -> str:
        """Read a value; vectors need no alignment beyond a double's."""
        return self.op(f"load {self.type}, ptr {self.pointer(base, offset)}, align 8")

    def store(self, base: str, offset: int, value: str) -> None:
        """Write a value."""
        self.lines.append(f"  store {self.type} {value}, ptr {self.pointer(base, offset)}, align 8")

    def constant(self, value: float) -> str:
        """Operand text of a constant."""
        return splat(value, self.width)

    def truth(self, k: int) -> str:
        """Value k as bits: anything but zero is true."""
        return self.bits.get(k) or self.op(f"fcmp une {self.type} {self.get(k)}, {self.constant(0.0)}")

    # operations

    def compute(self, k: int, op: str, args: tuple) -> str:
        """Append operation k, return its operand text."""
        if op in ("fma", "fms", "fnma"):
            a, b, c = [self.get(i) for i in args]
            if op == "fms":
                c = self.op(f"fneg {self.type} {c}")
            if op == "fnma":
                a = self.op(f"fneg {self.type} {a}")
            return self.call(self.module.intrinsic("fmuladd", self.width, 3), a, b, c)
        if op in _INTRINSIC:
            return self.call(self.module.intrinsic(_INTRINSIC[op], self.width, len(args)), *[self.get(i) for i in args])
        if op == "neg":
            return self.op(f"fneg {self.type} {self.get(args[0])}")
        if op in LIBM:
            return self.libm(op, [self.get(i) for i in args])
        if op == "if_else_zero":
            return self.select(self.truth(args[0]), self.get(args[1]), self.constant(0.0))
        if op == "sign":  # −1, 1, or x itself for zeros and NaN
            x, zero = self.get(args[0]), self.constant(0.0)
            positive = self.op(f"fcmp ogt {self.type} {x}, {zero}")
            negative = self.op(f"fcmp olt {self.type} {x}, {zero}")
            return self.select(positive, self.constant(1.0), self.select(negative, self.constant(-1.0), x))
        self.bits[k] = bit = self._bit(op, args)
        return self.select(bit, self.constant(1.0), self.constant(0.0))

    def _bit(self, op: str, args: tuple) -> str:
        if op in COMPARISONS:
            return self.op(f"fcmp {COMPARISONS[op]} {self.type} {self.get(args[0])}, {self.get(args[1])}")
        if op == "not":
            return self.op(f"fcmp oeq {self.type} {self.get(args[0])}, {self.constant(0.0)}")
        return self.op(f"{op} {self.layout.bits} {self.truth(args[0])}, {self.truth(args[1])}")  # and, or

    def call(self, symbol: str, *operands: str) -> str:
        """Append a call on whole vectors."""
        return self.op(f"call {self.type} {symbol}({', '.join(f'{self.type} {x}' for x in operands)})")

    def select(self, bit: str, yes: str, no: str) -> str:
        """Append a choice."""
        return self.op(f"select {self.layout.bits} {bit}, {self.type} {yes}, {self.type} {no}")

    def libm(self, name: str, operands: list[str]) -> str:
        """Append a call of the C library for every lane."""
        symbol = self.module.libm(name)
        if self.width == 1:
            return self.call(symbol, *operands)
        result = "undef"
        for lane in range(self.width):
            each = [self.op(f"extractelement {self.type} {x}, i64 {lane}") for x in operands]
            value = self.op(f"call double {symbol}({', '.join(f'double {x}' for x in each)})")
            result = self.op(f"insertelement {self.type} {result}, double {value}, i64 {lane}")
        return result
