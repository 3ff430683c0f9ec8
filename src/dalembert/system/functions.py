"""Functions of a mechanism, each traced once as a CasADi function of (q, v, …).

Every entry of `FUNCTIONS` names its arguments and says how its value follows from the recursions. Arguments a mechanism
does not have (no inputs u, no parameters p, nothing that depends on the time t) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.checks import check_free_symbols
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions import kinematics
from dalembert.recursions.articulated_body import articulated_body
from dalembert.recursions.body_jacobians import (
    body_jacobian,
    body_jacobian_rate,
    body_jacobian_rates,
    body_jacobian_slopes,
)
from dalembert.recursions.composite_body import composite_body, mass_diagonal
from dalembert.recursions.elimination import Elimination, mass_factor
from dalembert.recursions.momentum import center_of_mass, gravity_energy, kinetic_energy, momentum
from dalembert.recursions.newton_euler import link_wrenches, newton_euler
from dalembert.spatial import AdInverse
from dalembert.symbols import array, minimum, to_sx, zeros
from dalembert.system.derivatives import (
    ACCELERATION_DERIVATIVES,
    LONG_CHAIN_COLUMNS,
    acceleration_derivatives,
    inverse_dynamics_derivatives,
    long_chain_columns,
    ode_jacobian,
)
from dalembert.system.diagonal_functions import DIAGONAL, DIAGONAL_FRAME, DIAGONAL_OUTPUTS
from dalembert.system.second_order import lagrangian_along
from dalembert.system.sharing import exert
from dalembert.system.trace import Description, Trace, recent_trace


def _kinematics(s: Trace) -> tuple[Any, ...]:
    return s.rows.phi, s.rows.A, s.rows.b


def constrained(s: Trace) -> tuple[Any, ...]:
    """M, f = Q − h, A and γ: all a formulation needs, from one pass over the tree; those of `led` where it leads."""
    return s.led.equations(*unled(s))


def unled(s: Trace) -> tuple[Any, ...]:
    """M, f, A and γ whatever leads."""
    return composite_body(s.at), forces(s), s.rows.A, s.rows.gamma


def forces(s: Trace) -> Any:
    """f = Q − h."""
    return s.force


def _eliminated(s: Trace, f: Any) -> tuple[Any, ...]:
    return s.led.solve(f, s.rows.sparse, s.rows.gamma)


def _accelerate(s: Trace) -> tuple[Any, ...]:
    """v̇, λ and the margin of the elimination, all in one piece of straight-line code."""
    return _eliminated(s, forces(s) + s.tau)


def _answer(s: Trace) -> tuple[Any, ...]:
    """`_accelerate` with Aᵀλ, its evidence, and the inertias D of the velocities, zeros where some are led.

    The evidence is the margin (2), the largest squared entry of A v̇ + γ, and the sum of v̇.
    """
    A, gamma = s.rows.sparse, s.rows.gamma
    if s.led:
        inertias, (vdot, lam, margin) = _still(s), _eliminated(s, forces(s) + s.tau)
    else:
        factor = Elimination.of(mass_factor(s.at), A)
        (vdot, lam), margin, inertias = factor.solve(forces(s) + s.tau, gamma), factor.margin, array(factor.inertias)
    rest = A @ vdot + gamma
    worst = reduce(lambda x, r: -minimum(-x, -(r * r)), rest, 0.0)
    force = A.transposed_times(lam)
    return vdot, lam, force, array([*margin, worst, sum(vdot)]), inertias


def _row_sizes(s: Trace) -> tuple[Any, ...]:
    """(m,) squares of each row of A: its length in the mass metric, A over angles, over slides, its largest angle's.

    And the least 1/d of M = Lᵀ D L, (1,), positive where M is. All by elements: what `rank` needs to know of a
    mechanism costs as much as its acceleration.
    """
    tree, m = mass_factor(s.at), len(s.rows.of)
    inverse = tree.inverse
    turning = [turns for link in s.tree.links for turns in link.joint.angular]
    lengths, angles, slides, arms = (zeros(m) for _ in range(4))
    for i, row in enumerate(s.rows.sparse.rows):
        lengths[i] = sum((x * x * inverse[k] for k, x in tree.lower_transposed_row(row).items()), 0.0)
        about = [a * a for k, a in row.items() if turning[k]]
        angles[i], slides[i] = sum(about, 0.0), sum((a * a for k, a in row.items() if not turning[k]), 0.0)
        arms[i] = reduce(lambda x, y: -minimum(-x, -y), about, 0.0)
    return lengths, angles, slides, arms, array([reduce(minimum, inverse, 1.0)])


def _forward_dynamics(s: Trace) -> Any:
    """v̇ of the tree without its constraints."""
    if not s.led:
        return articulated_body(s.at, s.tau + s.load.tau, s.d.gravity, s.load.wrenches)
    return s.led.solve(forces(s) + s.tau, zeros(0, s.tree.nv), zeros(0))[0]


def _driving_forces(s: Trace) -> Any:
    """(led,): the forces of kinematic inputs at accelerations a and multipliers of all rows."""
    left = newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - s.load.tau
    left = left - s.rows.sparse.transposed_times(s.lam[: len(s.rows.of)])
    return left[s.led.places]


def _reactions(s: Trace) -> Any:
    """(joints, 6): the wrench each joint passes to its second body, in the frame the user named there."""
    whole = s.d.whole
    at = whole.tree.moving(s.q, s.v)
    state = TracedState(whole, at, s.t[0])
    load = Load.of(s.d.forces, state)
    exert(s, state, s.lam, load)
    F = link_wrenches(at, s.a, s.d.gravity, load.wrenches)
    out = zeros(len(F), 6)
    for i, joint in enumerate(whole.joints.values()):
        O = joint.joint.orientation
        # a joint that the tree meets from its second body: the opposite wrench, in its parent's half
        W = -(AdInverse(joint.joint.transform(s.q[whole.q_slice(joint.name)])).T @ F[i]) if joint.flipped else F[i]
        out[i] = np.concatenate([O @ W[:3], O @ W[3:]])
    return out


def _loop_wrench(s: Trace, loop: LoopJoint) -> Any:
    """(6,): the wrench the closing joint puts on frame b, in b's axes."""
    lam, W = s.multipliers_of(loop.name), zeros(6)
    for name, jet, _ in loop.jets(s.state)[1]:
        W = W + jet.G * lam[name]
    O = loop.joint.orientation
    return np.concatenate([O @ W[:3], O @ W[3:]])


