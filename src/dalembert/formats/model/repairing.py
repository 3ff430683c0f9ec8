"""Repairing model files where it is sure what is meant: words that are nearly right, other ways to write numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dalembert.errors import ModelFileError
from dalembert.formats.model.reader import read_text
from dalembert.formats.saving import save

ROUNDS = 100  # of reading the file anew, as some faults are seen only when others are gone


@dataclass(frozen=True)
class Repair:
    """A word of a line that was replaced."""

    line: int
    wrong: str
    right: str

    def __str__(self) -> str:
        return f"line {self.line}: '{self.wrong}' is now '{self.right}'"


def repaired(text: str, file: str, *, json: bool = False) -> tuple[str, list[Repair]]:
    """A text with its sure repairs, and these; what is left is raised when it is read.

    A word is replaced only where it is in its line once.
    """
    done: list[Repair] = []
    for _ in range(ROUNDS):
        try:
            read_text(text, file=file, json=json)
            break
        except ModelFileError as error:
            lines, before = text.split("\n"), len(done)
            for fault in error.faults:
                if fault.repair is not None and 0 < fault.line <= len(lines):
                    wrong, right = fault.repair
                    line = lines[fault.line - 1]
                    found = list(re.finditer(rf"(?<![\w.-]){re.escape(wrong)}(?![\w-])", line))
                    if len(found) == 1:
                        lines[fault.line - 1] = line[: found[0].start()] + right + line[found[0].end() :]
                        done.append(Repair(fault.line, wrong, right))
            if len(done) == before:
                break
            text = "\n".join(lines)
    return text, done


def repair_file(path: Path) -> list[Repair]:
    """Write the sure repairs of a file into it; gives them."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # said better where it is read
        return []
    new, done = repaired(text, str(path), json=path.suffix.lower() == ".json")
    if done:
        save(path, new)
    return done
