"""Linear models along a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.charts.leaders import Given
from dalembert.errors import ArgumentError, DalembertError
from dalembert.linearization.large import LargeModel
from dalembert.linearization.linearize import linearize
from dalembert.linearization.operating import Operating
from dalembert.linearization.plan import in_motions, linear_kernel
from dalembert.linearization.traced import NAMES
from dalembert.protocols import Inputs, Parameters, RunLike, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.state import State
from dalembert.system.system import System


@dataclass(frozen=True, eq=False)
class LinearTrajectory:
    """δẋ = A(t) δx + B(t) δu near a motion, at its times."""

    t: np.ndarray  # (N,) s
    A: np.ndarray  # (N, n, n)
    B: np.ndarray  # (N, n, m)
    rate: np.ndarray  # (N, n) ẋ of the motion itself
    u: np.ndarray  # (N, m) inputs of the motion
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    state_names: tuple[str, ...]  # (n,)
    input_names: tuple[str, ...]  # (m,)
    operating: Operating  # of the first time

    def discretize(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Transition matrices and input matrices between the times, inputs held, and the steps (s).

        exp of the mean of A at both ends, of second order in the step (Magnus).
        """
        from scipy.linalg import expm

        steps = np.diff(self.t)
        n, m = self.B.shape[1:]
        out = []
        for k, h in enumerate(steps):
            held = np.zeros((n + m, n + m))
            held[:n, :n], held[:n, n:] = (x[k : k + 2].mean(axis=0) for x in (self.A, self.B))
            out.append(expm(held * h))
        E = np.array(out).reshape(len(steps), n + m, n + m)
        return E[:, :n, :n], E[:, :n, n:], steps

    def transition(self) -> np.ndarray:
        """(n, n) how a small deviation at the first time has grown at the last: the product over all steps."""
        out = np.eye(self.A.shape[1])
        for step in self.discretize()[0]:
            out = step @ out
        return out

    def reference(self, t: float) -> State:
        """The state of the motion at a time t, s: between two records by a straight line, after the end the last."""
        t = checks.number(t, "t")
        system = self.operating.system
        k = int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1))
        n = min(k + 1, len(self.t) - 1)
        s = 0.0 if n == k else float(np.clip((t - self.t[k]) / (self.t[n] - self.t[k]), 0.0, 1.0))
        q = system.plus(self.q[k], s * system.minus(self.q[n], self.q[k]))
        return system.state(q, (1 - s) * self.v[k] + s * self.v[n], t)

    def deviation(self, t: float, state: StateGiven) -> np.ndarray:
        """(n,) x of a state of the mechanism at a time t (s): its distance from the motion."""
        return replace(self.operating, state=self.reference(t)).deviation(state)


def linearize_along(
    system: System,
    run: RunLike | Sequence[StateGiven],
    *,
    u: Inputs | Callable[[float, State], Inputs] = None,
    p: Parameters = None,
    independent: Sequence[Given] | None = None,
    positions: Sequence[Given] | None = None,
) -> LinearTrajectory:
    """The linear model at every recorded state of a simulation (or of a list of states), in the same coordinates.

    run: what `simulate` returns, or a list of states. u: constant inputs, an array (N, inputs), or a function
    u(t, state); default: those of the run, or zero. p: parameters, by name or as an array. independent, positions:
    coordinates as in `linearize`, chosen at the first state if not named. Raises where they cease to be independent on
    the way, with the time, and for runs whose structure changes.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.five_bar().compile()
    >>> run = da.simulate(system, system.state(*zoo.five_bar_start()), 0.5)
    >>> line = da.linearize_along(system, run, independent=["A", "B"])
    >>> line.A.shape[1:], len(line.t) == len(run.t)
    ((4, 4), True)
    """
    check_system(system)
    if getattr(run, "phases", ()):
        raise ArgumentError(
            "the structure of the run changes, so that one linear model does not go along it. Take a phase, "
            "da.linearize_along(run.phases[k].system, run.phases[k]), or da.sensitivities(run, ...) across changes."
        )
    states = _states(system, run)
    inputs = _inputs(system, states, getattr(run, "u", None) if u is None else u)
    first = linearize(system, states[0], u=inputs[0], p=p, independent=independent, positions=positions)
    op = first.operating
    t = np.array([x.t for x in states])
    q, v = np.array([x.q for x in states]), np.array([x.v for x in states])
    known = {"q": q, "v": v, "u": inputs, "p": system.parameter_vector(p), "t": t}
    chosen = op.speeds, op.coordinates[len(op.speeds) :], op.rows
    if in_motions(system, len(op.speeds)):
        at = ({**known, **{k: known[k][i] for k in "qvut"}} for i in range(len(t)))
        found = [np.stack(x) for x in zip(*map(LargeModel(system, *chosen), at))]
    else:
        kernel = linear_kernel(system, *chosen)
        found = kernel.batch(*(known[name] for name in kernel.names_in))
    r = dict(zip(NAMES, found))
    policy = rank_policy(system, p)
    good = [policy.separates(m) and policy.determines(min(m[2], m[3])) for m in r["margin"]]
    bad = ~(np.isfinite(r["A"]).all(axis=(1, 2)) & (np.array(good) if system.rows.of else True))
    if bad.any():
        k = int(np.argmax(bad))
        raise ArgumentError(
            f"at t = {t[k]:g} s {', '.join(first.velocities)} no longer determine the motion of '{system.name}', or "
            "its constraints become dependent; name other coordinates, or end the trajectory before."
        )
    B = r["B"].reshape(len(t), len(first.A), len(system.u_names))
    return LinearTrajectory(t, r["A"], B, r["rate"], inputs, q, v, first.state_names, first.input_names, op)


def _states(system: System, run: Any) -> list[State]:
    """The states of a run, or of a list."""
    if hasattr(run, "t") and callable(getattr(run, "state", None)):
        found = [system.as_state(run.state(k)) for k in range(len(run.t))]
    elif isinstance(run, (list, tuple)):
        found = [system.as_state(x) for x in run]
    else:
        raise ArgumentError(f"run is {checks.shown(run)}; needed: what da.simulate returns, or a list of states.")
    if not found:
        raise ArgumentError("run has no states.")
    return found


def _inputs(system: System, states: Sequence[State], u: Any) -> np.ndarray:
    """(N, inputs) at the states."""
    if callable(u):
        return np.array([system.input_vector(_called(u, x)) for x in states])
    if isinstance(u, np.ndarray) and u.ndim == 2:
        return checks.array(u, (len(states), len(system.u_names)), "u")
    return np.tile(system.input_vector(u), (len(states), 1))


def _called(u: Callable[[float, State], Any], x: State) -> Any:
    try:
        return u(x.t, x)
    except DalembertError:
        raise
    except Exception as error:
        raise ArgumentError(f"u(t, state) raised {type(error).__name__} at t = {x.t:g} s: {error}") from error
