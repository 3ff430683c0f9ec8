"""Coordinates in which the equations of motion fall apart, where the mass metric is flat (Jain & Rodriguez, section 2).

Lemma 2.1 asks for ϑ(q) with ½ vᵀ M v = ½ ϑ̇ᵀϑ̇. Then W = ∂ϑ/∂q is a factor of M, and its rows are constant fields:

    WᵀW = M,    ∂_j W_ai = Γ^k_ij W_ak,    Γ^k_ij = g^kl [ij, l]                                   (1)
    ϑ̈ = W^−ᵀ τ,    ϑ̇ = U ν with U orthogonal, U = 1 at the origin                                  (2)

(1) has a solution around every configuration just where the curvature (2.5) vanishes, and does then not depend on the
way. It is integrated along the straight line from the origin, where W = mᵀ, the innovations factor: ϑ̇ = ν there.
Back from ϑ the way is the straight line in ϑ, a geodesic of the mechanism: q' = W⁻¹ Δϑ beside (1).

The paper takes ϑ̇ = ν everywhere. That asks mᵀ itself to be ∂ϑ/∂q, which a turn U(q) can spoil although M is flat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.curvature import curvature
from dalembert.errors import ArgumentError, DalembertError
from dalembert.protocols import Parameters, StateGiven, StateLike, SystemLike, check_system

ACCURACY = 1e-12  # of the integration of (1), relative
MISSED = 1e-7  # of the mass matrix: by how much WᵀW may miss it
Slope = Callable[[float, np.ndarray], np.ndarray]


class DecouplingCoordinates:
    """ϑ(q) with ½ vᵀ M v = ½ ϑ̇ᵀϑ̇ and ϑ̈ = W^−ᵀ τ, (nv,) each; made by `decoupling_coordinates`.

    ϑ is 0 at the origin, in √kg m. In all methods state: a `State`, a mapping of names to positions, or q (nq,).
    """

    def __init__(self, system: SystemLike, origin: StateLike, p: Parameters, curvature: float = 0.0):
        """curvature: the largest component of the curvature at the origin, 1/(kg m²), which is rounding."""
        self.system, self.origin, self.p, self.curvature = system, origin, p, curvature
        self._numbers = system.arguments.parameter_vector(p)
        self._f = system.memo(("christoffel",), lambda: _christoffel(system))
        M = system.mass_matrix(origin, p=p)
        self._start = np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1].T  # mᵀ: the reverse Cholesky factor of M is m

    def __repr__(self) -> str:
        where = ", ".join(f"{name} = {q:g}" for name, q in zip(self.system.q_names[:4], self.origin.q))
        more = ", …" if len(self.origin.q) > 4 else ""
        return (
            f"<decoupling coordinates of '{self.system.name}': ϑ ({self.system.nv},), 0 at {where}{more}; curvature "
            f"{self.curvature:.1e}>"
        )

    def value(self, state: StateGiven) -> np.ndarray:
        """ϑ at a state, (nv,)."""
        return self._to(self._at(state))[0]

    def jacobian(self, state: StateGiven) -> np.ndarray:
        """W = ∂ϑ/∂q at a state, (nv, nv): WᵀW = M."""
        return self._to(self._at(state))[1]

    def rates(self, state: StateGiven) -> np.ndarray:
        """ϑ̇ = W v at a state, (nv,)."""
        x = self._at(state)
        return self._to(x)[1] @ x.v

    def _at(self, state: StateGiven) -> StateLike:
        return self.system.arguments.resolve(state, None, self._numbers)[0]

    def forces(self, state: StateGiven, tau: Any) -> np.ndarray:
        """ϑ̈ = W^−ᵀ τ, (nv,), at a state under joint forces tau, (nv,) or by velocity names: all that acts."""
        return np.linalg.solve(self.jacobian(state).T, self.system.arguments.velocity_vector(tau, "tau"))

    def state(self, theta: ArrayLike, rates: ArrayLike | None = None) -> Any:
        """The state at ϑ = theta with ϑ̇ = rates, (nv,) each (default: at rest), on the geodesic from the origin."""
        n = self.system.nv
        theta = checks.vector(theta, n, "theta")

        def slope(s: float, y: np.ndarray) -> np.ndarray:
            W = y[n:].reshape(n, n)
            dq = np.linalg.solve(W, theta)
            return np.concatenate([dq, (W @ self._turn(y[:n], dq)).ravel()])

        y = self._integrate(slope, np.concatenate([self.origin.q, self._start.ravel()]), lambda y: y[:n])
        v = np.zeros(n) if rates is None else checks.vector(rates, n, "rates")
        return self.system.arguments.belonging(
            self.system.state(y[:n], np.linalg.solve(y[n:].reshape(n, n), v)), self.p
        )

    def _to(self, x: StateLike) -> tuple[np.ndarray, np.ndarray]:
        """ϑ and W at a state: (1) along the straight line from the origin."""
        n, delta = self.system.nv, x.q - self.origin.q

        def slope(s: float, y: np.ndarray) -> np.ndarray:
            W = y[n:].reshape(n, n)
            return np.concatenate([W @ delta, (W @ self._turn(self.origin.q + s * delta, delta)).ravel()])

        y = self._integrate(slope, np.concatenate([np.zeros(n), self._start.ravel()]), lambda y: x.q)
        return y[:n], y[n:].reshape(n, n)

    def _turn(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Γ^k_ij δ^j, (nv, nv)."""
        M, C = (np.array(y) for y in self._f(q, delta, self._numbers))
        return np.linalg.solve(M, C)

    def _integrate(self, slope: Slope, start: np.ndarray, place: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The end of the way, (n + n²,), where WᵀW must be M(q) again, q = place(y)."""
        from scipy.integrate import solve_ivp

        n, size = self.system.nv, np.abs(self._start).max()
        try:
            with np.errstate(all="ignore"):
                run = solve_ivp(slope, (0.0, 1.0), start, method="DOP853", rtol=ACCURACY, atol=ACCURACY * size)
                end, W = run.y[:, -1], run.y[n:, -1].reshape(n, n)
                off = W.T @ W - np.array(self._f(place(end), np.zeros(n), self._numbers)[0])
            if run.success and np.abs(off).max() <= MISSED * size**2:
                return end
        except (np.linalg.LinAlgError, ValueError):
            pass
        raise DalembertError(
            f"the way from the origin of the decoupling coordinates of '{self.system.name}' leads through a position "
            "where its mass matrix is singular. Take an origin on the near side of it."
        )


def decoupling_coordinates(
    system: SystemLike, state: StateGiven | None = None, *, p: Parameters = None
) -> DecouplingCoordinates:
    """Coordinates ϑ(q) in which a mechanism without forces moves straight on, where its mass metric is flat.

    system: a tree of joints whose velocities are rates of coordinates. state: the origin ϑ = 0 (default: neutral). p:
    parameters. Where the metric is curved, `ArgumentError` says by how much: no such coordinates exist, and total
    rates (`system.diagonal`) are what is left of them.

    >>> from dalembert import zoo
    >>> from dalembert.analysis import decoupling_coordinates
    >>> cart = zoo.cart_pole().compile()
    >>> theta = decoupling_coordinates(cart)
    >>> theta
    <decoupling coordinates of 'cart-pole': ϑ (2,), 0 at cart = 0, phi1 = 0; curvature 0.0e+00>
    >>> x = cart.state({"cart": 0.3, "phi1": 1.0}, v={"phi1": 2.0})
    >>> rates = theta.rates(x)
    >>> bool(np.isclose(0.5 * rates @ rates, cart.kinetic_energy(x)))
    True
    >>> theta.state(theta.value(x)).q.round(9)
    array([0.3, 1. ])
    """
    check_system(system)
    x, _, p = system.arguments.resolve({} if state is None else state, None, p)
    if system.rows.of:
        raise ArgumentError(
            f"'{system.name}' has constraints ({', '.join(dict.fromkeys(system.rows.of))}); decoupling coordinates are "
            "those of a tree. `curvature` says whether the closed chain is flat."
        )
    found = curvature(system, x, p=p)
    if not found.flat:
        raise ArgumentError(
            f"'{system.name}' is curved (largest component of the curvature {found.largest:.3g} 1/(kg m²)): no "
            "coordinates decouple its equations of motion. Total rates, system.diagonal, do so for velocities."
        )
    return DecouplingCoordinates(system, x, p, found.largest)


def _christoffel(system: SystemLike) -> ca.Function:
    """(q, δ, p) → M and C[l, i] = [iδ, l] = ½ (∂_i (Mδ)_l + ∂_δ M_il − ∂_l (Mδ)_i)."""
    q, delta, p = ca.SX.sym("q", system.nv), ca.SX.sym("d", system.nv), ca.SX.sym("p", len(system.p_names))
    mass, names = system.function("mass_matrix"), {"q": q, "p": p}
    M = mass(*(names[name] for name in mass.name_in()))
    J = ca.jacobian(M @ delta, q)
    along = ca.reshape(ca.jacobian(ca.vec(M), q) @ delta, M.shape)
    return ca.Function("christoffel", [q, delta, p], [ca.densify(M), ca.densify(0.5 * (J - J.T + along))])
