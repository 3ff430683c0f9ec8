"""Derivatives of the equations of motion of a constrained tree, with v̇ and λ held.

    e₁ = M v̇ + h − Q − Aᵀλ         by the closed forms of `newton_euler_derivatives`
    e₂ = A v̇ + γ,   e₃ = A v + b    rows of constraints, and of coordinates that are functions of the state

Forces and rows are short formulas of the links they touch (`mechanism.local`). Their local derivatives L come from
CasADi; with the columns S_k, D_k, F_k, G_k of link k (`motion_derivatives`) the chain rule is

    ∂/∂δ = L_q + Σ_k L_Tk S_k + L_Vk D_k + L_V̇k (F_k − ad(V_k) D_k)                                      (1)
    ∂/∂v = L_v + Σ_k L_Vk S_k + L_V̇k (G_k − ad(V_k) S_k)                                                 (2)

and what is exerted on link k goes into e₁ by S_kᵀ. Where A is a gradient, its derivatives commute but for the turning
axes of quaternion joints (B, `Joint.transport`), and Spencer's 2 K̇ appears:

    ∂e₂/∂v = 2 ∂e₃/∂δ + A B                                                                              (3)

Johnson and Murphey differentiate the same equations; their printed
formulas velocity_error terms, so the equations are differentiated as a whole here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.constraints import Constraint
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.derivative_columns import derivative_columns
from dalembert.recursions.elimination import Elimination, TreeFactor
from dalembert.recursions.motion_derivatives import MotionDerivatives
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.newton_euler_derivatives import newton_euler_derivatives
from dalembert.spatial import bracket_dual
from dalembert.symbols import zeros
from dalembert.system.local_slopes import LocalEquations, LocalSlopes, all_zero

if TYPE_CHECKING:
    from dalembert.system.trace import Trace


@dataclass(frozen=True)
class ExpressionDerivatives:
    """Derivatives of some expressions with respect to q (as δ), v, u and t."""

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    t: np.ndarray


class EquationDerivatives:
    """The equations at a traced state, solved, and their derivatives; each made when asked for."""

    def __init__(self, s: Trace, coordinates: Sequence[Constraint] = (), held: np.ndarray | None = None):
        """`coordinates`: functions of the state, as rows that do not act. `held`: v̇ of a tree without constraints."""
        self.s, self.extra = s, coordinates
        self.nv = s.tree.nv
        self.rows = s.rows if held is None else s.rows.only(())
        if held is None:
            f = s.load.tau - newton_euler(s.at, zeros(self.nv), s.d.gravity, s.load.wrenches)
            _, f, _, gamma = s.led.equations(self.M, f, s.rows.A, s.rows.gamma)
            self.vdot, self.lam = self.factor.solve(f, gamma)
        else:
            self.vdot, self.lam = held, zeros(0)

    @cached_property
    def factor(self) -> Elimination:
        """Factorization of M and A, with kinematic inputs taken out."""
        led = self.s.led
        return Elimination(TreeFactor(led.mass(self.M)), led.columns(self.rows.A))

    def solved(self, d: np.ndarray, rows: np.ndarray, by: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of v̇ and λ from those of e₁, (nv, c), and e₂, (m, c), with respect to the inputs if by is "u"."""
        led, A = self.s.led, self.rows.A
        given = led.by(self.s.sx["u"]) if by == "u" else zeros(len(led.places), d.shape[1])
        return self.factor.columns(*led.right(self.M, -d, A, rows, given))

    @cached_property
    def M(self) -> np.ndarray:
        """The mass matrix."""
        return composite_body(self.s.at)

    @cached_property
    def motion(self) -> MotionDerivatives:
        """D, F, G of every joint."""
        return MotionDerivatives(self.s.at, self.vdot)

    @cached_property
    def local(self) -> LocalEquations:
        """Local derivatives of forces and rows."""
        return LocalEquations(self)

    @cached_property
    def dynamics(self) -> ExpressionDerivatives:
        """Derivatives of e₁, (nv, …)."""
        d = newton_euler_derivatives(self.motion, self.s.d.gravity, self.local.wrenches)
        Q = self._chained(self.local.exerted, zeros(0, 0))
        return ExpressionDerivatives(d.tau_q - self._inward(Q.q), d.tau_v - self._inward(Q.v), *self.drive)

    @cached_property
    def drive(self) -> tuple[np.ndarray, np.ndarray]:
        """∂e₁/∂u and ∂e₁/∂t."""
        return -self._inward(self.local.exerted.u), -self._inward(self.local.exerted.t)

    @cached_property
    def accelerations(self) -> ExpressionDerivatives:
        """Derivatives of e₂, coordinates below constraints; (3) for ∂/∂v of holonomic rows."""
        pfaffian = [k for k, row in enumerate(self.rows.rows) if not row.holonomic]
        out = self._chained(self.local.accelerations, self.local.A, pfaffian, self._own)
        v = 2.0 * self.speeds.q + np.concatenate([self.rows.A, self.coordinate_rows]) @ self.turn
        v[pfaffian] = out.v[pfaffian]
        return ExpressionDerivatives(out.q, v, out.u, out.t)

    @cached_property
    def turn(self) -> np.ndarray:
        """(nv, nv) B of δ̇ = δv − B δ."""
        B = zeros(self.nv, self.nv)
        for link in self.s.tree.links:
            B[link.v, link.v] = link.joint.transport(self.s.v[link.v])
        return B

    @cached_property
    def speeds(self) -> ExpressionDerivatives:
        """Derivatives of e₃."""
        return self._chained(self.local.speeds, zeros(0, 0), [], self._own)

    @cached_property
    def coordinate_rows(self) -> np.ndarray:
        """(c, nv): the rows A of the coordinates."""
        A = self.local.A[len(self.rows.of) :]
        out = A[:, : self.nv].copy()
        for k in self.local.links(A):
            at = self.motion.columns(k)
            out[:, at.dofs] = out[:, at.dofs] + self._part(A, k) @ at.S[:, at.dofs]
        return out

    def _part(self, L: np.ndarray, k: int) -> np.ndarray:
        """The columns of link k."""
        return L[:, self.nv + 6 * k : self.nv + 6 * (k + 1)]

    @cached_property
    def _own(self) -> list[set[int] | None]:
        """The velocities of the joints that enter each row; None where they are not known.

        A holonomic row whose A is zero at all velocities of a joint does not know that joint: a loop does not know what
        carries all of it, however its frames move. Zero at some of them says nothing: their axes turn with the others.
        """
        joints = [range(link.v.start, link.v.stop) for link in self.s.tree.links]
        own: list[set[int] | None] = []
        joint_of = {k: joint for joint in joints for k in joint}
        for row in self.rows.rows:
            own.append({k for i in row.A for k in joint_of[i]} if row.holonomic else None)
        return [*own, *([None] * (len(self.local.A) - len(own)))]

    def _chained(
        self, L: LocalSlopes, A: np.ndarray, only: list[int] | None = None, own: Sequence[set[int] | None] = ()
    ) -> ExpressionDerivatives:
        """(1) and (2); A: how the expressions depend on v̇ and V̇, if they do. `only`: the rows to have ∂/∂v.

        own: the velocities that each expression knows.
        """
        q, v = L.z[:, : self.nv].copy(), L.w[:, : self.nv].copy()
        for k in self.local.links(L.z, L.w, A):
            at = self.motion.columns(k)
            parts = [self._part(x, k) for x in (L.z, L.w, A if A.size else zeros(*L.z.shape))]
            rows = [r for r in range(len(q)) if not all(all_zero(x[r]) for x in parts)]
            by_T, by_V, by_rate = (x[rows] for x in parts)
            by_V = by_V - bracket_dual(at.V, by_rate.T).T
            for i, r in enumerate(rows):
                mine = own[r] if own else None
                dofs = at.dofs if mine is None else [k for k in at.dofs if k in mine]
                S, D, F, G = (x[:, dofs] for x in (at.S, at.D, at.F, at.G))
                q[r, dofs] = q[r, dofs] + by_T[i] @ S + by_V[i] @ D + by_rate[i] @ F
                if only is None or r in only:
                    v[r, dofs] = v[r, dofs] + by_V[i] @ S + by_rate[i] @ G
        return ExpressionDerivatives(q, v, L.u, L.t)

    def _inward(self, X: np.ndarray) -> np.ndarray:
        """Forces on joints and wrenches on links, one under another, as forces along v."""
        out = X[: self.nv].copy()
        for k in range(len(self.s.tree)):
            W = X[self.nv + 6 * k : self.nv + 6 * (k + 1)]
            if W.size and not all_zero(W):
                at = self.motion.columns(k)
                out[at.dofs] = out[at.dofs] + at.S[:, at.dofs].T @ W
        return out


