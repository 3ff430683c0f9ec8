"""Continuation: the positions of a mechanism as one of its coordinates moves, on the branch of a first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.analysis.closing import Held, close
from dalembert.errors import AssemblyError
from dalembert.protocols import SystemLike
from dalembert.rank import angular_velocities

TOLERANCE = 1e-11  # rad, or lengths of the mechanism
FAR = 0.5  # rad, or lengths of the mechanism: the longest step that cannot have changed its branch
SMALLEST = 2.0**-10  # of the way: a branch that goes no farther has ended


class Continuation:
    """The branch of a state as one coordinate moves; `x` is where it stands.

    joint: the coordinate by its name. held: other coordinates that stay, by name. Each position is closed by Newton's
    method from where the last motion leads, in as many parts as it takes for every step to be small.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> way = Continuation(system, system.state(*zoo.four_bar_start(0.0)), "A")
    >>> turned = way.to(6.283185307179586)
    >>> bool(abs(turned["D"] - zoo.four_bar_start(0.0)[0]["D"]) < 1e-9)
    True
    """

    def __init__(self, system: SystemLike, x: Any, joint: str, held: Mapping[str, Any] | None = None):
        self.system, self.joint, self.held = system, joint, dict(held or {})
        self.x = self.before = x
        self.units = np.where(angular_velocities(system), 1.0, system.layout.length)

    def to(self, value: float) -> Any:
        """The state at a value of the coordinate; raises AssemblyError where the branch ends before it."""
        start, done, part = self.x[self.joint], 0.0, 1.0
        while done < 1.0:
            upto = min(1.0, done + part)
            new = self._closed(value if upto == 1.0 else start + upto * (value - start))
            if new is not None:
                self.before, self.x, done, part = self.x, new, upto, 2 * part
            elif part > SMALLEST:
                part *= 0.5
            else:
                raise self._end(value)
        return self.x

    def _closed(self, value: float) -> Any:
        """The state at a value near this one, by one search; None if there is none."""
        system, guess = self.system, self.x
        moved = guess[self.joint] - self.before[self.joint]
        if moved:
            step = system.minus(guess, self.before) * ((value - guess[self.joint]) / moved)
            guess = guess.replace(q=system.plus(guess, step)) if self._small(step) else guess
        held = Held(system, {**self.held, self.joint: value}, {})
        found = close(system, held.set_in(guess), held, None, system.active_rows(None), TOLERANCE)
        near = found.closed and self._small(system.minus(found.state, self.x))
        return held.set_in(found.state) if near else None

    def _small(self, step: np.ndarray) -> bool:
        return bool(np.abs(step / self.units).max(initial=0.0) <= FAR)

    def _end(self, value: float) -> AssemblyError:
        """Why there is no state at a value."""
        try:
            self.system.assemble({**self.held, self.joint: value}, guess=self.x)  # type: ignore[attr-defined]
        except AssemblyError as error:
            return error
        return AssemblyError("the branch it is on ends there; the mechanism can be assembled on another one.")
