"""Linear models along a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, state_rows
from dalembert.analysis.motion_columns import joined, motion_columns
from dalembert.charts.leaders import Given
from dalembert.errors import ArgumentError
from dalembert.linearization.large import LargeModel
from dalembert.linearization.linearize import linearize
from dalembert.linearization.magnus import exponents
from dalembert.linearization.model import LinearModel
from dalembert.linearization.motion import Records, SampledMotion
from dalembert.linearization.operating import Operating
from dalembert.linearization.plan import in_motions, linear_kernel
from dalembert.linearization.structure import eigenvalue_columns
from dalembert.linearization.traced import NAMES
from dalembert.protocols import Inputs, Parameters, RunLike, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns


@dataclass(frozen=True, eq=False)
class LinearTrajectory(AtStates):
    """δẋ = A(t) δx + B(t) δu near a motion, at its times."""

    t: np.ndarray  # (N,) s
    A: np.ndarray  # (N, n, n)
    B: np.ndarray  # (N, n, m)
    rate: np.ndarray = field()  # type: ignore[assignment]  # (N, n) ẋ of the motion itself
    u: np.ndarray  # (N, m) inputs of the motion
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    state_names: tuple[str, ...]  # (n,)
    input_names: tuple[str, ...]  # (m,)
    operating: Operating  # of the first time
    inside: np.ndarray | None = None  # (N − 1, 3, n, n + m) [A B] at the Gauss points between the times, where known
    between: Callable[[float], State] | None = None  # the motion between the times, where known

    def __repr__(self) -> str:
        names = f"{len(self.state_names)} states ({', '.join(self.state_names)}), {len(self.input_names)} inputs"
        return (
            f"<linear models along a motion of '{self.operating.system.name}': {len(self.t)} times, "
            f"{self.t[0]:g} … {self.t[-1]:g} s; {names}>"
        )

    @property
    def system(self) -> System:
        """The mechanism."""
        return self.operating.system

    @property
    def vdot(self) -> np.ndarray:
        """(N, nv) accelerations of the motion, rad/s² or m/s²."""
        return self._dynamics[0]

    @property
    def multipliers(self) -> np.ndarray:
        """(N, rows) of the constraint rows `system.row_names`, N or N m; the shortest where rows are redundant."""
        return self._dynamics[1]

    def _records(self) -> StateRows:
        return state_rows(self.system, self.q, self.v, self.u, self.operating.p, self.t)

    def state(self, k: int) -> State:
        """The state of the motion at the k-th time, k from 0; negative k count from the end."""
        k = checks.whole(k, "k", least=-len(self.t), most=len(self.t) - 1)
        system = self.operating.system
        return system.arguments.belonging(
            system.state(self.q[k], self.v[k], float(self.t[k])), self.operating.p, self.u[k]
        )

    def _columns(self) -> Columns:
        """Over t: the motion, its inputs, and the eigenvalues of A, falling by their real parts."""
        values, units = joined(
            motion_columns(self.operating.system, self.q, self.v, self.u),
            eigenvalue_columns(np.linalg.eigvals(self.A)),
        )
        return Columns(self.operating.system.name, "t", self.t, values, {"t": "s", **units})

    def discretize(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Transition matrices and input matrices between the times, inputs held, and the steps (s).

        Of sixth order in the step (Magnus) where the run knows its motion between the times. Of a list of states, or of
        a run with t_eval, by the mean of A at both ends: of second order, so that the times have to be close.
        """
        from scipy.linalg import expm

        steps, n = np.diff(self.t), self.A.shape[1]
        if self.inside is not None:
            omega = exponents(_held(self.inside), steps)
        else:
            both = np.concatenate([self.A, self.B], axis=2)
            omega = steps[:, None, None] * _held(0.5 * (both[:-1] + both[1:]))
        E = expm(omega) if omega.size else omega
        return E[:, :n, :n], E[:, :n, n:], steps

    def transition(self) -> np.ndarray:
        """(n, n) how a small deviation at the first time has grown at the last: the product over all steps.

        As exact as `discretize`.
        """
        out = np.eye(self.A.shape[1])
        for step in self.discretize()[0]:
            out = step @ out
        return out

    def reference(self, t: float) -> State:
        """The state of the motion at a time t, s; after its end the last.

        Between two times it is the run's where this knows it, else it lies on the straight line from one to the other.
        """
        t = checks.number(t, "t")
        if self.between is not None and self.t[0] <= t <= self.t[-1]:
            return self.between(t)
        system = self.operating.system
        k = int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 1))
        n = min(k + 1, len(self.t) - 1)
        s = 0.0 if n == k else float(np.clip((t - self.t[k]) / (self.t[n] - self.t[k]), 0.0, 1.0))
        q = system.plus(self.q[k], s * system.minus(self.q[n], self.q[k]))
        return system.state(q, (1 - s) * self.v[k] + s * self.v[n], t)

    def deviation(self, t: float, state: StateGiven) -> np.ndarray:
        """(n,) x of a state, a `State` of the mechanism, at a time t (s): its distance from the motion."""
        return replace(self.operating, state=self.reference(t)).deviation(state)


