"""States that a mechanism knows by name, brought onto the constraints: what is named is held, the rest follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import AssemblyError
from dalembert.protocols import SystemLike

WRITTEN = 1e-3  # of a number, or of 1 rad or m: files have rounded numbers, and states move by that much unsaid


def named_start(
    system: SystemLike, name: str | None, q: Mapping[str, Any] | None = None, v: Mapping[str, Any] | None = None
) -> tuple[Any, str]:
    """The state of a name (None: neutral) on the constraints, and a sentence where what it names had to change.

    q, v: coordinates and velocities that are held in place of those that the state names.
    """
    guess = system.state() if name is None else system.named_state(name)
    at, speeds = q or {}, v or {}
    if not system.rows.of:
        return guess.replace(q=at, v=speeds), ""
    own = None if name is None else system.layout.mechanism.states[name]
    named_q, named_v = (at, speeds) if own is None else (at or own.q, speeds or own.v)
    for held_q, held_v in ((named_q, named_v), (at, named_v), (at, speeds)):
        complete = held_q is not at and sum(map(np.size, held_q.values())) >= system.nq  # nothing is left to search
        try:
            x: Any = system.assemble(held_q, held_v, guess=guess, t=guess.t, attempts=1 if complete else 12)
        except AssemblyError:
            if held_q is at and held_v is speeds:
                raise
        else:
            break
    moved = [*_moved(named_q, x.__getitem__, ""), *_moved(named_v, x.rate, "the velocity of ")]
    if not moved:
        return x, ""
    return x, f"state '{name}' does not satisfy the constraints; the nearest that does has {', '.join(moved)}."


def _moved(named: Mapping[str, Any], value: Any, what: str) -> list[str]:
    """Sentences about named values that a state does not have."""
    out = []
    for name, wanted in named.items():
        is_, was = np.atleast_1d(value(name)), np.atleast_1d(wanted)
        if (np.abs(is_ - was) > WRITTEN * np.maximum(1.0, np.abs(was))).any():
            shown = [", ".join(f"{x:.6g}" for x in numbers) for numbers in (is_, was)]
            out.append(f"{what}{name} = {shown[0]} in place of {shown[1]}")
    return out
