"""Expressions of model files: a small grammar, read by a tokenizer and a Pratt parser of our own into a list of steps.

    a or b   a and b   not a   a < b  <=  >  >=  ==  !=   a + b   a - b   a*b   a/b   -a   a**b   (a)   f(a, b)

bind in this order, the last the tightest; ** groups from the right, comparisons do not chain. Names are parameters,
inputs and definitions of `let`; `'any text'` in quotes is such a name too, `gain[1]` one number of several. `t` is the
time, `pi` π; numbers may have a unit: `30deg` is π/6, `120mm` 0.12, `60rpm` 2π. The state is asked for by q(joint),
v(joint), position(frame).x, velocity(frame).z, rotation(frame)[0, 2] and twist(frame)[3]. Nothing is
ever executed: the steps are looked up in tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from math import pi
from typing import Any

from dalembert.errors import repair
from dalembert.formats.data import shown

MAX_LENGTH = 20_000
MAX_DEPTH = 60

#: function: (CasADi's name for it, how many arguments it has)
FUNCTIONS: dict[str, tuple[str, int]] = {
    **{
        name: (name.upper(), 1)
        for name in [
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "exp",
            "log",
            "log1p",
            "expm1",
            "sqrt",
            "sign",
            "floor",
            "ceil",
            "erf",
        ]
    },
    "abs": ("FABS", 1),
    "atan2": ("ATAN2", 2),
    "hypot": ("HYPOT", 2),
    "min": ("FMIN", 2),
    "max": ("FMAX", 2),
    "mod": ("FMOD", 2),
    "remainder": ("REMAINDER", 2),
    "copysign": ("COPYSIGN", 2),
    "when": ("IF_ELSE_ZERO", 2),  # when(c, x): x where c holds, else 0
    "if_else": ("", 3),  # when(c, x) + when(not c, y)
}
#: binary operator: (how tightly it binds, CasADi's name, whether its sides are swapped)
OPERATORS: dict[str, tuple[int, str, bool]] = {
    "or": (1, "OR", False),
    "and": (2, "AND", False),
    "<": (4, "LT", False),
    "<=": (4, "LE", False),
    ">": (4, "LT", True),
    ">=": (4, "LE", True),
    "==": (4, "EQ", False),
    "!=": (4, "NE", False),
    "+": (5, "ADD", False),
    "-": (5, "SUB", False),
    "*": (6, "MUL", False),
    "/": (6, "DIV", False),
    "**": (8, "POW", False),
}
NOT, COMPARISON, SIGN, POWER, ATOM = 3, 4, 7, 8, 9
#: what may be asked of the state: the letters and the shape of its index
REFERENCES: dict[str, tuple[str, tuple[int, ...]]] = {
    "q": ("", (7,)),
    "v": ("", (6,)),
    "position": ("xyz", (3,)),
    "velocity": ("xyz", (3,)),
    "twist": ("", (6,)),
    "rotation": ("", (3, 3)),
}
RESERVED = ("t", "pi", "and", "or", "not")

#: units that a number may end with, and what they are of the SI
UNITS = {"deg": pi / 180, "mm": 1e-3, "cm": 1e-2, "rpm": pi / 30}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:(?:deg|mm|cm|rpm)\b)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<quoted>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>()\[\],.]))"
)


class GrammarError(ValueError):
    """An error in an expression; the caller adds its place in the file."""

    def __init__(self, text: str, repair: tuple[str, str] | None = None):
        """repair: a word of the expression, and the one that is surely meant."""
        super().__init__(text)
        self.repair = repair


@dataclass(frozen=True, slots=True)
class StackStep:
    """One step on a stack of values.

    do is "number" (value), "name" (text and perhaps an index), a key of REFERENCES (text, index), "t", or "apply"
    (CasADi's name of an operation on the last `count` values; count −2: on two in the other order).
    """

    do: str
    text: str = ""
    value: float = 0.0
    index: tuple[int, ...] = ()
    count: int = 0


def parse(text: str) -> tuple[StackStep, ...]:
    """The steps of an expression.

    >>> [s.text or s.value for s in parse("2*k - 1")]
    [2.0, 'k', 'MUL', 1.0, 'SUB']
    """
    if len(text) > MAX_LENGTH:
        raise GrammarError(
            f"the expression has {len(text)} characters; needed: at most {MAX_LENGTH}. Define parts of it by let."
        )
    return _ExpressionParser(text).run()


def quoted(name: str) -> str:
    """A name as an expression writes it: plain where it can be, else in quotes."""
    return name if is_plain(name) else "'" + name.replace("'", "''") + "'"


def is_plain(name: str) -> bool:
    """Whether a name can stand in an expression without quotes."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None and name not in RESERVED


def nearest(name: str, known: Any) -> str:
    """Did you mean …?, or nothing."""
    near = get_close_matches(name, [str(k) for k in known], n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def hint(text: str) -> str:
    """What is meant by some texts that are not of this grammar, or nothing.

    >>> hint("1.2 kg"), hint("0,5"), hint("x^2")
    (' Numbers are in SI units, without their names; they may end with deg, mm, cm or rpm.',
     ' A decimal point is a point: 0.5.',
     ' Powers are written **.')
    """
    if "^" in text:
        return " Powers are written **."
    if decimal := re.fullmatch(r"\s*([-+]?\d{1,20}),(\d{1,20})\s*", text):
        return f" A decimal point is a point: {decimal[1]}.{decimal[2]}."
    if re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*[^\W\d_°%][\w/°*^]*\s*|[^a-z]*[°%]\s*", text[:100]):
        return " Numbers are in SI units, without their names; they may end with deg, mm, cm or rpm."
    return ""


def corrected(text: str) -> str | None:
    """A text as it is written here, where another way of writing says surely the same.

    >>> corrected("120 mm"), corrected("0,5"), corrected("x^2"), corrected("heavy")
    ('120mm', '0.5', 'x**2', None)
    """
    if decimal := re.fullmatch(r"([-+]?\d{1,20}),(\d{1,20})", text):
        return f"{decimal[1]}.{decimal[2]}"
    new = re.sub(r"(\d\.?)[ ]+(deg|mm|cm|rpm)\b", r"\1\2", text.replace("^", "**")).replace("°", "deg")
    return new if new != text else None


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, place) of each token, and the end."""
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise GrammarError(
                f"character {at + 1} of the expression is {shown(text[at])}, which means nothing here.{hint(text)}"
            )
        kind = str(match.lastgroup)
        yield kind, match[kind], match.start(kind)
        at = match.end()
    yield "end", "", end


class _ExpressionParser:
    def __init__(self, text: str):
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0
        self.steps: list[StackStep] = []

    def run(self) -> tuple[StackStep, ...]:
        self.expression(0)
        if self.kind != "end":
            raise self.wrong("an operator or the end")
        return tuple(self.steps)

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def word(self) -> str:
        """The text of the next token; of a quoted name nothing, since it is no operator."""
        kind, text, _ = self.tokens[self.at]
        return "" if kind == "quoted" else text

    def wrong(self, needed: str) -> GrammarError:
        kind, text, place = self.tokens[self.at]
        found = "ends" if kind == "end" else f"has {shown(text)} at character {place + 1}"
        return GrammarError(f"the expression {found}; needed: {needed}.{hint(self.text)}")

    def take(self, word: str) -> None:
        if self.word != word or self.kind == "end":
            raise self.wrong(f"'{word}'")
        self.at += 1

    def apply(self, operation: str, count: int) -> None:
        self.steps.append(StackStep("apply", operation, count=count))

    def expression(self, floor: int) -> None:
        """An expression whose operators bind tighter than the floor."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise GrammarError(f"the expression is nested deeper than {MAX_DEPTH} levels; define parts of it by let")
        self.first()
        compared = False
        while self.word in OPERATORS:
            binds, operation, swapped = OPERATORS[self.word]
            if binds <= floor:
                break
            if binds == COMPARISON and compared:
                raise self.wrong("no second comparison; join them by 'and'")
            compared = compared or binds == COMPARISON
            self.at += 1
            self.expression(SIGN if binds == POWER else binds)  # a power groups from the right
            self.apply(operation, -2 if swapped else 2)
        self.depth -= 1

    def first(self) -> None:
        """A number, a name, a call, a sign, or an expression in parentheses."""
        kind, word = self.kind, self.word
        if kind == "number":
            unit = word.lstrip("0123456789.eE+-")
            value = float(word.removesuffix(unit)) * UNITS[unit] if unit else float(word)
            if value == float("inf"):
                raise GrammarError(f"the number {shown(word)} is beyond 1.8e308")
            self.steps.append(StackStep("number", value=value))
            self.at += 1
        elif word in ("-", "+"):
            self.at += 1
            self.expression(SIGN)
            if word == "-":
                self.apply("NEG", 1)
        elif word == "not":
            self.at += 1
            self.expression(NOT)
            self.apply("NOT", 1)
        elif word == "(":
            self.at += 1
            self.expression(0)
            self.take(")")
        elif kind == "quoted":
            self.named(self.name())
        elif kind == "name" and word not in ("and", "or"):
            self.at += 1
            if self.word == "(":
                self.call(word)
            elif word == "t":
                self.steps.append(StackStep("t"))
            elif word == "pi":
                self.steps.append(StackStep("number", value=3.141592653589793))
            else:
                self.named(word)
        else:
            raise self.wrong("a number, a name or '('")

    def named(self, name: str) -> None:
        index = self.index(1) if self.word == "[" else ()
        self.steps.append(StackStep("name", name, index=index))

    def call(self, function: str) -> None:
        self.take("(")
        if function in REFERENCES:
            self.reference(function)
            return
        if function not in FUNCTIONS:
            raise GrammarError(
                f"the expression has the function {shown(function)}, which is not known; known: "
                f"{', '.join([*FUNCTIONS, *REFERENCES])}.{nearest(function, [*FUNCTIONS, *REFERENCES])}",
                repair(function, [*FUNCTIONS, *REFERENCES]),
            )
        operation, needed = FUNCTIONS[function]
        count = 0
        while True:
            self.expression(0)
            count += 1
            if self.word != ",":
                break
            self.at += 1
        self.take(")")
        if count != needed:
            raise GrammarError(f"{function}(…) has {count} argument(s); needed: {needed}")
        self.apply(operation or "IF_ELSE", count)

    def reference(self, what: str) -> None:
        letters, shape = REFERENCES[what]
        name = self.name()
        while self.word == ".":  # joint.coordinate
            self.at += 1
            name += "." + self.name()
        self.take(")")
        index: tuple[int, ...] = ()
        if letters and self.word == ".":
            self.at += 1
            if self.word not in tuple(letters):
                raise self.wrong(f"one of {', '.join(letters)} after '{what}({name}).'")
            index = (letters.index(self.word),)
            self.at += 1
        elif self.word == "[":
            index = self.index(len(shape))
            if any(i >= n for i, n in zip(index, shape)):
                raise GrammarError(
                    f"{what}({name}){list(index)} does not exist; indices begin at 0 and are below {list(shape)}"
                )
        elif what not in ("q", "v"):
            raise self.wrong(f"'.x' or '[0]' after '{what}({name})', one number of it")
        self.steps.append(StackStep(what, name, index=index))

    def name(self) -> str:
        kind, text, _ = self.tokens[self.at]
        if kind not in ("name", "quoted"):
            raise self.wrong("a name")
        self.at += 1
        if kind == "name":
            return text
        return text[1:-1].replace(text[0] * 2, text[0])

    def index(self, count: int) -> tuple[int, ...]:
        self.take("[")
        out = []
        for k in range(count):
            if k:
                self.take(",")
            if self.kind != "number" or not self.word.isdigit() or len(self.word) > 6:
                raise self.wrong("a whole number")
            out.append(int(self.word))
            self.at += 1
        self.take("]")
        return tuple(out)
