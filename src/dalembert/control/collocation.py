"""Direct collocation on the constraint manifold, in full coordinates.

Hermite-Simpson: q and v are cubic in each interval, and obey the equations at both ends and in the middle (c):

    M v̇ = f(q, v, u) + Aᵀλ                                              at knots and in the middle             (1)
    Φ = 0,  A v + b = 0,  A v̇ + γ = 0                                   at knots                              (2)
    v₁ − v₀ = h/6 (v̇₀ + 4 v̇_c + v̇₁)                                     λ_c is free                            (3)
    q₁ − q₀ = h/6 (q̇₀ + 4 q̇_c + q̇₁),  q̇_c = N (v_c + Aᵀν) + κ q          ν and κ are free, and small            (4)

With (2) at every knot, (3) and (4) alone would ask for too much: the manifold is said at both ends of an interval and
the polynomial between them. The multipliers λ_c give up A v̇_c + γ = 0 in the middle, a velocity ν across the manifold
gives up the rest; κ does the same for the length of quaternions. So the equations are as many as the unknowns, nothing
drifts, and no chart of the manifold can fail on the way. This is what Posa, Kuindersma and Tedrake (2016) do for
contacts. Redundant rows are left out: those that are independent at the start carry the others.

Derivatives, second ones included, are exact: CasADi's, of the short expressions of one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.checks import shown
from dalembert.errors import ArgumentError
from dalembert.mechanism.constraints.expression import Expression
from dalembert.mechanism.traced import on_expressions
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import symbols, to_sx, zeros
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace


@dataclass(frozen=True, eq=False)
class NodeEquations:
    """The equations of one node as CasADi functions of (q, v, a, λ, ν, κ, u, t)."""

    knot: ca.Function  # → dynamics, Φ and unit lengths, A v + b, A a + γ
    middle: ca.Function  # → dynamics, q̇
    rates: ca.Function  # (q, v) → q̇
    path: ca.Function  # (q, v, u, t) → the expressions that the user limits
    cost: ca.Function  # (q, v, u, t) → the user's cost per second
    m: int  # rows that are kept
    holonomic: int
    balls: int  # quaternions


def stage(system: System, start: State, p: np.ndarray, path: Sequence[Expression], cost: Any = None) -> NodeEquations:
    """Trace the equations of a node; `path` are functions of the state as expressions, `cost` one of inputs too."""
    s = Trace(system.description, independent_rows(system, start, p) if system.rows.of else None)
    rows = s.rows
    m, across = len(rows.of), rows.only_holonomic()
    balls = [link.q for link in s.tree.links if link.joint.nq != link.joint.nv]
    lam_sx, lam = symbols("lam", m)
    nu_sx, nu = symbols("nu", len(across.of))
    kappa_sx, kappa = symbols("kappa", len(balls))
    tau = s.load.tau + (rows.A.T @ lam if m else zeros(s.tree.nv))
    dynamics = newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - tau
    dynamics[s.led.places] = s.a[s.led.places] - s.led.accelerations
    slid = s.v + (across.A.T @ nu if len(across.of) else zeros(s.tree.nv))
    rates = s.per_joint(lambda j, q, v: j.rates(s.q[q], slid[v]))
    plain = s.per_joint(lambda j, q, v: j.rates(s.q[q], s.v[v]))
    units = zeros(len(balls))
    for k, where in enumerate(balls):
        ball = slice(where.start, where.start + 4)
        rates[ball] = rates[ball] + kappa[k] * s.q[ball]
        units[k] = s.q[ball] @ s.q[ball] - 1.0
    speed = (rows.A @ s.v if m else zeros(0)) + rows.b
    turn = (rows.A @ s.a if m else zeros(0)) + rows.gamma
    x = [s.sx["q"], s.sx["v"], s.sx["a"], lam_sx, nu_sx, kappa_sx, s.sx["u"], s.sx["t"]]
    limited = ca.vertcat(ca.SX(0, 1), *[_scalar(f, s, f"path[{k}]") for k, f in enumerate(path)])

    inputs = dict(s.d.inputs)
    asked = ca.SX(0) if cost is None else _scalar(lambda state: cost(state, inputs), s, "cost")

    def function(name: str, inputs: list[ca.SX], outputs: list[Any]) -> ca.Function:
        made = [out if isinstance(out, ca.SX) else to_sx(out) for out in outputs]
        made = [ca.substitute(out, s.sx["p"], ca.DM(p)) for out in made] if len(p) else made
        return ca.Function(name, inputs, made)

    return NodeEquations(
        function("knot", x, [dynamics, np.concatenate([across.phi, units]), speed, turn]),
        function("middle", x, [dynamics, rates]),
        function("rates", x[:2], [plain]),
        function("path", [x[0], x[1], x[6], x[7]], [limited]),
        function("cost", [x[0], x[1], x[6], x[7]], [asked]),
        m,
        len(across.of),
        len(balls),
    )


def _scalar(f: Expression, s: Trace, what: str) -> ca.SX:
    """The one value of a user's expression of the state."""
    given = on_expressions(f, s.state, what)
    try:
        x = ca.SX(given)
    except Exception as error:  # CasADi names the type it does not know in its own way
        raise ArgumentError(f"{what} gives {shown(given)}; needed: an expression of the state.") from error
    if x.numel() != 1 or (x.is_constant() and not np.isfinite(float(x))):
        raise ArgumentError(f"{what} gives {x.shape} values or no finite one; needed: one expression of the state.")
    return x


