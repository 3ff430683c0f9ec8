"""Curvature of the mass metric: whether coordinates can exist in which the equations of motion fall apart.

Jain & Rodriguez, Lemma 2.2 (Riemann): coordinates ϑ(q) with ½ vᵀ M v = ½ ϑ̇ᵀϑ̇, so that ϑ̈ = ε joint by joint, exist
around every configuration exactly where all R_hijk vanish.

    R_hijk = ½ (∂_i∂_j g_hk + ∂_h∂_k g_ij − ∂_i∂_k g_hj − ∂_h∂_j g_ik)
           + Σ g^lm ([ij, l][hk, m] − [ik, l][hj, m])                                              (2.5)
    [ij, k] = ½ (∂_i g_jk + ∂_j g_ik − ∂_k g_ij)

in the chart of `metric_chart`. Closed chains move on the manifold Φ(q) = 0, whose metric is that of the tree along the
motions K that the constraints allow. Its curvature is Gauss' equation, with the second fundamental form in λ:

    s_ij = ∂_i∂_j Φ − A M⁻¹ [ij, ·]
    R̄_hijk = R_hijk + s_hjᵀ (A M⁻¹ Aᵀ)⁺ s_ik − s_hkᵀ (A M⁻¹ Aᵀ)⁺ s_ij,    h, i, j, k along K
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.analysis.manifold import Tangent, tangent
from dalembert.analysis.metric_chart import metric_jet
from dalembert.analysis.mobility import report
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateGiven, StateLike, SystemLike, check_system
from dalembert.rank import massless, rank_policy, reach

FLAT = 1e-9  # of the terms that cancel
STEP = 0.4  # rad, or lengths of the mechanism: how far away other positions of a closed chain are looked for


@dataclass(frozen=True, eq=False)
class Curvature:
    """Riemannian curvature of the mass metric at a state, and whether it vanishes everywhere; made by `curvature`."""

    riemann: np.ndarray  # (d, d, d, d) R_hijk along the basis, at the state
    mass_matrix: np.ndarray  # (d, d) KᵀMK there
    basis: np.ndarray  # (nv, d) K: the velocities themselves for a tree, admissible motions for a closed chain
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
        """Curvature of the plane of two velocities x and y, (nv,) each, 1/(kg m²); of a closed chain admissible ones.

        With two degrees of freedom it is Gauss' curvature.
        """
        M, (x, y) = self.mass_matrix, (self._along(a, what) for a, what in ((x, "x"), (y, "y")))
        size = np.sqrt([max(x @ M @ x, 1e-300), max(y @ M @ y, 1e-300)])
        area = (x @ M @ x) * (y @ M @ y) - (x @ M @ y) ** 2
        if not area > FLAT * (size[0] * size[1]) ** 2:
            raise ArgumentError(
                "x and y are parallel, or one of them is zero; needed: two velocities that span a plane."
            )
        return float(np.einsum("hijk,h,i,j,k", self.riemann, x, y, x, y) / area)

    def _along(self, x: ArrayLike, what: str) -> np.ndarray:
        """(d,) components of a velocity along the basis."""
        x = checks.vector(x, len(self.basis), what)
        found, *_ = np.linalg.lstsq(self.basis, x, rcond=None)
        if np.abs(self.basis @ found - x).max(initial=0.0) > 1e-7 * np.abs(x).max(initial=0.0):
            raise ArgumentError(
                f"{what} is a velocity that the constraints forbid; needed: an admissible one, such as a combination "
                "of the columns of `basis`."
            )
        return found

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

    state: a `State`, a mapping of names to positions, or q (nq,).
    system: a tree, or a closed chain, whose metric is that of the manifold it moves on; rows may be redundant.
    Kinematic inputs, rolling and constraints that move with time are refused: they leave no such manifold. samples:
    random configurations (seeded) where it is computed besides, to tell flat from curved. p: parameters, by name or
    as an array, where they differ from the declared ones. Cost grows with the fourth power of the degrees of freedom:
    a tenth of a second for seven, seconds for twenty.

    >>> from dalembert import zoo
    >>> from dalembert.analysis import curvature
    >>> arm = curvature(zoo.chain(2).compile(), {"J2": 1.0})
    >>> arm.flat, round(arm.sectional([1, 0], [0, 1]), 6)
    (False, 0.185193)
    >>> curvature(zoo.four_bar().compile(), zoo.four_bar_start()[0]).flat       # one degree of freedom
    True
    """
    check_system(system)
    checks.whole(samples, "samples", least=0, most=1000)
    x, _, p = system.arguments.resolve({} if state is None else state, None, p)
    _check(system, x, p)
    largest, terms, first, looked = 0.0, 0.0, None, 0
    rng = np.random.default_rng(0)
    for k in range(1 + samples):
        at = x if k == 0 else _elsewhere(system, x, p, rng)
        found = None if at is None or massless(system, at, p) else _riemann(system, at, p)
        if found is None and k:
            continue
        if found is None:
            raise ArgumentError(
                f"the mass matrix of '{system.name}' is singular in this configuration (a motion there moves no mass), "
                "and its metric has no curvature. Take another state, or give the moving bodies mass and inertia."
            )
        looked += 1
        g, R, size, K = found
        first = (R, g, K) if first is None else first
        E = np.linalg.inv(np.linalg.cholesky(g)).T
        largest = max(largest, float(np.abs(_turn(R, E)).max(initial=0.0)))
        terms = max(terms, max(float(np.abs(_turn(t, E)).max(initial=0.0)) for t in size))
    assert first is not None
    return Curvature(*first, largest, terms, looked)