def _held(both: np.ndarray) -> np.ndarray:
    """[[A, B], [0, 0]] of [A B] (…, n, n + m): inputs that stay are states without a rate."""
    *lead, n, width = both.shape
    out = np.zeros((*lead, width, width))
    out[..., :n, :] = both
    return out


def linearize_along(
    system: System,
    run: RunLike | Sequence[StateGiven],
    *,
    times: Any = None,
    u: Inputs | Callable[[float, State], Inputs] = None,
    p: Parameters = None,
    independent: Sequence[Given] | None = None,
    positions: Sequence[Given] | None = None,
) -> LinearTrajectory:
    """The linear model at every recorded state of a simulation (or of a list of states), in the same coordinates.

    run: what `simulate` returns, or a list of states. times: (N,) s, increasing, at which a run is linearized in place
    of its records; it has to be one without t_eval. u: constant inputs, an array (N, inputs), or a function of t and
    the state; default: those of the run, or zero. p: parameters, by name or as an array; default: those of the run.
    independent, positions: coordinates as in `linearize`, chosen at the first state if not named. Raises where they
    cease to be independent on the way, with the time, for runs whose structure changes, and for runs through a singular
    position.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.five_bar().compile()
    >>> run = da.simulate(system, system.state(*zoo.five_bar_start()), 0.5)
    >>> line = da.linearize_along(system, run, independent=["A", "B"])
    >>> line.A.shape[1:], len(line.t) == len(run.t)
    ((4, 4), True)
    """
    check_system(system)
    motion = SampledMotion(system, run, u, times)
    p = np.array(motion.parameters(p))  # its own: a caller's array may change
    first = linearize(system, motion.state(0), u=motion.records.u[0], p=p, independent=independent, positions=positions)
    A, B, rate = _models(system, p, first, motion.records)
    inside = None
    if motion.nodes is not None:
        both = np.concatenate(_models(system, p, first, motion.nodes)[:2], axis=2)
        inside = both.reshape(-1, 3, *both.shape[1:])
    t, q, v, inputs = motion.records
    names, between = (first.state_names, first.input_names), motion.state_at if motion.nodes is not None else None
    return LinearTrajectory(t, A, B, rate, inputs, q, v, *names, first.operating, inside, between)


def _models(system: System, p: np.ndarray, first: LinearModel, at: Records) -> tuple[np.ndarray, ...]:
    """A, B and rate at N records, in the coordinates of the first model."""
    op = first.operating
    known = {"q": at.q, "v": at.v, "u": at.u, "p": p, "t": at.t}
    chosen = op.speeds, op.coordinates[len(op.speeds) :], op.rows
    if in_motions(system, len(op.speeds)):
        each = ({**known, **{k: known[k][i] for k in "qvut"}} for i in range(len(at.t)))
        found = [np.stack(x) for x in zip(*map(LargeModel(system, *chosen), each))]
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
            f"at t = {at.t[k]:g} s {', '.join(first.velocities)} no longer determine the motion of '{system.name}', or "
            "its constraints become dependent; name other coordinates, or end the trajectory before."
        )
    return r["A"], r["B"].reshape(len(at.t), len(first.A), len(system.u_names)), r["rate"]
