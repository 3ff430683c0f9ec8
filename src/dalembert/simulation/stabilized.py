"""The linearized equations of motion as a run integrates them, in all coordinates, with what keeps it on the manifold.

    ẋ = f(x), x = (q, v)                          has zeros for the constraints among its eigenvalues         (4.1)
    none         Df
    Baumgarte    Df − [0 0; A⁺(β² ∂Φ + 2α ∂_q(A v + b)) 2α A⁺A],   A⁺ = M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹                   from (3.8)
    projection   Df Π, Π the linearized projection of a step                                                  (4.4)

Errors of the constraints follow equations of their own, which do not depend on the mechanism: Φ̈ = 0, or
Φ̈ + 2α Φ̇ + β² Φ = 0; a projection removes them at once. So the eigenvalues are those of the linear model in independent
coordinates, and the roots of these equations, once for each independent row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linearization.full import FullLinearization, linearize_full
from dalembert.linearization.linearize import linearize
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.simulation.stabilization import Baumgarte, Projection, as_stabilization
from dalembert.system.system import System


@dataclass(frozen=True, eq=False)
class StabilizedLinearization:
    """Eigenvalues (1/s) of the stabilized equations of motion at a state.

    At an equilibrium `eigenvalues` are `motion` and `constraints` together (Theorems 4.1.1 and 4.1.2), except that a
    projection leaves zeros in place of −∞. At a state in motion all but `constraints` are those of frozen coefficients.
    """

    A: np.ndarray  # (2 nv, 2 nv) of small motions (δ, δv), on and off the manifold
    eigenvalues: np.ndarray  # (2 nv,) of A, falling real parts
    motion: np.ndarray  # (states,) of the linear model in independent coordinates
    constraints: np.ndarray  # (2 nv − states,) of errors of the constraints; −∞: gone after a step
    stabilization: Any
    names: tuple[str, ...]  # of (δ, δv)

    @property
    def stiffness(self) -> float:
        """Largest |λ| of the constraints over the largest of the motion: above 1 they dictate the step."""
        finite = self.constraints[np.isfinite(self.constraints)]
        slow = np.abs(self.motion).max(initial=0.0)
        fast = np.abs(finite).max(initial=0.0)
        return float(fast / slow) if slow > 0 else (np.inf if fast > 0 else 0.0)


def linearize_stabilized(
    system: System, state: StateGiven, stabilization: Any = "projection", *, u: Inputs = None, p: Parameters = None
) -> StabilizedLinearization:
    """The equations that `simulate` integrates with a stabilization, linearized at a state on the manifold.

    system, state, u, p: as in `linearize`. stabilization: as in `simulate`: "projection", "energy" (to first order the
    same), "baumgarte", "none", or a `da.Projection` or `da.Baumgarte`.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.particle_on_circle().compile()                 # no weight: at rest anywhere
    >>> s = da.linearize_stabilized(system, system.state(*zoo.particle_start(0.7, speed=0.0)), da.Baumgarte(3.0, 5.0))
    >>> s.motion + 0.0
    array([0., 0.])
    >>> s.constraints                                               # roots of λ² + 2·3 λ + 5² = 0
    array([-3.+4.j, -3.-4.j])
    """
    check_system(system)
    kept = as_stabilization(stabilization)
    state, u, p = system.arguments.resolve(state, u, p)
    full = linearize_full(system, state, u=u, p=p)
    motion = falling(np.linalg.eigvals(linearize(system, state, u=u, p=p).A))
    nv, m = len(full.vdot), len(full.rows)
    holonomic = np.isin(full.rows, [n for n, h in zip(system.row_names, system.rows.holonomic) if h])
    h = int(holonomic.sum())
    if kept is None:
        A, constraints = full.Df, np.zeros(h + m)
    elif isinstance(kept, Baumgarte):
        A, constraints = _fed_back(system, state, p, full, holonomic, kept), _roots(kept, h, m - h)
    else:
        A, constraints = full.Df @ _projection(system, state, p, full, h, kept), _projected(kept, h, m)
    assert len(motion) + len(constraints) == 2 * nv
    return StabilizedLinearization(A, falling(np.linalg.eigvals(A)), motion, constraints, kept, full.names)


def falling(x: np.ndarray) -> np.ndarray:
    """Eigenvalues by falling real, then imaginary part."""
    return x[np.lexsort((-x.imag, -x.real))]


def _inverse(A: np.ndarray, M: np.ndarray) -> np.ndarray:
    """A⁺ = M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁻¹, (nv, m), of independent rows."""
    Y = np.linalg.solve(M, A.T)
    return Y @ np.linalg.inv(A @ Y) if len(A) else np.zeros((len(M), 0))


def _fed_back(
    system: System, state: StateGiven, p: Parameters, full: FullLinearization, holonomic: np.ndarray, kept: Baumgarte
) -> np.ndarray:
    nv, h = len(full.vdot), int(holonomic.sum())
    speed_q, A = full.H[h:, :nv], full.H[h:, nv:]
    back = _inverse(A, system.mass_matrix(state, p=p))
    by_q, by_v = 2 * kept.alpha * speed_q + kept.beta**2 * (holonomic[:, None] * A), 2 * kept.alpha * A
    out = full.Df.copy()
    out[nv:] -= back @ np.hstack([by_q, by_v])
    return out


def _projection(
    system: System, state: StateGiven, p: Parameters, full: FullLinearization, h: int, kept: Projection
) -> np.ndarray:
    """Π of (δ, δv): nearest positions, then nearest velocities at these, in the projection's metric."""
    nv = len(full.vdot)
    weights = kept.weights(nv)
    W = system.mass_matrix(state, p=p) if weights is None else np.diag(weights)
    A_h, speed_q, A = full.H[:h, :nv], full.H[h:, :nv], full.H[h:, nv:]
    positions = np.eye(nv) - _inverse(A_h, W) @ A_h
    if not kept.velocities:
        return np.block([[positions, np.zeros((nv, nv))], [np.zeros((nv, nv)), np.eye(nv)]])
    back = _inverse(A, W)
    return np.block([[positions, np.zeros((nv, nv))], [-back @ speed_q @ positions, np.eye(nv) - back @ A]])


def _roots(kept: Baumgarte, holonomic: int, others: int) -> np.ndarray:
    """λ² + 2α λ + β² = 0 for each holonomic row, λ = −2α for the others."""
    a, root = kept.alpha, np.sqrt(complex(kept.alpha**2 - kept.beta**2))
    return falling(np.array([-a + root, -a - root] * holonomic + [-2.0 * a] * others, dtype=complex))


def _projected(kept: Projection, holonomic: int, rows: int) -> np.ndarray:
    """−∞ for what a projection removes; velocities that are not filtered keep their error."""
    return np.array([0.0 if not kept.velocities else -np.inf] * rows + [-np.inf] * holonomic)
