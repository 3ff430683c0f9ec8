"""How native functions end: small integers that carry their sentence, one family for the whole library.

Native code never raises. It returns, or leaves in its struct, one of the plain integers below; `Outcome(code).sentence`
is the text for people.
"""

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
    """How a native function ended. A rank below full is no failure: it is returned beside the outcome."""

    OK = 0, "done"
    NOT_FINITE = 1, "the input holds NaN or infinity"
    MASS_SINGULAR = 2, "the mass matrix is not positive definite"
    DEPENDENT = 3, "the constraints are dependent here and this formulation needs them independent"
    CHART_SINGULAR = 4, "the chosen coordinates are not independent here"
    NOT_POSITIVE = 5, "the matrix is not positive definite: a pivot is zero, negative or NaN"
    NOT_CONVERGED = 6, "the iteration ended before it converged to working precision"
    # of the loop
    UNSOUND = 7, "the elimination of constraints cannot be trusted here"
    CALLBACK = 8, "a callback did not return finite numbers"
    STEP_UNSOLVED = 9, "the equations of an implicit step were not solved"
    STEP_TOO_SMALL = 10, "the step became too small"
    DRIFTED = 11, "the constraints were not restored"
    SINGULAR = 12, "the constraints are dependent here"
    CHART_ENDS = 13, "the chart ends here"
    EVENT = 14, "an event happened in the last step"
    PAUSED = 15, "the room for records, or the budget of attempts, is used up"
    PASSED = 16, "the last step led past a singular position"
    # of an answer
    INCONSISTENT = (
        17,
        "no acceleration satisfies the constraints: drivers or rows contradict each other, or the position is singular "
        "and no motion has this velocity",
    )
    # of the loop
    ENDS_BESIDE = 18, "the run ends beside a singular position"


# plain integers, which compile faster than enum members
(
    OK, NOT_FINITE, MASS_SINGULAR, DEPENDENT, CHART_SINGULAR, NOT_POSITIVE, NOT_CONVERGED, UNSOUND, CALLBACK,
    STEP_UNSOLVED, STEP_TOO_SMALL, DRIFTED, SINGULAR, CHART_ENDS, EVENT, PAUSED, PASSED, INCONSISTENT,
    ENDS_BESIDE,
) = (int(o) for o in Outcome)  # fmt: skip
