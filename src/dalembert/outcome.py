"""Outcomes: small integers that carry their sentence, for kernels that never raise."""

from __future__ import annotations

from enum import IntEnum


class Spoken(IntEnum):
    """An IntEnum whose members are written `NAME = code, sentence`.

    >>> Outcome(3).name, Outcome(3).sentence[:30]
    ('DEPENDENT', 'the constraints are dependent ')
    """

    sentence: str

    def __new__(cls, code: int, sentence: str = "") -> Spoken:
        member = int.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member


class Outcome(Spoken):
    """How the solution of constrained equations ended."""

    OK = 0, "done"
    NOT_FINITE = 1, "the equations hold NaN or infinity"
    MASS_SINGULAR = 2, "the mass matrix is not positive definite"
    DEPENDENT = 3, "the constraints are dependent here and this formulation needs them independent"
    CHART_SINGULAR = 4, "the chosen coordinates are not independent here"
