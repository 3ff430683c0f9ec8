"""Spatial operators (Jain & Rodriguez, sections 4 to 6) as matrices to print and multiply, for small systems.

    M(q) = H φ M φ* H* + J = [1 + HφK] D [1 + HφK]* = m m*                                       (4.1)
    φ = (1 − E_φ)⁻¹,  ψ = (1 − E_ψ)⁻¹,  E_ψ = E_φ τ̄,  τ̄ = 1 − G H,  G = P H* D⁻¹,  K = E_φ G      (4.10)
    M = P − E_ψ P E_φ*                                                                           (4.9)

and their derivatives along a velocity, with Ω̃ = diag ad(H* v) and everything at the joint of its own link, in the axes
of the body there:

    Ė_φ = −E_φ Ω̃*,  φ̇ = φ Ė_φ φ                                                                 (A.8), (A.9)
    λ̇ = Ṗ − Ω̃* P − P Ω̃,  ⟨M⟩˙ = A + A*,  A = (Ḣφ + Hφ̇) M φ* H*                                   (6.4), (6.12)
    ṁ = (ḢφK + Hφ̇K + HφK̇) B + [1 + HφK] Ḃ,  D = B B*                                            (6.7)

J is the armature. Departures: links are numbered from the ground, so that E_φ, φ, K and m are *upper* triangular;
the paper differentiates in axes that stand still, where Ω̃ of a wrench has the sign of −Ω̃* here, and has one rate per
joint, for which H Ω̃* = 0. The recursions of `dalembert.recursions` never form any of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateGiven, SystemLike, check_system
from dalembert.symbols import to_sx


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """A matrix in blocks, one a joint or link. `@`, `+`, `-`, `.T`, `.inverse()` make operators; NumPy reads it."""

    matrix: np.ndarray  # (m, n)
    rows: Sequence[tuple[str, slice]]  # (joint or link, its place) of each block of rows
    columns: Sequence[tuple[str, slice]]  # likewise

    def block(self, row: str, column: str) -> np.ndarray:
        """The block of two joints, named row and column."""
        places = [dict(names) for names in (self.rows, self.columns)]
        for name, known in zip((row, column), places):
            if not isinstance(name, str) or name not in known:
                raise unknown("joint", name, known)
        return self.matrix[places[0][row], places[1][column]]

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Operator):
            return Operator(self.matrix @ other.matrix, self.rows, other.columns)
        return self.matrix @ np.asarray(other)

    def __add__(self, other: Operator) -> Operator:
        return Operator(self.matrix + other.matrix, self.rows, self.columns)

    def __sub__(self, other: Operator) -> Operator:
        return Operator(self.matrix - other.matrix, self.rows, self.columns)

    def __neg__(self) -> Operator:
        return Operator(-self.matrix, self.rows, self.columns)

    def __rmul__(self, factor: float) -> Operator:
        return Operator(factor * self.matrix, self.rows, self.columns)

    @property
    def T(self) -> Operator:
        """The adjoint, the paper's *."""
        return Operator(self.matrix.T, self.columns, self.rows)

    def inverse(self) -> Operator:
        """The inverse of a square operator."""
        return Operator(np.linalg.inv(self.matrix), self.columns, self.rows)

    def identity(self) -> Operator:
        """The identity with the blocks of its rows."""
        return Operator(np.eye(len(self.matrix)), self.rows, self.rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.matrix, dtype=dtype)

    def __str__(self) -> str:
        """Its blocks: "." for zero, "1" for the identity, the number itself, or the norm of the block as ‖x‖."""
        size = max(float(np.abs(self.matrix).max(initial=0.0)), 1e-300)
        cells = [["", *(name for name, _ in self.columns)]]
        for name, i in self.rows:
            cells.append([name, *(_cell(self.matrix[i, j], size) for _, j in self.columns)])
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        return "\n".join("  ".join(x.rjust(w) for x, w in zip(row, widths)).rstrip() for row in cells)


