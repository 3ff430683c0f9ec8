"""The one door for XML: a small element tree with line numbers, from files that strangers may have written.

The standard library's expat parses. Document types are refused, and with them entities of any kind: nothing expands and
nothing outside the text is opened. Size, depth, and the number of elements and attributes are bounded. Whatever is
wrong is a `ModelFileError` that names file and line. Prefixes stay in names (`drake:joint`), declared or not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from dalembert.errors import ModelFileError

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 200
MAX_ELEMENTS = 10**6
MAX_ATTRIBUTES = 10**6 * 4
MAX_NUMBER = 1e100  # squares and cubes of it are numbers too

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
_PLAIN = frozenset("0123456789+-.eE \t\r\n")  # of these, float() takes what _NUMBER does
_MISSING: Any = object()


class Element:
    """An element: its tag, attributes, text (stripped), children, and the file and line where it begins."""

    __slots__ = ("attrib", "children", "file", "line", "tag", "text")

    def __init__(self, tag: str, attrib: dict[str, str] | None = None, file: str = "", line: int = 0, text: str = ""):
        self.tag, self.attrib, self.text, self.file, self.line = tag, attrib or {}, text, file, line
        self.children: list[Element] = []

    # --- looking ------------------------------------------------------------------------------------------------

    def find(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next((c for c in self.children if c.tag == tag), None)

    def findall(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [c for c in self.children if c.tag == tag]

    def iter(self, tag: str | None = None) -> Iterator[Element]:
        """This element and all below it, in the order of the file; only those with the tag if one is given."""
        waiting = [self]
        while waiting:
            e = waiting.pop()
            if tag is None or e.tag == tag:
                yield e
            waiting.extend(reversed(e.children))

    def only(self, tag: str) -> Element | None:
        """The child with this tag, or None; two of them are an error."""
        found = self.findall(tag)
        if len(found) > 1:
            raise found[1].error(
                f"is the second <{tag}> of {self}, which has one on line {found[0].line}; remove one of them."
            )
        return found[0] if found else None

    def child(self, tag: str) -> Element:
        """The one child with this tag, which must be there."""
        found = self.only(tag)
        if found is None:
            raise self.error(f"has no <{tag}>, which it needs. Add one inside it.")
        return found

    # --- reading ------------------------------------------------------------------------------------------------

    def get(self, name: str, default: str | None = None) -> str | None:
        """An attribute, stripped, or the default."""
        value = self.attrib.get(name)
        return default if value is None else value.strip()

    def required(self, name: str) -> str:
        """An attribute, stripped, that must be there and not empty."""
        value = self.get(name)
        if not value:
            raise self.error(f"has {'an empty' if value == '' else 'no'} attribute '{name}', which it needs.")
        return value

    def number(self, name: str | None, default: Any = _MISSING, *, finite: bool = True) -> Any:
        """One number of an attribute (name None: of the text); the default where it is absent.

        finite=False takes infinities too, never NaN.
        """
        if default is not _MISSING and (name not in self.attrib if name is not None else not self.text):
            return default
        text, what = (self.required(name), f"attribute '{name}'") if name is not None else (self.text, "text")
        return self._floats(text, 1, what, finite)[0]

    def numbers(
        self, name: str | None, count: int | None = None, default: Any = _MISSING, *, finite: bool = True
    ) -> Any:
        """(count,) numbers of an attribute (name None: of the text); the default where it is absent."""
        if default is not _MISSING and (name not in self.attrib if name is not None else not self.text):
            return default if default is None else np.array(default, dtype=float)
        text, what = (self.required(name), f"attribute '{name}'") if name is not None else (self.text, "text")
        return np.array(self._floats(text, count, what, finite))

    def parsed(self, text: str, count: int | None, what: str, *, finite: bool = True) -> np.ndarray:
        """(count,) numbers of a text that stands in this element; count None takes any number of them."""
        return np.array(self._floats(text, count, what, finite))

    def _floats(self, text: str, count: int | None, what: str, finite: bool) -> list[float]:
        words = text.split()
        if len(text) < 400 and _PLAIN.issuperset(text) and (count is None or len(words) == count):
            try:
                values = [float(w) for w in words]
            except ValueError:
                values = [inf]
            if all(-MAX_NUMBER <= x <= MAX_NUMBER for x in values):
                return values
        needed = _counted(count) + (" (or inf)" if not finite else "")
        for word in words:
            if len(word) > 400 or not (_NUMBER.fullmatch(word) or (not finite and _INFINITE.fullmatch(word))):
                raise self.error(
                    f"has {shown(word)} in its {what}, which is {'not finite' if _vague(word) else 'no number'}; "
                    f"needed: {needed}."
                )
        if count is not None and len(words) != count:
            raise self.error(f"has {_counted(len(words))} in its {what}, {shown(text)}; needed: {needed}.")
        values = [float(w) for w in words]
        if finite and max(map(abs, values), default=0.0) > MAX_NUMBER:
            raise self.error(f"has a number beyond {MAX_NUMBER:g} in its {what}, {shown(text)}; needed: {needed}.")
        return values

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        """An attribute that is one of the options."""
        value = self.get(name, default) if default is not None else self.required(name)
        if value not in options:
            raise self.error(f"has {name} {shown(str(value))}; needed: one of {', '.join(options)}.")
        return str(value)

    # --- saying -------------------------------------------------------------------------------------------------

    def error(self, text: str) -> ModelFileError:
        """The error that this element `text` (a sentence that goes on after its name), to be raised."""
        return ModelFileError(f"{self} {text}", self.file, self.line)

    @property
    def name(self) -> str:
        """Its attribute `name`, or ''."""
        return (self.attrib.get("name") or "").strip()

    def __str__(self) -> str:
        """<tag> 'name'."""
        return f"<{_short(self.tag)}>" + (f" {shown(self.name)}" if self.name else "")

    def __repr__(self) -> str:
        return f"<{self.file}:{self.line}: {self}, {len(self.children)} children>"


def parse(source: Any, *, file: str = "") -> Element:
    """The root element of an XML file (a path) or text (bytes, or a str that begins with '<').

    `file` is the name that errors and notes give; by default the path, or "text".
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        try:
            data = source.encode()
        except UnicodeEncodeError as error:
            raise ModelFileError(f"the text cannot be written as UTF-8 ({error.reason}).", file or "text") from None
        return _TreeBuilder(file or "text", encoding="utf-8").build(data)
    if isinstance(source, (bytes, bytearray)):
        return _TreeBuilder(file or "text").build(bytes(source))
    if "\n" in str(source):
        raise ModelFileError(f"{shown(str(source))} is neither the path of a file nor a text that begins with '<'.")
    path = Path(source)
    return _TreeBuilder(file or str(path)).build(contents(path, file or str(path)))


