"""Frames of a state: the questions that the state of a traced expression answers, too (`UserState`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.mechanism.layout import Layout
from dalembert.mechanism.traced import TracedState
from dalembert.symbols import all_numbers


class FramesOfState:
    """Position, rotation, velocity and twist of frames (or bodies, or names of either) at a state.

    They need no system, so they know no parameters: where the place of a frame depends on one, `System.pose` and
    `System.twist` are to be asked.
    """

    __slots__ = ()
    q: np.ndarray
    v: np.ndarray
    t: float
    layout: Layout

    def position(self, frame: Any) -> np.ndarray:
        """Origin of a frame in the ground, (3,), m."""
        return self._number(frame, self._traced().position(self.layout.frame(frame)))

    def rotation(self, frame: Any) -> np.ndarray:
        """(3, 3) rotation from the axes of a frame to the ground's."""
        return self._number(frame, self._traced().pose(self.layout.frame(frame)).R)

    def velocity(self, frame: Any) -> np.ndarray:
        """Velocity of the origin of a frame in the ground's axes, (3,), m/s."""
        return self._number(frame, self._traced().velocity(self.layout.frame(frame)))

    def twist(self, frame: Any) -> np.ndarray:
        """(ω; v) of a frame in its own axes, (6,)."""
        return self._number(frame, self._traced().twist(self.layout.frame(frame)))

    def _traced(self) -> TracedState:
        return TracedState(self.layout, self.layout.tree.moving(self.q, self.v), self.t)

    def _number(self, frame: Any, x: np.ndarray) -> np.ndarray:
        if not all_numbers(x):
            raise ArgumentError(
                f"the place of {self.layout.frame(frame)} depends on parameters, which a state does not know; use "
                "system.pose(state, frame, p=...) or system.twist(state, frame, p=...)."
            )
        return x.astype(float)
