"""Functions that integrators evaluate at every stage and step, each traced to one piece of straight-line code.

The state an integrator carries is x = (q, v, y, ẏ, w): coordinates and velocities, the independent coordinates of a
chart where one is used, and the work done since the start by inputs, by forces without potential, and by drivers.

    ode        (q, v, …) → q̇, v̇, ẏ, ÿ, powers, margin
    diagonal_ode  (q, ν, …), the same in total rates
    ode_slope  (q, v, …) → ∂(q̇, v̇)/∂(q, v), for implicit methods
    equations  (q, v, …) → q̇, powers, M, f, A, γ, Φ, A v + b, b       for the formulations; see `formulations.field`
    sparse_equations   the same with M and A by their elements       for careful steps; see `formulations.sparse`
    correct    q onto Φ = 0, one Newton step of least length (Aghili 37; Kövecses & Piedboeuf 35, 36)
    filter     v onto A v + b = 0, the nearest one (Kövecses & Piedboeuf 33)
    whitened   q, and the usual lengths of rows → A in the mass metric, its entries and their places; see `gauge`
    restore    q, v onto Φ = 0, A v + b = 0 and E = E* together (Spencer 3.1.3)
    variational   one iteration of a step of the variational midpoint rule; see `variational_step`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.traced import Load
from dalembert.recursions.articulated_body import articulated_body
from dalembert.recursions.composite_body import composite_body, composite_elements
from dalembert.recursions.diagonal import DiagonalDynamics
from dalembert.recursions.elimination import Elimination, TreeFactor, eliminate
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.momentum import kinetic_energy
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import array, is_number, sqrt, symbols, to_sx, where_less, zeros
from dalembert.system.derivatives import ode_jacobian
from dalembert.system.diagonal_functions import rate_of
from dalembert.system.functions import forces, potential, unled
from dalembert.system.trace import Trace
from dalembert.system.variational_step import variational

STATE, DRIVE = ("q", "v"), ("u", "p", "t")


def given(s: Trace, name: str, n: int) -> np.ndarray:
    """More arguments of a traced function, (n,)."""
    s.sx[name], x = symbols(name, n)
    return x


def rates(s: Trace) -> np.ndarray:
    """q̇ = N(q) v."""
    return s.per_joint(lambda j, q, v: j.rates(s.q[q], s.v[v]))


def moved(s: Trace, delta: np.ndarray) -> np.ndarray:
    """q ⊕ δ."""
    return s.per_joint(lambda j, q, v: j.plus(s.q[q], delta[v]))


def at_unit(s: Trace, *answers: np.ndarray) -> tuple[np.ndarray, ...]:
    """The answers with quaternions made unit first: those that a step leaves are not quite."""
    if s.tree.nq == s.tree.nv:
        return answers
    q = to_sx(s.per_joint(lambda j, q, v: j.unit(s.q[q])))
    return tuple(array(ca.substitute(to_sx(x), s.sx["q"], q)).reshape(-1) for x in answers)


# --- powers ---------------------------------------------------------------------------------------------------------


def work_names(s: Trace) -> tuple[str, ...]:
    """Whose work is kept: "inputs", "forces" (those without potential: dampers, force laws), "drivers"."""
    driven = s.led or any(not (is_number(b) and b == 0.0) for b in s.rows.b)
    return (*_powers(s), *(["drivers"] if driven else []))


def power_of(s: Trace, load: Load) -> ca.SX:
    """v · Q of a load, W."""
    power = sum((W @ s.at.V(i) for i, W in load.wrenches.items()), 0.0)
    return to_sx([power + (load.tau @ s.v if len(s.v) else 0.0)])


def _powers(s: Trace) -> dict[str, ca.SX]:
    """Power of inputs, v · (Q − Q₀) with Q₀ at u = 0, and of the other forces, v · Q₀ + V̇; where there are any."""
    rest = total = power_of(s, s.load)
    out = {}
    if s.d.inputs:
        rest = ca.substitute(total, s.sx["u"], ca.SX.zeros(s.sx["u"].shape))
        out["inputs"] = total - rest
    loses = bool(s.d.sliding or s.d.loaded) or not all(f.conservative for f in s.d.forces)
    if loses and not rest.is_zero():
        stored = to_sx([sum((f.energy(s.state) for f in s.d.forces), 0.0)])
        out["forces"] = rest + ca.jtimes(stored, s.sx["q"], to_sx(rates(s)))
    return out


def powers(s: Trace) -> list[Any]:
    """The powers of inputs and forces, in the order of `work_names`."""
    return [array(x)[0] for x in _powers(s).values()]


def drivers_power(s: Trace) -> tuple[np.ndarray, np.ndarray, Any]:
    """The power of drivers, −λ · b, and kinematic inputs, μ · v_d: its parts by v̇, (nv,), and λ, (m,), and a rest."""
    by_a, by_lam, rest = zeros(s.tree.nv), -s.rows.b, 0.0
    if s.led:
        M, f, A, _ = unled(s)
        for d in s.led.places:
            by_a, rest = by_a + M[d] * s.v[d], rest - f[d] * s.v[d]
            by_lam = by_lam - A[:, d] * s.v[d]
    return by_a, by_lam, rest


# --- right-hand sides -----------------------------------------------------------------------------------------------


def ode(s: Trace, chart: Any = None, baumgarte: bool = False) -> tuple[Any, ...]:
    """By elimination: everything an integrator asks for at a stage."""
    P = powers(s)
    if len(s.rows.of) or s.led:
        A, gamma = s.rows.sparse, s.rows.gamma
        if baumgarte:  # A v̇ + γ + 2α (A v + b) + β² Φ = 0
            alpha, beta = given(s, "baumgarte", 2)
            gamma = gamma + 2.0 * alpha * (A @ s.v + s.rows.b) + beta * beta * s.rows.phi
        vdot, lam, margin = s.led.solve(forces(s), A, gamma)
        if "drivers" in work_names(s):
            by_a, by_lam, rest = drivers_power(s)
            P = [*P, rest + by_a @ vdot + (by_lam @ lam if len(lam) else 0.0)]
    else:
        vdot, margin = articulated_body(s.at, s.load.tau, s.d.gravity, s.load.wrenches), array([1.0, 1.0])
    moving = rates(s)
    local = chart.rates(s, moving, vdot) if chart is not None else zeros(0)
    return moving, vdot, local, array(P) if P else zeros(0), margin


def diagonal_ode(s: Trace, normalized: bool) -> tuple[Any, ...]:
    """Right-hand side in (q, ν) or (q, ξ): the diagonal equations of motion of a tree; the argument v holds ν or ξ."""
    s.led.refuse("a run in total rates")
    factor = Innovations(s.tree.at(s.q))
    xi = factor.unroot_transposed(s.v) if normalized else s.v
    moving = Trace(s.d)
    moving.sx, moving.q, moving.v, moving.t = s.sx, s.q, factor.rates(xi), s.t
    d = DiagonalDynamics(moving.at, factor, xi)
    change = rate_of(d, d.driven(moving.load.tau, s.d.gravity, moving.load.wrenches), normalized)
    P = powers(moving)
    return rates(moving), change, zeros(0), array(P) if P else zeros(0), array([1.0, 1.0])


def ode_slope(s: Trace) -> Any:
    """∂(q̇, v̇)/∂(q, v), the numbers of q taken one by one: what an implicit method needs, exact."""
    q, v = s.sx["q"], s.sx["v"]
    by_q, by_v, _ = ode_jacobian(s)
    moving = to_sx(rates(s))
    after, q1 = symbols("after", s.tree.nq)
    turned = ca.jacobian(to_sx(s.per_joint(lambda j, k, i: j.minus(q1[k], s.q[k]))), after)
    D = array(ca.densify(ca.substitute(turned, after, q))).reshape(s.tree.nv, s.tree.nq)
    upper = [array(ca.densify(ca.jacobian(moving, x))).reshape(s.tree.nq, -1) for x in (q, v)]
    return np.vstack([np.hstack(upper), np.hstack([by_q @ D, by_v])])


def equations(s: Trace) -> tuple[Any, ...]:
    """The equations of a stage before they are solved: M, f, A, γ, powers and residuals."""
    P, (by_a, by_lam, rest) = powers(s), drivers_power(s)
    velocity_error = s.rows.sparse @ s.v + s.rows.b
    kept = array(P) if P else zeros(0), *s.led.equations(*unled(s)), *([by_a, array([rest])] if s.led else [])
    return rates(s), *kept, s.rows.phi, velocity_error, by_lam


def sparse_equations(s: Trace) -> tuple[Any, ...]:
    """`equations` with M, its lower triangle, and A by their elements, and the places of these before the residuals.

    An element of row i and column j is at i nv + j.
    """
    P, (by_a, by_lam, rest) = powers(s), drivers_power(s)
    M, f, A, gamma = composite_elements(s.at), forces(s), s.rows.sparse, s.rows.gamma
    if s.led:
        whole, f, rows, gamma = s.led.equations(M.dense(), f, A.dense(), gamma)
        M, A = Sparse.of(whole), Sparse.of(rows)
    lower = Sparse([{j: x for j, x in row.items() if j <= i} for i, row in enumerate(M.rows)], s.tree.nv)
    (masses, mass_places), (elements, places) = _by_elements(lower), _by_elements(A)
    kept = array(P) if P else zeros(0), masses, f, elements, gamma, mass_places, places
    velocity_error = s.rows.sparse @ s.v + s.rows.b
    return rates(s), *kept, *([by_a, array([rest])] if s.led else []), s.rows.phi, velocity_error, by_lam


def _by_elements(X: Sparse) -> tuple[np.ndarray, np.ndarray]:
    """The elements of a matrix, and their places: i times its width + j."""
    found = [(x, float(i * X.shape[1] + j)) for i, row in enumerate(X.rows) for j, x in row.items()]
    return array([x for x, _ in found]), array([place for _, place in found])


# --- staying on the manifold ----------------------------------------------------------------------------------------


def _metric(s: Trace, weighted: bool) -> Any:
    """A factor of the mass matrix, or of weights (nv,) given at run time."""
    if not weighted:
        return s.led.factor()
    weights = given(s, "weights", s.tree.nv)
    return TreeFactor(Sparse([{i: w} for i, w in enumerate(weights)], s.tree.nv))


def correct(s: Trace, weighted: bool = False) -> tuple[Any, ...]:
    """q ⊕ δ with A δ = −Φ and δ the shortest: one step of (37) of Aghili, (36) of Kövecses & Piedboeuf."""
    rows = s.rows.only_holonomic()
    delta, _, margin = eliminate(_metric(s, weighted), zeros(s.tree.nv), s.led.sparse(rows), rows.phi)
    return at_unit(s, moved(s, delta), rows.phi, margin)


def correct_frozen(s: Trace, weighted: bool = False) -> tuple[Any, ...]:
    """q ⊕ δ as in `correct`, along the directions of an earlier configuration q1 (Kövecses & Piedboeuf 35)."""
    before = Trace(s.d, s.chosen)
    before.sx, before.q, before.t = s.sx, s.q1, s.t  # v of its own, by which constraints differentiate
    rows = s.rows.only_holonomic()
    A = s.led.columns(before.rows.only_holonomic().A)
    delta, _, margin = eliminate(_metric(before, weighted), zeros(s.tree.nv), A, rows.phi)
    return at_unit(s, moved(s, delta), rows.phi, margin)


def filter_(s: Trace, weighted: bool = False) -> tuple[Any, ...]:
    """v + δ with A δ = −(A v + b) and δ the shortest: the admissible velocity nearest v."""
    velocity_error = s.rows.sparse @ s.v + s.rows.b
    delta, _, margin = eliminate(_metric(s, weighted), zeros(s.tree.nv), s.led.sparse(s.rows), velocity_error)
    return s.v + delta, velocity_error, margin


def whitened(s: Trace) -> tuple[Any, Any]:
    """The entries of A in the mass metric, each row over its usual length there, `sizes` (m,), and their places.

    Zeros of the mechanism are left out; an entry of row i and column j is at i nv + j.
    """
    values, places = [], []
    if len(s.rows.of):
        tree, sizes = s.led.factor(), given(s, "sizes", len(s.rows.of))
        roots = [sqrt(x) for x in tree.inverse]
        for i, row in enumerate(s.led.sparse(s.rows).rows):
            for j, x in tree.lower_transposed_row(row).items():
                values.append(x * roots[j] / sizes[i])
                places.append(float(i * s.tree.nv + j))
    return array(values), array(places)


def restore(s: Trace) -> tuple[Any, ...]:
    """One Newton step to Φ = 0, A v + b = 0 and E(q, v) = E*, the shortest in δqᵀ M δq / h² + δvᵀ M δv.

        A δq = −Φ,   B δq + A δv = −(A v + b),   B = ∂(A v + b)/∂q                                             (1)

    and α times the gradient of the energy, projected on what (1) leaves free, α from the energy that is missing; no α
    above a tenth, which is at rest. h, `step`, is that of the integration, s: in it an error of v becomes one of q that
    is h times as large. It also keeps the rows of (1) as independent as those of A, whose margin is given, where steps
    become as short as a singular position is near. Residuals are lengths and angles, by the `rate` of the motion, 1/s,
    and the `unit` of energy.
    """
    n, A, holonomic = s.tree.nv, s.led.columns(s.rows.A), s.rows.only_holonomic()
    whole, positions, m = composite_body(s.at), len(holonomic.of), len(s.rows.of)
    M = s.led.mass(whole)
    h, rate, unit = (given(s, name, 1)[0] for name in ("step", "rate", "unit"))
    velocity_error = (s.rows.A @ s.v if m else zeros(0)) + s.rows.b
    M2, rows = zeros(2 * n, 2 * n), zeros(positions + m, 2 * n)  # of (δq / h, δv)
    M2[:n, :n] = M2[n:, n:] = M
    if m:
        rows[:positions, :n], rows[positions:, n:] = s.led.columns(holonomic.A), A
        rows[positions:, :n] = s.led.columns(_slope(s, velocity_error)) * h
    factor = Elimination(TreeFactor(M2), rows)
    energy = kinetic_energy(s.at) + potential(s)
    gradient = np.concatenate([s.led.still(x) for x in (_slope(s, array([energy]))[0] * h, whole @ s.v)])
    step, _ = factor.solve(zeros(2 * n), np.concatenate([holonomic.phi / h, velocity_error]))
    along, _ = factor.solve(gradient, zeros(positions + m))
    gap = energy - given(s, "energy", 1)[0]
    steepness, missing = gradient @ along, gap + gradient @ step
    small = steepness * steepness - 100.0 * missing * missing
    delta = step + where_less(small, 1e-300, lambda: 0.0, lambda: -(missing / steepness)) * along
    residuals = np.concatenate([holonomic.phi, velocity_error / rate, array([gap / unit])])
    margin = Elimination(TreeFactor(M), A).margin
    return at_unit(s, moved(s, delta[:n] * h), s.v + delta[n:], residuals, margin)


def _slope(s: Trace, values: np.ndarray) -> np.ndarray:
    """∂values(q ⊕ δ, v)/∂δ at δ = 0, (k, nv)."""
    sx, delta = symbols("delta", s.tree.nv)
    shifted = to_sx(s.per_joint(lambda j, q, v: j.plus(s.q[q], delta[v])))
    at = ca.substitute(to_sx(values), s.sx["q"], shifted)
    slope = ca.substitute(ca.jacobian(at, sx), sx, ca.SX.zeros(s.tree.nv))
    return array(ca.densify(slope)).reshape(len(values), s.tree.nv)


#: name: (arguments, value of a trace)
STEPPING: dict[str, tuple[tuple[str, ...], Callable[[Trace], Any]]] = {
    "ode": ((*STATE, *DRIVE), ode),
    "ode_baumgarte": ((*STATE, "baumgarte", *DRIVE), lambda s: ode(s, baumgarte=True)),
    "diagonal_ode": ((*STATE, *DRIVE), lambda s: diagonal_ode(s, True)),
    "diagonal_ode_xi": ((*STATE, *DRIVE), lambda s: diagonal_ode(s, False)),
    "ode_slope": ((*STATE, *DRIVE), ode_slope),
    "equations": ((*STATE, *DRIVE), equations),
    "sparse_equations": ((*STATE, *DRIVE), sparse_equations),
    "correct": (("q", "p", "t"), correct),
    "correct_weighted": (("q", "weights", "p", "t"), lambda s: correct(s, True)),
    "correct_frozen": (("q", "q1", "p", "t"), correct_frozen),
    "correct_frozen_weighted": (("q", "q1", "weights", "p", "t"), lambda s: correct_frozen(s, True)),
    "filter": (("q", "v", "p", "t"), filter_),
    "filter_weighted": (("q", "v", "weights", "p", "t"), lambda s: filter_(s, True)),
    "whitened_rows": (("q", "sizes", "p", "t"), whitened),
    "restore": (("q", "v", "energy", "step", "rate", "unit", "p", "t"), restore),
    "variational": (("q", "v", "delta", "step", *DRIVE), variational),
}