def contents(path: Path, file: str, most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file that has no more than `most` of them."""
    try:
        if path.exists() and not path.is_file():
            raise ModelFileError("is no regular file; needed: a file with text in it.", file)
        with open(path, "rb") as f:
            data = f.read(most + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelFileError(f"could not be read: {reason}.", file) from None
    if len(data) > most:
        raise ModelFileError(
            f"has {os.stat(path).st_size / 2**20:.0f} MB; needed: at most {most // 2**20} MB. Meshes belong into "
            "files of their own.",
            file,
        )
    return data


class _TreeBuilder:
    """Handlers of expat that build the tree and keep the bounds."""

    def __init__(self, file: str, encoding: str | None = None):
        self.file, self.root = file, Element("")
        self.open: list[Element] = [self.root]
        self.texts: list[list[str]] = [[]]
        self.elements = self.attributes = 0
        self.parser = expat.ParserCreate(encoding)
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def build(self, data: bytes) -> Element:
        if not data.strip():
            raise ModelFileError("is empty; needed: an XML element.", self.file)
        if len(data) > MAX_BYTES:
            raise ModelFileError(f"has {len(data) / 2**20:.0f} MB; needed: at most {MAX_BYTES // 2**20} MB.", self.file)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise ModelFileError(
                f"is no well-formed XML: {expat.errors.messages.get(error.code, 'unknown error')} in column "
                f"{error.offset + 1}.{_hint(error.code, data)}",
                self.file,
                error.lineno,
            ) from None
        except (LookupError, ValueError) as error:  # encodings that Python does not have or expat cannot take
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"is in an encoding that is not read ({shown(str(error))}); needed: UTF-8.", self.file, 1
            ) from None
        return self.root.children[0]

    def refuse(self, *_: Any) -> None:
        raise ModelFileError(
            "holds a document type declaration (<!DOCTYPE …>); entities and external definitions are not read. "
            "Remove the declaration.",
            self.file,
            self.parser.CurrentLineNumber,
        )

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        self.elements += 1
        self.attributes += len(attrib)
        if len(self.open) > MAX_DEPTH or self.elements > MAX_ELEMENTS or self.attributes > MAX_ATTRIBUTES:
            self.too_many()
        element = Element(tag, attrib, self.file, self.parser.CurrentLineNumber)
        self.open[-1].children.append(element)
        self.open.append(element)
        self.texts.append([])

    def too_many(self) -> None:
        for found, most, of in (
            (len(self.open), MAX_DEPTH, "levels of elements"),
            (self.elements, MAX_ELEMENTS, "elements"),
            (self.attributes, MAX_ATTRIBUTES, "attributes"),
        ):
            if found > most:
                raise ModelFileError(
                    f"has more than {most} {of}, the most that is read.", self.file, self.parser.CurrentLineNumber
                )

    def end(self, tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop()).strip()

    def characters(self, text: str) -> None:
        self.texts[-1].append(text)


def _hint(code: int, data: bytes) -> str:
    """A hint for the repair, or an empty string."""
    if not data.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0").startswith(b"<"):
        return " The file does not begin with '<': is it XML?"
    if code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
        return " Only &lt; &gt; &amp; &quot; &apos; and numbers (&#176;) are known."
    if b"--" in data and b"<!--" in data and code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
        return " Two hyphens inside a comment are not allowed in XML; is that it?"
    return ""


def _counted(count: int | None) -> str:
    return "numbers" if count is None else "one number" if count == 1 else f"{count} numbers"


def _vague(word: str) -> bool:
    return word.lower().lstrip("+-") in ("nan", "inf", "infinity")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def shown(text: str) -> str:
    """A text of a file in quotes, shortened, without line breaks and control characters."""
    return "'" + _short(" ".join("".join(c if c.isprintable() else "?" for c in text[:200]).split())) + "'"
