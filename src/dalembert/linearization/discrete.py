"""One step of the variational midpoint rule, with its exact first and second derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.linearization.discrete_motion import followed, slopes_along
from dalembert.linearization.discrete_slopes import StepSlopes
from dalembert.linearization.linearize import check_closed
from dalembert.linearization.plan import remembered
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system, positions_only
from dalembert.rank import rank_policy
from dalembert.system.state import State
from dalembert.system.system import System


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

    def derivative(self, of: str, wrt: str | None = None) -> np.ndarray:
        """(rows of what it is of, columns) the derivative of a result of the step.

        of: "q", "v", "momentum", "multipliers", "end_multipliers", or "momentum_before". wrt: "q", "v", "u", "p"; all
        of them side by side by default.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -9.81))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=2.0))
        >>> step = da.discrete_step(m.compile(), {"z": 1.0}, 0.1)
        >>> step.derivative("q", "v"), step.derivative("momentum", "v")
        (array([[0.1]]), array([[2.]]))
        """
        found = self.slopes.first[0, self._place(of)]
        return found.copy() if wrt is None else found[:, self.columns[checks.choice(wrt, self.columns, "wrt")]].copy()

    def second(self, of: str, direction: ArrayLike | None = None, *, weights: ArrayLike | None = None) -> np.ndarray:
        """The change of `derivative(of)` along a direction of (q, v, u, p), or a weighted sum of second derivatives.

        of: as in `derivative`. direction: (n,); the result is (rows of what it is of, n). weights: one for
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
        if (direction is None) == (weights is None):
            raise ArgumentError("second() needs direction or weights, one of them.")
        if direction is not None:
            return self.slopes.second(checks.array(direction, (self._size,), "direction")[None])[0, place]
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
    positions_only(system, "; the variational rule needs constraints that bind positions.")
    x, u, p = system.arguments.resolve(state, u, p)
    inputs, parameters = system.arguments.input_vector(u), system.arguments.parameter_vector(p)
    x = system.arguments.belonging(x, p, inputs)
    given = {"q": x.q, "v": x.v, "p": parameters, "t": x.t}
    check_closed(system, x, p, given, remembered(system), rank_policy(system, p))
    taken = followed(system, [x], step, inputs[None], parameters)
    ((_, slopes),) = slopes_along(system, taken, parameters)
    (rows,) = taken.rows
    used = system.rows if rows is None else system.rows.only(rows)
    after = system.arguments.belonging(taken.states[-1], p, inputs)
    return DiscreteStep(system, x, after, step, inputs, parameters, tuple(used.names), slopes)
