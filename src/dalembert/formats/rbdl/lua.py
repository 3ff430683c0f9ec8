"""Tables of a Lua text, without Lua: assignments and a `return` of tables, strings, numbers and arithmetic.

Nothing is executed. Known besides are `math.pi` and some functions of one number; a text that does more (functions,
loops, conditions, other files) is refused at its line. Size and nesting are bounded.
"""

from __future__ import annotations

import math
import re
from typing import Any

from dalembert.errors import ModelFileError
from dalembert.formats.xml import shown

MAX_DEPTH = 60
MAX_TOKENS = 2_000_000
FUNCTIONS = {name: getattr(math, name) for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp")}
FUNCTIONS |= {"abs": abs, "rad": math.radians, "deg": math.degrees}
TOKEN = re.compile(
    r"\s+|--\[\[.*?\]\]|--[^\n]*|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?P<sign>[-+*/^(){}\[\].,;=])",
    re.ASCII | re.DOTALL,
)
WORDS = {"true": True, "false": False, "nil": None}
RESERVED = {"function", "if", "then", "else", "for", "while", "do", "end", "repeat", "goto", "and", "or", "not", "in"}


class LuaTable(dict[Any, Any]):
    """A table: names, and 1, 2, … for what has none; `line` is where it begins."""

    def __init__(self, line: int = 0):
        super().__init__()
        self.line = line

    def items_in_order(self) -> list[Any]:
        """List of the values at 1, 2 and on, up to the first that is missing."""
        out: list[Any] = []
        while len(out) + 1 in self:
            out.append(self[len(out) + 1])
        return out


def loads(text: str, file: str) -> LuaTable:
    """The table that a text returns."""
    return _LuaParser(text, file).run()


def _index(key: Any) -> Any:
    """Whole numbers as such: t[1.0] is t[1]."""
    return int(key) if isinstance(key, float) and key.is_integer() else key


class _LuaParser:
    def __init__(self, text: str, file: str):
        self.file, self.at, self.depth = file, 0, 0
        self.tokens: list[tuple[str, str, int]] = []  # kind, text, line
        self.names: dict[str, Any] = {"math": LuaTable()}
        self.names["math"] |= {"pi": math.pi, "huge": math.inf, **FUNCTIONS}
        line, k = 1, 0
        while k < len(text):
            found = TOKEN.match(text, k)
            if found is None:
                raise self.error(f"has {shown(text[k : k + 20])}, which is not read.", line)
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found[0], line))
            line, k = line + found[0].count("\n"), found.end()
            if len(self.tokens) > MAX_TOKENS:
                raise self.error(f"has more than {MAX_TOKENS} words, the most that is read.", line)
        self.tokens.append(("end", "", line))

    def error(self, text: str, line: int | None = None) -> ModelFileError:
        return ModelFileError(text, self.file, self.tokens[self.at][2] if line is None else line)

    def run(self) -> LuaTable:
        while self.tokens[self.at][0] != "end":
            if self.taken("return"):
                value = self.expression()
                self.taken(";")
                if self.tokens[self.at][0] != "end":
                    raise self.error("goes on after its return.")
                if not isinstance(value, LuaTable):
                    raise self.error("returns no table; needed: the table of a model.")
                return value
            self.taken("local")
            place, key = self.names, self.word("a name, as in model = {…}")
            while self.taken("."):
                place = self.field(place, key)
                if not isinstance(place, LuaTable):
                    raise self.error(f"puts something into '{key}', which is no table.")
                key = self.word("a name")
            if not self.taken("="):
                raise self.error("is more than tables: only assignments and a return are read; nothing is executed.")
            place[key] = self.expression()
            self.taken(";")
        raise self.error("returns nothing; needed: return and the table of a model.")

    # --- words ------------------------------------------------------------------------------------------------------

    def taken(self, sign: str) -> bool:
        if self.tokens[self.at][1] == sign and self.tokens[self.at][0] in ("sign", "name"):
            self.at += 1
            return True
        return False

    def needed(self, sign: str) -> None:
        if not self.taken(sign):
            raise self.error(f"has {shown(self.tokens[self.at][1])}; needed: '{sign}'.")

    def word(self, needed: str) -> str:
        kind, text, _ = self.tokens[self.at]
        if kind != "name" or text in RESERVED:
            raise self.error(f"has {shown(text)}; needed: {needed}. Only tables are read, nothing is executed.")
        self.at += 1
        return text

    # --- values -----------------------------------------------------------------------------------------------------

    def expression(self) -> Any:
        """A sum, or any single value."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"is nested more than {MAX_DEPTH} deep, the most that is read.")
        value = self.product()
        while self.tokens[self.at][1] in ("+", "-") and self.tokens[self.at][0] == "sign":
            sign = 1.0 if self.tokens[self.at][1] == "+" else -1.0
            self.at += 1
            value = self.number(value) + sign * self.number(self.product())
        self.depth -= 1
        return value

    def product(self) -> Any:
        value = self.power()
        while self.tokens[self.at][1] in ("*", "/") and self.tokens[self.at][0] == "sign":
            sign = self.tokens[self.at][1]
            self.at += 1
            x, y = self.number(value), self.number(self.power())
            if sign == "/" and y == 0.0:
                raise self.error("divides by 0.")
            value = x * y if sign == "*" else x / y
        return value

    def power(self) -> Any:
        """A sign binds less than a power: -2^2 is -4."""
        if self.taken("-"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.error(f"is nested more than {MAX_DEPTH} deep, the most that is read.")
            value = -self.number(self.power())
            self.depth -= 1
            return value
        value = self.single()
        if not self.taken("^"):
            return value
        try:
            result = self.number(value) ** self.number(self.power())
        except (OverflowError, ZeroDivisionError):
            result = math.nan
        if isinstance(result, complex) or math.isnan(result):
            raise self.error("has a power that is no number.")
        return result

    def single(self) -> Any:
        kind, text, line = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            return float(text)
        if kind == "text":
            self.at += 1
            return re.sub(r"\\(.)", r"\1", text[1:-1])
        if self.taken("("):
            value = self.expression()
            self.needed(")")
            return value
        if self.taken("{"):
            return self.table(line)
        if kind == "name" and text in WORDS:
            self.at += 1
            return WORDS[text]
        name = self.word("a value")
        value = self.field(self.names, name)
        while True:
            if self.taken("."):
                value = self.field(value, self.word("a name"))
            elif self.taken("["):
                key = self.expression()
                self.needed("]")
                value = self.field(value, _index(key))
            elif callable(value):
                self.needed("(")
                x = self.number(self.expression())
                self.needed(")")
                try:
                    value = float(value(x))
                except (ValueError, OverflowError):
                    raise self.error(f"asks for {name} of {x:g}, which is no number.") from None
            else:
                return value

    def field(self, table: Any, key: Any) -> Any:
        if not isinstance(table, dict) or isinstance(key, LuaTable) or key not in table:
            raise self.error(f"asks for '{key}', which is not there (yet); only tables of this file are read.")
        return table[key]

    def number(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, float):
            raise self.error("computes with what is no number.")
        return value

    def table(self, line: int) -> LuaTable:
        out = LuaTable(line)
        count = 0
        while not self.taken("}"):
            kind, text, _ = self.tokens[self.at]
            if kind == "name" and self.tokens[self.at + 1][1] == "=" and text not in WORDS:
                self.at += 2
                out[text] = self.expression()
            elif self.taken("["):
                key = self.expression()
                self.needed("]")
                self.needed("=")
                if not isinstance(key, (str, float)):
                    raise self.error("has a key that is neither a text nor a number.")
                out[_index(key)] = self.expression()
            else:
                count += 1
                out[count] = self.expression()
            if not (self.taken(",") or self.taken(";")):
                self.needed("}")
                break
        return out
