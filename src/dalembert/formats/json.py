"""JSON as plain data with line numbers: on the string and number scanners of the standard library."""

from __future__ import annotations

import re
from bisect import bisect_right
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

from dalembert.formats.data import Builder, FileTable, Items, shown

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"-?[A-Za-z]+")


def parse(text: str, file: str) -> Any:
    """The value of a JSON text; duplicate keys, NaN and infinities, and what follows the value are refused."""
    return _JsonParser(text, file).run()


class _JsonParser:
    def __init__(self, text: str, file: str):
        self.text, self.at, self.build = text, 0, Builder(file)
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    @property
    def line(self) -> int:
        return bisect_right(self.starts, self.at)

    def peek(self) -> str:
        """The next character that is no space; '' at the end."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def wrong(self, needed: str) -> Exception:
        found = shown(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end of the text"
        return self.build.refuse(f"is no JSON: found {found}; needed: {needed}.", self.line)

    def run(self) -> Any:
        build = self.build
        self.value()
        while build.open:
            table, c = build.open[-1], self.peek()
            closing = "}" if isinstance(table, FileTable) else "]"
            if c == closing:
                self.at += 1
                build.end()
                continue
            if table:
                if c != ",":
                    raise self.wrong(f"',' or '{closing}'")
                self.at += 1
                if self.peek() == closing:
                    raise self.wrong("a value after ','")
            if isinstance(table, FileTable):
                self.key()
            self.value()
        if self.peek():
            raise self.wrong("nothing after the value")
        return build.root

    def key(self) -> None:
        if self.peek() != '"':
            raise self.wrong("a key in double quotes")
        line = self.line
        key = self.string()
        if self.peek() != ":":
            raise self.wrong("':' after a key")
        self.at += 1
        self.build.key(key, line)

    def value(self) -> None:
        c, line = self.peek(), self.line
        if c == "{":
            self.at += 1
            self.build.start(FileTable(line))
        elif c == "[":
            self.at += 1
            self.build.start(Items(line))
        elif c == '"':
            self.build.value(self.string(), line)
        elif (number := _NUMBER.match(self.text, self.at)) is not None:
            self.at = number.end()
            self.build.value(plain_number(number[0], not (number[1] or number[2])), line)
        else:
            word = _WORD.match(self.text, self.at)
            if word is None or word[0] not in _WORDS:
                raise self.wrong("a value")
            self.at = word.end()
            self.build.value(_WORDS[word[0]], line)

    def string(self) -> str:
        try:
            text, self.at = scanstring(self.text, self.at + 1, True)
        except JSONDecodeError as error:
            self.at = min(error.pos, len(self.text))
            raise self.build.refuse(f"is no JSON: {error.msg}.", self.line) from None
        return text


def plain_number(text: str, whole: bool) -> int | float:
    """The int or float of a text of digits; whole numbers too long for 64 bits are floats."""
    return int(text) if whole and len(text) <= 18 else float(text)
