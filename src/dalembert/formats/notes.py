"""Notes on elements that a reader left out or repaired."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ModelFileError
from dalembert.mechanism.notes import Note, grouped


class Notes:
    """Collects notes while a file is read; strict=True makes `done` refuse the file if there are any.

    >>> from dalembert.formats.xml import Element
    >>> notes = Notes()
    >>> notes.add(Element("sensor", {"name": "imu"}, "arm.urdf", 12), "sensors are not modelled")
    >>> print(notes.all[0])
    arm.urdf:12: <sensor> 'imu': sensors are not modelled
    """

    def __init__(self, strict: bool = False):
        self.strict = strict
        self.all: list[Note] = []

    def add(self, element: Any, text: str) -> None:
        """A note on an element (anything with `file`, `line` and a short text): what has no meaning here, and why."""
        self.all.append(Note(element.file, element.line, str(element), text))

    def done(self) -> list[Note]:
        """The notes, in the order of the lines; refuses a file with notes where `strict` asks for none."""
        self.all.sort(key=lambda n: (n.file, n.line))
        if self.strict and self.all:
            texts = grouped(self.all)
            listed = "".join(f"\n  {text}" for text in texts[:50])
            more = f"\n  … and {len(texts) - 50} other kinds" if len(texts) > 50 else ""
            raise ModelFileError(
                f"{len(self.all)} element(s) are not read exactly as written, and strict=True asks for none:{listed}"
                f"{more}",
                self.all[0].file,
            )
        return self.all
