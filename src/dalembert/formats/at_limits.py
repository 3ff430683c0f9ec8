"""Limits of a file as stops: what simulators do at them, on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.contacts.stop import as_stops
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note


def checked_stops(stops: Any) -> Any:
    """The option `stops` of a reader, checked before the file is read."""
    return as_stops(stops, "stops")


def stop_at_limits(m: Mechanism, stops: Any) -> Mechanism:
    """Give stops to the joints of a mechanism that was just read, where they have limits and no stops of their own."""
    for a in m.joints.values():
        if stops is None or a.stops is not None or a.joint.nq != a.joint.nv or not np.isfinite(a.limits).any():
            continue
        if (a.limits[:, 0] >= a.limits[:, 1]).any():
            m.notes.append(Note("", 0, f"joint '{a.name}'", "its limits leave it no room: it has no stops"))
            continue
        object.__setattr__(a, "stops", stops)  # nobody has seen it yet
    return m
