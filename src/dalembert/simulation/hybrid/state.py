"""Values between two segments: where a hybrid run is, and what a transition makes of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.hybrid.switch import Switched
from dalembert.system.state import State

Numbers = Mapping[tuple[str, str], Any]  # of a mode, by what they are and of what: signs, directions, offsets


@dataclass(frozen=True, eq=False)
class HybridState:
    """Everything that the next segment and the transition after it depend on."""

    x: State
    u: np.ndarray  # (nu,) inputs that act
    mode: HybridMode
    numbers: Numbers = field(default_factory=dict)
    done: frozenset[str] = frozenset()  # switches that have happened
    followed: HybridMode | None = None  # the mode of the last segment
    directions: Mapping[str, np.ndarray] = field(default_factory=dict)  # of what slid in it
    branch: tuple[np.ndarray, np.ndarray] | None = None  # the last singular position, and the velocity that reached it
    was_singular: bool = False  # whether the last segment began in it
    held_until: float = 0.0  # s: a sampled controller
    step: float = 0.0  # s, the first of the next segment; 0: chosen
    usual_step: float = 0.0  # s, of the last segment
    crowded_from: float = -1e300  # s: a transition
    crowd: int = 0  # transitions right after it, or in one singular position
    locked: bool = False  # whether no motion leads away from here; see `locking`
    stiff: float = 0.0  # s: explicit steps, where the next segment goes in implicit ones; −1: these were no longer


@dataclass(frozen=True, eq=False)
class Transition:
    """What a transition leads to, and its changes of structure."""

    after: HybridState
    changes: tuple[Switched, ...]
    expected: tuple[Switched, ...]  # changes that count only if a segment follows
    gained: float  # J
    remarks: tuple[str, ...]


def directions(numbers: Numbers) -> dict[str, np.ndarray]:
    """Directions of what slides, by contact and velocity."""
    return {name: np.atleast_1d(x) for (what, name), x in numbers.items() if what in ("sign", "aim")}