def inverse_dynamics_derivatives(s: Trace) -> tuple[Any, ...]:
    """∂τ/∂q, ∂τ/∂v and M of inverse dynamics, described forces included, constraints left out."""
    d = EquationDerivatives(s, held=s.a).dynamics
    return d.q, d.v, composite_body(s.at)


LONG_CHAIN_COLUMNS = (
    "left", "right_q", "right_v", "screws", "forces_q", "forces_v", "own", "applied_q", "applied_v",
)  # fmt: skip


def long_chain_columns(s: Trace) -> tuple[Any, ...]:
    """Derivatives for long chains, as columns, and the slopes of the described forces (empty if there are none)."""
    e = EquationDerivatives(s, held=s.a)
    Q = (zeros(0, 0), zeros(0, 0))
    if s.d.forces:
        exerted = e._chained(e.local.exerted, zeros(0, 0))
        Q = e._inward(exerted.q), e._inward(exerted.v)
    return *derivative_columns(e.motion, s.d.gravity, s.load.wrenches), *Q


def ode_jacobian(s: Trace) -> tuple[Any, ...]:
    """∂v̇/∂q and ∂v̇/∂v of the constrained acceleration, on and off the manifold, and the margin."""
    e, n = EquationDerivatives(s), s.tree.nv
    vdot, _ = e.solved(np.hstack([e.dynamics.q, e.dynamics.v]), np.hstack([e.accelerations.q, e.accelerations.v]))
    return vdot[:, :n], vdot[:, n:], e.factor.margin


_KINDS = ("q", "v", "u", "t")
ACCELERATION_DERIVATIVES = (
    "vdot",
    "multipliers",
    *(f"vdot_{x}" for x in _KINDS),
    *(f"multipliers_{x}" for x in _KINDS),
    "speed_q",
    "speed_t",
    "margin",
)


def acceleration_derivatives(s: Trace) -> tuple[Any, ...]:
    """v̇ and λ, their derivatives with respect to q (as δ), v, u and t, and those of A v + b."""
    e = EquationDerivatives(s)
    solved = [e.solved(getattr(e.dynamics, x), getattr(e.accelerations, x), x) for x in _KINDS]
    by = [x for x, _ in solved], [x for _, x in solved]
    return e.vdot, e.lam, *by[0], *by[1], e.speeds.q, e.speeds.t, e.factor.margin
