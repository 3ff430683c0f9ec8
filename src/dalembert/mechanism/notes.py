"""A reader's note on an element of a model file that it left out or repaired."""

from __future__ import annotations

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
