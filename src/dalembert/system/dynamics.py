"""Dynamics of a system as a tree of bodies, M v̇ + h = τ + Q: forces, accelerations, energy, momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.frames import LONG, along_each, jacobian
from dalembert.system.inertia import check_mass
from dalembert.system.second_order import Lagrangian
from dalembert.system.tree_slopes import products_of_columns

if TYPE_CHECKING:
    from dalembert.system.system import System

LONG_MASS = 100  # velocities from where M is made of its columns: its closed form takes seconds to compile


def mass_matrix(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """M(q), (nv, nv)."""
    if system.nv <= LONG_MASS:
        return system.kernels.evaluate("mass_matrix", state, p=p)
    return along_each(system, "mass_times", state, p)


def bias(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """h(q, v), (nv,): Coriolis, centrifugal and gravity terms."""
    return system.kernels.evaluate("bias", state, p=p)


def gravity_vector(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """g(q), (nv,): the gravity terms of h."""
    return system.kernels.evaluate("gravity_vector", state, p=p)


def coriolis_vector(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """h(q, v) − g(q), (nv,)."""
    return system.kernels.evaluate("coriolis_vector", state, p=p)


def applied_forces(system: System, state: StateGiven, *, u: Inputs = None, p: Parameters = None) -> np.ndarray:
    """Q(q, v, u, p, t), (nv,): what springs, dampers, motors and other described forces exert."""
    return system.kernels.evaluate("applied_forces", state, u=u, p=p)


def input_matrix(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """B = ∂Q/∂u, (nv, nu): what a unit of each input adds to the applied forces."""
    return system.kernels.evaluate("input_matrix", state, p=p)


def inverse_dynamics(
    system: System,
    state: StateGiven,
    vdot: Any,
    *,
    u: Inputs = None,
    p: Parameters = None,
    wrenches: Mapping[Any, Any] | None = None,
) -> np.ndarray:
    """τ = M v̇ + h − Q − Σ Jᵀ W, (nv,): the forces that, beside the described ones, give the acceleration v̇.

    vdot: accelerations, (nv,) or by name. wrenches: {frame: (moment; force)} at the frame's origin in its own axes.
    """
    given = system.arguments.velocity_vector(vdot, "vdot")
    tau = system.kernels.evaluate("inverse_dynamics", state, u=u, p=p, more={"a": given})
    return tau - carried(system, state, wrenches, p)


def inverse_dynamics_derivatives(
    system: System, state: StateGiven, vdot: Any, *, u: Inputs = None, p: Parameters = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂τ/∂q (as δ at q ⊕ δ), ∂τ/∂v and ∂τ/∂v̇ = M of `inverse_dynamics`, (nv, nv) each.

    vdot: accelerations, (nv,) or by name. Closed forms, compiled; beyond 40 velocities columns by recursion and pairs
    by matrix products.
    """
    given = system.arguments.velocity_vector(vdot, "vdot")
    if system.nv <= LONG:
        return system.kernels.evaluate("inverse_dynamics_derivatives", state, u=u, p=p, more={"a": given})
    x, u, p = system.arguments.resolve(state, u, p)
    return products_of_columns(system, x, given, u, p)


def forward_dynamics(
    system: System,
    state: StateGiven,
    tau: Any = None,
    *,
    u: Inputs = None,
    p: Parameters = None,
    wrenches: Mapping[Any, Any] | None = None,
) -> np.ndarray:
    """v̇ = M⁻¹ (τ + Q + Σ Jᵀ W − h), (nv,), in O(N); τ defaults to zero."""
    given = np.zeros(system.nv) if tau is None else system.arguments.velocity_vector(tau, "tau")
    check_mass(system, state, p)
    total = given + carried(system, state, wrenches, p)
    return system.kernels.evaluate("forward_dynamics", state, u=u, p=p, more={"tau": total})


def kinetic_energy(system: System, state: StateGiven, *, p: Parameters = None) -> float:
    """½ vᵀ M v, J."""
    return float(system.kernels.evaluate("kinetic_energy", state, p=p))


def potential_energy(system: System, state: StateGiven, *, p: Parameters = None) -> float:
    """Potential energy of gravity (zero at the ground's origin) and of springs, J."""
    return float(system.kernels.evaluate("potential_energy", state, p=p))


def energy(system: System, state: StateGiven, *, p: Parameters = None) -> float:
    """Kinetic and potential energy together, J."""
    return kinetic_energy(system, state, p=p) + potential_energy(system, state, p=p)


def lagrangian(system: System, state: StateGiven, *, p: Parameters = None) -> Lagrangian:
    """L = T − V of the tree, J, with its first and second derivatives by q and v under trep's names.

    Quaternion joints are varied along their three velocities (δ at q ⊕ δ), v being the numbers of the state.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(2.0, 0, 0)))
    >>> system = m.compile()
    >>> x = system.lagrangian(system.state({"A": 0.0}, v={"A": 3.0}))    # L = 2 v² − 20 sin A
    >>> x.L, x.L_dq, x.L_ddq, x.L_ddqddq
    (18.0, array([-20.]), array([12.]), array([[4.]]))
    """
    M = mass_matrix(system, state, p=p)
    if not system.nv:
        return Lagrangian(-potential_energy(system, state, p=p), M.ravel(), M.ravel(), M, M, M, ())
    L, by_q, by_v, along_q, along_v = along_each(system, "lagrangian_along", state, p)
    return Lagrangian(float(L[0]), by_q[0], by_v[0], along_q.T, along_v.T, M, tuple(system.v_names))


def momentum(system: System, state: StateGiven, *, about: str = "origin", p: Parameters = None) -> np.ndarray:
    """(angular; linear), (6,), in the ground's axes, about the ground's "origin" or the "center" of mass."""
    L = system.kernels.evaluate("momentum", state, p=p)
    if checks.choice(about, ("origin", "center"), "about") == "origin":
        return L
    return np.concatenate([L[:3] - np.cross(center_of_mass(system, state, p=p), L[3:]), L[3:]])


def center_of_mass(system: System, state: StateGiven, *, p: Parameters = None) -> np.ndarray:
    """(3,) of everything that moves, in the ground."""
    return system.kernels.evaluate("center_of_mass", state, p=p)


def carried(system: System, state: StateGiven, wrenches: Mapping[Any, Any] | None, p: Parameters) -> np.ndarray:
    """Σ Jᵀ W."""
    total = np.zeros(system.nv)
    for frame, W in ({} if wrenches is None else checks.mapping(wrenches, "wrenches")).items():
        W = checks.vector(W, 6, f"the wrench (moment; force) on {frame!r}")
        total += jacobian(system, state, frame, p=p).T @ W
    return total
