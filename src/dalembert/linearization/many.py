"""Linear models at many states at once, in one set of coordinates, by the kernels' lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, state_rows
from dalembert.charts.leaders import Given
from dalembert.compiler.target import host
from dalembert.errors import ArgumentError, DalembertError
from dalembert.linearization.linearize import linearize
from dalembert.linearization.plan import in_motions, linear_kernel
from dalembert.linearization.structure import eigenvalue_columns
from dalembert.linearization.traced import NAMES
from dalembert.protocols import check_system
from dalembert.rank import CLOSED, ROUNDING, rank_policy, usual_sizes
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns


@dataclass(frozen=True, eq=False)
class LinearModels(AtStates):
    """ẋ = rate + A x + B δu at n states, one row a state; rows without a model are NaN and have a message."""

    A: np.ndarray  # (n, states, states)
    B: np.ndarray  # (n, states, inputs)
    rate: np.ndarray = field()  # type: ignore[assignment]  # (n, states)
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    messages: dict[int, str]  # {row: why there is no model}
    system: System
    q: np.ndarray  # (n, nq) of the states
    v: np.ndarray  # (n, nv)
    t: np.ndarray  # (n,) s
    u: np.ndarray  # (n, inputs)
    p: np.ndarray  # (n, parameters)

    def __len__(self) -> int:
        return len(self.A)

    def __repr__(self) -> str:
        names = f"states {', '.join(self.state_names)}; inputs {', '.join(self.input_names) or 'none'}"
        return f"<linear models at {len(self)} states: {names}; {len(self.messages)} without a model>"

    def _columns(self) -> Columns:
        """One row a state: real and imaginary parts of the eigenvalues, falling, and whether they are stable."""
        values, units = eigenvalue_columns(self.eigenvalues)
        values |= {"stable": self.stable}
        return Columns("linear models", "state", np.arange(len(self)), values, units)

    def state(self, k: int) -> State:
        """The k-th state, k from 0; negative k count from the end."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        x = self.system.state(self.q[k], self.v[k], float(self.t[k]))
        return self.system.arguments.belonging(x, self.p[k], self.u[k])

    @property
    def vdot(self) -> np.ndarray:
        """(n, nv) accelerations at the states, rad/s² or m/s²."""
        return self._dynamics[0]

    @property
    def multipliers(self) -> np.ndarray:
        """(n, rows) of the constraint rows `system.row_names`, N or N m; the shortest where rows are redundant."""
        return self._dynamics[1]

    def _records(self) -> StateRows:
        return state_rows(self.system, self.q, self.v, self.u, self.p, self.t)

    @property
    def eigenvalues(self) -> np.ndarray:
        """(n, states) eigenvalues of A, complex; NaN where there is no model."""
        known = np.isfinite(self.A).all(axis=(1, 2))
        out = np.full(self.A.shape[:2], np.nan, dtype=complex)
        out[known] = np.linalg.eigvals(self.A[known])
        return out

    @property
    def stable(self) -> np.ndarray:
        """(n,) whether all eigenvalues have negative real parts."""
        return np.asarray((self.eigenvalues.real < 0.0).all(axis=1))


def linearize_many(
    system: System,
    states: Sequence[State],
    *,
    u: Any = None,
    p: Any = None,
    independent: Sequence[Given] | None = None,
) -> LinearModels:
    """Linear models at many states, as `linearize` makes them one by one, in the lanes of the processor's vectors.

    system: a compiled `System`. states: n of its states, on the manifold. u, p: inputs and parameters, the same for all
    (by name or as an array), or arrays (n, inputs) and (n, parameters). independent: the coordinates of all models, by
    name; by default those that are best at the first state.

    A state without a model (off the manifold, singular, or where the coordinates do not determine the motion) has NaN,
    and a message.

    >>> import numpy as np, dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> system = m.compile()
    >>> models = da.linearize_many(system, [system.state({"A": a}) for a in np.linspace(0.0, np.pi, 5)])
    >>> models.A[:, 1, 0].round(3).tolist()                              # −g cos A
    [-9.81, -6.937, -0.0, 6.937, 9.81]
    """
    check_system(system)
    known = [system.arguments.as_state(x) for x in checks.items(states, "states", "a list of states")]
    n = len(known)
    if not n:
        raise ArgumentError("states is empty; needed: one state, or more.")
    U, P = resolved_rows(system, known, u, p, finite=False)
    given = {
        "q": np.array([x.q for x in known]), "v": np.array([x.v for x in known]), "u": U, "p": P,
        "t": np.array([[x.t] for x in known]),
    }  # fmt: skip
    messages: dict[int, str] = {}
    first = None
    for k, x in enumerate(known):
        try:
            first = linearize(system, x, u=U[k], p=P[k], independent=independent)
            break
        except DalembertError as error:
            messages[k] = str(error)
    if first is None:
        raise ArgumentError(f"no state has a linear model; the first one: {messages[0]}")
    op, size = first.operating, len(first.state_names)
    more = op.coordinates[len(op.speeds) :]
    names = {
        "independent": [c.name for c in op.speeds] if independent is None else independent,
        "positions": [c.name for c in more] or None,
    }
    if in_motions(system, len(op.speeds)):
        A, B, rate = (np.empty((n, *np.shape(x))) for x in (first.A, first.B, first.rate))
        bad = np.ones(n, dtype=bool)
    else:
        kernel = linear_kernel(system, op.speeds, more, op.rows, lanes=host().width)
        found = dict(zip(NAMES, kernel.batch(*(given[name] for name in kernel.names_in))))
        A, B, rate = found["A"], found["B"].reshape(n, size, len(system.u_names)), found["rate"]
        bad = ~_sound(system, given, P, found["margin"], op.rows)
        bad |= ~(np.isfinite(A).all(axis=(1, 2)) & np.isfinite(rate).all(axis=1))
    for k in map(int, np.flatnonzero(bad)):
        try:  # with other rows, or to tell what is wrong
            one = linearize(system, known[k], u=U[k], p=P[k], **names)
            A[k], B[k], rate[k] = one.A, one.B, one.rate
        except DalembertError as error:
            A[k] = B[k] = rate[k] = np.nan
            messages[k] = str(error)
    at = given["q"], given["v"], given["t"][:, 0], U, P
    return LinearModels(A, B, rate, first.state_names, first.input_names, messages, system, *at)


