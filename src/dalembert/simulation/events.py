"""Events: functions of (t, state) whose changes of sign a run finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.integrators.run_record import TURNS
from dalembert.native import library
from dalembert.native.bound import Bound
from dalembert.simulation.callbacks import ARGUMENTS, Callback, NativeState, expression, is_numba, scalar_of
from dalembert.symbols import array
from dalembert.system.state import State
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.simulation.run.dense import Dense


@dataclass(frozen=True)
class Event:
    """g(t, state) = 0, crossed upwards (direction 1), downwards (−1) or either way (0); a terminal one ends the run.

    g is a `da.expression`, a Numba function or a Python function, as a controller may be. It is asked four times inside
    a step, and more often where it bends, so that it may change its sign more than once there.
    """

    g: Any
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not (callable(self.g) or isinstance(self.g, expression)):
            raise ArgumentError(f"g is {checks.shown(self.g)}; needed: a function g(t, state).")
        checks.whole(self.direction, "direction", least=-1, most=1)
        checks.flag(self.terminal, "terminal")

    def wants(self, before: float, after: float) -> bool:
        """Whether the change of g from its value `before` a step to that `after` it counts."""
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
        needed = "functions g(t, state), a list or a mapping of them"
        events = {f"event{k}": e for k, e in enumerate(checks.items(events, "events", needed))}
    out = {}
    for name, e in events.items():
        if not isinstance(e, Event):
            if not (callable(e) or isinstance(e, expression)):
                raise ArgumentError(f"event '{name}' is {e!r}; needed: a function g(t, state).")
            e = Event(e, _sign(getattr(e, "direction", 0), name), bool(getattr(e, "terminal", False)))
        out[checks.name(name, "the name of an event")] = e
    return out


def _sign(direction: Any, name: str) -> int:
    return int(np.sign(checks.number(direction, f"the direction of event '{name}'")))


def watcher(system: System, events: Mapping[str, Event], p: np.ndarray) -> Callback:
    """All events as one function of the native loop; machine code where all are expressions."""
    back = Callback(system, p, len(events))
    functions = [e.g for e in events.values()]
    if all(isinstance(g, expression) for g in functions):
        back.bound = Bound.of(watch_kernel(system, events), {"p": p})
        return back
    parts = [as_python(system, name, g, p) for name, g in zip(events, functions)]
    back.python(lambda t, state: np.array([part(t, state) for part in parts]))
    return back


def watch_kernel(system: System, events: Mapping[str, Event], lanes: int = 1) -> Any:
    """The values of events that are all written in CasADi, as machine code for so many states at once."""
    named = [(f"event '{name}'", e.g.f) for name, e in events.items()]
    key = ("events", *(f for _, f in named))
    return system.kernels.custom(key, ARGUMENTS, lambda s: array([scalar_of(s, f, w) for w, f in named]), lanes=lanes)


Hit = tuple[float, np.ndarray, int]  # when, the record there, the number of the event


def locate(events: Sequence[Event], values: np.ndarray, dense: Dense) -> tuple[list[Hit], bool]:
    """Events between the two records of `dense`, in time, and whether one was not a number.

    values: (2, events) at the two records.
    """
    wish, failed = dense.wish(len(events)), not np.isfinite(values[1]).all()
    wish.times[:], wish.states[:], wish.values[:] = dense.times, dense.states, values
    library.call("locate", wish)
    if wish.unsound:  # next to a singular position, or an event that is not defined everywhere
        hits, more = _by_rows(events, values, dense)
        return hits, failed or more
    found = zip(wish.when[: wish.hits].tolist(), wish.rows[: wish.hits].copy(), wish.which[: wish.hits].tolist())
    return sorted(found, key=itemgetter(0)), failed


def _by_rows(events: Sequence[Event], values: np.ndarray, dense: Dense) -> tuple[list[Hit], bool]:
    """`locate` where steps from the record before need care."""
    from scipy.optimize import brentq

    (t0, t1), run, hits, failed = dense.times.tolist(), dense.run, list[Hit](), False
    n, inputs, given = (
        run.nq + run.nv,
        slice(run.n, run.n + run.nu),
        slice(run.events.u_index, run.events.u_index + run.nu),
    )

    def g(t: float) -> np.ndarray:
        row = dense.rows(np.array([t]))[0]
        if run.events.u_index:
            run.watch.x[given] = row[inputs]
        return np.array(run.watch.at(t, row[:n])[: len(events)])

    def root(k: int, a: float, b: float) -> float:
        if g(b)[k] == 0.0:
            return b
        return float(brentq(lambda t: g(t)[k], a, b, xtol=max(np.spacing(b), 1e-300), rtol=8.9e-16))

    def zero(k: int, t: float, after: np.ndarray) -> float | None:
        """When event k, `after` at t, ends a change of its sign that began before; None where there is none."""
        of, end, turns = k, t, run.directions[k] == TURNS
        if turns:
            of, end = k - 1, root(k, t0, t)
            if not (values[0, of] > 0.0 and after[of] > 0.0 and g(end)[of] < 0.0):
                return None
        return root(of, t0, end)

    def found(which: Iterable[int], t: float, after: np.ndarray) -> list[Hit]:
        nonlocal failed
        out = list[Hit]()
        for k in which:
            if not events[k].wants(values[0, k], after[k]):
                continue
            try:
                when = zero(k, t, after)
            except ValueError:  # no number between
                failed = failed or run.directions[k] != TURNS
                continue
            if when is not None:
                out.append((when, dense.rows(np.array([when]))[0], k - (run.directions[k] == TURNS)))
        return out

    hits, own = found(range(len(events)), t1, values[1]), range(run.events.own)
    for _ in own:  # the first of these ends the segment: others may change their signs before it and change back
        first = min((hit for hit in hits if hit[2] in own), key=itemgetter(0), default=None)
        if first is None:
            break
        end, _, which = first
        if which == own[-1]:  # where forces are 0/0 (`guards`: jams, the last) signs before it tell nothing
            break
        before = [hit for hit in found(own, end, g(end)) if hit[0] < end - 10.0 * at_once(end) and hit[2] != which]
        if not before:
            break
        hits += before
    return sorted(hits, key=itemgetter(0)), failed


def ending(hits: Sequence[Hit], events: Sequence[Event], own: int = 0) -> Hit | None:
    """The first terminal event; of several at one time, one that the user asked for, before the first `own` events."""
    terminal = [hit for hit in hits if events[hit[2]].terminal]
    if len(terminal) < 2:
        return terminal[0] if terminal else None
    together = [hit for hit in terminal if hit[0] <= terminal[0][0] + at_once(terminal[0][0])]
    return next((hit for hit in reversed(together) if hit[2] >= own), together[0])


def up_to(hits: Sequence[Hit], end: Hit, own: int = 0) -> list[Hit]:
    """Events up to the one that ends a run, and those at the same time; of the first `own` no others than that."""
    when, _, which = end
    found = [hit for hit in hits if hit[0] <= when + at_once(when) and (hit[2] == which or hit[2] >= own)]
    return [(min(t, when), row, k) for t, row, k in found]


def at_once(t: float) -> float:
    """Between roots that are found at one time but for rounding, s."""
    return 1e-14 * max(1.0, abs(t))


def as_python(system: System, name: str, g: Any, p: np.ndarray) -> Any:
    """An event of any kind as a Python function of (t, state)."""
    if isinstance(g, expression):
        one = Callback(system, p, 1)
        one.trace(("events", g.f), lambda s: array([scalar_of(s, g.f, f"event '{name}'")]))
        return lambda t, state: _through(one, t, state)
    if is_numba(g):
        return lambda t, state: float(g(t, NativeState(state.q, state.v)))
    return lambda t, state: float(g(t, state))


def _through(back: Callback, t: float, state: State) -> float:
    return float(back.bound.at(t, np.concatenate([state.q, state.v]))[0])
