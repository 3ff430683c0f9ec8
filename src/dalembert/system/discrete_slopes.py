"""First and second derivatives of the equations of the variational midpoint rule; numbers as in `variational_step`.

A step is z = (δ, λ, v₁, μ) with R(x, z) = 0, R being (1), (3) and, for what is led, (4); x = (ε, v₀, u, p), q₀ ⊕ ε
standing for q₀. Of the results

    Y = (ε₁, M₀ v₀, M₁ v₁),   q₁ ⊕ ε₁ = (q₀ ⊕ ε) ⊕ δ                                                        (5)

the derivatives are those of the implicit function theorem:

    Z = −R_z⁻¹ R_x,   dY/dx = Y_x + Y_z Z                                                                   (6)
    Z′ = −R_z⁻¹ (R_x′ + R_z′ Z),   (dY/dx)′ = Y_x′ + Y_z′ Z + Y_z Z′                                          (7)

where ′ is the derivative along (w, Z w) for a direction w of x, the point q₀ moving as q₀ ⊕ ε.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.recursions.composite_body import composite_body
from dalembert.symbols import array, symbols, to_sx
from dalembert.system.functions import Trace
from dalembert.system.variational_step import Discrete

ARGUMENTS = ("q", "v", "step", "delta", "lam", "v1", "mu", "u", "p", "t")


def discrete_slopes(s: Trace) -> tuple[Any, ...]:
    """R, (nz,), M₀ v₀ and M₁ v₁, (nv,), and the derivatives of (R, Y) by (x, z), (nz + 3 nv, nx + nz)."""
    R, momenta, J, _ = _traced(s)
    return R, *momenta, _matrix(J)


def discrete_second(s: Trace) -> np.ndarray:
    """The derivative of these derivatives along `along`, (nx + nz,)."""
    _, _, J, by = _traced(s)
    s.sx["along"] = along = ca.SX.sym("along", by.numel())
    epsilon = ca.SX.sym("epsilon", s.tree.nv)
    moving = ca.substitute(J, s.sx["q"], _shifted(s, epsilon))
    n = s.tree.nv
    slope = ca.jtimes(ca.vec(moving), ca.vertcat(epsilon, by[n:]), along)
    return _matrix(ca.reshape(ca.substitute(slope, epsilon, ca.SX.zeros(n)), *J.shape))


def _traced(s: Trace) -> tuple[np.ndarray, list[np.ndarray], ca.SX, ca.SX]:
    """R, the momenta, the derivatives of (R, Y), and (x, z)."""
    d, n = Discrete(s), s.tree.nv
    after, led = d.after, s.led.places
    m = len(s.rows.of)
    s.sx["lam"], lam = symbols("lam", m)
    s.sx["v1"], v1 = symbols("v1", n)
    s.sx["mu"], mu = symbols("mu", m)
    start, p1 = d.start, composite_body(after.at) @ v1
    end, rows = p1 - d.end, (after.rows.phi, after.rows.b)
    if m:
        start, end = start + s.rows.A.T @ lam, end - after.rows.A.T @ mu
        rows = after.rows.phi, after.rows.A @ v1 + after.rows.b
    start[led], end[led] = d.delta[led] - d.led_moves, v1[led] - d.led_speeds
    R = d.placed(to_sx(np.concatenate([start, rows[0], end, rows[1]])))
    momenta = [to_sx(d.M0 @ s.v), d.placed(to_sx(p1))]
    epsilon, zero = ca.SX.sym("epsilon", n), ca.SX.zeros(n)
    z = ca.vertcat(s.sx["delta"], s.sx["lam"], s.sx["v1"], s.sx["mu"])
    x = ca.vertcat(epsilon, s.sx["v"], s.sx["u"], s.sx["p"])
    moved = ca.substitute(d.placed(s.sx["q1"]), s.sx["q"], _shifted(s, epsilon))
    q1 = array(moved).reshape(-1)
    turn = to_sx(s.per_joint(lambda j, q, v: j.minus(q1[q], s.q1[q])))
    rest = ca.substitute(ca.vertcat(R, *momenta), s.sx["q"], _shifted(s, epsilon))
    J = ca.vertcat(ca.jacobian(rest[: R.numel()], ca.vertcat(x, z)), d.placed(ca.jacobian(turn, ca.vertcat(x, z))))
    J = ca.vertcat(J, ca.jacobian(rest[R.numel() :], ca.vertcat(x, z)))
    J = ca.densify(ca.substitute(J, epsilon, zero))
    by = ca.vertcat(epsilon, s.sx["v"], s.sx["u"], s.sx["p"], z)
    return array(R).reshape(-1), [array(p).reshape(-1) for p in momenta], J, by


def _shifted(s: Trace, epsilon: ca.SX) -> ca.SX:
    """q₀ ⊕ ε."""
    e = array(epsilon).reshape(-1)
    return to_sx(s.per_joint(lambda j, q, v: j.plus(s.q[q], e[v])))


def _matrix(x: ca.SX) -> np.ndarray:
    return array(ca.densify(x)).reshape(x.shape)
