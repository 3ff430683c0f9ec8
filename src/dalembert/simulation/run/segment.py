"""A segment as a value: a stretch of a run with one structure, and how it ended.

A run without contacts, switches and dry friction is one segment. Others are segments with transitions between them
(see `hybrid`), and a mechanism that does not move has a segment of another kind (`hybrid.rest`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.simulation.setup import Span
from dalembert.simulation.status import Status
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.simulation.hybrid.mode_record import ModeRecord
    from dalembert.simulation.hybrid.rest import Rest
    from dalembert.simulation.layout import RunLayout
    from dalembert.simulation.results.run import Run
    from dalembert.simulation.run.context import Context
    from dalembert.simulation.run.interrupt import Interrupt


class Segment(NamedTuple):
    """Everything that decides how a segment goes."""

    layout: RunLayout  # the functions of its equations and events
    span: Span  # its start, its end, the times wanted, the inputs at its start
    first: bool = True  # whether the run begins with it
    arrival: np.ndarray | None = None  # (nv,) the velocity by which its start, a singular position, was reached
    step: float = 0.0  # s, its first one; 0: chosen
    sampling: tuple[float, float] | None = None  # s: when a controller was sampled first, and until when it is held
    rest: Rest | None = None  # what holds a mechanism that does not move
    record: ModeRecord | None = None  # of native code, which all segments of the run use
    stiff: Callable[[Context, float], bool] | None = None  # whether steps of a length go better implicitly from here on
    interrupt: Interrupt | None = None  # of the whole run, where there are several segments


class Cause(NamedTuple):
    """The event that ended a segment."""

    kind: str  # of a guard ("closes", "opens", "slips", "stops", "loads", "jams"), or "event" of the user or a switch
    of: str  # the contact, joint or event


class SegmentEnd(NamedTuple):
    """How a segment ended: where a transition leads on from."""

    state: State  # x⁻
    u: np.ndarray  # (nu,) inputs that act there
    status: Status
    cause: Cause | None  # None: no event
    branch: np.ndarray | None  # (nv,) velocity on the tangent cone by which a singular position was reached
    works: Mapping[str, float]  # J since the start of the segment
    held_until: float  # s: a sampled controller
    step: float  # s, the usual one
    was_singular: bool  # whether it began in a singular position, and not at the start of the run
    stiff: float  # s: the last steps, where it goes on by another method; else 0
    records: Run