def _check(system: SystemLike, x: StateLike, p: Parameters) -> None:
    """Refuse systems and states without a metric on a manifold."""
    name, of = system.name, np.array(system.rows.of)
    if not system.nv:
        raise ArgumentError(f"nothing moves in '{name}'; curvature needs a joint that does.")
    if prescribed := system.description.prescribed:
        raise ArgumentError(
            f"'{name}' has kinematic inputs ({', '.join(prescribed)}), which prescribe motion; curvature is that "
            "of free motion. Compile it without them."
        )
    if not len(of):
        return
    rolling, driven = of[~system.rows.holonomic], of[[not row.is_zero() for row in _time_slopes(system)]]
    for names, what in ((rolling, "constrains velocities only"), (driven, "moves with time")):
        if len(names):
            raise ArgumentError(
                f"constraint '{names[0]}' of '{name}' {what}: its motions are those of no manifold with a metric of "
                "its own. Use system.without(...) to leave it out."
            )
    found = report(system, x, p, np.ones(len(of), dtype=bool))
    if not found.closed:
        raise ArgumentError(
            f"the constraints of '{name}' do not hold in this state (largest residual {found.residual:.2g}); use "
            "system.assemble or system.project first."
        )
    if found.singular:
        raise ArgumentError(
            f"'{name}' is in a singular position, where its motions are no manifold and have no curvature. Take "
            "another state."
        )
    if not found.mobility:
        raise ArgumentError(f"the constraints of '{name}' leave no motion; curvature needs one.")


def _time_slopes(system: SystemLike) -> list[ca.SX]:
    """The rows of b = ∂Φ/∂t, traced: exact zeros where Φ does not depend on time."""
    rows = system.function("constraints")
    b = rows(*(ca.SX.sym(name, *rows.size_in(name)) for name in rows.name_in()))[2]
    return [b[k] for k in range(b.numel())]


def _elsewhere(system: SystemLike, x: StateLike, p: Parameters, rng: np.random.Generator) -> StateLike | None:
    """A random configuration; of closed chains one on the branch of x, or None where the way there is blocked."""
    if not system.rows.of:
        return system.state(system.plus(system.state(), rng.uniform(-1, 1, system.nv)))
    here = tangent(system, x, p)
    delta = here.admissible @ rng.uniform(-1, 1, system.nv - here.rank)
    delta *= STEP / np.abs(delta / reach(system, p)).max()
    try:
        there = system.project(system.state(system.plus(x.q, delta), t=x.t), p=p)
        return there if tangent(system, there, p).rank == here.rank else None
    except AssemblyError:
        return None


def _riemann(
    system: SystemLike, x: StateLike, p: Parameters
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray] | None:
    """KᵀMK, R_hijk of (2.5) along K with Gauss' terms, the terms whose sum it is, and K; None where M is singular."""
    on: Tangent | None = None
    if system.rows.of:
        on = tangent(system, x, p)
    K = None if on is None else on.admissible
    jet = metric_jet(system, x.q, system.arguments.parameter_vector(p), x.t, K)
    g, n = jet.g, system.nv
    size = np.sqrt(np.maximum(np.diag(g), 1e-300))
    if not np.isfinite(g).all() or rank_policy().reveal(g / (size[:, None] * size), 1.0).rank < n:
        return None
    christoffel = jet.first  # [ij, l]
    raised = np.linalg.solve(g, christoffel.reshape(-1, n).T).T.reshape(christoffel.shape)
    product = np.einsum("ijl,hkl->hijk", raised, christoffel)
    bent = np.einsum("hkij->hijk", jet.second)  # ∂_i ∂_j g_hk
    # ½ (∂_i∂_j g_hk + ∂_h∂_k g_ij − ∂_i∂_k g_hj − ∂_h∂_j g_ik)
    half = 0.5 * (bent + bent.transpose(1, 0, 3, 2) - bent.transpose(0, 1, 3, 2) - bent.transpose(1, 0, 2, 3))
    R = half + product - product.transpose(0, 1, 3, 2)
    terms = [0.5 * bent, product]
    if on is not None and K is not None:
        shape = jet.phi - np.einsum("ml,ijl->mij", on.A, raised)  # s_ij
        normal = on.R @ on.shortest(shape.reshape(len(shape), -1))  # its length in the metric: sᵀ (A M⁻¹ Aᵀ)⁺ s
        gauss = np.einsum("lhj,lik->hijk", *[normal.reshape(n, *shape.shape[1:])] * 2)
        R = R + gauss - gauss.transpose(0, 1, 3, 2)
        terms.append(gauss)
        return K.T @ g @ K, R, terms, K
    return g, R, terms, np.eye(n)


def _turn(R: np.ndarray, E: np.ndarray) -> np.ndarray:
    return np.einsum("hijk,ha,ib,jc,kd->abcd", R, E, E, E, E, optimize=True)
