"""The linear model of one step of an integrator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.charts.leaders import Coordinate, Given
from dalembert.errors import ArgumentError
from dalembert.integrators.methods import METHODS
from dalembert.integrators.tableaus import TABLEAUS, sdirk4
from dalembert.linearization.discrete import discrete_step
from dalembert.linearization.linearize import linearize, slopes
from dalembert.linearization.model import LinearModel
from dalembert.linearization.operating import Operating
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system, positions_only
from dalembert.symbols import array, symbols, to_sx
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace

ITERATIONS = 50
ROUNDING = 1e-9  # of a stage: iterations below it that no longer help have come to the rounding of v̇


def step_map(
    system: System,
    state: StateGiven,
    step: float,
    *,
    method: str = "rk4",
    u: Inputs = None,
    p: Parameters = None,
    independent: Sequence[Given] | None = None,
) -> LinearModel:
    """The linear model of one step of an integrator of `simulate`, its return to the manifold included.

    step: its length, s. method: one of `simulate`. system, state, u, p, independent: as in `linearize`.

    The result is the derivative of the step that is taken, not of the motion it approximates: every stage is
    differentiated with the exact Jacobian (up to the drift of one step, which is corrected), and "variational" by its
    discrete equations (`discrete_step`). x₊ and x are deviations from the states at the step's two ends; angles of
    quaternion joints are small rotations about the child's axes there.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> x = system.state(*zoo.four_bar_start(0.7, speed=6.0))
    >>> model = da.step_map(system, x, 0.005, method="variational", independent=["A"])
    >>> model.A.shape, model.B.shape, model.step
    ((2, 2), (2, 1), 0.005)
    """
    step = checks.number(step, "step", above=0.0)
    checks.choice(method, METHODS, "method")
    check_system(system)
    state, u, p = system.arguments.resolve(state, u, p)
    model = linearize(system, state, u=u, p=p, independent=independent)
    op = model.operating
    positions_only(system, ", which step_map does not know; model.discretize(step) does.")
    columns = np.block([[op.Kq, np.zeros_like(op.Kv)], [op.Dv, op.Kv]])
    if method == "variational":
        found, n = discrete_step(system, op.state, step, u=u, p=p), 2 * system.nv
        D, end = np.vstack([found.derivative("q"), found.derivative("v")]), found.after
        D = np.hstack([D[:, :n] @ columns, D[:, found.columns["u"]]])
    else:
        D, end = _runge_kutta(op, step, method, u, p, columns)
    positions, by_q = _coordinates(system, op.coordinates, end, p)
    n = system.nv
    D = np.vstack([positions @ D[:n], positions @ D[n:] + by_q @ D[:n]])
    m = columns.shape[1]
    return replace(model, A=D[:, :m], B=D[:, m:], rate=op.deviation(end), time=np.zeros(m), step=float(step))


def _runge_kutta(
    op: Operating, step: float, method: str, u: Inputs, p: Parameters, columns: np.ndarray
) -> tuple[np.ndarray, State]:
    """(2 nv, columns + inputs) the derivative of (q, v) after the step, q along tangent vectors, and the state."""
    system, x, rows = op.system, op.state, op.rows
    implicit = method not in TABLEAUS
    table = sdirk4(system.nq + system.nv) if implicit else TABLEAUS[method]
    a, c = table.A, table.c
    b = a[-1] if implicit else table.b
    n, nq, inputs, m = system.nv, system.nq, len(system.u_names), columns.shape[1]
    kernel = system.kernels.custom(
        ("rate_slopes",), ("q", "v"), _rate_slopes, None, ("rates", "by_q", "by_v", "tangent")
    )

    def field(X: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ẋ, ∂Ẋ/∂X and ∂Ẋ/∂u, the numbers of q taken one by one."""
        rates, by_q, by_v, _ = kernel(*(X[:nq], X[nq:]))
        at = State(X[:nq], X[nq:], t, system.layout)
        d = slopes(system, at, u, p, rows)
        by_state = np.hstack([d["vdot_q"], d["vdot_v"]]) if nq == n else _by_numbers(system, at, u, p, rows)
        J = np.vstack([np.hstack([by_q.reshape(nq, nq), by_v.reshape(nq, n)]), by_state])
        return (
            np.concatenate([rates, d["vdot"]]),
            J,
            np.vstack([np.zeros((nq, inputs)), d["vdot_u"].reshape(n, inputs)]),
        )

    N = kernel(x.q, x.v)[2].reshape(nq, n)
    X = np.concatenate([x.q, x.v])
    dX = np.hstack([np.vstack([N @ columns[:n], columns[n:]]), np.zeros((nq + n, inputs))])
    K: list[np.ndarray] = []
    dK: list[np.ndarray] = []
    for i in range(len(b)):
        t = x.t + c[i] * step
        Xi = X + step * sum((a[i, j] * K[j] for j in range(i)), np.zeros(nq + n))
        dXi = dX + step * sum((a[i, j] * dK[j] for j in range(i)), np.zeros_like(dX))
        known, (k, J, by_u) = Xi, field(Xi, t)
        if implicit:
            last = np.inf
            for _ in range(ITERATIONS):
                change = np.linalg.solve(np.eye(nq + n) - step * a[i, i] * J, known + step * a[i, i] * k - Xi)
                Xi = Xi + change
                k, J, by_u = field(Xi, t)
                size = np.abs(change).max() / max(1.0, np.abs(Xi).max())
                if size < 1e-13 or (size < ROUNDING and size > 0.1 * last):
                    break
                last = size
            else:
                raise ArgumentError(
                    f"a stage of method '{method}' is not solved at a step of {step:g} s; take a shorter one."
                )
        slope = J @ dXi
        slope[:, m:] += by_u
        if implicit:
            slope = np.linalg.solve(np.eye(nq + n) - step * a[i, i] * J, slope)
        K.append(k)
        dK.append(slope)
    X = X + step * sum((w * k for w, k in zip(b, K)), np.zeros(nq + n))
    dX = dX + step * sum((w * k for w, k in zip(b, dK)), np.zeros_like(dX))
    tangent = kernel(X[:nq], X[nq:])[3].reshape(n, nq)
    D, end = np.vstack([tangent @ dX[:nq], dX[nq:]]), system.state(X[:nq], X[nq:], x.t + step)
    if system.rows.of:
        end = system.project(end, p=p)
        M, _, acting, _ = system.evaluate("constrained", end, rows=rows, u=u, p=p)
        A = system.constraint_matrix(end, p=p)[slice(None) if rows is None else list(rows)]
        back = np.linalg.solve(M, acting.T) @ np.linalg.inv(acting @ np.linalg.solve(M, acting.T))
        D[:n] -= back @ (A @ D[:n])
        D[n:] -= back @ (A @ D[n:] + slopes(system, end, u, p, rows)["speed_q"] @ D[:n])
    return D, end