def resolved_rows(
    system: System, states: Sequence[State], u: Any, p: Any, *, finite: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """(n, inputs) and (n, parameters) of n states: those given for all or for each, else the states' own.

    finite: refuse rows with NaN, which are else left to what is asked of single states.
    """
    n, sizes = len(states), (len(system.u_names), len(system.p_names))
    if all(x.u is None and (x.p is None or (p is None and x.p is system.arguments.defaults)) for x in states):
        U = rows_of(u, system.arguments.input_vector, n, sizes[0], "u", finite=finite)
        return U, rows_of(p, system.arguments.parameter_vector, n, sizes[1], "p", finite=finite)
    each = [_row_by_row(x, n, size, what, finite) for x, size, what in ((u, sizes[0], "u"), (p, sizes[1], "p"))]
    found = [_resolved(system, x, inputs, given, finite) for x, inputs, given in zip(states, *each)]
    return np.array([x for x, _ in found]).reshape(n, -1), np.array([x for _, x in found]).reshape(n, -1)


def _resolved(system: System, state: State, u: Any, p: Any, finite: bool) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and parameters of one state; finite=False: rows that are refused are left as they are given."""
    try:
        _, inputs, parameters = system.arguments.resolve(state, u, p)
        return system.arguments.input_vector(inputs), system.arguments.parameter_vector(parameters)
    except ArgumentError:
        if finite or not isinstance(p, np.ndarray):
            raise
        return system.arguments.input_vector(u, finite=False), p


def _row_by_row(given: Any, n: int, width: int, what: str, finite: bool) -> list[Any]:
    """What is given for each of n states."""
    return list(rows_of(given, None, n, width, what, finite=finite)) if _is_table(given) else [given] * n


def _is_table(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return any(isinstance(row, (list, tuple, np.ndarray)) for row in given)
    return isinstance(given, np.ndarray) and given.ndim == 2


def rows_of(given: Any, vector: Any, n: int, width: int, what: str, *, finite: bool = True) -> np.ndarray:
    """(n, width) from values for all states, or from rows for each, which may have NaN where finite is False."""
    if not _is_table(given):
        return np.tile(vector(given), (n, 1))
    rows = checks.reals(given, what)
    return rows if not finite and rows.shape == (n, width) else checks.array(given, (n, width), what)


def _sound(system: System, given: dict[str, np.ndarray], p: np.ndarray, margin: np.ndarray, rows: Any) -> np.ndarray:
    """(n,) whether states are on the manifold, rows independent, and the coordinates determine the motion."""
    good = np.asarray(np.minimum(margin[:, 2], margin[:, 3]) > 1e4 * ROUNDING)
    if not system.rows.of:
        return good
    sizes, units, _ = usual_sizes(system, p)
    used = sizes if rows is None else sizes[:, list(rows)]
    policy = rank_policy(system)
    good &= (margin[:, 0] > policy.least_angle) & (margin[:, 1] > (policy.tolerance * used.min(axis=1)) ** 2)
    kernel = system.kernel("residuals", lanes=host().width)
    phi, speed = kernel.batch(*(given[name] for name in kernel.names_in))
    closed = (np.abs(phi) < CLOSED * units) & (np.abs(speed) < CLOSED * units)
    return np.asarray(good & closed.all(axis=1))