def _cut_joint(s: Trace, loop: LoopJoint) -> tuple[Any, ...]:
    """Position and velocity of a cut joint."""
    return s.state.cut_joint(loop.name)


def _applied(s: Trace, load: Load | None = None) -> Any:
    """Q = τ_forces + Σ Jᵀ W: a Newton-Euler recursion at rest, without weight, carries the wrenches inward."""
    load = s.load if load is None else load
    still = s.tree.moving(s.q, zeros(s.tree.nv))
    return load.tau - newton_euler(still, zeros(s.tree.nv), zeros(3), load.wrenches)


def input_matrix(s: Trace) -> Any:
    """B = ∂Q/∂u, (nv, nu): what a unit of each input adds to the applied forces, which must be affine in them.

    Actuators are taken inside their limits.
    """
    load = Load(s.state)
    for force in s.d.forces:
        force.act_within(s.state, load)
    B = ca.densify(ca.jacobian(to_sx(_applied(s, load)), s.sx["u"]))
    for name, u in s.d.inputs.items():
        if ca.depends_on(B, u):
            raise DescriptionError(
                f"the applied forces are not affine in input '{name}'; an input matrix and inverse dynamics need "
                "Q = Q₀(q, v) + B(q, v) u. Let the input be the force itself."
            )
    return array(B).reshape(s.tree.nv, -1)


def _jacobian(s: Trace, frame: Frame, axes: str) -> Any:
    link, offset, R = s.frame(frame, axes)
    J = body_jacobian(s.at, link, offset)
    return J if R is None else kinematics.in_world_axes(R, J)


def _jacobian_derivatives(s: Trace, frame: Frame) -> tuple[Any, ...]:
    """∂J/∂q, its last two axes in one, J̇ and J̈, in the frame's own axes."""
    link, offset, _ = s.frame(frame, "body")
    return body_jacobian_slopes(s.at, link, offset).reshape(6, -1), *_jacobian_rates(s, frame)


def _jacobian_rates(s: Trace, frame: Frame) -> tuple[Any, ...]:
    """J̇ and J̈ in the frame's own axes."""
    link, offset, _ = s.frame(frame, "body")
    return body_jacobian_rates(s.at, s.a, link, offset)


def _jacobian_along(s: Trace, frame: Frame) -> Any:
    """The derivative of J along the velocity dq, (6, nv), in the frame's own axes: J̇ of that motion."""
    link, offset, _ = s.frame(frame, "body")
    return body_jacobian_rate(s.tree.moving(s.q, s.dq), link, offset)


def _twist(s: Trace, frame: Frame, axes: str) -> Any:
    link, offset, R = s.frame(frame, axes)
    V = kinematics.twist(s.at, link, offset)
    return V if R is None else kinematics.in_world_axes(R, V)


