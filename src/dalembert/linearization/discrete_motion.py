"""Motions in steps of the variational midpoint rule with feedback, in machine code, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.integrators.variational_record import ITERATIONS, Learned, VariationalMotion
from dalembert.lazy import cached_property
from dalembert.linearization.discrete_slopes import StepSlopes
from dalembert.linearization.linearize import singular
from dalembert.linearization.plan import remembered
from dalembert.native import library
from dalembert.native.bound import Bound
from dalembert.outcome import NOT_FINITE, OK, UNSOUND
from dalembert.rank import rank_policy
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System


@dataclass(frozen=True, eq=False)
class Steps:
    """N steps as they were taken."""

    system: System
    h: float  # s
    t: np.ndarray  # (N,) at which they begin, s
    before: np.ndarray  # (N, nq + nv)
    after: np.ndarray  # (N, nq + nv)
    u: np.ndarray  # (N, inputs)
    delta: np.ndarray  # (N, nv) q after less q before
    rows: tuple[RowChoice, ...]  # N: the rows each was taken with

    @cached_property
    def states(self) -> list[State]:
        """N + 1 states, those of steps that follow each other."""
        nq, layout = self.system.nq, self.system.layout
        times = [*self.t.tolist(), float(self.t[-1] + self.h)]
        return [State(x[:nq], x[nq:], t, layout) for x, t in zip([*self.before, self.after[-1]], times)]


Feedback = tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]  # gains, states wanted, limits of inputs


def followed(
    system: System,
    states: Sequence[State],
    h: float,
    u: np.ndarray,
    p: np.ndarray,
    feedback: Feedback | None = None,
) -> Steps:
    """Steps of length h with inputs u (N, inputs), one after another from one state, or each from its own of N states.

    feedback: gains K (N, inputs, 2 nv), states wanted (N, nq + nv), and limits (lower, upper): inputs are then
    u + K (x less what is wanted), between the limits. Raises ArgumentError where a step cannot be taken.
    """
    N, apart = len(u), len(states) > 1
    m = VariationalMotion.sized(nq=system.nq, nv=system.nv, nu=len(system.u_names), steps=N, h=h, apart=int(apart))
    m.u[:] = u
    for k, x in enumerate(states):
        m.before[k, : m.nq], m.before[k, m.nq :] = x.q, x.v
    m.times[:] = [x.t for x in states] if apart else states[0].t + h * np.arange(N)
    m.lower[:], m.upper[:] = -np.inf, np.inf
    if feedback is None:
        m.wanted[:] = m.before  # without gains, anything
    else:
        m.gains[:], m.wanted[:], (m.lower[:], m.upper[:]) = feedback
    m.learned, m.minus = Learned.of(m.nv), Bound.of(system.kernel("minus"), {})
    policy, memory, rows, fresh = rank_policy(system, p), remembered(system), list[RowChoice](), -1
    m.length = policy.length
    while m.done < N:
        used = system.rows if memory.rows is None else system.rows.only(memory.rows)
        kernel = system.kernel("variational", rows=memory.rows)
        m.kernel = Bound.of(kernel, {"p": p}, system.nv + len(used.of)).trust(policy.least_angle, policy.least_length)
        library.call("variational_motion", m)
        rows += [memory.rows] * (m.done - len(rows))
        if m.outcome == OK:
            break
        at = State(m.before[m.done, : m.nq].copy(), m.before[m.done, m.nq :].copy(), m.times[m.done], system.layout)
        if m.outcome != UNSOUND:
            raise _unsolved(system, at, h, m.outcome == NOT_FINITE)
        if m.done == fresh:
            raise singular(system, at, p)
        memory.rows, fresh = independent_rows(system, at, p), m.done
    return Steps(system, h, m.times, m.before, m.after, m.inputs, m.moves, tuple(rows))


def _unsolved(system: System, x: State, h: float, endless: bool) -> ArgumentError:
    if endless:
        return ArgumentError(f"the inputs of '{system.name}' at t = {x.t:g} s are not finite; every number must be.")
    return ArgumentError(
        f"the discrete equations of '{system.name}' have no solution near t = {x.t:g} s for a step of {h:g} s that "
        f"Newton's method finds in {ITERATIONS} iterations. Take a shorter step."
    )


def slopes_along(system: System, taken: Steps, p: np.ndarray) -> list[tuple[np.ndarray, StepSlopes]]:
    """The derivatives of N steps: indices of steps that use the same rows, and theirs."""
    N, nq = len(taken.u), system.nq
    known = {
        "q": taken.before[:, :nq], "v": taken.before[:, nq:], "t": taken.t[:, None], "u": taken.u,
        "delta": taken.delta, "v1": taken.after[:, nq:],
        "step": np.full((N, 1), taken.h), "p": np.tile(p, (N, 1)),
    }  # fmt: skip
    found = []
    for rows in dict.fromkeys(taken.rows):
        index = np.array([k for k, x in enumerate(taken.rows) if x == rows])
        found.append((index, StepSlopes.of(system, rows, {name: x[index] for name, x in known.items()})))
    return found
