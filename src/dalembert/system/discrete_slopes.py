"""Derivatives of the equations of the variational midpoint rule; numbers as in `variational_step`.

A step is z = (δ, λ, v₁, μ) with R(x, z) = 0, R being (1), (3) and, for what is led, (4); x = (ε, v₀, u, p), q₀ ⊕ ε
standing for q₀. Of the results

    Y = (ε₁, M₀ v₀, M₁ v₁),   q₁ ⊕ ε₁ = (q₀ ⊕ ε) ⊕ δ                                                        (5)

the derivatives are those of the implicit function theorem:

    Z = −R_z⁻¹ R_x,   dY/dx = Y_x + Y_z Z                                                                   (6)
    Z′ = −R_z⁻¹ (R_x′ + R_z′ Z),   (dY/dx)′ = Y_x′ + Y_z′ Z + Y_z Z′                                          (7)

where ′ is the derivative along (w, Z w) for a direction w of x, the point q₀ moving as q₀ ⊕ ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.momentum import kinetic_energy
from dalembert.symbols import array, symbols, to_sx
from dalembert.system.jacobian_rows import JacobianRows
from dalembert.system.trace import Trace
from dalembert.system.variational_step import Discrete, moved

if TYPE_CHECKING:
    from dalembert.system.rows import RowChoice
    from dalembert.system.system import System

ARGUMENTS = ("q", "v", "step", "delta", "lam", "v1", "mu", "u", "p", "t")
LARGE = 8  # velocities: with more, straight-line code of all first derivatives takes seconds to compile


def discrete_slopes(s: Trace) -> tuple[Any, ...]:
    """R, (nz,), M₀ v₀ and M₁ v₁, (nv,), and the derivatives of (R, Y) by (x, z), (nz + 3 nv, nx + nz)."""
    d, n = Discrete(s), s.tree.nv
    after, led = d.after, s.led.places
    m = len(s.rows.of)
    s.sx["lam"], lam = symbols("lam", m)
    s.sx["v1"], v1 = symbols("v1", n)
    s.sx["mu"], mu = symbols("mu", m)
    start, p1 = d.start.copy(), composite_body(after.at) @ v1
    end, rows = p1 - d.end, (after.rows.phi, after.rows.b)
    if m:
        start, end = start + s.rows.A.T @ lam, end - after.rows.A.T @ mu
        rows = after.rows.phi, after.rows.A @ v1 + after.rows.b
    start[led], end[led] = d.delta[led] - d.led_moves, v1[led] - d.led_speeds
    R = d.placed(to_sx(np.concatenate([start, rows[0], end, rows[1]])))
    momenta = [to_sx(d.momentum(s.v)), d.placed(to_sx(p1))]
    epsilon, zero = ca.SX.sym("epsilon", n), ca.SX.zeros(n)
    e = array(epsilon).reshape(-1)
    shifted = to_sx(s.per_joint(lambda j, q, v: j.plus(s.q[q], e[v])))
    by = ca.vertcat(epsilon, *(s.sx[name] for name in ("v", "u", "p", "delta", "lam", "v1", "mu")))
    q1 = array(ca.substitute(d.placed(s.sx["q1"]), s.sx["q"], shifted)).reshape(-1)
    turn = to_sx(s.per_joint(lambda j, q, v: j.minus(q1[q], s.q1[q])))
    rest = ca.substitute(ca.vertcat(R, *momenta), s.sx["q"], shifted)
    J = ca.jacobian(rest, by)
    J = ca.vertcat(J[: R.numel(), :], d.placed(ca.jacobian(turn, by)), J[R.numel() :, :])
    J = ca.densify(ca.substitute(J, epsilon, zero))
    return array(R).reshape(-1), *(array(p).reshape(-1) for p in momenta), array(J).reshape(J.shape)


class DiscreteRows(JacobianRows):
    """Rows of the same derivatives by reverse sweeps, for any size, and their change: ′ of (7).

    wᵀ(R, Y) is made of derivatives of energies along the weights, one forward sweep, so that no matrix is formed.
    """

    name, by, arguments = "discrete", ("q", "v", "u", "p", "delta", "lam", "v1", "mu"), ARGUMENTS

    def __init__(self, system: System, rows: RowChoice = None):
        n, m = system.nv, len(system.rows.of) if rows is None else len(rows)
        inputs = {"u": len(system.u_names), "p": len(system.p_names)}
        sizes = {"q": n, "v": n, **inputs, "delta": n, "lam": m, "v1": n, "mu": m}
        ends = np.cumsum([n, m, n, m, n, n, n]).tolist()
        names = ("start", "phi", "end", "speed", "turn", "before", "after")
        self.places = {name: slice(a, b) for name, a, b in zip(names, [0, *ends], ends)}
        super().__init__(system, rows, sizes, ends[-1])

    @property
    def implicit(self) -> slice:
        """The rows R."""
        return slice(0, self.places["speed"].stop)

    @property
    def unknowns(self) -> slice:
        """The columns of z."""
        return slice(self.columns["delta"].start, self.width)

    def _sloped(self, s: Trace) -> tuple[ca.SX, ca.SX, ca.SX]:
        d, n, led = Discrete(s), s.tree.nv, s.led.places
        after, m = d.after, len(s.rows.of)
        s.sx["lam"], lam = symbols("lam", m)
        s.sx["v1"], v1 = symbols("v1", n)
        s.sx["mu"], mu = symbols("mu", m)
        s.sx["weights"], all_weights = symbols("weights", self.count)
        w = {name: all_weights[place] for name, place in self.places.items()}
        first, last = s.led.still(w["start"]), s.led.still(w["end"])
        before, later = first + w["before"], last + w["after"]
        moving = s.tree.moving(s.q1, v1)
        value = d.along(to_sx(first), to_sx(last))
        value += ca.jtimes(to_sx([kinetic_energy(s.at)]), s.sx["v"], to_sx(before))  # M₀ v₀
        value += ca.jtimes(to_sx([kinetic_energy(moving)]), s.sx["v1"], to_sx(later))  # M₁ v₁
        A0, A1 = s.rows.sparse, after.rows.sparse
        rest = lam @ (A0 @ first) - mu @ (A1 @ last) + w["phi"] @ after.rows.phi + w["speed"] @ (A1 @ v1 + after.rows.b)
        rest += w["start"][led] @ (d.delta[led] - d.led_moves) + w["end"][led] @ (v1[led] - d.led_speeds)
        value, y = d.placed(value + to_sx([rest])), self._symbols(s)
        q1 = moved(s, d.delta)
        turn = w["turn"] @ s.per_joint(lambda j, q, v: j.minus(q1[q], s.q1[q]))
        gradient = ca.gradient(value, y) + d.placed(ca.gradient(to_sx([turn]), y))
        return *self._along_tangents(s, gradient), value
