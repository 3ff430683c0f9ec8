"""The one door for YAML and JSON: pure data with line numbers, from files that strangers may have written.

ruamel.yaml splits a YAML text into events, and nothing else of it is used: no tag is understood, so nothing is ever
made but plain data. Plain words are read by the rules of YAML 1.2 (`no` is a text, `1e-3` a number). Size, depth and
the number of values, what aliases stand for included, are bounded. Whatever is wrong is a `ModelFileError`.
"""

from __future__ import annotations

import os
import re
from typing import Any

from dalembert import checks
from dalembert.errors import ModelFileError, extra
from dalembert.formats import json
from dalembert.formats.data import MAX_BYTES, MAX_NODES, Builder, FileTable, Items, shown
from dalembert.formats.xml import contents

MAX_YAML_NODES = 100_000  # the scanner makes some 20 000 a second; larger data is better kept as JSON

_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", re.ASCII)
_OTHER = re.compile(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,16}")
_VAGUE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def load(path: str | os.PathLike[str], *, file: str = "") -> Any:
    """The data of a YAML or JSON file (by its suffix .json): `FileTable`, `Items`, str, int, float, bool, None.

    file: the name that errors give, by default the path.
    """
    where = checks.path(path, "path", error=ModelFileError)
    name = file or str(where)
    text = decoded(contents(where, name, MAX_BYTES), name)
    return loads(text, name, json_only=where.suffix.lower() == ".json")


def loads(text: str, file: str = "text", *, json_only: bool = False) -> Any:
    """The data of a text; json_only: of JSON, which the standard library alone can read.

    >>> loads('{"limits": [1e-3, null]}', json_only=True)
    {'limits': [0.001, None]}
    """
    if len(text) > MAX_BYTES:
        raise ModelFileError(f"has {len(text) >> 20} MB; needed: at most {MAX_BYTES >> 20} MB.", file)
    commas, lines = text.count(","), text.count("\n")  # too many are refused at once, not after a long read
    if commas > MAX_NODES or (not json_only and commas + lines > 4 * MAX_YAML_NODES):
        most = MAX_NODES if json_only else MAX_YAML_NODES
        raise ModelFileError(f"has more than {most} values, the most that is read.", file)
    return json.parse(text, file) if json_only else _parse(text, file)


def decoded(data: bytes, file: str) -> str:
    """The text of UTF-8 bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelFileError("is no UTF-8 text; save it in that encoding.", file, line) from None


def _parse(text: str, file: str) -> Any:
    build = _Events(file)
    ruamel = extra("ruamel.yaml", "yaml", "reading YAML")
    try:
        for event in ruamel.YAML(typ="safe", pure=True).parse(text):
            build.take(event)
    except ModelFileError:
        raise
    except ruamel.error.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "a character that is not allowed"
        hint = ""
        if str(problem).startswith("expected ','"):
            hint = " A text with brackets or commas that stands inside {…} or […] must stand in quotes."
        raise ModelFileError(
            f"is no YAML: {' '.join(str(problem).split())[:200]}.{hint}", file, mark.line + 1 if mark else 0
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError) as error:
        raise ModelFileError(f"is no YAML: it confuses the scanner ({type(error).__name__}).", file) from None
    return build.root


class _Events(Builder):
    """Data from the events of a YAML parser."""

    advice = " as YAML; JSON may have ten times as many"

    def __init__(self, file: str):
        super().__init__(file, MAX_YAML_NODES)
        self.documents = 0
        self.anchored: dict[str, tuple[Any, int]] = {}  # the node of an anchor and how many nodes it has
        self.waiting: list[tuple[str | None, int]] = []  # of each open collection: its anchor, the count before it

    def take(self, event: Any) -> None:
        what, line = type(event).__name__, event.start_mark.line + 1
        if what == "ScalarEvent":
            self.scalar(event, line)
        elif what in ("MappingStartEvent", "SequenceStartEvent"):
            self.collection(event, FileTable(line) if what[0] == "M" else Items(line), line)
        elif what in ("MappingEndEvent", "SequenceEndEvent"):
            node = self.end()
            anchor, before = self.waiting.pop()
            if anchor is not None:
                self.anchored[anchor] = node, self.count - before
        elif what == "AliasEvent":
            self.alias(event.anchor, line)
        elif what == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise self.refuse("holds a second document after '---'; needed: one.", line)

    def plain(self, event: Any, line: int) -> None:
        """Refuse a tag."""
        tag = event.ctag if hasattr(event, "ctag") else event.tag
        if tag is not None and str(tag) not in ("None", "!"):
            raise self.refuse(f"has the tag {shown(tag)}; tags are not read, only plain data. Remove it.", line)

    def scalar(self, event: Any, line: int) -> None:
        self.plain(event, line)
        if self.wants_key:
            if event.anchor is not None:
                raise self.refuse(f"has an anchor on the key {shown(event.value)}; remove it.", line)
            if event.value == "<<" and event.style is None:
                raise self.refuse("merges a mapping by '<<', which is not read; write its keys out.", line)
            self.key(event.value, line)
            return
        value = resolved(event.value) if event.style is None else event.value
        self.value(value, line)
        if event.anchor is not None:
            self.anchored[event.anchor] = value, 1

    def collection(self, event: Any, node: FileTable | Items, line: int) -> None:
        self.plain(event, line)
        if self.wants_key:
            raise self.refuse("has a mapping or list as a key; needed: a text.", line)
        self.waiting.append((event.anchor, self.count))
        self.start(node)

    def alias(self, name: str, line: int) -> None:
        if self.wants_key:
            raise self.refuse(f"has the alias '*{name}' as a key; needed: a text.", line)
        if name not in self.anchored:
            raise self.refuse(f"has the alias {shown('*' + name)} of an anchor that is not there (yet).", line)
        node, size = self.anchored[name]
        self.counted(size, line)
        self.value(node, line)


def resolved(word: str) -> Any:
    """Value of a plain scalar: null, boolean, number or text.

    >>> resolved("1e-3"), resolved("no"), resolved("0x10"), resolved("~")
    (0.001, 'no', 16, None)
    """
    if word in _WORDS:
        return _WORDS[word]
    if len(word) <= 400:
        if _FLOAT.fullmatch(word):
            return json.plain_number(word, _WHOLE.fullmatch(word) is not None)
        if _OTHER.fullmatch(word):
            return int(word, 0)
    if _VAGUE.fullmatch(word):
        return float(word.replace(".", "").lower())
    return word