def _acceleration(s: Trace, frame: Frame, axes: str, a: np.ndarray) -> Any:
    link, offset, R = s.frame(frame, axes)
    dV = kinematics.twist_rate(s.at, a, link, offset)
    return dV if R is None else kinematics.world_acceleration(R, kinematics.twist(s.at, link, offset), dV)


def potential(s: Trace) -> Any:
    """Potential energy of weight and forces, J."""
    return gravity_energy(s.at, s.d.gravity) + sum((f.energy(s.state) for f in s.d.forces), 0.0)


def _still(s: Trace) -> Any:
    return zeros(s.tree.nv)


MOTION, DRIVE = ("q", "v"), ("u", "p", "t")

#: name: (arguments, value of a trace)
FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[[Trace], Any]]] = {
    "mass_matrix": (("q", "p"), lambda s: composite_body(s.at)),
    "mass_times": (("q", "dq", "p"), lambda s: newton_euler(s.tree.moving(s.q, _still(s)), s.dq, zeros(3), {})),
    "mass_diagonal": (("q", "p"), lambda s: mass_diagonal(s.at)),
    "row_sizes": (("q", "p", "t"), _row_sizes),
    "bias": (("q", "v", "p"), lambda s: newton_euler(s.at, _still(s), s.d.gravity, {})),
    "gravity_vector": (
        ("q", "p"),
        lambda s: newton_euler(s.tree.moving(s.q, _still(s)), _still(s), s.d.gravity, {}),
    ),
    "coriolis_vector": (("q", "v", "p"), lambda s: newton_euler(s.at, _still(s), zeros(3), {})),
    "applied_forces": ((*MOTION, *DRIVE), lambda s: _applied(s)),
    "input_matrix": ((*MOTION, "p", "t"), input_matrix),
    "inverse_dynamics": (
        (*MOTION, "a", *DRIVE),
        lambda s: newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - s.load.tau,
    ),
    "forward_dynamics": (
        (*MOTION, "tau", *DRIVE),
        _forward_dynamics,
    ),
    "kinetic_energy": (("q", "v", "p"), lambda s: kinetic_energy(s.at)),
    "potential_energy": (("q", "p"), potential),
    "lagrangian_along": (
        ("q", "v", "dq", "p"),
        lambda s: lagrangian_along(s, kinetic_energy(s.at) - potential(s)),
    ),
    "momentum": (("q", "v", "p"), lambda s: momentum(s.at)),
    "center_of_mass": (("q", "p"), lambda s: center_of_mass(s.at)),
    "constraints": (("q", "p", "t"), _kinematics),
    "residuals": (("q", "v", "p", "t"), lambda s: (s.rows.phi, s.rows.sparse @ s.v + s.rows.b)),
    "gamma": (("q", "v", "p", "t"), lambda s: s.rows.gamma),
    "branch": (("q", "p", "t"), lambda s: s.rows.branch),
    "constrained": ((*MOTION, *DRIVE), constrained),
    "accelerate": ((*MOTION, "tau", *DRIVE), _accelerate),
    "answer": ((*MOTION, "tau", *DRIVE), _answer),
    "ode_jacobian": ((*MOTION, *DRIVE), ode_jacobian),
    "inverse_dynamics_derivatives": ((*MOTION, "a", *DRIVE), inverse_dynamics_derivatives),
    "long_chain_columns": ((*MOTION, "a", *DRIVE), long_chain_columns),
    "acceleration_derivatives": ((*MOTION, *DRIVE), acceleration_derivatives),
    "reactions": ((*MOTION, "a", "lam", *DRIVE), _reactions),
    "driving_forces": ((*MOTION, "a", "lam", *DRIVE), _driving_forces),
    "rates": (("q", "v"), lambda s: s.per_joint(lambda j, q, v: j.rates(s.q[q], s.v[v]))),
    "plus": (("q", "dq"), lambda s: s.per_joint(lambda j, q, v: j.plus(s.q[q], s.dq[v]))),
    "minus": (("q1", "q"), lambda s: s.per_joint(lambda j, q, v: j.minus(s.q1[q], s.q[q]))),
    **DIAGONAL,
}

#: the same for questions about a frame: name: (arguments, value of a trace, the frame and the axes)
FRAME_FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[[Trace, Frame, str], Any]]] = {
    "pose": (("q", "p"), lambda s, f, axes: s.state.pose(f).matrix()),
    "twist": (("q", "v", "p"), _twist),
    "jacobian": (("q", "p"), _jacobian),
    "jacobian_derivatives": (("q", "v", "a", "p"), lambda s, f, axes: _jacobian_derivatives(s, f)),
    "jacobian_rates": (("q", "v", "a", "p"), lambda s, f, axes: _jacobian_rates(s, f)),
    "jacobian_along": (("q", "dq", "p"), lambda s, f, axes: _jacobian_along(s, f)),
    "jacobian_rate": (("q", "v", "p"), lambda s, f, axes: _acceleration(s, f, axes, _still(s))),
    "frame_acceleration": (("q", "v", "a", "p"), lambda s, f, axes: _acceleration(s, f, axes, s.a)),
    **DIAGONAL_FRAME,
}


