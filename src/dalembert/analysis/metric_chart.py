"""The mass metric and the constraints in a chart around a configuration, with exact derivatives.

Velocities need not be rates of coordinates (spherical and free joints). So g is taken in a chart δ around q,

    q(δ) = unit(q + N(q) δ),   v = B(δ) δ̇,   B = (NᵀN)⁻¹ Nᵀ ∂q/∂δ,   g(δ) = Bᵀ M(q(δ)) B

with B(0) = 1: components of tensors at δ = 0 are those along the velocities. For joints with q̇ = v, g is M. Only the
directions δ = K y that the constraints allow are differentiated twice: h = KᵀgK costs d⁴ numbers, not nv⁴.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.mechanism.joints.joint import Joint
from dalembert.protocols import SystemLike
from dalembert.symbols import array, to_sx, zeros


@dataclass(frozen=True, slots=True, eq=False)
class MetricJet:
    """g and Φ at a configuration, and their derivatives along d directions K, the columns of (nv, d)."""

    g: np.ndarray  # (nv, nv)
    first: np.ndarray  # (d, d, nv) [ab, l] = ½ (∂_a g_bl + ∂_b g_al − ∂_l g_ab), Christoffel's symbols
    second: np.ndarray  # (d, d, d, d) ∂_c ∂_d g_ab
    phi: np.ndarray  # (m, d, d) ∂_a ∂_b Φ


def metric_jet(system: SystemLike, q: np.ndarray, p: np.ndarray, t: float, K: np.ndarray | None) -> MetricJet:
    """At (q, t) with parameters p, along the columns of K (nv, d); None: along every velocity."""
    n, d = (system.nv, system.nv) if K is None else K.shape
    f = system.memo(("metric jet", K is None, d), lambda: _derivatives(system, None if K is None else d))
    given = [q, p, t] if K is None else [q, p, t, K]
    g, along, across, second, phi = (np.array(y) for y in f(*given))
    along = along.reshape(d, n, d).transpose(2, 0, 1)  # [a, b, l] = ∂_a g_bl; CasADi is column-major
    first, ddh = np.zeros((d, d, n)), np.zeros((d, d, d, d))
    second = second.reshape(d, -1, d).transpose(1, 0, 2)
    for k, (a, b) in enumerate(_pairs(d)):
        first[a, b] = 0.5 * (along[a, b] + along[b, a] - across[k])
        first[b, a] = first[a, b]
        ddh[a, b] = ddh[b, a] = second[k]
    return MetricJet(g, first, ddh, phi.reshape(d, -1, d).transpose(1, 0, 2))


def _pairs(d: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(d) for b in range(a, d)]


def _derivatives(system: SystemLike, d: int | None) -> ca.Function:
    """(q, p, t, K) → g, ∂_a (g K_b), ∂_l h_ab, ∂_c ∂_d h_ab and ∂_a ∂_b Φ, h by its upper triangle."""
    n = system.nv
    q, p, t = ca.SX.sym("q", system.nq), ca.SX.sym("p", len(system.p_names)), ca.SX.sym("t")
    y, z = ca.SX.sym("y", n if d is None else d), ca.SX.sym("z", n)
    K = ca.SX.eye(n) if d is None else ca.SX.sym("K", n, d)
    moved, B = _moved(system, q, K @ y + z, z)
    mass, rows = system.function("mass_matrix"), system.function("constraints")
    names = {"q": moved, "p": p, "t": t}
    g = B.T @ mass(*(names[name] for name in mass.name_in())) @ B
    phi = rows(*(names[name] for name in rows.name_in()))[0] if system.rows.of else ca.SX(0, 1)
    h = K.T @ g @ K
    upper = ca.vertcat(*(h[a, b] for a, b in _pairs(y.numel())))
    first = ca.jacobian(upper, y)
    values = [
        g,
        ca.jacobian(ca.vec(g @ K), y),
        ca.jacobian(upper, z),
        ca.jacobian(ca.vec(first), y),
        ca.jacobian(ca.vec(ca.jacobian(phi, y)), y),
    ]
    zero = ca.vertcat(y, z)
    at = ca.substitute([ca.densify(e) for e in values], [zero], [ca.DM.zeros(zero.shape)])
    return ca.Function("metric", [q, p, t] if d is None else [q, p, t, K], at)


def _moved(system: SystemLike, q: ca.SX, delta: ca.SX, z: ca.SX) -> tuple[ca.SX, ca.SX]:
    """q(δ) and B(δ); z enters δ with the unit matrix."""
    if system.nq == system.nv:
        return q + delta, ca.SX.eye(system.nv)
    rates, links = system.function("rates"), system.layout.tree.links
    near = array(q + rates(q, delta))
    moved = to_sx(np.concatenate([zeros(0), *(link.joint.unit(near[link.q]) for link in links)]))
    w = ca.SX.sym("w", system.nv)
    N = ca.jacobian(rates(moved, w), w)
    weights = np.concatenate([[], *(_weights(link.joint) for link in links)])
    return moved, ca.diag(ca.DM(weights)) @ N.T @ ca.jacobian(moved, z)


def _weights(joint: Joint) -> np.ndarray:
    """The diagonal of (NᵀN)⁻¹, which depends on q for no joint: 4 for the rates of a quaternion, else 1."""
    q = array(joint.neutral())
    N = np.array([joint.rates(q, e).astype(float) for e in np.eye(joint.nv).astype(object)]).reshape(joint.nv, joint.nq)
    return 1.0 / np.sum(N * N, axis=1)
