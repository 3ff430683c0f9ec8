"""The base of all forces. A new force is one file that subclasses `Force` and one `add_...` method of Mechanism.

Forces are written against a `TracedState` (poses and velocities as traced numbers) and put what they exert into a
`Load`. Values may be numbers, expressions of parameters and inputs, or functions of the state (see `evaluate`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import casadi as ca

from dalembert.mechanism.traced import Load, TracedState, on_expressions
from dalembert.mechanism.values import shaped

Value = Any  # a number, a CasADi expression, or a function of the state that returns one


class Force(ABC):
    """A force of a mechanism."""

    name: str
    kind: str
    sticks = False  # whether it is dry friction, a row of runs while it holds

    @property
    def conservative(self) -> bool:
        """Whether all it does is to take from its potential energy and give it back."""
        return False

    @property
    def input_units(self) -> list[str]:
        """Units of the input that came with it under its name, one for each number; none where none came."""
        return []

    def given(self) -> list[tuple[str, Value, tuple[int, ...]]]:
        """(what it is, value, shape) of each value that may be an expression or a function of the state."""
        return []

    @abstractmethod
    def act(self, s: TracedState, load: Load) -> None:
        """Add what this force exerts in the state s to the load."""

    @property
    def bends(self) -> bool:
        """Whether it has `kinks`."""
        return False

    def kinks(self, s: TracedState) -> list[Any]:
        """Numbers that change their sign where the force, or its energy, is not smooth; steps end there."""
        return []

    def act_within(self, s: TracedState, load: Load) -> None:
        """Add the force as if no limit were reached; input matrices are made of it."""
        self.act(s, load)

    def energy(self, s: TracedState) -> Any:
        """Its potential energy in the state s; 0.0 for a force that has none."""
        return 0.0


def evaluate(value: Value, s: TracedState, shape: tuple[int, ...], what: str) -> Any:
    """A value in the state s: a function is called with `s.user()` and may return any CasADi expression."""
    given = value if isinstance(value, ca.SX) or not callable(value) else on_expressions(value, s, what)
    x = shaped(given, shape, what)
    return x[()] if shape == () else x
