"""How the solution of constrained equations ended."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """How a formulation ended."""

    sentence: str

    def __new__(cls, code: int, sentence: str = "") -> Outcome:
        member = int.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    OK = 0, "done"
    NOT_FINITE = 1, "the equations hold NaN or infinity"
    MASS_SINGULAR = 2, "the mass matrix is not positive definite"
    DEPENDENT = 3, "the constraints are dependent here and this formulation needs them independent"
    CHART_SINGULAR = 4, "the chosen coordinates are not independent here"
