"""A reader's note on an element of a model file that it left out or repaired."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on one element of a model file; line 0: on what is written.

    >>> print(Note("arm.urdf", 12, "<sensor> 'imu'", "sensors are not modelled"))
    arm.urdf:12: <sensor> 'imu': sensors are not modelled
    """

    file: str
    line: int
    element: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line else ''}: {self.element}: {self.text}"


def grouped(notes: Iterable[Note], lines: int = 6) -> list[str]:
    """Notes as texts, those that differ in names, numbers and lines only as one, with the first `lines` of its lines.

    >>> sensor = "sensors are not modelled"
    >>> for text in grouped([Note("arm.urdf", k, f"<sensor> 's{k}'", sensor) for k in range(3, 20)], lines=3):
    ...     print(text)
    arm.urdf:3: <sensor> 's3': sensors are not modelled (and 16 more like it, on lines 4, 5, 6, …)
    """
    found: dict[tuple[str, ...], list[Note]] = {}
    for note in notes:
        alike = tuple(_VARIES.sub("…", text) for text in (note.element, note.text))
        found.setdefault((note.file, *alike), []).append(note)
    out = []
    for first, *more in found.values():
        others = sorted({n.line for n in more if n.line})
        where = f", on line{'s' if len(others) > 1 else ''} {', '.join(map(str, others[:lines]))}" if others else ""
        tail = f" (and {len(more)} more like it{where}{', …' if len(others) > lines else ''})" if more else ""
        out.append(f"{first}{tail}")
    return out


_VARIES = re.compile(r"""'[^']*'|"[^"]*"|[-+]?\d[\w.+-]*""")
