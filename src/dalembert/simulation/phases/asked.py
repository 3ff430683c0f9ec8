"""What a run of phases was asked for, what it adds up, and how it ends early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.simulation.events import Event
from dalembert.simulation.phases.mode import Changeable, Mode, PhaseSystem
from dalembert.simulation.phases.switch import Switch
from dalembert.simulation.setup import Choices, Span
from dalembert.simulation.status import Status


@dataclass(eq=False)
class Asked:
    """The checked request for a run of phases."""

    changeable: Changeable
    choices: Choices
    span: Span
    p: np.ndarray
    controller: Any
    hold: float
    events: Mapping[str, Event]
    switches: Mapping[str, Switch]
    options: Mapping[str, Any]


class Cause(NamedTuple):
    """The reason why a phase ended."""

    kind: str  # of a watched event, "switch", or "event" of the user
    of: str


@dataclass(frozen=True, eq=False)
class Added:
    """Energy besides a phase's records, J: what the change before it added, and what was done in all of it."""

    gained: float
    works: Mapping[str, float]
    mode: Mode


@dataclass(eq=False)
class Ended(Exception):
    """The run cannot go on."""

    status: Status
    why: str


def system_in(changeable: Changeable, mode: Mode) -> PhaseSystem:
    """The system in a mode, kept with the system it is of."""
    return changeable.base.keep(("phase", changeable.stops, mode), lambda: PhaseSystem.of(changeable, mode))
