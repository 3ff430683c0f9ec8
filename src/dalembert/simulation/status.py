"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.outcome import Outcome, Spoken


class Status(Spoken):
    """How a run ended; `Status.DONE.sentence` is its meaning in words."""

    DONE = 0, "the end was reached"
    STEP_TOO_SMALL = 1, "the step became too small: the motion is too stiff or too fast here; try method='sdirk4'"
    NOT_FINITE = 2, "the state became infinite or NaN: a force is unbounded here"
    DRIFTED = 3, "the constraints could not be restored after a step; try smaller steps or tighter tolerances"
    SINGULAR = 4, "a singular configuration was reached and on_singularity='stop' was asked for"
    CALLBACK = 5, "a controller or event returned something that is not a finite number"
    INTERRUPTED = 6, "the run was interrupted"
    STEPS = 7, "the largest number of steps was reached; raise max_steps"
    BLOCKED = 8, "no motion leads on"
    EVENT = 9, "a terminal event ended the run"
    STEP_UNSOLVED = 11, "the equations of an implicit step could not be solved; try a smaller step"
    NOT_COMPILED = 12, "the code needed from here on could not be compiled"
    NOT_BEGUN = 13, "the start of the run was refused"
    NOT_CLOSED = 14, "a switch could not close its constraints"
    NO_FORCES = 15, "contacts and friction have no forces that balance, or more than one set of them"
    CHATTERING = 16, "changes of structure follow each other without end"
    TOO_MANY_STEPS = 17, "max_steps will not do: the motion is stiff or fast; try method='sdirk4' or more steps"


#: outcomes of the native loop that end a run
FAILURES: dict[int, Status] = {
    Outcome.STEP_TOO_SMALL: Status.STEP_TOO_SMALL,
    Outcome.NOT_FINITE: Status.NOT_FINITE,
    Outcome.DRIFTED: Status.DRIFTED,
    Outcome.CALLBACK: Status.CALLBACK,
    Outcome.STEP_UNSOLVED: Status.STEP_UNSOLVED,
}


@dataclass(eq=False)
class Ended(Exception):
    """A run that cannot go on from where it is."""

    status: Status
    why: str
    changes: tuple[Any, ...] = ()  # of structure, that happened there before it ended
