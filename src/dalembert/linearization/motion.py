"""Motions to linearize along: runs, at their records and between them, and lists of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError
from dalembert.linearization.magnus import GAUSS, gauss_times
from dalembert.protocols import Parameters
from dalembert.system.state import State
from dalembert.system.system import System


class Records(NamedTuple):
    """Times and what the mechanism does at them."""

    t: np.ndarray  # (N,) s
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    u: np.ndarray  # (N, inputs)


class SampledMotion:
    """A motion at its records, or at the times asked for; where a run knows more, at the Gauss points between them."""

    def __init__(self, system: System, run: Any, u: Any, times: Any) -> None:
        """Take the arguments of `linearize_along`."""
        self.system, self.run, self.u = system, run, u
        is_run = hasattr(run, "t") and callable(getattr(run, "state", None))
        if not is_run and (isinstance(run, str) or not isinstance(run, Sequence)):
            raise ArgumentError(f"run is {checks.shown(run)}; needed: what da.simulate returns, or a list of states.")
        if not is_run and times is not None:
            raise ArgumentError("times are given with a list of states; needed: a run, which knows what lies between.")
        if times is not None:
            t = checks.increasing(times, "times")
            q, v = run(t)
            self.records = self._known(t, q, v, u)
        else:
            self.records = self._recorded([run.state(k) for k in range(len(run.t))] if is_run else run)
        if is_run:
            _check_run(run, *self.records.t[[0, -1]])
        self.nodes = self._nodes() if callable(run) and len(self.records.t) > 1 else None

    def state(self, k: int) -> State:
        """The state of record k."""
        return self.system.state(self.records.q[k], self.records.v[k], float(self.records.t[k]))

    def state_at(self, t: float) -> State:
        """The state of the run at a time, s."""
        return self.system.arguments.as_state(self.run(t))

    def _recorded(self, given: Any) -> Records:
        states = [self.system.arguments.as_state(x) for x in given]
        if not states:
            raise ArgumentError("run has no states.")
        t, q, v = (np.array([getattr(x, name) for x in states]) for name in "tqv")
        if self.u is None and any(x.u is not None for x in states):
            own = [self.system.arguments.resolve(x, None, None)[1] for x in states]
            return self._known(t, q, v, np.array([self.system.arguments.input_vector(u) for u in own]))
        return self._known(t, q, v, self.u)

    def parameters(self, p: Parameters) -> np.ndarray:
        """(np,) those given, else the states' own, which must be the same all along."""
        system, known = self.system, getattr(self.run, "p", None)
        states = self.run if known is None or np.ndim(known) != 1 else [self.run.state(0)]
        found = [system.arguments.parameter_vector(system.arguments.resolve(x, None, p)[2]) for x in states]
        if any((x != found[0]).any() for x in found):
            raise ArgumentError(
                "the states have different parameters, and a trajectory is that of one machine; needed: the same in "
                "all. da.linearize_many gives the models of each."
            )
        return found[0]

    def _nodes(self) -> Records | None:
        """What a run does at the Gauss points between the records; None where it does not know."""
        t = gauss_times(self.records.t)
        try:
            q, v = self.run(t)
        except ArgumentError:  # made with t_eval, or from a file
            return None
        if not is_table(self.u):
            return self._known(t, q, v, self.u)
        left, right = self.records.u[:-1, None], self.records.u[1:, None]
        return Records(t, q, v, (left + GAUSS[:, None] * (right - left)).reshape(len(t), -1))  # on straight lines

    def _known(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: Any) -> Records:
        """Records with inputs: a table, constants, or those of a function; None: of the run at these times."""
        system = self.system
        if u is None and hasattr(self.run, "inputs"):
            u = self.run.inputs(t)
        if callable(u):
            states = (system.state(*x) for x in zip(q, v, t.tolist()))
            return Records(t, q, v, np.array([system.arguments.input_vector(_called(u, x)) for x in states]))
        if is_table(u):
            return Records(t, q, v, checks.array(u, (len(t), len(system.u_names)), "u"))
        return Records(t, q, v, np.tile(system.arguments.input_vector(u), (len(t), 1)))


def is_table(u: Any) -> bool:
    """Whether inputs are given as an array (N, inputs)."""
    return isinstance(u, np.ndarray) and u.ndim == 2


def _check_run(run: Any, first: float, last: float) -> None:
    """Refuse runs along which, from a first to a last time, there is no one linear model."""
    if getattr(run, "phases", ()):
        raise ArgumentError(
            "the structure of the run changes, so that one linear model does not go along it. Take a phase, "
            "da.linearize_along(run.phases[k].system, run.phases[k]), or da.sensitivities(run, ...) across changes."
        )
    inside = (x for x in getattr(run, "passages", ()) if x.met and x.end > first and x.start < last)
    met = next(inside, None)
    if met is not None:
        raise ArgumentError(
            f"at t = {met.nearest:g} s the run passes a singular position, across which deviations do not follow a "
            "linear model. Give times= before it or after it."
        )


def _called(u: Callable[[float, State], Any], x: State) -> Any:
    try:
        return u(x.t, x)
    except DalembertError:
        raise
    except Exception as error:
        raise ArgumentError(f"u(t, state) raised {type(error).__name__} at t = {x.t:g} s: {error}") from error
