"""Springs and cables: forces along the line through a list of points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dalembert.mechanism.body import Frame
from dalembert.mechanism.curves import Law, corners, is_nothing, response, stored
from dalembert.mechanism.forces.force import Force, Value, evaluate
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import lesser, positive_part, sqrt, where_less


def _unit(d: Any) -> tuple[Any, Any]:
    """Length and direction of a vector; the direction of a zero vector is taken as zero."""
    l2 = d @ d
    length = sqrt(l2)
    return length, d * where_less(l2, 1e-300, lambda: 0.0, lambda: 1.0 / length)


class Line(Force):
    """A taut line through points: pulls each towards its neighbours with the tension T."""

    points: Sequence[Frame]

    def segments(self, s: TracedState) -> list[tuple[Frame, Frame, Any, Any]]:
        """(a, b, length, direction from a to b) of each piece."""
        return [(a, b, *_unit(s.position(b) - s.position(a))) for a, b in pairwise(self.points)]

    def length(self, s: TracedState) -> Any:
        """Length of the whole line."""
        return sum((length for _, _, length, _ in self.segments(s)), 0.0)

    def speed(self, s: TracedState) -> Any:
        """Rate of the length."""
        return sum(((s.velocity(b) - s.velocity(a)) @ n for a, b, _, n in self.segments(s)), 0.0)

    def pull(self, s: TracedState, load: Load, tension: Any) -> None:
        """Put the tension on every point."""
        for a, b, _, n in self.segments(s):
            load.force(a, tension * n)
            load.force(b, -(tension * n))


class Cable(Line):
    """A line without mass or friction whose tension (N) is given: a number, an input, or a function of the state."""

    kind = "cable"

    def __init__(self, name: str, points: Sequence[Frame], tension: Value):
        self.name, self.points, self.tension = name, points, tension

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        return [(f"the tension of cable '{self.name}'", self.tension, ())]

    def act(self, s: TracedState, load: Load) -> None:
        self.pull(s, load, evaluate(self.tension, s, (), f"the tension of cable '{self.name}'"))


class Spring(Line):
    """A line with T = k(L − L₀) + c(L̇), k and c numbers or curves; with `slack` it pulls only, both numbers.

    Slack: T = max(0, …) while L > L₀.
    """

    def __init__(self, name: str, points: Sequence[Frame], stiffness: Law, damping: Law, rest_length: Any, slack: bool):
        self.name, self.points, self.slack = name, points, slack
        self.kind = "cable" if slack else "damper" if is_nothing(stiffness) else "spring"
        self.stiffness, self.damping, self.rest_length = stiffness, damping, rest_length

    def _stretch(self, s: TracedState) -> tuple[Any, Any]:
        """L − L₀ and the tension of a spring that pulls and pushes."""
        stretch = self.length(s) - self.rest_length
        tension = response(self.stiffness, stretch)
        if not is_nothing(self.damping):
            tension = tension + response(self.damping, self.speed(s))
        return stretch, tension

    @property
    def bends(self) -> bool:
        return self.slack or any(getattr(law, "breaks", ()) for law in (self.stiffness, self.damping))

    def kinks(self, s: TracedState) -> list[Any]:
        stretch, tension = self._stretch(s)
        if not self.slack:
            return [*corners(self.stiffness, stretch), *corners(self.damping, self.speed(s))]
        return [stretch] if self.conservative else [stretch, lesser(stretch, tension / self.stiffness)]

    def act(self, s: TracedState, load: Load) -> None:
        stretch, tension = self._stretch(s)
        if self.slack:
            tension = where_less(stretch, 0.0, lambda: 0.0, lambda: positive_part(tension))
        self.pull(s, load, tension)

    @property
    def conservative(self) -> bool:
        return is_nothing(self.damping)

    def energy(self, s: TracedState) -> Any:
        stretch = self.length(s) - self.rest_length
        return stored(self.stiffness, positive_part(stretch) if self.slack else stretch)