def _by_numbers(system: System, x: State, u: Inputs, p: Parameters, rows: RowChoice) -> np.ndarray:
    """∂v̇/∂(q, v), (nv, nq + nv), by the numbers of q: those of a stage are no unit quaternions, which v̇ feels."""

    def value(s: Trace) -> np.ndarray:
        vdot = to_sx(s.led.solve(s.force, s.rows.sparse, s.rows.gamma)[0])
        along = ca.jtimes(vdot, ca.vertcat(s.sx["q"], s.sx["v"]), ca.vertcat(s.sx["q1"], s.sx["dq"]))
        return array(ca.densify(along)).reshape(s.tree.nv)

    kernel = system.kernels.custom(("acceleration_along",), ("q", "v", "u", "p", "t", "q1", "dq"), value, rows)
    given = {
        "q": x.q,
        "v": x.v,
        "u": system.arguments.input_vector(u),
        "p": system.arguments.parameter_vector(p),
        "t": np.array([x.t]),
    }
    given["q1"], given["dq"] = np.split(np.eye(system.nq + system.nv), [system.nq], axis=1)
    return kernel.batch(*(given[name] for name in kernel.names_in)).T


def _rate_slopes(s: Trace) -> tuple[np.ndarray, ...]:
    """q̇ with its derivatives by the numbers of q, (nq, nq), and by v, (nq, nv), and ∂δ/∂q of unit(q) ⊕ δ, (nv, nq)."""
    rates = s.per_joint(lambda j, q, v: j.rates(s.q[q], s.v[v]))
    after, q1 = symbols("after", s.tree.nq)
    turned = to_sx(s.per_joint(lambda j, q, v: j.minus(j.unit(q1[q]), j.unit(s.q[q]))))
    tangent = ca.substitute(ca.jacobian(turned, after), after, s.sx["q"])
    by = (ca.jacobian(to_sx(rates), s.sx["q"]), ca.jacobian(to_sx(rates), s.sx["v"]), tangent)
    return rates, *(array(ca.densify(x)).reshape(x.shape) for x in by)


def _coordinates(
    system: System, chosen: Sequence[Coordinate], end: State, p: Parameters
) -> tuple[np.ndarray, np.ndarray]:
    """(coordinates, nv) the derivatives of coordinates by q, which are those of their rates by v, and of rates by q."""
    by, rates_by_q = np.zeros((2, len(chosen), system.nv))
    functions = [k for k, c in enumerate(chosen) if c.index is None]
    for k, c in enumerate(chosen):
        if c.index is not None:
            by[k, c.index] = 1.0
    if functions:
        given = [chosen[k] for k in functions]

        def value(s: Trace) -> tuple[np.ndarray, np.ndarray]:
            e = EquationDerivatives(s, [c.row for c in given if c.row is not None], held=s.v)
            return e.coordinate_rows, e.speeds.q

        key = ("coordinate_slopes", *(c.key for c in given))
        kernel = system.kernels.custom(key, ("q", "v", "p", "t"), value, None, ("by_q", "rates_by_q"))
        found = system.kernels.at(kernel, end, None, p, {})
        by[functions], rates_by_q[functions] = (x.reshape(len(functions), system.nv) for x in found)
    return by, rates_by_q
