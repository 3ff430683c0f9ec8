"""Tools that simulate, one file each: `families(motion)` gives their settings, from coarse to fine.

A family is a list of settings of one method, each finer and slower than the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.motions import Outcome


@dataclass(frozen=True)
class Setting:
    """A way to do a motion."""

    label: str
    solve: Callable[[float], Any]  # of the duration (s); this is what is timed
    judge: Callable[[Any], Outcome]  # of what `solve` gave


Families = list[list[Setting]]
