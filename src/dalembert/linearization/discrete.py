"""One step of the variational midpoint rule, with its exact first and second derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.integrators import run_record
from dalembert.linearization.discrete_slopes import StepSlopes
from dalembert.linearization.linearize import check_closed, singular
from dalembert.linearization.plan import remembered
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System

ITERATIONS = run_record.ITERATIONS // 2  # so that `simulate`, which rounds otherwise, takes every step found here


@dataclass(frozen=True, eq=False)
class DiscreteStep:
    """A step of the variational midpoint rule and its derivatives, every coordinate varied as if it were free.

    Small changes of q are tangent vectors: q ⊕ δ. They and those of v, of the inputs u and of the declared parameters p
    are the n columns of a derivative, in this order.
    """

    system: System
    before: State
    after: State
    step: float  # s
    u: np.ndarray  # (inputs,)
    p: np.ndarray  # (parameters,)
    rows: tuple[str, ...]  # rows the multipliers belong to: independent ones, where some are redundant
    slopes: StepSlopes  # derivatives of the discrete equations and of the results

    @property
    def delta(self) -> np.ndarray:
        """(nv,) q ⊖ q before."""
        return self.slopes.known["delta"][0]

    @property
    def momentum_before(self) -> np.ndarray:
        """(nv,) M v before the step."""
        return self.slopes.before[0]

    @property
    def momentum(self) -> np.ndarray:
        """(nv,) M v after the step."""
        return self.slopes.after[0]

    @property
    def multipliers(self) -> np.ndarray:
        """(rows,) impulses of the constraints at the start of the step."""
        return self.slopes.known["lam"][0]

    @property
    def end_multipliers(self) -> np.ndarray:
        """(rows,) impulses of the constraints at its end, which make the velocity admissible."""
        return self.slopes.known["mu"][0]

    @property
    def columns(self) -> dict[str, slice]:
        """Where q, v, u and p are among the columns of derivatives."""
        n, k, m = self.system.nv, len(self.u), len(self.p)
        ends = np.cumsum([0, n, n, k, m]).tolist()
        return {name: slice(a, b) for name, a, b in zip(("q", "v", "u", "p"), ends, ends[1:])}

    def derivative(self, of: str, by: str | None = None) -> np.ndarray:
        """(rows of what it is of, columns) the derivative of a result of the step.

        of: "q", "v", "momentum", "multipliers", "end_multipliers", or "momentum_before". by: "q", "v", "u", "p"; all of
        them side by side by default.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -9.81))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=2.0))
        >>> step = da.discrete_step(m.compile(), {"z": 1.0}, 0.1)
        >>> step.derivative("q", "v"), step.derivative("momentum", "v")
        (array([[0.1]]), array([[2.]]))
        """
        found = self.slopes.first[0, self._place(of)]
        return found.copy() if by is None else found[:, self.columns[checks.choice(by, self.columns, "by")]].copy()

    def second(self, of: str, along: ArrayLike | None = None, *, weights: ArrayLike | None = None) -> np.ndarray:
        """The change of `derivative(of)` along a direction of (q, v, u, p), or a weighted sum of second derivatives.

        of: as in `derivative`. along: (n,) the direction; the result is (rows of what it is of, n). weights: one for
        each row of what it is of; the result is (n, n), the direction last. With quaternions it is the derivative of
        the Jacobian as q ⊕ δ moves, which is not symmetric.

        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(2.0, 0, 0)))
        >>> step = da.discrete_step(m.compile(), {"A": 0.0}, 0.01)
        >>> step.second("momentum", [0.0, 1.0]).shape, step.second("q", weights=[1.0]).shape
        ((1, 2), (2, 2))
        """
        place = self._place(of)
        if (along is None) == (weights is None):
            raise ArgumentError("second() needs along or weights, one of them.")
        if along is not None:
            return self.slopes.second(checks.array(along, (self._size,), "along")[None])[0, place]
        W = np.zeros((1, self.slopes.rows.count))
        W[0, place] = checks.array(weights, (place.stop - place.start,), "weights")
        return self.slopes.weighted(W)[0]

    def hessian(self, of: str) -> np.ndarray:
        """(rows of what it is of, n, n) all second derivatives, the direction last; of: as in `derivative`.

        >>> import dalembert as da
        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> step = da.discrete_step(system, system.state(*zoo.four_bar_start(0.7)), 0.01)
        >>> step.hessian("q").shape
        (3, 7, 7)
        """
        place = self._place(of)
        each = np.eye(self.slopes.rows.count)[place]
        return np.array([self.slopes.weighted(w[None])[0] for w in each]).reshape(-1, self._size, self._size)

    @property
    def canonical(self) -> np.ndarray:
        """(2 nv, 2 nv) the derivative of (q, momentum) after the step by (q, momentum) before.

        Symplectic where the forces have a potential. With quaternions the form is that of the turning axes,
        δq · δp′ − δq′ · δp + p · [δq, δq′].
        """
        n = self.system.nv
        start, end = (np.vstack([x, self.derivative(p)[:, : 2 * n]]) for x, p in self._canonical_parts)
        return np.linalg.solve(start.T, end.T).T

    @property
    def _canonical_parts(self) -> tuple[tuple[np.ndarray, str], tuple[np.ndarray, str]]:
        n = self.system.nv
        return (np.eye(n, 2 * n), "momentum_before"), (self.derivative("q")[:, : 2 * n], "momentum")

    @property
    def _size(self) -> int:
        return self.slopes.rows.unknowns.start

    def _place(self, of: str) -> slice:
        return self.slopes.places[checks.choice(of, self.slopes.places, "of")]


def discrete_step(
    system: System, state: StateGiven, step: float, *, u: Inputs = None, p: Parameters = None
) -> DiscreteStep:
    """One step of the variational midpoint rule, as `simulate(method="variational")` takes it, with its derivatives.

    system, state, u, p: as in `linearize`; the state must be on the constraints, which must be holonomic. step: its
    length, s. Inputs are held during the step; kinematic inputs are among them. The derivatives are exact: of the
    discrete equations themselves, by the implicit function theorem.

    Raises ArgumentError where the state is off the manifold, where the constraints are singular, and where the step is
    too long for the discrete equations to be solved.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> step = da.discrete_step(system, system.state(*zoo.four_bar_start(0.7, speed=6.0)), 0.005, u=[0.4])
    >>> step.derivative("q").shape, step.derivative("momentum", "u").shape, step.multipliers.shape
    ((3, 7), (3, 1), (2,))
    """
    check_system(system)
    step = checks.number(step, "step", above=0.0)
    if not system.rows.holonomic.all():
        names = dict.fromkeys(c for c, h in zip(system.rows.of, system.rows.holonomic) if not h)
        raise ArgumentError(f"the variational rule needs holonomic constraints; {', '.join(names)} are not.")
    x, inputs, parameters = system.as_state(state), system.input_vector(u), system.parameter_vector(p)
    given = {"q": x.q, "v": x.v, "p": parameters, "t": x.t}
    check_closed(system, x, p, given, remembered(system), rank_policy(system, p))
    taken = advanced(system, x, step, inputs, parameters)
    ((_, slopes),) = slopes_along(system, [x], [taken], step, inputs[None], parameters)
    rows = taken.rows
    used = system.rows if rows is None else system.rows.only(rows)
    return DiscreteStep(system, x, taken.state, step, inputs, parameters, tuple(used.names), slopes)


class Taken(NamedTuple):
    """A step as it was taken."""

    state: State  # after it
    delta: np.ndarray  # (nv,) its q less the q before
    rows: RowChoice  # the rows it was taken with


def advanced(system: System, x: State, step: float, u: np.ndarray, p: np.ndarray) -> Taken:
    """One step, without derivatives and without checks of the state."""
    memory = remembered(system)
    for again in (False, True):
        found = _solved(system, x, step, u, p, memory.rows)
        if found is not None:
            return Taken(State(found[1], found[2], x.t + step, system.layout), found[0], memory.rows)
        if not again:
            memory.rows = independent_rows(system, x, p)
    raise singular(system, x, p)


def slopes_along(
    system: System, starts: Sequence[State], taken: Sequence[Taken], step: float, u: np.ndarray, p: np.ndarray
) -> list[tuple[np.ndarray, StepSlopes]]:
    """The derivatives of N steps with inputs (N, inputs): indices of steps that use the same rows, and theirs."""
    known = {
        "q": [x.q for x in starts], "v": [x.v for x in starts], "t": [[x.t] for x in starts], "u": u,
        "delta": [x.delta for x in taken], "v1": [x.state.v for x in taken],
        "step": np.full((len(starts), 1), step), "p": np.tile(p, (len(starts), 1)),
    }  # fmt: skip
    arrays = {name: np.asarray(value, dtype=float) for name, value in known.items()}
    found = []
    for rows in dict.fromkeys(x.rows for x in taken):
        index = np.array([k for k, x in enumerate(taken) if x.rows == rows])
        found.append((index, StepSlopes.of(system, rows, {name: x[index] for name, x in arrays.items()})))
    return found


def _solved(
    system: System, x: State, step: float, u: np.ndarray, p: np.ndarray, rows: RowChoice
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """δ, q₁ and v₁, by the iterations of `simulate`; None where these rows are dependent."""
    kernel, policy, free = system.kernel("variational", rows=rows), rank_policy(system, p), not system.rows.of
    given = {"q": x.q, "v": x.v, "step": step, "u": u, "p": p, "t": x.t, "delta": step * x.v}
    arguments, place = [given[name] for name in kernel.names_in], kernel.names_in.index("delta")
    before, most = np.inf, max(1.0, policy.length)
    for _ in range(ITERATIONS):
        delta, q1, v1, rest, margin = kernel(*arguments)
        if not (free or policy.separates(margin)):
            return None
        change = float(max(rest.max(), -rest.min())) if rest.size else 0.0
        if change < 1e-15 or (change < 1e-11 * most and change >= 0.5 * before):
            return delta, q1, v1
        if not change < 1e3 * most:
            break
        before, arguments[place] = change, delta
    raise ArgumentError(
        f"the discrete equations of '{system.name}' have no solution near t = {x.t:g} s for a step of {step:g} s that "
        f"Newton's method finds in {ITERATIONS} iterations. Take a shorter step."
    )
