"""Discrete mechanics: one iteration of the constrained variational midpoint rule (Marsden & West 2001; as in trep).

With δ = q₁ ⊖ q₀, the midpoint q̄ = q₀ ⊕ δ/2, v̄ = δ/h and the discrete Lagrangian h T(q̄, v̄):

    p₀ + D₁(h T) + f⁻ + A₀ᵀλ = 0,   Φ(q₁, t₁) = 0        for q₁ and λ                                        (1)
    p₁ = D₂(h T) + f⁺                                                                                       (2)
    v₁ = M₁⁻¹ (p₁ + A₁ᵀμ),   A₁ v₁ + b₁ = 0                                                                 (3)

D₁ and D₂ are derivatives along tangent vectors at q₀ and q₁, so that quaternion joints need nothing of their own.
Forces, weight included, act at the midpoint; f⁻ and f⁺ are their virtual work h Q · ∂q̄ (Lagrange-d'Alembert), which
for forces with a potential is the same as having it in the Lagrangian. (1) is solved by Newton's method with M/h and A₀
for its matrix. p₀ = M₀ v₀ is known up to A₀ᵀλ only, which (1) does not mind.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.elimination import TreeFactor, eliminate, mass_factor
from dalembert.recursions.momentum import kinetic_energy
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.functions import Trace


def variational(s: Trace) -> tuple[Any, ...]:
    """(q₀, v₀, q₁, h) → q₁ of the next iteration, v₁ of (3), the change of q₁ and Φ(q₁), health."""
    s.sx["step"], (h,) = symbols("step", 1)
    f_minus, f_plus = _forces(s, h)
    d1, d2 = (_along(s, end, _discrete_kinetic(s, h)) for end in ("q", "q1"))
    after = Trace(s.d, s.keep)
    after.q = s.q1  # v and t stay symbols, by which constraints differentiate: no answer has v, and t₁ is put in last
    M0, rows0, rows1 = composite_body(s.at), s.rows, after.rows
    r = M0 @ s.v + d1 + f_minus
    change, _, health = eliminate(TreeFactor(M0), h * r, rows0.A, rows1.phi)  # (1)
    v1, _, _ = eliminate(mass_factor(after.at), d2 + f_plus, rows1.A, rows1.b)  # (2), (3)
    q1 = s.per_joint(lambda j, q, v: j.plus(j.unit(s.q1[q]), change[v]))
    answers = q1, v1, np.concatenate([change, rows1.phi]), health
    t1 = s.sx["t"] + s.sx["step"]
    return tuple(array(ca.substitute(to_sx(x), after.sx["t"], t1)).reshape(-1) for x in answers)


def _midpoint(s: Trace) -> tuple[np.ndarray, np.ndarray]:
    """q̄ and δ."""
    delta = s.per_joint(lambda j, q, v: j.minus(s.q1[q], s.q[q]))
    return s.per_joint(lambda j, q, v: j.plus(s.q[q], 0.5 * delta[v])), delta


def _discrete_kinetic(s: Trace, h: Any) -> ca.SX:
    middle, delta = _midpoint(s)
    return to_sx([h * kinetic_energy(s.tree.moving(middle, delta / h))])


def _along(s: Trace, end: str, value: ca.SX) -> np.ndarray:
    """The gradient of a scalar along tangent vectors at q₀ ("q") or q₁ ("q1"), (nv,)."""
    sx, epsilon = symbols("epsilon", s.tree.nv)
    here = s.q if end == "q" else s.q1
    shifted = to_sx(s.per_joint(lambda j, q, v: j.plus(here[q], epsilon[v])))
    gradient = ca.gradient(ca.substitute(value, s.sx[end], shifted), sx)
    return array(ca.densify(ca.substitute(gradient, sx, ca.SX.zeros(s.tree.nv)))).reshape(-1)


def _forces(s: Trace, h: Any) -> tuple[np.ndarray, np.ndarray]:
    """f⁻ and f⁺: the gradients of h Q · (q̄ ⊖ q̄ as it is) with Q held."""
    n, (middle, delta) = s.tree.nv, _midpoint(s)
    at, still = s.tree.moving(middle, delta / h), zeros(n)
    load = Load(state := TracedState(s.d.layout, at, s.t[0] + 0.5 * h))
    for force in s.d.forces:
        force.act(state, load)
    Q = load.tau - newton_euler(s.tree.moving(middle, still), still, s.d.gravity, load.wrenches)
    (held_q, q_), (held_Q, Q_) = symbols("held", s.tree.nq), symbols("force", n)
    work = to_sx([h * (Q_ @ s.per_joint(lambda j, q, v: j.minus(middle[q], q_[q])))])
    held, values = ca.vertcat(held_q, held_Q), ca.vertcat(to_sx(middle), to_sx(Q))
    minus, plus = (ca.substitute(to_sx(_along(s, end, work)), held, values) for end in ("q", "q1"))
    return array(minus).reshape(-1), array(plus).reshape(-1)
