"""CasADi expressions as texts of the grammar, operation by operation and in the same order, so that nothing is rounded.

A part that is used twice, that is long or deeply nested becomes a definition of its own (`let`), so that texts stay
short where graphs share their parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import casadi as ca

from dalembert.formats.model.grammar import ATOM, FUNCTIONS, OPERATORS, POWER, SIGN

SHORT, LONG, DEEP = 16, 300, 30  # characters of a part that is repeated rather than defined, and of one that is defined

_CALLS = {operation: name for name, (operation, _) in FUNCTIONS.items() if operation}
_INFIX = {operation: (binds, sign) for sign, (binds, operation, swapped) in OPERATORS.items() if not swapped}
_NAMES = {v: k[3:] for k, v in vars(ca).items() if k.startswith("OP_") and isinstance(v, int)}


class NoText(ValueError):
    """An operation that the grammar does not have, or a symbol nobody declared."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text, how tightly its outermost operator binds, and how deep it is nested."""

    text: str
    binds: int = ATOM
    depth: int = 0

    def inside(self, least: int) -> str:
        """The text, in parentheses where its operator binds less tightly than what is around it."""
        return self.text if self.binds >= least else f"({self.text})"


def texts(
    outputs: Sequence[ca.SX], leaves: Mapping[int, str], taken: Collection[str] = (), first: int = 1
) -> tuple[list[str], dict[str, str]]:
    """The texts of some 1×1 expressions, and the definitions they share, in order.

    leaves: the text of each symbol by its `element_hash`; taken: names that definitions must not have; first: the
    number of the first one.

    >>> x, k = ca.SX.sym("x"), ca.SX.sym("k")
    >>> texts([-k * (x - 1) ** 2], {x.element_hash(): "q(A)", k.element_hash(): "k"})
    (['-(k*(q(A) - 1)**2)'], {})
    """
    y = ca.densify(ca.vertcat(*outputs))
    symbols = ca.symvar(y)
    lost = sorted(str(s) for s in symbols if s.element_hash() not in leaves)
    if lost:
        raise NoText(f"uses {', '.join(lost)}, which is neither an input nor a parameter of this mechanism")
    f = ca.Function("f", [ca.vertcat(*symbols)], [y])
    return _TextWriter(f, [leaves[s.element_hash()] for s in symbols], taken, first).run()


class _TextWriter:
    """Parts are shared where the graph shares them, and nowhere else: CasADi simplifies what it sees to be equal."""

    def __init__(self, f: ca.Function, leaves: list[str], taken: Collection[str], first: int):
        self.f, self.leaves, self.taken, self.first = f, leaves, taken, first
        self.steps: list[tuple[str, tuple[Any, ...]]] = []  # operation and arguments of each value
        self.let: dict[str, str] = {}

    def run(self) -> tuple[list[str], dict[str, str]]:
        outputs = self._values()
        inner = [0] * len(self.steps)  # how often each value is used in others
        for op, arguments in self.steps:
            for k in arguments if op not in ("INPUT", "CONST") else ():
                inner[k] += 1
        ends = Counter(outputs)
        parts: list[TextPart] = []
        for k, (op, arguments) in enumerate(self.steps):
            if op == "INPUT":
                part = TextPart(self.leaves[arguments[0]])
            elif op == "CONST":
                part = number(arguments[0])
            else:
                part = _applied(op, [parts[i] for i in arguments])
                shared = inner[k] + ends[k] > 1 and len(part.text) > SHORT
                if shared or (inner[k] and (len(part.text) > LONG or part.depth > DEEP)):
                    part = TextPart(self._define(part.text))
            parts.append(part)
        return [parts[k].text for k in outputs], self.let

    def _values(self) -> list[int]:
        """Take the values that CasADi's instructions compute; which of them each output is."""
        f = self.f
        work, outputs = [0] * max(f.sz_w(), 1), [0] * f.numel_out(0)
        for k in range(f.n_instructions()):
            op, into = _NAMES.get(f.instruction_id(k), "?"), f.instruction_output(k)
            if op == "OUTPUT":
                outputs[into[1]] = work[f.instruction_input(k)[0]]
            elif op == "INPUT":
                work[into[0]] = self._value(op, (f.instruction_input(k)[1],))
            elif op == "CONST":
                work[into[0]] = self._value(op, (f.instruction_constant(k),))
            else:
                work[into[0]] = self._value(op, tuple(work[i] for i in f.instruction_input(k)))
        return outputs

    def _value(self, op: str, arguments: tuple[Any, ...]) -> int:
        self.steps.append((op, arguments))
        return len(self.steps) - 1

    def _define(self, text: str) -> str:
        while (name := f"_{self.first}") in self.taken:
            self.first += 1
        self.first += 1
        self.let[name] = text
        return name


def number(x: float) -> TextPart:
    """A number, exactly: the shortest digits that give it back."""
    if not isfinite(x):
        raise NoText(f"has the number {x} in it, which is not finite")
    text = str(int(x)) if x == int(x) and abs(x) < 1e15 and str(x) != "-0.0" else repr(x)
    return TextPart(text, SIGN if text.startswith("-") else ATOM)


def _applied(op: str, x: list[TextPart]) -> TextPart:
    depth = 1 + max(p.depth for p in x)
    if op in ("ASSIGN", "LIFT"):
        return x[0]
    if op in ("SQ", "POW", "CONSTPOW"):
        power = "2" if op == "SQ" else x[1].inside(ATOM)
        return TextPart(f"{x[0].inside(ATOM)}**{power}", POWER, depth)
    if op == "NEG":
        return TextPart("-" + x[0].inside(POWER), SIGN, depth)
    if op == "TWICE":
        return TextPart("2*" + x[0].inside(POWER), OPERATORS["*"][0], depth)
    if op == "INV":
        return TextPart("1/" + x[0].inside(POWER), OPERATORS["/"][0], depth)
    if op == "NOT":
        return TextPart("not " + x[0].inside(ATOM), OPERATORS["and"][0], depth)
    if op in _INFIX:
        binds, sign = _INFIX[op]
        right = x[1].inside(POWER if sign in "*/" else binds + 1)
        if x[1].binds == SIGN and sign in "+-":
            right = f"({x[1].text})"
        gap = "" if sign in "*/" else " "
        return TextPart(
            f"{x[0].inside(binds + (sign in ('<', '<=', '==', '!=')))}{gap}{sign}{gap}{right}", binds, depth
        )
    if op in _CALLS:
        return TextPart(f"{_CALLS[op]}({', '.join(p.text for p in x)})", ATOM, depth)
    raise NoText(f"uses CasADi's operation {op}, which the grammar of model files does not have")