#: and about a cut joint
LOOP_FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[[Trace, LoopJoint], Any]]] = {
    "cut_joint": (("q", "v", "p"), _cut_joint),
    "loop_wrench": (("q", "lam", "p"), _loop_wrench),
}

#: names of the outputs of functions that have several
OUTPUTS: dict[str, tuple[str, ...]] = {
    "constraints": ("phi", "A", "b"),
    "residuals": ("phi", "speed"),
    "row_sizes": ("lengths", "angles", "slides", "arms", "least"),
    "constrained": ("M", "f", "A", "gamma"),
    "accelerate": ("vdot", "multipliers", "margin"),
    "answer": ("vdot", "multipliers", "force", "evidence", "inertias"),
    "ode": ("rates", "vdot", "local", "powers", "margin"),
    "ode_jacobian": ("vdot_q", "vdot_v", "margin"),
    "inverse_dynamics_derivatives": ("tau_q", "tau_v", "tau_a"),
    "long_chain_columns": LONG_CHAIN_COLUMNS,
    "acceleration_derivatives": ACCELERATION_DERIVATIVES,
    "correct": ("corrected", "phi", "margin"),
    "filter": ("filtered", "velocity_error", "margin"),
    "cut_joint": ("position", "velocity"),
    "jacobian_derivatives": ("by_q", "rate", "second_rate"),
    "jacobian_rates": ("rate", "second_rate"),
    "lagrangian_along": ("L", "L_dq", "L_ddq", "L_dq_along", "L_ddq_along"),
    **DIAGONAL_OUTPUTS,
}


@dataclass(frozen=True, slots=True, eq=False)
class TracedFunction:
    """What `trace` makes of a function: the arguments that matter, and its outputs with their names and shapes."""

    name: str
    arguments: dict[str, ca.SX]
    outputs: list[ca.SX]
    labels: Sequence[str]
    shapes: tuple[tuple[int, ...], ...]

    def function(self) -> ca.Function:
        """It as a `casadi.Function`."""
        names, inputs = list(self.arguments), list(self.arguments.values())
        return ca.Function(self.name, inputs, self.outputs, names, list(self.labels), {"allow_free": True})


def traced(
    s: Trace, name: str, arguments: Sequence[str], value: Callable[[Trace], Any], named: Sequence[str] | None = None
) -> TracedFunction:
    """The outputs of a function of a tracing."""
    result = value(s)
    values = result if isinstance(result, tuple) else (result,)
    outputs = [to_sx(x) for x in values]
    names = [n for n in arguments if s.sx[n].numel()]
    if "t" in names and not any(ca.depends_on(out, s.sx["t"]) for out in outputs if out.numel()):
        names.remove("t")
    numbered = [name] if len(values) == 1 else [f"{name}{i}" for i in range(len(values))]
    labels = named or OUTPUTS.get(name) or numbered
    return TracedFunction(name, {n: s.sx[n] for n in names}, outputs, labels, tuple(np.shape(x) for x in values))


def trace(
    description: Description,
    name: str,
    arguments: Sequence[str],
    value: Callable[[Trace], Any],
    rows: tuple[int, ...] | None = None,
    named: Sequence[str] | None = None,
) -> tuple[ca.Function, tuple[tuple[int, ...], ...]]:
    """The casadi.Function `name` of the arguments that matter, and the shapes of its outputs."""
    made = traced(recent_trace(description, rows), name, arguments, value, named)
    f = made.function()
    check_free_symbols(f, {"inputs": list(description.inputs), "parameters": list(description.parameters)})
    return f, made.shapes


def trace_together(
    description: Description,
    wanted: Mapping[str, tuple[Sequence[str], Callable[[Trace], Any]]],
    rows: tuple[int, ...] | None,
) -> tuple[ca.Function, list[TracedFunction]]:
    """One casadi.Function of all outputs of several functions, of all their arguments, and the functions."""
    parts = [traced(recent_trace(description, rows), name, *of) for name, of in wanted.items()]
    inputs = {n: x for part in parts for n, x in part.arguments.items()}
    outputs = [x for part in parts for x in part.outputs]
    names = [f"{part.name}_{label}" for part in parts for label in part.labels]
    f = ca.Function("together", list(inputs.values()), outputs, list(inputs), names, {"allow_free": True})
    check_free_symbols(f, {"inputs": list(description.inputs), "parameters": list(description.parameters)})
    return f, parts
