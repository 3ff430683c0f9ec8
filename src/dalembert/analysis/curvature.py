"""Curvature of the mass metric: whether coordinates can exist in which the equations of motion fall apart.

Jain & Rodriguez, Lemma 2.2 (Riemann): coordinates ϑ(q) with ½ vᵀ M v = ½ ϑ̇ᵀϑ̇, so that ϑ̈ = ε joint by joint, exist
around every configuration exactly where all R_hijk vanish.

    R_hijk = ½ (∂_i∂_j g_hk + ∂_h∂_k g_ij − ∂_i∂_k g_hj − ∂_h∂_j g_ik)
           + Σ g^lm ([ij, l][hk, m] − [ik, l][hj, m])                                              (2.5)
    [ij, k] = ½ (∂_i g_jk + ∂_j g_ik − ∂_k g_ij)

Velocities need not be rates of coordinates (spherical and free joints). So g is taken in a chart δ around q,

    q(δ) = unit(q + N(q) δ),   v = B(δ) δ̇,   B = (NᵀN)⁻¹ Nᵀ ∂q/∂δ,   g(δ) = Bᵀ M(q(δ)) B

with B(0) = 1: R is a tensor, and its components at δ = 0 are those along the velocities. For joints with q̇ = v, g is M.
Derivatives are exact, by CasADi, of the traced mass matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.joints.joint import Joint
from dalembert.protocols import Parameters, StateGiven, SystemLike, check_system
from dalembert.rank import massless, rank_policy
from dalembert.symbols import array, to_sx, zeros

FLAT = 1e-9  # of the terms that cancel


@dataclass(frozen=True, eq=False)
class Curvature:
    """Riemannian curvature of the mass metric at a state, and whether it vanishes everywhere; made by `curvature`."""

    riemann: np.ndarray  # (nv, nv, nv, nv) R_hijk along the velocities, at the state
    mass_matrix: np.ndarray  # (nv, nv) there
    largest: float  # |R| in a basis that is orthonormal in the metric, of all configurations looked at; 1/(kg m²)
    terms: float  # the largest of the terms whose sum it is, likewise
    configurations: int  # looked at

    @property
    def flat(self) -> bool:
        """Whether R vanishes, at the state and wherever else it was looked at.

        R is an analytic function of q: zero at configurations drawn at random, it is zero everywhere (all but surely).
        """
        return self.largest <= FLAT * self.terms

    @cached_property
    def orthonormal(self) -> np.ndarray:
        """R in the basis of the columns of L^−ᵀ, M = L Lᵀ; its [a, b, a, b] are sectional curvatures."""
        return _turn(self.riemann, np.linalg.inv(np.linalg.cholesky(self.mass_matrix)).T)

    def sectional(self, x: ArrayLike, y: ArrayLike) -> float:
        """Curvature of the plane of two velocities x and y, (nv,) each, 1/(kg m²).

        With two degrees of freedom it is Gauss' curvature.
        """
        M = self.mass_matrix
        x, y = checks.vector(x, len(M), "x"), checks.vector(y, len(M), "y")
        size = np.sqrt([max(x @ M @ x, 1e-300), max(y @ M @ y, 1e-300)])
        area = (x @ M @ x) * (y @ M @ y) - (x @ M @ y) ** 2
        if not area > FLAT * (size[0] * size[1]) ** 2:
            raise ArgumentError(
                "x and y are parallel, or one of them is zero; needed: two velocities that span a plane."
            )
        return float(np.einsum("hijk,h,i,j,k", self.riemann, x, y, x, y) / area)

    @property
    def scalar(self) -> float:
        """Twice the sum of the sectional curvatures of all pairs of orthonormal directions."""
        return float(np.einsum("abab", self.orthonormal))

    def __str__(self) -> str:
        size = f"largest component {self.largest:.3g}, of terms up to {self.terms:.3g} 1/(kg m²)"
        where = f"at {self.configurations} configuration{'s'[: self.configurations > 1]}"
        if self.flat:
            return f"flat ({size}, {where}): decoupling coordinates exist around every configuration."
        return f"curved ({size}, {where}): no coordinates decouple the equations of motion; total rates still do."


def curvature(
    system: SystemLike, state: StateGiven | None = None, *, p: Parameters = None, samples: int = 3
) -> Curvature:
    """Riemannian curvature of the mass metric at a state (default: neutral), and whether it vanishes everywhere.

    system: one without constraints, which would change the metric. samples: random configurations (seeded) where it is
    computed besides, to tell flat from curved. p: parameters, by name or as an array, where they differ from the
    declared ones. Cost grows as nv⁴: a tenth of a second for seven velocities, seconds for twenty.

    >>> from dalembert import zoo
    >>> from dalembert.analysis import curvature
    >>> arm = curvature(zoo.chain(2).compile(), {"J2": 1.0})
    >>> arm.flat, round(arm.sectional([1, 0], [0, 1]), 6)
    (False, 0.185193)
    """
    check_system(system)
    checks.whole(samples, "samples", least=0, most=1000)
    if system.rows.of:
        raise ArgumentError(
            f"'{system.name}' has constraints ({', '.join(dict.fromkeys(system.rows.of))}), which change the metric; "
            "curvature is that of a tree. Leave them out of the description."
        )
    if not system.nv:
        raise ArgumentError(f"nothing moves in '{system.name}'; curvature needs a joint that does.")
    x = system.as_state({} if state is None else state)
    f = _derivatives(system)
    largest, terms, first, looked = 0.0, 0.0, None, 0
    rng = np.random.default_rng(0)
    for k in range(1 + samples):
        q = x.q if k == 0 else system.plus(system.state(), rng.uniform(-1, 1, system.nv))
        found = None if massless(system, system.state(q), p) else _riemann(f, q, system.parameter_vector(p), system.nv)
        if found is None and k:
            continue
        if found is None:
            raise ArgumentError(
                f"the mass matrix of '{system.name}' is singular in this configuration (a motion there moves no mass), "
                "and its metric has no curvature. Take another state, or give the moving bodies mass and inertia."
            )
        looked += 1
        g, R, size = found
        first = (R, g) if first is None else first
        E = np.linalg.inv(np.linalg.cholesky(g)).T
        largest = max(largest, float(np.abs(_turn(R, E)).max(initial=0.0)))
        terms = max(terms, max(float(np.abs(_turn(t, E)).max(initial=0.0)) for t in size))
    assert first is not None
    return Curvature(first[0], first[1], largest, terms, looked)


def _derivatives(system: SystemLike) -> ca.Function:
    """(q, p) → g and its first and second derivatives in the chart, the upper triangle of g."""
    q, delta, p = ca.SX.sym("q", system.nq), ca.SX.sym("d", system.nv), ca.SX.sym("p", len(system.p_names))
    rates, mass = system.function("rates"), system.function("mass_matrix")
    if system.nq == system.nv:
        moved, B = q + delta, ca.SX.eye(system.nv)
    else:
        near = array(q + rates(q, delta))
        links = system.layout.tree.links
        moved = to_sx(np.concatenate([zeros(0), *(link.joint.unit(near[link.q]) for link in links)]))
        w = ca.SX.sym("w", system.nv)
        N = ca.jacobian(rates(moved, w), w)
        weights = np.concatenate([[], *(_weights(link.joint) for link in links)])
        B = ca.diag(ca.DM(weights)) @ N.T @ ca.jacobian(moved, delta)
    names = {"q": moved, "p": p}
    g = B.T @ mass(*(names[name] for name in mass.name_in())) @ B
    upper = ca.vertcat(*(g[i, j] for i in range(system.nv) for j in range(i, system.nv)))
    first = ca.jacobian(upper, delta)
    second = ca.jacobian(ca.vec(first), delta)
    at = [ca.substitute(e, delta, ca.DM.zeros(system.nv)) for e in (upper, ca.densify(first), ca.densify(second))]
    return ca.Function("metric", [q, p], at)


def _weights(joint: Joint) -> np.ndarray:
    """The diagonal of (NᵀN)⁻¹, which depends on q for no joint: 4 for the rates of a quaternion, else 1."""
    q = array(joint.neutral())
    N = np.array([joint.rates(q, e).astype(float) for e in np.eye(joint.nv).astype(object)]).reshape(joint.nv, joint.nq)
    return 1.0 / np.sum(N * N, axis=1)


def _riemann(
    f: ca.Function, q: np.ndarray, p: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
    """g, R_hijk of (2.5), and the terms whose sum it is; None where g is singular."""
    upper, first, second = (np.array(y) for y in f(q, p))
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    g, dg, ddg = np.zeros((n, n)), np.zeros((n, n, n)), np.zeros((n, n, n, n))
    second = second.reshape(n, len(pairs), n).transpose(1, 0, 2)  # CasADi is column-major
    for k, (i, j) in enumerate(pairs):
        g[i, j] = g[j, i] = upper[k, 0]
        dg[i, j] = dg[j, i] = first[k]  # dg[i, j, k] = ∂_k g_ij
        ddg[i, j] = ddg[j, i] = second[k]  # ddg[i, j, k, l] = ∂_k ∂_l g_ij
    size = np.sqrt(np.maximum(np.diag(g), 1e-300))
    if not np.isfinite(g).all() or rank_policy().reveal(g / (size[:, None] * size), 1.0).rank < n:
        return None
    christoffel = 0.5 * (dg.transpose(2, 0, 1) + dg.transpose(0, 2, 1) - dg)  # [ij, k]
    raised = np.linalg.solve(g, christoffel.reshape(-1, n).T).T.reshape(n, n, n)
    product = np.einsum("ijl,hkl->hijk", raised, christoffel)
    bent = np.einsum("hkij->hijk", ddg)  # ∂_i ∂_j g_hk
    # ½ (∂_i∂_j g_hk + ∂_h∂_k g_ij − ∂_i∂_k g_hj − ∂_h∂_j g_ik)
    half = 0.5 * (bent + bent.transpose(1, 0, 3, 2) - bent.transpose(0, 1, 3, 2) - bent.transpose(1, 0, 2, 3))
    R = half + product - product.transpose(0, 1, 3, 2)
    return g, R, [0.5 * bent, product]


def _turn(R: np.ndarray, E: np.ndarray) -> np.ndarray:
    return np.einsum("hijk,ha,ib,jc,kd->abcd", R, E, E, E, E, optimize=True)
