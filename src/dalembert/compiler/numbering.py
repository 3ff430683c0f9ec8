"""Value numbering: one name for one value, however often it is computed.

CasADi's SX merges no common subexpressions, so a traced recursion computes each sine, each product of
a transform, several times. Here every operation is looked up by its operands before it is added.
Simplifications are the ones that are exact in floating point, except that the sign of a zero may change
(x + 0 → x); NaN and infinities come through.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .operations import COMMUTATIVE


class Numbering:
    """A growing list of operations in which equal values have equal numbers.

    `op[k]` names operation k, `args[k]` holds the numbers of its operands: for "input" the index into x
    instead, for "const" the value.
    """

    def __init__(self) -> None:
        self.op: list[str] = []
        self.args: list[tuple] = []
        self._known: dict[tuple, int] = {}

    def add(self, op: str, *args: int) -> int:
        """The number of `op(*args)`, new or known. The rules below never build more than they replace."""
        simplify = _RULES.get(op)
        if simplify is not None:
            found = simplify(self, *args)
            if found is not None:
                return found
        if op in COMMUTATIVE and args[0] > args[1]:
            args = (args[1], args[0])
        return self._intern(op, args)

    def constant(self, value: float) -> int:
        """The number of a constant; its key is its bits, since 0.0 == -0.0 and NaN != NaN."""
        return self._intern("const", (value,), ("const", value.hex(), math.copysign(1.0, value)))

    def value(self, k: int) -> float | None:
        """The value of k if it is a constant."""
        return self.args[k][0] if self.op[k] == "const" else None

    def _intern(self, op: str, args: tuple, key: tuple | None = None) -> int:
        key = (op, *args) if key is None else key
        k = self._known.get(key)
        if k is None:
            k = self._known[key] = len(self.op)
            self.op.append(op)
            self.args.append(args)
        return k


def _neg(n: Numbering, a: int) -> int | None:
    if n.op[a] == "neg":
        return n.args[a][0]
    x = n.value(a)
    return None if x is None else n.constant(-x)


def _add(n: Numbering, a: int, b: int) -> int | None:
    x, y = n.value(a), n.value(b)
    if x is not None and y is not None:
        return n.constant(x + y)
    if x == 0.0:
        return b
    if y == 0.0:
        return a
    if n.op[b] == "neg":
        return n.add("sub", a, n.args[b][0])
    if n.op[a] == "neg":
        return n.add("sub", b, n.args[a][0])
    return None


def _sub(n: Numbering, a: int, b: int) -> int | None:
    x, y = n.value(a), n.value(b)
    if x is not None and y is not None:
        return n.constant(x - y)
    if y == 0.0:
        return a
    if x == 0.0:
        return n.add("neg", b)
    if n.op[b] == "neg":
        return n.add("add", a, n.args[b][0])
    return None


def _mul(n: Numbering, a: int, b: int) -> int | None:
    x, y = n.value(a), n.value(b)
    if x is not None and y is not None:
        return n.constant(x * y)
    for value, other in ((x, b), (y, a)):
        if value == 1.0:
            return other
        if value == -1.0:
            return n.add("neg", other)
    if n.op[a] == "neg":  # (-a) b = -(a b): one product serves both signs
        return n.add("neg", n.add("mul", n.args[a][0], b))
    if n.op[b] == "neg":
        return n.add("neg", n.add("mul", a, n.args[b][0]))
    return None


def _div(n: Numbering, a: int, b: int) -> int | None:
    x, y = n.value(a), n.value(b)
    if x is not None and y is not None and y != 0.0:
        return n.constant(x / y)
    if y is not None and y != 0.0 and math.isfinite(y):
        mantissa, exponent = math.frexp(y)
        if abs(mantissa) == 0.5 and abs(exponent) < 1000:  # a power of two has an exact reciprocal
            return n.add("mul", a, n.constant(1.0 / y))
    if n.op[a] == "neg":
        return n.add("neg", n.add("div", n.args[a][0], b))
    if n.op[b] == "neg":
        return n.add("neg", n.add("div", a, n.args[b][0]))
    return None


def _sin(n: Numbering, a: int) -> int | None:
    return n.add("neg", n.add("sin", n.args[a][0])) if n.op[a] == "neg" else None


def _even(name: str) -> Callable[[Numbering, int], int | None]:
    def rule(n: Numbering, a: int) -> int | None:
        return n.add(name, n.args[a][0]) if n.op[a] == "neg" else None

    return rule


_RULES: dict[str, Callable[..., int | None]] = {
    "neg": _neg,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "sin": _sin,
    "cos": _even("cos"),
    "fabs": _even("fabs"),
    "sq": lambda n, a: n.add("mul", a, a),
    "twice": lambda n, a: n.add("mul", n.constant(2.0), a),
    "inv": lambda n, a: n.add("div", n.constant(1.0), a),
    "assign": lambda n, a: a,
}
