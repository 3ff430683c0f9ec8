"""Statements of a dataset of Adams/Solver: names, identifiers, arguments, and the line on which each begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import ModelFileError
from dalembert.formats.xml import shown

MAX_STATEMENTS = 50_000
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"
DEGREE = np.pi / 180


@dataclass(slots=True)
class Statement:
    """One statement: `flags` are arguments without a value, `values` those with one, as texts."""

    name: str
    identifier: str
    file: str
    line: int
    flags: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}/{self.identifier}"

    def error(self, text: str) -> ModelFileError:
        """The error that this `text` (a sentence that goes on after its name), to be raised."""
        return ModelFileError(f"{self} {text}", self.file, self.line)

    def refuse_others(self, *known: str) -> None:
        """Refuse arguments that are not known."""
        for key in (*self.flags, *self.values):
            if key not in known:
                raise self.error(f"has the argument {shown(key)}, which is not read; known: {', '.join(known)}.")

    def text(self, key: str) -> str:
        """The value of an argument that must be there."""
        if key not in self.values:
            raise self.error(f"has no {key}.")
        return self.values[key]

    def numbers(self, key: str, most: int, *, angles: bool = False) -> list[float]:
        """At most so many numbers, fewer if the last are left out; angles: D after one means degrees."""
        parts = [p.strip() for p in self.text(key).split(",")]
        if len(parts) > most or not all(parts):
            raise self.error(f"has {key} = {shown(self.values[key])}; needed: {most} numbers.")
        out = []
        for part in parts:
            degrees = angles and part[-1:] in "dD"
            text = part[:-1].strip() if degrees else part
            if not re.fullmatch(NUMBER, text):
                raise self.error(f"has {shown(part)} in {key}, which is no number.")
            x = float(re.sub("[dD]", "e", text))
            if not abs(x) < 1e300:
                raise self.error(f"has {shown(part)} in {key}, which is too large.")
            out.append(x * DEGREE if degrees else x)
        return out

    def number(self, key: str, *, angles: bool = False) -> float:
        """One number."""
        return self.numbers(key, 1, angles=angles)[0]

    def triple(self, key: str, *, angles: bool = False) -> np.ndarray:
        """Three numbers, zeros where the argument is absent."""
        if key not in self.values:
            return np.zeros(3)
        found = self.numbers(key, 3, angles=angles)
        return np.array([*found, *[0.0] * (3 - len(found))])


def statements(text: str, file: str) -> Iterator[Statement]:
    """Statements up to END; the first line is the title, ! begins a comment, a comma at the start goes on."""
    joined: list[tuple[int, str]] = []
    going = False
    for k, raw in enumerate(text.splitlines()[1:], 2):
        line = raw.partition("!")[0].strip()
        if not line:
            continue
        more = line.startswith(",")
        if (more or going) and joined:
            first, so_far = joined[-1]
            joined[-1] = first, f"{so_far.removesuffix('&')} {line}"
        else:
            joined.append((k, line))
        going = line.endswith("&")
    for count, (k, line) in enumerate(joined):
        if count >= MAX_STATEMENTS:
            raise ModelFileError(f"has more than {MAX_STATEMENTS} statements, the most that is read.", file, k)
        if line.upper() == "END":
            return
        yield _statement(line, file, k)
    raise ModelFileError("has no END; the file is cut off, or no dataset of Adams/Solver.", file)


def _statement(line: str, file: str, k: int) -> Statement:
    found = re.match(r"([A-Za-z_]+)\s*/\s*(\d*)\s*,?\s*", line)
    if found is None:
        raise ModelFileError(f"has {shown(line)}; needed: a statement, such as PART/2, MASS=1, CM=3.", file, k)
    out = Statement(found[1].upper(), found[2], file, k)
    key = ""
    for part in _parts(line[found.end() :]):
        name, equals, value = part.partition("=")
        if equals and re.fullmatch(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*", name):
            key = name.strip().upper()
            if key in out.values:
                raise out.error(f"has {key} twice.")
            out.values[key] = value.strip()
        elif key and re.match(r"\s*[-+.\d]", part):
            out.values[key] += f", {part.strip()}"
        elif part.strip():
            key = ""
            out.flags.append(part.strip().upper())
    return out


def _parts(text: str) -> list[str]:
    """Parts between commas that are not inside brackets."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth <= 0:
            out.append(text[start:i])
            start = i + 1
    return [*out, text[start:]]
