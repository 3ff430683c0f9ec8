"""Pieces of LLVM IR text: types, constants, declarations."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from .operations import LIBM

SIGNATURE = '(ptr noalias readonly %x, ptr noalias %y, ptr noalias %w) nounwind "stackrealign"'


@dataclass(frozen=True, slots=True)
class LaneLayout:
    """How scalars become vectors: `lanes` doubles in memory, `width` of them in a register."""

    lanes: int = 1
    width: int = 1

    @property
    def type(self) -> str:
        """LLVM type of one value."""
        return vector(self.width)

    @property
    def bits(self) -> str:
        """LLVM type of one truth value."""
        return "i1" if self.width == 1 else f"<{self.width} x i1>"


def vector(width: int) -> str:
    """LLVM type of `width` doubles."""
    return "double" if width == 1 else f"<{width} x double>"


def literal(value: float) -> str:
    """A double in LLVM's notation, by its bits.

    >>> literal(1.0)
    '0x3FF0000000000000'
    """
    return "0x" + struct.pack(">d", value).hex().upper()


def splat(value: float, width: int) -> str:
    """A constant operand of `width` equal doubles; width 1 is a scalar."""
    return literal(value) if width == 1 else "<" + ", ".join([f"double {literal(value)}"] * width) + ">"


def table(symbol: str, kind: str, rows: list[list[str]]) -> str:
    """A constant matrix of numbers of one kind, row by row.

    >>> table("t", "i32", [["1", "2"]])
    '@t = internal constant [1 x [2 x i32]] [[2 x i32] [i32 1, i32 2]]'
    """
    row = f"[{len(rows[0])} x {kind}]"
    text = ", ".join(f"{row} [{', '.join(f'{kind} {x}' for x in each)}]" for each in rows)
    return f"@{symbol} = internal constant [{len(rows)} x {row}] [{text}]"


@dataclass(slots=True)
class Module:
    """Function definitions and what they need declared."""

    definitions: dict[str, str] = field(default_factory=dict)  # symbol → text
    needs: dict[str, str] = field(default_factory=dict)  # symbol → declaration
    size: int = 0  # operations

    def __str__(self) -> str:
        return "\n".join([*self.needs.values(), *self.definitions.values(), ""])

    def intrinsic(self, name: str, width: int, arity: int) -> str:
        """The symbol of an LLVM intrinsic on `width` doubles, declared."""
        symbol = f"@llvm.{name}.{'' if width == 1 else f'v{width}'}f64"
        self.needs[symbol] = f"declare {vector(width)} {symbol}({', '.join([vector(width)] * arity)})"
        return symbol

    def libm(self, name: str) -> str:
        """The symbol of a function of the C library, declared."""
        self.needs[name] = f"declare double @{name}({', '.join(['double'] * LIBM[name])})"
        return f"@{name}"
