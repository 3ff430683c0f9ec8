"""One step of the variational midpoint rule, with its exact first and second derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.linearization.linearize import check_closed, singular
from dalembert.linearization.plan import remembered
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.system.discrete_slopes import ARGUMENTS, discrete_second, discrete_slopes
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System

ITERATIONS = 100


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
    delta: np.ndarray  # (nv,) q ⊖ q before
    momentum_before: np.ndarray  # (nv,) M v before the step
    momentum: np.ndarray  # (nv,) M v after it
    multipliers: np.ndarray  # (rows,) impulses of the constraints at the start of the step
    end_multipliers: np.ndarray  # (rows,) impulses at its end, which make the velocity admissible
    rows: tuple[str, ...]  # rows the multipliers belong to: independent ones, where some are redundant
    chosen: RowChoice  # their indices, where some are redundant
    slopes: np.ndarray  # derivatives of the discrete equations and of the results; see `system.discrete_slopes`

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
        found = self._first[self._places[checks.choice(of, self._places, "of")]]
        return found.copy() if by is None else found[:, self.columns[checks.choice(by, self.columns, "by")]].copy()

    def second(self, of: str, along: ArrayLike) -> np.ndarray:
        """(rows of what it is of, n) the change of `derivative(of)` along a direction of (q, v, u, p).

        of: as in `derivative`. along: (n,) the direction. With quaternions it is the derivative of the Jacobian as
        q ⊕ δ moves, which is not symmetric.

        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
        >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(2.0, 0, 0)))
        >>> step = da.discrete_step(m.compile(), {"A": 0.0}, 0.01)
        >>> step.second("momentum", [0.0, 1.0]).shape
        (1, 2)
        """
        place = self._places[checks.choice(of, self._places, "of")]
        return self._second(checks.array(along, (self._size,), "along"))[place]

    def hessian(self, of: str) -> np.ndarray:
        """(rows of what it is of, n, n) all second derivatives, the direction last; of: as in `derivative`.

        >>> import dalembert as da
        >>> from dalembert import zoo
        >>> system = zoo.four_bar().compile()
        >>> step = da.discrete_step(system, system.state(*zoo.four_bar_start(0.7)), 0.01)
        >>> step.hessian("q").shape
        (3, 7, 7)
        """
        place = self._places[checks.choice(of, self._places, "of")]
        return np.stack([self._second(e)[place] for e in np.eye(self._size)], axis=-1)

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

    # --- (6) and (7) of `system.discrete_slopes` ------------------------------------------------------------------

    @property
    def _size(self) -> int:
        return 2 * self.system.nv + len(self.u) + len(self.p)

    @property
    def _places(self) -> dict[str, slice]:
        """Rows of (Z, dY/dx)."""
        n, m = self.system.nv, len(self.multipliers)
        k = 2 * (n + m)
        return {
            "q": slice(k, k + n),
            "v": slice(n + m, 2 * n + m),
            "momentum": slice(k + 2 * n, k + 3 * n),
            "multipliers": slice(n, n + m),
            "end_multipliers": slice(2 * n + m, k),
            "momentum_before": slice(k + n, k + 2 * n),
        }

    @cached_property
    def _first(self) -> np.ndarray:
        """Z over dY/dx."""
        J, nz, nx = self.slopes, 2 * (self.system.nv + len(self.multipliers)), self._size
        Z = np.linalg.solve(J[:nz, nx:], -J[:nz, :nx])
        return np.vstack([Z, J[nz:, :nx] + J[nz:, nx:] @ Z])

    def _second(self, along: np.ndarray) -> np.ndarray:
        """Z′ over (dY/dx)′."""
        J, nz, nx = self.slopes, 2 * (self.system.nv + len(self.multipliers)), self._size
        Z = self._first[:nz]
        kernel = self.system.custom_kernel(
            ("discrete_second",), (*ARGUMENTS, "along"), discrete_second, self.chosen, ("second",)
        )
        more = {**self._known, "along": np.concatenate([along, Z @ along])}
        K = self.system.evaluate_kernel(kernel, self.before, self.u, self.p, more).reshape(J.shape)
        change = K[:, :nx] + K[:, nx:] @ Z
        bent = np.linalg.solve(J[:nz, nx:], -change[:nz])
        return np.vstack([bent, change[nz:] + J[nz:, nx:] @ bent])

    @property
    def _known(self) -> dict[str, np.ndarray]:
        z = self.delta, self.multipliers, self.after.v, self.end_multipliers
        return {"step": np.array([self.step]), **dict(zip(("delta", "lam", "v1", "mu"), z))}


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
    policy = rank_policy(system, p)
    given = {"q": x.q, "v": x.v, "p": parameters, "t": x.t}
    memory = remembered(system)
    check_closed(system, x, p, given, memory, policy)
    found = _solved(system, x, step, inputs, parameters, memory.rows)
    if found is None:
        memory.rows = independent_rows(system, x, p)
        found = _solved(system, x, step, inputs, parameters, memory.rows)
    if found is None:
        raise singular(system, x, p)
    (delta, q1, v1), rows = found, memory.rows
    kernel = system.custom_kernel(
        ("discrete_slopes",), ARGUMENTS, discrete_slopes, rows, ("residual", "before", "after", "slopes")
    )
    n, m = system.nv, len(system.rows.of) if rows is None else len(rows)
    nz = 2 * (n + m)
    z = np.concatenate([delta, np.zeros(m), v1, np.zeros(m)])
    ends = np.cumsum([n, m, n])
    for _ in range(2):  # δ and v₁ are solved for, and λ and μ come in linearly: one step, and the slopes there
        known = dict(zip(("delta", "lam", "v1", "mu"), np.split(z, ends)), step=np.array([step]))
        R, before, after, J = system.evaluate_kernel(kernel, x, inputs, parameters, known)
        J = J.reshape(nz + 3 * n, -1)
        z = z - np.linalg.solve(J[:nz, -nz:], R)
    delta, lam, v1, mu = (known[name] for name in ("delta", "lam", "v1", "mu"))
    used = system.rows if rows is None else system.rows.only(rows)
    return DiscreteStep(
        system, x, system.state(q1, v1, x.t + step), step, inputs, parameters, delta, before, after, lam, mu,
        tuple(used.names), rows, J,
    )  # fmt: skip


def advanced(system: System, x: State, step: float, u: np.ndarray, p: np.ndarray) -> State:
    """The state after one step, without derivatives and without checks of the state."""
    memory = remembered(system)
    found = _solved(system, x, step, u, p, memory.rows)
    if found is None:
        memory.rows = independent_rows(system, x, p)
        found = _solved(system, x, step, u, p, memory.rows)
    if found is None:
        raise singular(system, x, p)
    return State(found[1], found[2], x.t + step, system.layout)


def _solved(
    system: System, x: State, step: float, u: np.ndarray, p: np.ndarray, rows: RowChoice
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """δ, q₁ and v₁, by the iterations of `simulate`; None where these rows are dependent."""
    kernel, policy = system.kernel("variational", rows=rows), rank_policy(system, p)
    delta, before = step * x.v, np.inf
    for _ in range(ITERATIONS):
        more = {"delta": delta, "step": np.array([step])}
        delta, q1, v1, rest, margin = system.evaluate_kernel(kernel, x, u, p, more)
        if system.rows.of and not policy.separates(margin):
            return None
        change = float(np.abs(rest).max(initial=0.0))
        if change < 1e-15 or (change < 1e-11 * max(1.0, policy.length) and change >= 0.5 * before):
            return delta, q1, v1
        if not change < 1e3 * max(1.0, policy.length):
            break
        before = change
    raise ArgumentError(
        f"the discrete equations of '{system.name}' have no solution near t = {x.t:g} s for a step of {step:g} s that "
        f"Newton's method finds in {ITERATIONS} iterations. Take a shorter step."
    )
