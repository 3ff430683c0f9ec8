"""Events: functions of (t, state) whose changes of sign a run finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.simulation.callbacks import Callback, NativeState, expression, is_numba, scalar_of
from dalembert.symbols import array


@dataclass(frozen=True)
class Event:
    """g(t, state) = 0, crossed upwards (direction 1), downwards (−1) or either way (0); a terminal one ends the run.

    g is a `da.expression`, a Numba function or a Python function, as a controller may be.
    """

    g: Any
    direction: int = 0
    terminal: bool = False

    def wants(self, before: float, after: float) -> bool:
        """Whether this change of sign counts."""
        if before == 0.0 or not before * after <= 0.0:
            return False
        return self.direction == 0 or (after > before) == (self.direction > 0)


def named_events(events: Any) -> dict[str, Event]:
    """Events by name from a mapping, a list, or one of them; plain functions may carry SciPy's attributes."""
    if events is None:
        return {}
    if isinstance(events, (Event, expression)) or callable(events):
        events = [events]
    if not isinstance(events, Mapping):
        if not isinstance(events, Iterable):
            raise ArgumentError(f"events is {events!r}; needed: functions g(t, state), a list or a mapping of them.")
        events = {f"event{k}": e for k, e in enumerate(events)}
    out = {}
    for name, e in events.items():
        if not isinstance(e, Event):
            if not (callable(e) or isinstance(e, expression)):
                raise ArgumentError(f"event '{name}' is {e!r}; needed: a function g(t, state).")
            e = Event(e, int(np.sign(getattr(e, "direction", 0))), bool(getattr(e, "terminal", False)))
        out[name] = e
    return out


def watcher(system: Any, events: Mapping[str, Event], p: Any) -> Callback:
    """All events as one function of the native loop; machine code where all are expressions."""
    back = Callback(system, p, len(events))
    functions = [e.g for e in events.values()]
    if all(isinstance(g, expression) for g in functions):
        what = [f"event '{name}'" for name in events]
        key = ("events", *(g.f for g in functions))
        back.trace(key, lambda s: array([scalar_of(s, g.f, w) for g, w in zip(functions, what)]))
        return back
    parts = [_as_python(system, name, g, p) for name, g in zip(events, functions)]
    back.python(lambda t, state: np.array([part(t, state) for part in parts]))
    return back


def _as_python(system: Any, name: str, g: Any, p: Any) -> Any:
    if isinstance(g, expression):
        one = Callback(system, p, 1)
        one.trace(("events", g.f), lambda s: array([scalar_of(s, g.f, f"event '{name}'")]))
        return lambda t, state: _through(one, t, state)
    if is_numba(g):
        return lambda t, state: float(g(t, NativeState(state.q, state.v)))
    return lambda t, state: float(g(t, state))


def _through(back: Callback, t: float, state: Any) -> float:
    return float(back.called().at(t, np.concatenate([state.q, state.v]))[0])
