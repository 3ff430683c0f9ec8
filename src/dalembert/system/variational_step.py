"""Discrete mechanics: one iteration of the constrained variational midpoint rule (Marsden & West 2001; as in trep).

With q₁ = q₀ ⊕ δ, the midpoint q̄ = q₀ ⊕ δ/2, v̄ = δ/h and the discrete Lagrangian h T(q̄, v̄):

    p₀ + D₁(h T) + f⁻ + A₀ᵀλ = 0,   Φ(q₁, t₁) = 0        for δ and λ                                         (1)
    p₁ = D₂(h T) + f⁺                                                                                       (2)
    v₁ = M₁⁻¹ (p₁ + A₁ᵀμ),   A₁ v₁ + b₁ = 0                                                                 (3)

and δ = h v₀ + ½ h² u, v₁ = v₀ + h u of what kinematic inputs u lead (4), where (1) and (3) are those of `led`.
D₁ and D₂ are derivatives along tangent vectors at q₀ and q₁, so that quaternion joints need nothing of their own.
Forces, weight included, act at the midpoint; f⁻ and f⁺ are their virtual work h Q · ∂q̄ (Lagrange-d'Alembert), which
for forces with a potential is the same as having it in the Lagrangian. (1) is solved by Newton's method with M/h and A₀
for its matrix. p₀ = M₀ v₀ is known up to A₀ᵀλ only, which (1) does not mind. The unknown is δ, not q₁: a difference of
positions has their rounding, which over h would be that of the momenta.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.elimination import TreeFactor, eliminate
from dalembert.recursions.momentum import kinetic_energy
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.functions import Trace


def variational(s: Trace) -> tuple[Any, ...]:
    """(q₀, v₀, δ, h) → δ of the next iteration, q₁, v₁ of (3), the change of q₁ and Φ(q₁), margin."""
    d = Discrete(s)
    h, delta, M0 = d.h, d.delta, d.M0
    M, f, A, gap = s.led.equations(M0, h * d.start, s.rows.A, d.after.rows.phi, d.led_moves - delta[s.led.places])
    change, _, margin = eliminate(TreeFactor(M), f, A, gap)  # (1)
    p1 = d.end + M0 @ change / h  # (2) at the next δ, so that what Newton's method left is not lost
    v1, _, _ = d.after.led.solve(p1, d.after.rows.A, d.after.rows.b, d.led_speeds)  # (3)
    better = delta + array(d.ends[1]).reshape(s.tree.nv, s.tree.nv) @ change
    answers = better, _moved(s, better), v1, np.concatenate([change, d.after.rows.phi]), margin
    return tuple(array(d.placed(to_sx(x))).reshape(-1) for x in answers)


class Discrete:
    """The terms of (1) to (4), traced, and the mechanism at q₁ and t₁, symbols of their own until `placed`."""

    def __init__(self, s: Trace):
        self.s = s
        s.sx["step"], (h,) = symbols("step", 1)
        s.sx["delta"], delta = symbols("delta", s.tree.nv)
        self.h, self.delta, self.ends = h, delta, _ends(s)
        f_minus, f_plus = _forces(s, h, delta, self.ends)
        d1, d2 = _along(s, _discrete_kinetic(s, h, delta), self.ends)
        self.after = Trace(s.d, s.chosen)
        self.after.q = s.q1  # v and t stay symbols, by which constraints differentiate: no answer has v
        self.M0 = composite_body(s.at)
        self.start = self.M0 @ s.v + d1 + f_minus  # (1) without A₀ᵀλ
        self.end = d2 + f_plus  # p₁ of (2)
        v, a = s.v[s.led.places], s.led.accelerations
        self.led_moves, self.led_speeds = h * v + 0.5 * h * h * a, v + h * a  # (4)

    def placed(self, x: ca.SX) -> ca.SX:
        """An expression with q₁ = q₀ ⊕ δ and t₁ = t₀ + h put in."""
        s = self.s
        x = ca.substitute(x, self.after.sx["t"], s.sx["t"] + s.sx["step"])
        return ca.substitute(x, s.sx["q1"], to_sx(_moved(s, self.delta)))


def _moved(s: Trace, delta: np.ndarray) -> np.ndarray:
    """q₀ ⊕ δ."""
    return s.per_joint(lambda j, q, v: j.plus(j.unit(s.q[q]), delta[v]))


def _ends(s: Trace) -> tuple[ca.SX, ca.SX]:
    """∂δ/∂q₀ and ∂δ/∂q₁ of δ = q₁ ⊖ q₀, along tangent vectors, (nv, nv)."""
    sx, e = symbols("epsilon", s.tree.nv)
    first = s.per_joint(lambda j, q, v: j.minus(s.q1[q], j.plus(s.q[q], e[v])))
    last = s.per_joint(lambda j, q, v: j.minus(j.plus(s.q1[q], e[v]), s.q[q]))
    zero = ca.SX.zeros(s.tree.nv)
    before, after = (ca.densify(ca.substitute(ca.jacobian(to_sx(x), sx), sx, zero)) for x in (first, last))
    return before, after


def _discrete_kinetic(s: Trace, h: Any, delta: np.ndarray) -> ca.SX:
    return to_sx([h * kinetic_energy(s.tree.moving(_moved(s, 0.5 * delta), delta / h))])


def _along(s: Trace, value: ca.SX, ends: tuple[ca.SX, ca.SX]) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of a function of q₀ and δ along tangent vectors at q₀ and at q₁, (nv,) each."""
    sx, e = symbols("epsilon", s.tree.nv)
    shifted = to_sx(s.per_joint(lambda j, q, v: j.plus(s.q[q], e[v])))
    here = ca.gradient(ca.substitute(value, s.sx["q"], shifted), sx)
    here = ca.substitute(here, sx, ca.SX.zeros(s.tree.nv))
    by_delta = ca.gradient(value, s.sx["delta"])
    first, last = (ca.mtimes(J.T, by_delta) for J in ends)
    return array(ca.densify(here + first)).reshape(-1), array(ca.densify(last)).reshape(-1)


def _forces(s: Trace, h: Any, delta: np.ndarray, ends: tuple[ca.SX, ca.SX]) -> tuple[np.ndarray, np.ndarray]:
    """f⁻ and f⁺: the gradients of h Q · (q̄ ⊖ q̄ as it is) with Q held."""
    n, middle = s.tree.nv, _moved(s, 0.5 * delta)
    at, still = s.tree.moving(middle, delta / h), zeros(n)
    load = Load(state := TracedState(s.d.layout, at, s.t[0] + 0.5 * h))
    for force in s.d.forces:
        force.act(state, load)
    Q = load.tau - newton_euler(s.tree.moving(middle, still), still, s.d.gravity, load.wrenches)
    (held_q, q_), (held_Q, Q_) = symbols("held", s.tree.nq), symbols("force", n)
    work = to_sx([h * (Q_ @ s.per_joint(lambda j, q, v: j.minus(middle[q], q_[q])))])
    held, values = ca.vertcat(held_q, held_Q), ca.vertcat(to_sx(middle), to_sx(Q))
    minus, plus = (ca.substitute(to_sx(x), held, values) for x in _along(s, work, ends))
    return array(minus).reshape(-1), array(plus).reshape(-1)
