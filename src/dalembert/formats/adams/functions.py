"""Functions of time in statements of Adams: numbers, TIME, PI, + - * / **, and functions of one number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.formats.adams.statements import DEGREE, Statement
from dalembert.formats.xml import shown

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "SIN": ca.sin, "COS": ca.cos, "TAN": ca.tan, "ASIN": ca.asin, "ACOS": ca.acos, "ATAN": ca.atan, "EXP": ca.exp,
    "SQRT": ca.sqrt, "ABS": ca.fabs, "LOG": ca.log, "TANH": ca.tanh, "SINH": ca.sinh, "COSH": ca.cosh,
}  # fmt: skip
TOKEN = re.compile(
    r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[Ee][-+]?\d+)?)([Dd](?![A-Za-z0-9]))?|([A-Za-z_]\w*)|(\*\*|[-+*/(),]))"
)
DEPTH = 100


def function_of_time(e: Statement, text: str) -> Callable[[Any], Any]:
    """The function f(t), t in the time unit of the file; what is not known is refused."""
    _FunctionParser(e, text).parse(0.5)  # for its errors
    return lambda t: _FunctionParser(e, text).parse(t)


class _FunctionParser:
    """Recursive descent: sum → product → sign → power → atom."""

    def __init__(self, e: Statement, text: str):
        self.e, self.tokens, self.at, self.depth = e, list[tuple[str, ...]](), 0, 0
        place, text = 0, text.strip()
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None:
                raise e.error(f"has {shown(text[place:])} in its function, which is not read.")
            number, degrees, name, sign = found.groups(default="")
            self.tokens.append((number, degrees, name.upper(), sign))
            place = found.end()

    def parse(self, t: Any) -> Any:
        """The value at t."""
        self.t, self.at = t, 0
        value = self._sum()
        if self.at < len(self.tokens):
            raise self.e.error(
                f"has {shown(''.join(self.tokens[self.at]))} in its function, where an operator is needed."
            )
        return value

    def _next(self, *signs: str) -> str:
        """The next token, if it is one of these signs; it is passed."""
        if self.at < len(self.tokens) and self.tokens[self.at][3] in signs and self.tokens[self.at][3]:
            self.at += 1
            return self.tokens[self.at - 1][3]
        return ""

    def _sum(self) -> Any:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.e.error("has a function with too many brackets.")
        value = self._product()
        while sign := self._next("+", "-"):
            other = self._product()
            value = value + other if sign == "+" else value - other
        self.depth -= 1
        return value

    def _product(self) -> Any:
        value = self._signed()
        while sign := self._next("*", "/"):
            other = self._signed()
            if sign == "/" and isinstance(other, float) and other == 0.0:
                raise self.e.error("divides by zero in its function.")
            value = value * other if sign == "*" else value / other
        return value

    def _signed(self) -> Any:
        negative = False
        while sign := self._next("-", "+"):
            negative ^= sign == "-"
        value = self._atom()
        if self._next("**"):
            value = value ** self._signed_power()
        return -value if negative else value

    def _signed_power(self) -> Any:
        sign = -1.0 if self._next("-") else 1.0
        return sign * self._atom()

    def _atom(self) -> Any:
        if self.at >= len(self.tokens):
            raise self.e.error("has a function that ends too early.")
        number, degrees, name, sign = self.tokens[self.at]
        self.at += 1
        if number:
            return float(number) * (DEGREE if degrees else 1.0)
        if sign == "(":
            return self._closed(self._sum())
        if name == "TIME":
            return self.t
        if name == "PI":
            return float(np.pi)
        if name == "DTOR":
            return DEGREE
        if name in FUNCTIONS and self._next("("):
            return FUNCTIONS[name](self._closed(self._sum()))
        raise self.e.error(
            f"has {shown(name or sign)} in its function; known: numbers, TIME, PI, DTOR, + - * / **, "
            f"{', '.join(FUNCTIONS)}."
        )

    def _closed(self, value: Any) -> Any:
        if not self._next(")"):
            raise self.e.error("has a bracket in its function that is not closed.")
        return value