def _cell(block: np.ndarray, size: float) -> str:
    if block.size == 0 or np.abs(block).max() <= 1e-14 * size:
        return "."
    if block.shape[0] == block.shape[1] and np.array_equal(block, np.eye(len(block))):
        return "1"
    return f"{block.item():.4g}" if block.size == 1 else f"‖{np.linalg.norm(block):.3g}‖"


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives along a velocity; see the head of this file."""

    mass_matrix: Operator
    m: Operator
    P: Operator  # in the axes of the link
    lam: Operator  # λ̇: in axes that do not turn with the link's own joint
    D: Operator
    G: Operator
    phi: Operator


class Operators:
    """The operators of a system at a state; see the head of this file. Names are the paper's, `l` is its ℓ.

    >>> from dalembert import zoo
    >>> from dalembert.analysis import operators
    >>> system = zoo.chain(3).compile()
    >>> o = operators(system, {"J1": 0.3, "J2": -0.5})
    >>> factor = o.D.identity() + o.H @ o.phi @ o.K
    >>> bool(np.allclose(factor @ o.D @ factor.T, o.mass_matrix))
    True
    >>> print(o.psi)
        J1      J2      J3
    J1   1  ‖2.96‖  ‖2.83‖
    J2   .       1     ‖3‖
    J3   .       .       1
    """

    def __init__(self, system: SystemLike, state: StateGiven, p: Parameters = None):
        """state, p: as in the methods of `System`."""
        check_system(system)
        if not system.nv:
            raise ArgumentError(f"nothing moves in '{system.name}'; spatial operators need a joint that does.")
        x, _, p = system.arguments.resolve(state, None, p)
        self.system, self.state, self.p = system, x, p
        links = system.layout.tree.links
        joints = [(link.name, link.v) for link in links]
        bodies = [(link.name, slice(6 * k, 6 * k + 6)) for k, link in enumerate(links)]
        f = system.function("spatial_operators")
        given = {"q": x.q, "v": x.v, "p": system.arguments.parameter_vector(p)}
        H, E, M, P, D, dH, Omega, dP = (np.array(y) for y in f(*(given[name] for name in f.name_in())))
        R = self._turned()
        H, dH = H @ R.T, dH @ R.T
        E, M, P, Omega, dP = (R @ X @ R.T for X in (E, M, P, Omega, dP))
        self.H, self._dH = (Operator(y, joints, bodies) for y in (H, dH))
        self.E_phi, self.M, self.P, self._Omega, self._dP = (Operator(y, bodies, bodies) for y in (E, M, P, Omega, dP))
        self.D = Operator(D, joints, joints)

    def _turned(self) -> np.ndarray:
        """Rotations from the joints' own axes, in which the recursions are written, to those of the bodies."""
        layout = self.system.layout
        turns = []
        for link in layout.tree.links:
            a = layout.joints[link.name]
            turns += [to_sx(a.child.T.R @ a.joint.orientation)] * 2
        symbols = ca.vertcat(*layout.mechanism.parameters.symbols.values())
        R = ca.substitute(ca.diagcat(*turns), symbols, ca.SX(self.system.arguments.parameter_vector(self.p)))
        return np.array(ca.evalf(R))

    @cached_property
    def phi(self) -> Operator:
        """φ = (1 − E_φ)⁻¹: wrenches carried inward over rigid joints."""
        return (self.E_phi.identity() - self.E_phi).inverse()

    @cached_property
    def G(self) -> Operator:
        """The Kalman gain P H* D⁻¹."""
        return self.P @ self.H.T @ self.D.inverse()

    @cached_property
    def K(self) -> Operator:
        """K = E_φ G: the shifted Kalman gain."""
        return self.E_phi @ self.G

    @cached_property
    def tau_bar(self) -> Operator:
        """τ̄ = 1 − G H."""
        return self.P.identity() - self.G @ self.H

    @cached_property
    def E_psi(self) -> Operator:
        """E_ψ = E_φ τ̄."""
        return self.E_phi @ self.tau_bar

    @cached_property
    def psi(self) -> Operator:
        """ψ = (1 − E_ψ)⁻¹: wrenches carried inward over joints that give way."""
        return (self.E_psi.identity() - self.E_psi).inverse()

    @cached_property
    def B(self) -> Operator:
        """D^½: the upper triangular Cholesky factor of D."""
        return Operator(np.linalg.cholesky(self.D.matrix[::-1, ::-1])[::-1, ::-1], self.D.rows, self.D.rows)

    @cached_property
    def m(self) -> Operator:
        """m = [1 + HφK] D^½ (5.1), the factor of M = m m*."""
        return (self.D.identity() + self.H @ self.phi @ self.K) @ self.B

    @cached_property
    def l(self) -> Operator:  # noqa: E743
        """ℓ = D^−½ [1 − HψK] (5.1)."""
        return self.B.inverse() @ (self.D.identity() - self.H @ self.psi @ self.K)

    @cached_property
    def mass_matrix(self) -> Operator:
        """H φ M φ* H* and the armature (4.1a)."""
        rigid = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T
        return rigid + (self.D - self.H @ self.P @ self.H.T)

    def along(self, velocity: Mapping[str, Any] | ArrayLike) -> Sensitivity:
        """Derivatives along a velocity, an array (nv,) or by name.

        Along the state's own v they are rates of change, along a unit velocity M_θi and m_θi.
        """
        o = Operators(
            self.system, self.state.replace(v=self.system.arguments.velocity_vector(velocity, "velocity")), self.p
        )
        dH, dP, Omega = o._dH, o._dP, o._Omega
        dE = -(o.E_phi @ Omega.T)
        dphi = o.phi @ dE @ o.phi
        A = (dH @ o.phi + o.H @ dphi) @ o.M @ o.phi.T @ o.H.T
        dU = dP @ o.H.T + o.P @ dH.T
        dD = o.H @ dU + dH @ o.P @ o.H.T
        dG = (dU - o.G @ dD) @ o.D.inverse()
        dK = dE @ o.G + o.E_phi @ dG
        one = o.D.identity()
        dm = (dH @ o.phi @ o.K + o.H @ dphi @ o.K + o.H @ o.phi @ dK) @ o.B
        dm = dm + (one + o.H @ o.phi @ o.K) @ _root_rate(o.B, dD)
        lam = dP - Omega.T @ o.P - o.P @ Omega
        return Sensitivity(A + A.T, dm, dP, lam, dD, dG, dphi)


def _root_rate(B: Operator, dD: Operator) -> Operator:
    """Ḃ = B F, F the upper triangle of B⁻¹ Ḋ B⁻*, half its diagonal."""
    Y = (B.inverse() @ dD @ B.inverse().T).matrix
    return B @ Operator(np.triu(Y) - 0.5 * np.diag(np.diag(Y)), B.rows, B.rows)


def operators(system: SystemLike, state: StateGiven, *, p: Parameters = None) -> Operators:
    """The spatial operators of a system at a state; its constraints are ignored.

    state: a `State`, a mapping of names to positions, or q (nq,). p: parameters, by name or as an
    array, where they differ from the declared ones.
    """
    return Operators(system, state, p)
