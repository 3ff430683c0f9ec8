"""Discrete mechanics: one iteration of the constrained variational midpoint rule (Marsden & West 2001; as in trep).

With q₁ = q₀ ⊕ δ, the midpoint q̄ = q₀ ⊕ δ/2, v̄ = δ/h and the discrete Lagrangian h T(q̄, v̄):

    p₀ + D₁(h T) + f⁻ + A₀ᵀλ = 0,   Φ(q₁, t₁) = 0        for δ and λ                                         (1)
    p₁ = D₂(h T) + f⁺                                                                                       (2)
    v₁ = M₁⁻¹ (p₁ + A₁ᵀμ),   A₁ v₁ + b₁ = 0                                                                 (3)

and δ = h v₀ + ½ h² u, v₁ = v₀ + h u of what kinematic inputs u lead (4), where (1) and (3) are those of `led`.
D₁ and D₂ are derivatives along tangent vectors at q₀ and q₁, so that quaternion joints need nothing of their own.
Forces, weight included, act at the midpoint; f⁻ and f⁺ are their virtual work h Q · ∂q̄ (Lagrange-d'Alembert), which
for forces with a potential is the same as having it in the Lagrangian. An iteration for (1) is a step of Newton's
method with −M₀/h in place of ∂(p₀ + D₁(h T) + f⁻)/∂δ, and A₁ as it is; where paths are too long to form M, A₀ is in
the place of A₁. `integrators.variational` learns the rest from the iterations before. p₀ = M₀ v₀ is known up to A₀ᵀλ
only, which (1) does not mind. The unknown is δ, not q₁: a difference of positions has their rounding, which over h
would be that of the momenta.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.elimination import Elimination, TreeFactor, eliminate, mass_factor
from dalembert.recursions.momentum import kinetic_energy
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.oblique import oblique
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.jacobian_rows import tangent_map
from dalembert.system.trace import Trace


def variational(s: Trace) -> tuple[Any, ...]:
    """(q₀, v₀, δ, h) → δ of the next iteration, q₁, v₁ of (3), the change of q₁ and Φ(q₁), margin."""
    d = Discrete(s)
    h, delta = d.h, d.delta
    change, margin = d.iteration()
    p1 = d.end + d.momentum(change) / h  # (2) at the next δ, so that what Newton's method left is not lost
    v1, _, _ = d.after.led.solve(p1, d.after.rows.A, d.after.rows.b, d.led_speeds)  # (3)
    better = delta + array(ca.densify(d.ends[1])).reshape(s.tree.nv, s.tree.nv) @ change
    answers = better, moved(s, better), v1, np.concatenate([change, d.after.rows.phi]), margin
    return tuple(array(d.placed(to_sx(x))).reshape(-1) for x in answers)


class Discrete:
    """The terms of (1) to (4), traced, and the mechanism at q₁ and t₁, symbols of their own until `placed`."""

    def __init__(self, s: Trace):
        self.s = s
        s.sx["step"], (self.h,) = symbols("step", 1)
        s.sx["delta"], self.delta = symbols("delta", s.tree.nv)
        self.after = Trace(s.d, s.chosen)
        self.after.q = s.q1  # v and t stay symbols, by which constraints differentiate: no answer has v
        v, a = s.v[s.led.places], s.led.accelerations
        self.led_moves, self.led_speeds = self.h * v + 0.5 * self.h * self.h * a, v + self.h * a  # (4)

    def iteration(self) -> tuple[np.ndarray, np.ndarray]:
        """The change of q₁, a tangent vector, that brings (1) nearer to 0, and the margin of A₀ (`elimination`)."""
        s, after = self.s, self.after
        f, phi, missing = self.h * self.start, after.rows.phi, self.led_moves - self.delta[s.led.places]
        if isinstance(s.led.factor(), TreeFactor):
            M, f, A1, gap = s.led.equations(composite_body(s.at), f, after.rows.A, phi, missing)
            change, _ = oblique(M, f, A0 := s.led.columns(s.rows.A), A1, gap)
            return change, Elimination(TreeFactor(M), A0).margin
        change, _, margin = eliminate(mass_factor(s.at), f, s.rows.sparse, phi)
        return change, margin

    def momentum(self, v: np.ndarray) -> np.ndarray:
        """(nv,) M₀ v."""
        s = self.s
        return newton_euler(s.tree.moving(s.q, zeros(s.tree.nv)), v, zeros(3), {})

    @cached_property
    def start(self) -> np.ndarray:
        """(1) without A₀ᵀλ."""
        return self.momentum(self.s.v) + self._gradients[0]

    @cached_property
    def end(self) -> np.ndarray:
        """p₁ of (2)."""
        return self._gradients[1]

    @cached_property
    def _gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """D₁(h T) + f⁻ and D₂(h T) + f⁺, (nv,) each."""
        s, (held, values), sx = self.s, self._held, ca.SX.sym("epsilon", self.s.tree.nv)
        e = array(sx).reshape(-1)
        shifted = to_sx(s.per_joint(lambda j, q, v: j.plus(s.q[q], e[v])))
        here = ca.gradient(ca.substitute(self.action, s.sx["q"], shifted), sx)
        here = ca.substitute(here, sx, ca.SX.zeros(s.tree.nv))
        by_delta = ca.gradient(self.action, s.sx["delta"])
        first, last = (ca.mtimes(J.T, by_delta) for J in self.ends)
        start, end = (ca.substitute(ca.densify(x), held, values) for x in (here + first, last))
        return array(start).reshape(-1), array(end).reshape(-1)

    def along(self, first: ca.SX, last: ca.SX) -> ca.SX:
        """The start's equation (D₁(h T) + f⁻) · first less the end's (D₂(h T) + f⁺) · last: one forward sweep."""
        s = self.s
        ways = ca.vertcat(tangent_map(s) @ first, self.ends[0] @ first - self.ends[1] @ last)
        return ca.substitute(ca.jtimes(self.action, ca.vertcat(s.sx["q"], s.sx["delta"]), ways), *self._held)

    @cached_property
    def action(self) -> ca.SX:
        """h T(q̄, δ/h) + h Q · (q̄ ⊖ q̄ as it is), Q and the latter being symbols: those of `_held`."""
        s, h = self.s, self.h
        (q_, Q_), middle = (array(x).reshape(-1) for x in self._symbols), self._middle
        virtual = Q_ @ s.per_joint(lambda j, q, v: j.minus(middle[q], q_[q]))
        return to_sx([h * (kinetic_energy(s.tree.moving(middle, self.delta / h)) + virtual)])

    @cached_property
    def _symbols(self) -> tuple[ca.SX, ca.SX]:
        return ca.SX.sym("held", self.s.tree.nq), ca.SX.sym("force", self.s.tree.nv)

    @cached_property
    def _middle(self) -> np.ndarray:
        return moved(self.s, 0.5 * self.delta)

    @cached_property
    def _held(self) -> tuple[ca.SX, ca.SX]:
        """The symbols for q̄ and the forces at the midpoint, weight included, and what they stand for."""
        s, h = self.s, self.h
        at, still = s.tree.moving(self._middle, self.delta / h), zeros(s.tree.nv)
        load = Load(state := TracedState(s.d.layout, at, s.t[0] + 0.5 * h))
        for force in s.d.forces:
            force.act(state, load)
        Q = load.tau - newton_euler(s.tree.moving(self._middle, still), still, s.d.gravity, load.wrenches)
        return ca.vertcat(*self._symbols), ca.vertcat(to_sx(self._middle), to_sx(Q))

    @cached_property
    def ends(self) -> tuple[ca.SX, ca.SX]:
        """∂δ/∂q₀ and ∂δ/∂q₁ of δ = q₁ ⊖ q₀, along tangent vectors, (nv, nv), sparse."""
        s, (sx, e) = self.s, symbols("epsilon", self.s.tree.nv)
        first = s.per_joint(lambda j, q, v: j.minus(s.q1[q], j.plus(s.q[q], e[v])))
        last = s.per_joint(lambda j, q, v: j.minus(j.plus(s.q1[q], e[v]), s.q[q]))
        zero = ca.SX.zeros(s.tree.nv)
        before, after = (ca.substitute(ca.jacobian(to_sx(x), sx), sx, zero) for x in (first, last))
        return before, after

    def placed(self, x: ca.SX) -> ca.SX:
        """An expression with q₁ = q₀ ⊕ δ and t₁ = t₀ + h put in."""
        s = self.s
        x = ca.substitute(x, self.after.sx["t"], s.sx["t"] + s.sx["step"])
        return ca.substitute(x, s.sx["q1"], to_sx(moved(s, self.delta)))


def moved(s: Trace, delta: np.ndarray) -> np.ndarray:
    """q₀ ⊕ δ."""
    return s.per_joint(lambda j, q, v: j.plus(j.unit(s.q[q]), delta[v]))
