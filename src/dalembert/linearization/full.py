"""Linearization in all coordinates of a mechanism, and of the equations of motion with respect to parameters.

    d/dt [δ; δv] = [−B 1; v̇_q v̇_v] [δ; δv] + [0; v̇_u] δu =: Df [δ; δv] + …      Johnson and Murphey, section III
    A = Df P                                                                   Spencer (4.4)

for any projector P on the small motions the constraints allow: H P = 0, P P = P, with H = [A_h 0; ∂_q(A v + b) A].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.mobility import independent_rows
from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.lazy import cached_property
from dalembert.linearization.linearize import check_closed, singular, slopes
from dalembert.linearization.model import LinearModel, check_model
from dalembert.linearization.plan import remembered
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.rank import rank_policy
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.equation_rows import EquationRows, SolvedRows, arguments
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace


@dataclass(frozen=True, eq=False)
class FullLinearization:
    """v̇ and λ with their derivatives, the constraints eliminated but the coordinates all kept.

    Derivatives with respect to q are those with respect to δ at q ⊕ δ. Each coordinate is varied as if it were free, as
    the field that an integrator sees is; only motions of the form P x are motions of the mechanism.
    """

    vdot: np.ndarray  # (nv,)
    multipliers: np.ndarray  # (rows,)
    vdot_q: np.ndarray  # (nv, nv)
    vdot_v: np.ndarray  # (nv, nv)
    vdot_u: np.ndarray  # (nv, inputs)
    vdot_t: np.ndarray  # (nv,)
    multipliers_q: np.ndarray  # (rows, nv)
    multipliers_v: np.ndarray  # (rows, nv)
    multipliers_u: np.ndarray  # (rows, inputs)
    multipliers_t: np.ndarray  # (rows,)
    rows: tuple[str, ...]  # rows the multipliers belong to: independent ones, where some are redundant
    speed_q: np.ndarray  # (rows, nv) ∂(A v + b)/∂q
    system: System
    state: State
    p: Parameters
    chosen: RowChoice

    @property
    def names(self) -> tuple[str, ...]:
        """Names of (δ, δv)."""
        return (*self.system.v_names, *(f"{name} rate" for name in self.system.v_names))

    @cached_property
    def H(self) -> np.ndarray:
        """(holonomic rows + rows, 2 nv) what small motions must not do."""
        rows = self.system.rows if self.chosen is None else self.system.rows.only(self.chosen)
        A = self.system.constraint_matrix(self.state, p=self.p)
        A = (A if self.chosen is None else A[list(self.chosen)]).reshape(self.speed_q.shape)
        holonomic = A[rows.holonomic] if len(A) else A
        return np.block([[holonomic, np.zeros_like(holonomic)], [self.speed_q, A]])

    @cached_property
    def B(self) -> np.ndarray:
        """(nv, nv) of δ̇ = δv − B δ."""
        turn = np.zeros((self.system.nv, self.system.nv))
        for link in self.system.layout.tree.links:
            if link.joint.nq != link.joint.nv:
                turn[link.v, link.v] = link.joint.transport(self.state.v[link.v]).astype(float)
        return turn

    @property
    def Df(self) -> np.ndarray:
        """(2 nv, 2 nv) derivative of (δ̇, v̇) with respect to (δ, v)."""
        return np.block([[-self.B, np.eye(len(self.vdot))], [self.vdot_q, self.vdot_v]])

    @property
    def Bu(self) -> np.ndarray:
        """(2 nv, inputs) derivative of (δ̇, v̇) with respect to u."""
        return np.vstack([np.zeros_like(self.vdot_u), self.vdot_u])

    @property
    def projector(self) -> np.ndarray:
        """(2 nv, 2 nv) the orthogonal one, 1 − H⁺ H."""
        free = self._admissible
        return free @ free.T

    @property
    def _admissible(self) -> np.ndarray:
        """(2 nv, …) orthonormal small motions that the constraints allow."""
        rows = self.H / np.maximum(np.linalg.norm(self.H, axis=1, keepdims=True), 1e-300)
        return rank_policy().reveal(rows).null

    def underlying(self, P: ArrayLike | None = None) -> np.ndarray:
        """A = Df P (Spencer 4.4), (2 nv, 2 nv).

        P: (2 nv, 2 nv) a projector on the motions the constraints allow, by default the orthogonal one.
        """
        n = 2 * len(self.vdot)
        P = self.projector if P is None else checks.array(P, (n, n), "P")
        size = max(1.0, float(np.abs(P).max()))
        if np.abs(self.H @ P).max(initial=0.0) > 1e-8 * size * max(1.0, float(np.abs(self.H).max(initial=0.0))):
            raise ArgumentError("P is not admissible: H P ≠ 0, it leads off the constraints.")
        if np.abs(P @ P - P).max() > 1e-8 * size * size:
            raise ArgumentError("P is not admissible: P P ≠ P.")
        found, needed = round(float(np.trace(P))), self._admissible.shape[1]
        if found != needed:
            raise ArgumentError(f"P is not admissible: it keeps {found} of the {needed} motions the constraints allow.")
        return self.Df @ P


def linearize_full(system: System, state: StateGiven, *, u: Inputs = None, p: Parameters = None) -> FullLinearization:
    """∂v̇ and ∂λ with respect to q, v, u and t in all coordinates, at a state on the manifold.

    system, state, u, p: as in `linearize`.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.constrained_double_pendulum().compile()
    >>> full = da.linearize_full(system, system.state(*zoo.constrained_double_pendulum_start()), u=[2.0])
    >>> full.vdot_q.round(4)
    array([[-1.7397,  6.2147],
           [ 5.658 , -8.9173]])
    """
    check_system(system)
    x, u, p = system.arguments.resolve(state, u, p)
    memory, policy = remembered(system), rank_policy(system, p)
    given = {"q": x.q, "v": x.v, "p": system.arguments.parameter_vector(p), "t": x.t}
    check_closed(system, x, p, given, memory, policy)
    used = memory.rows
    d = slopes(system, x, u, p, used)
    if system.rows.of and not (policy.separates(d["margin"]) and np.isfinite(d["vdot"]).all()):
        used = independent_rows(system, x, p)
        d = slopes(system, x, u, p, used)
        if not (policy.separates(d["margin"]) and np.isfinite(d["vdot"]).all()):
            raise singular(system, x, p)
        memory.rows = used
    rows = system.rows if used is None else system.rows.only(used)
    n, inputs, m = system.nv, len(system.u_names), len(rows.of)
    return FullLinearization(
        d["vdot"], d["multipliers"], d["vdot_q"], d["vdot_v"], d["vdot_u"].reshape(n, inputs), d["vdot_t"].reshape(n),
        d["multipliers_q"].reshape(m, n), d["multipliers_v"].reshape(m, n), d["multipliers_u"].reshape(m, inputs),
        d["multipliers_t"].reshape(m), tuple(rows.names), d["speed_q"].reshape(m, n), system, x, p, used,
    )  # fmt: skip


# --- parameters -----------------------------------------------------------------------------------------------------


def parameter_slopes(model: LinearModel) -> np.ndarray:
    """(states, parameters): how ẋ of a linear model changes with declared parameters, the states held.

    The mechanism follows: where a length changes, the other joints move so that the loops stay closed. One forward
    sweep through the traced inverse dynamics for each parameter; the coordinates must be those of tree joints.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    >>> L = m.add_parameter("L", 2.0)
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(L, 0, 0)))
    >>> system = m.compile()
    >>> da.parameter_slopes(da.linearize(system, {}))                      # A″ = −g/L: + g/L²
    array([[0. ],
           [2.5]])
    """
    check_model(model)
    if model.step is not None:
        raise ArgumentError(f"the model is discrete, with a step of {model.step:g} s; needed: that of `linearize`.")
    op = model.operating
    system, rows = op.system, op.rows
    at = [[c.index for c in chosen if c.index is not None] for chosen in (op.coordinates, op.speeds)]
    if list(map(len, at)) != [len(op.coordinates), len(op.speeds)]:
        raise ArgumentError("parameter slopes need coordinates of tree joints; take others with independent=[...].")
    kernel = system.kernels.custom(
        ("parameter_slopes", rows), ("q", "v", "a", "lam", "u", "p", "t"), _by_parameters, rows,
        ("dynamics", "rates", "speeds", "positions"),
    )  # fmt: skip
    n, k = system.nv, len(system.p_names)
    if not k:
        return np.zeros((len(model.A), 0))
    given = {"a": op.vdot, "lam": op.multipliers}
    e1, e2, e3, phi = (x.reshape(-1, k) for x in system.kernels.at(kernel, op.state, op.u, op.p, given))
    d = slopes(system, op.state, op.u, op.p, rows)
    M, _, acting, _ = system.evaluate("constrained", op.state, rows=rows, u=op.u, p=op.p)
    m = len(e2)
    A = system.constraint_matrix(op.state, p=op.p)[slice(None) if rows is None else list(rows)].reshape(m, n)
    acting, e1[list(system.description.prescribed.values())] = acting.reshape(m, n), 0.0
    h = (system.rows if rows is None else system.rows.only(rows)).holonomic if m else np.zeros(0, dtype=bool)
    Cq, Cv = (np.eye(n)[index] for index in at)
    zq, zv = np.zeros((len(Cq), k)), np.zeros((len(Cv), k))
    Kp = np.linalg.solve(np.vstack([Cq, A[h]]), np.vstack([zq, -phi[h]]))
    velocity_error = d["speed_q"].reshape(m, n) @ Kp + e3
    Dp = np.linalg.solve(np.vstack([Cv, A]), np.vstack([zv, -velocity_error]))
    KKT = np.block([[M, -acting.T], [acting, np.zeros((m, m))]])
    direct = np.linalg.solve(KKT, -np.vstack([e1, e2]))[:n]
    vdot = d["vdot_q"] @ Kp + d["vdot_v"] @ Dp + direct
    full = np.vstack([Cq @ Dp, Cv @ vdot])
    index = {name: i for i, name in enumerate(op.names)}
    return full[[index[name] for name in model.state_names]]


def _by_parameters(s: Trace) -> tuple[Any, ...]:
    """∂/∂p of e₁, e₂, e₃ and Φ with v̇ and λ held."""
    s.sx["lam"], lam = symbols("lam", len(s.rows.of))
    A = s.rows.A
    e1 = newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - s.load.tau
    if len(lam):
        e1 = e1 - A.T @ lam
    e2, e3 = (A @ s.a + s.rows.gamma, A @ s.v + s.rows.b) if len(lam) else (zeros(0), zeros(0))
    out = []
    for e in (e1, e2, e3, s.rows.phi):
        J = ca.densify(ca.jacobian(to_sx(e), s.sx["p"]))
        out.append(array(J).reshape(len(e), s.sx["p"].numel()))
    return tuple(out)


# --- second derivatives ---------------------------------------------------------------------------------------------


@explained
def second_derivatives(
    system: System,
    state: StateGiven,
    *,
    u: Inputs = None,
    p: Parameters = None,
    of: str = "vdot",
    inputs: bool = False,
    parameters: bool = False,
    direction: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """∂²v̇/∂x², (nv, n, n), of the constrained acceleration in all coordinates, x = (δ, v); exact, for any mechanism.

    system, state, u, p: as in `linearize`. of: "vdot", or "multipliers" for ∂²λ/∂x², (rows, n, n), with the rows that
    `linearize_full` names. inputs, parameters: whether inputs and declared parameters belong to x = (δ, v, u, p).

    direction: (n,) of x: only the change of the Jacobian along it, (nv, n) or (rows, n). weights: (nv,) or
    (rows,): only the weighted sum of the matrices, (n, n). Both cost n times less than all second derivatives.

    Each coordinate is varied as if it were free. Where rows are redundant, independent ones are used. For quaternion
    joints it is the derivative of the Jacobian as q ⊕ δ moves, the direction last, which is not symmetric.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(2.0, 0, 0)))
    >>> da.second_derivatives(m.compile(), {"A": 0.3})[0].round(6) + 0.0    # A″ = −g/L cos A
    array([[4.776682, 0.      ],
           [0.      , 0.      ]])
    """
    check_system(system)
    checks.choice(of, ("vdot", "multipliers"), "of")
    flags = {"u": checks.flag(inputs, "inputs"), "p": checks.flag(parameters, "parameters")}
    x, u, p = system.arguments.resolve(state, u, p)
    rows = independent_rows(system, x, p) if system.rows.of else None
    equations = EquationRows(system, rows)
    found = equations.solved(arguments(system, x, u, p))
    policy = rank_policy(system, p)
    if not np.isfinite(found.Z).all() or (equations.m and not policy.separates(found.margin)):
        raise singular(system, x, p)
    columns = np.arange(equations.width)
    chosen = np.concatenate([columns[equations.columns[k]] for k in ("q", "v", "u", "p") if flags.get(k, True)])
    second = SecondRows(found, slice(0, system.nv) if of == "vdot" else slice(system.nv, None), chosen)
    count = system.nv if of == "vdot" else equations.m
    if direction is not None and weights is not None:
        raise ArgumentError("direction and weights are both given; needed: one of them.")
    if direction is not None:
        return second.along(checks.array(direction, (len(chosen),), "direction"))
    if weights is not None:
        return second.weighted(checks.array(weights, (count,), "weights"))
    return second.everything()


class SecondRows:
    """Z′ of (4) of `system.equation_rows` for some components of z and some columns of x."""

    def __init__(self, found: SolvedRows, components: slice, chosen: np.ndarray):
        self.found, self.of, self.components, self.chosen = found, found.of, components, chosen
        one = np.eye(self.of.unknowns.start)[chosen]
        self.directions = np.hstack([one, one @ found.Z.T])  # (n, columns): (d, Z d) of the columns of x

    def along(self, direction: np.ndarray) -> np.ndarray:
        """(components, n)."""
        W = np.eye(self.of.implicit.stop, self.of.count)
        C = self.of.change(self.found.known, direction @ self.directions, W)
        return self.found.divided(-self._total(C))[self.components]

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """(n, n): one sweep for each direction, with the weights carried through e_z."""
        size = self.of.implicit.stop
        right = np.zeros(size)
        right[self.components] = weights
        W = np.zeros((len(self.chosen), self.of.count))
        W[:, :size] = -self.found.divided_transposed(right)
        return self._total(self.of.change(self.found.known, self.directions, W)).T

    def everything(self) -> np.ndarray:
        """(components, n, n): the unit weights of the components, carried through e_z, along every direction."""
        of, n = self.of, len(self.chosen)
        unit = np.eye(of.implicit.stop)[:, self.components]
        W = np.zeros((unit.shape[1], of.count))
        W[:, : of.implicit.stop] = -self.found.divided_transposed(unit).T
        C = of.change(self.found.known, np.tile(self.directions, (len(W), 1)), np.repeat(W, n, axis=0))
        return self._total(C).reshape(len(W), n, n).transpose(0, 2, 1)

    def _total(self, C: np.ndarray) -> np.ndarray:
        """e_x′ + e_z′ Z at the chosen columns."""
        return C[:, self.chosen] + C[:, self.of.unknowns] @ self.found.Z[:, self.chosen]