@dataclass(frozen=True, eq=False)
class Bounded:
    """Bounds of the program: of variables by name, of the path, and the equations that they make superfluous."""

    variables: dict[str, tuple[np.ndarray, np.ndarray]]  # lower and upper, each a matrix, a column a node
    path: tuple[np.ndarray, np.ndarray]
    end_given: bool  # all of q at the end
    stop_given: bool  # all of v at the end


@dataclass(frozen=True, eq=False)
class NonlinearProgram:
    """A nonlinear program: its variables by name (each a matrix, a column a node), constraints and their bounds."""

    nlp: dict[str, ca.MX]
    sizes: dict[str, tuple[int, int]]
    lower: dict[str, np.ndarray]
    upper: dict[str, np.ndarray]
    lbg: np.ndarray
    ubg: np.ndarray

    def flat(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """One vector from the variables by name, column by column."""
        return np.concatenate([np.reshape(values[name], -1, order="F") for name in self.sizes])

    def named(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The variables by name from one vector."""
        out, at = {}, 0
        for name, shape in self.sizes.items():
            size = shape[0] * shape[1]
            out[name] = x[at : at + size].reshape(shape, order="F")
            at += size
        return out


def transcribe(
    system: System,
    s: NodeEquations,
    intervals: int,
    t0: float,
    scale: np.ndarray,
    weights: tuple[float, float, float],
    bounds: Bounded,
) -> NonlinearProgram:
    """The program for N intervals. weights: of ∫‖u/scale‖² dt, of the duration, and of the user's cost."""
    N, nq, nv, nu = intervals, system.nq, system.nv, len(system.u_names)
    sizes = {
        "T": (1, 1), "q": (nq, N + 1), "v": (nv, N + 1), "a": (nv, N + 1), "lam": (s.m, N + 1), "u": (nu, N + 1),
        "ac": (nv, N), "lamc": (s.m, N), "nu": (s.holonomic, N), "kappa": (s.balls, N),
    }  # fmt: skip
    X = {name: ca.MX.sym(name, *shape) for name, shape in sizes.items()}
    T, q, v, a, u = X["T"], X["q"], X["v"], X["a"], X["u"]
    h = T / N
    times = t0 + h * ca.DM(np.arange(N + 1)).T
    none = ca.MX.zeros(s.holonomic, N + 1), ca.MX.zeros(s.balls, N + 1)
    at = s.knot.map(N + 1)(q, v, a, X["lam"], *none, u, times)
    rates = s.rates.map(N + 1)(q, v)
    q0, q1, v0, v1, a0, a1 = q[:, :-1], q[:, 1:], v[:, :-1], v[:, 1:], a[:, :-1], a[:, 1:]
    r0, r1 = rates[:, :-1], rates[:, 1:]
    qc, vc = (q0 + q1) / 2 + h / 8 * (r0 - r1), (v0 + v1) / 2 + h / 8 * (a0 - a1)
    uc, tc = (u[:, :-1] + u[:, 1:]) / 2, times[:, :-1] + h / 2
    mid = s.middle.map(N)(qc, vc, X["ac"], X["lamc"], X["nu"], X["kappa"], uc, tc)
    first = [at[0][:, 0], at[3][:, 0]]  # the start is given, so (2) holds there but for λ
    last = [at[0][:, -1], at[3][:, -1]]
    last += [] if bounds.end_given else [at[1][:, -1]]
    last += [] if bounds.stop_given else [at[2][:, -1]]
    inner = [at[k][:, 1:-1] for k in range(4)]
    defects = [v1 - v0 - h / 6 * (a0 + 4 * X["ac"] + a1), q1 - q0 - h / 6 * (r0 + 4 * mid[1] + r1), mid[0]]
    equal = ca.vertcat(*[ca.vec(g) for g in (*first, *inner, *last, *defects)])
    path = ca.horzcat(s.path.map(N + 1)(q, v, u, times), s.path.map(N)(qc, vc, uc, tc))
    low, high = bounds.path
    g, zero = ca.vertcat(equal, ca.vec(path)), np.zeros(equal.numel())
    effort = ca.sum1((u / scale) ** 2)
    middle = ca.sum1((uc / scale) ** 2)
    spent = h / 6 * ca.sum2(effort[:, :-1] + 4 * middle + effort[:, 1:])
    asked, asked_c = s.cost.map(N + 1)(q, v, u, times), s.cost.map(N)(qc, vc, uc, tc)
    wanted = h / 6 * ca.sum2(asked[:, :-1] + 4 * asked_c + asked[:, 1:])
    f = weights[0] * spent + weights[1] * T + weights[2] * wanted
    nlp = {"x": ca.vertcat(*[ca.vec(x) for x in X.values()]), "f": f, "g": g}
    lower = {name: np.full(shape, -np.inf) for name, shape in sizes.items()}
    upper = {name: np.full(shape, np.inf) for name, shape in sizes.items()}
    for name, (least, most) in bounds.variables.items():
        lower[name][:], upper[name][:] = least, most
    repeat = path.shape[1]
    return NonlinearProgram(
        nlp,
        sizes,
        lower,
        upper,
        np.concatenate([zero, np.tile(low, repeat)]),
        np.concatenate([zero, np.tile(high, repeat)]),
    )
