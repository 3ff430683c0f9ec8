"""Actuator forces of closed chains: against quadratic programs, Aghili's projectors, ranks and forward dynamics."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog

from dalembert import control, zoo
from dalembert.analysis.subspaces import characteristic_length
from dalembert.errors import ArgumentError, UnknownName
from dalembert.statics.limits import least_change
from random_loops import random_closed

SEEDS = range(5)
closed = cache(random_closed)


def quadratic_program(G, equal, right, lower=None, upper=None):
    """min xᵀG x with equal x = right and bounds, by DAQP; None where it finds nothing."""
    n, m = len(G), len(equal)
    H, A = ca.DM(G + G.T), ca.DM(equal)
    solver = ca.conic("qp", "daqp", {"h": H.sparsity(), "a": A.sparsity()}, {"error_on_fail": False})
    low = np.full(n, -np.inf) if lower is None else lower
    high = np.full(n, np.inf) if upper is None else upper
    answer = solver(h=H, g=np.zeros(n), a=A, lba=right, uba=right, lbx=low, ubx=high)
    return np.array(answer["x"]).ravel() if solver.stats()["success"] and m else None


def actuators(system, x, seed, spare):
    """Names of random velocities that can drive every motion, and `spare` more, or with spare < 0 fewer."""
    order = [system.v_names[k] for k in np.random.default_rng(seed).permutation(system.nv)]
    free = null_space(system.constraint_matrix(x), rcond=1e-9)
    chosen: list[str] = []
    for name in order:
        if np.linalg.matrix_rank(free.T @ columns(system, [*chosen, name]), 1e-2) > len(chosen):
            chosen.append(name)
    if spare < 0:
        return chosen[:spare]
    return chosen + [name for name in order if name not in chosen][:spare]


def columns(system, names):
    return np.eye(system.nv)[:, [system.v_names.index(n) for n in names]]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_forces_produce_the_motion_and_its_reactions(seed):
    """Forward dynamics with the forces gives the acceleration and the multipliers back, redundant rows included."""
    system, x = closed(seed)
    asked = np.random.default_rng(seed).normal(size=system.nv)
    r = control.actuator_forces(system, x, asked, actuated=system.v_names)
    a = system.acceleration(x, r.u)
    scale = 1 + np.abs(r.vdot).max()
    np.testing.assert_allclose(a.vdot, r.vdot, atol=1e-8 * scale)
    np.testing.assert_allclose(a.force, r.force, atol=1e-7 * (1 + np.abs(r.force).max()))
    np.testing.assert_allclose(r.inertia + r.coriolis + r.gravity + r.passive, r.u, atol=1e-8 * (1 + np.abs(r.u).max()))
    assert r.reach == r.mobility == system.nv - a.rank


@pytest.mark.parametrize("metric", ["euclidean", "mass", "weights", "scales"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_forces_cost_less(seed, metric):
    """A dense quadratic program over the forces that give the motion finds no cheaper ones."""
    system, x = closed(seed)
    rng = np.random.default_rng(seed)
    names = actuators(system, x, seed, 2)
    B, M = columns(system, names), system.mass_matrix(x)
    W = rng.uniform(0.2, 3.0, system.nv)
    scales = dict(zip(names, rng.uniform(0.2, 3.0, len(names))))
    given, G = {
        "euclidean": ("euclidean", np.eye(len(names))),
        "mass": ("mass", B.T @ np.linalg.solve(M, B)),
        "weights": (W, B.T @ np.diag(1 / W) @ B),
        "scales": (scales, np.diag([scales[n] ** -2 for n in names])),
    }[metric]
    r = control.actuator_forces(system, x, actuated=names, metric=given)
    free = null_space(system.constraint_matrix(x), rcond=1e-9)
    need = M @ r.vdot - (system.applied_forces(x) - system.bias(x))
    u = quadratic_program(G / np.abs(G).max(), free.T @ B, free.T @ need)
    np.testing.assert_allclose(r.cost**2, u @ G @ u, rtol=1e-6)
    np.testing.assert_allclose(r.u, u, atol=1e-6 * (1 + np.abs(u).max()))


@pytest.mark.parametrize("spare", [-1, 0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_forces_are_those_of_aghilis_projectors(seed, spare):
    """(60) with P, B, Q and H as printed, on the mechanisms its existence condition (56) allows."""
    system, x = closed(seed)
    names = actuators(system, x, seed, spare)
    B = columns(system, names) @ columns(system, names).T
    one = np.eye(system.nv)
    P = system.subspaces(x, metric="euclidean").P
    r = control.actuator_forces(system, x, actuated=names)
    parallel = P @ (system.mass_matrix(x) @ r.vdot - (system.applied_forces(x) - system.bias(x)))
    Q = one - B - P + B @ P
    f = parallel - (one - P) @ np.linalg.pinv(Q, rcond=1e-9) @ (one - B) @ parallel
    exists = np.linalg.matrix_rank(np.hstack([(one - B) @ P, (one - B) @ (one - P)]), 1e-8) == np.linalg.matrix_rank(
        (one - B) @ (one - P), 1e-8
    )
    assert exists == (r.reach == r.mobility) == (spare >= 0)
    if exists:
        np.testing.assert_allclose(columns(system, names) @ r.u, f, atol=1e-7 * (1 + np.abs(f).max()))


@pytest.mark.parametrize("spare", [-2, -1, 0, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_cannot_be_driven_is_found_and_named(seed, spare):
    """Every motion can be produced just where B and Aᵀ together span all forces; what cannot does no work on either."""
    system, x = closed(seed)
    names = actuators(system, x, 5 * seed, spare)
    B, A = columns(system, names), system.constraint_matrix(x)
    lacking = system.nv - np.linalg.matrix_rank(np.hstack([B, A.T]), 1e-8)
    r = control.actuator_forces(system, x, np.random.default_rng(seed).normal(size=system.nv), actuated=names)
    assert r.mobility - r.reach == lacking == len(r.undriven) == max(0, -spare)
    assert (r.status == control.Verdict.UNREACHED) == (lacking > 0)
    for motion in r.undriven:
        z = system.arguments.velocity_vector(motion, "motion")
        assert np.abs(B.T @ z).max(initial=0) < 1e-7
        assert np.abs(A @ z).max() < 1e-7
        assert "none of them drives" in r.message
    a = system.acceleration(x, B @ r.u).vdot
    np.testing.assert_allclose(a, r.vdot, atol=1e-7 * (1 + np.abs(a).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_along_constraints_move_nothing(seed):
    """u + Z w with KᵀB Z = 0 accelerates the mechanism like u."""
    system, x = closed(seed)
    r = control.actuator_forces(system, x, actuated=system.v_names)
    K = system.subspaces(x).K
    Z = np.linalg.svd(K.T)[2][K.shape[1] :].T
    assert Z.shape[1] == r.redundancy > 0
    other = r.u + Z @ np.random.default_rng(seed).normal(size=Z.shape[1]) * np.linalg.norm(r.u)
    a = system.acceleration(x, other)
    np.testing.assert_allclose(a.vdot, r.vdot, atol=1e-7 * (1 + np.abs(a.vdot).max()))
    assert np.abs(a.force - r.force).max() > 1e-3 * np.abs(r.force).max()


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3, 0.05])
def test_limits_are_kept_at_least_cost_or_refused_by_name(share):
    """Against DAQP where there is a solution, against a linear program where there is none."""
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.1, 0.55, 0.2))
    free = control.actuator_forces(system, x, {"L1": 3.0})
    bound = share * np.abs(free.u).max()
    r = control.actuator_forces(system, x, {"L1": 3.0}, limits=bound)
    K = system.subspaces(x).K
    N, need = (
        K.T @ system.input_matrix(x),
        K.T @ (system.mass_matrix(x) @ free.vdot - (system.applied_forces(x) - system.bias(x))),
    )
    box = [(-bound, bound)] * 6
    feasible = linprog(np.zeros(6), A_eq=N, b_eq=need, bounds=box).success
    assert np.abs(r.u).max() <= bound * (1 + 1e-9)
    assert r.success == feasible
    if feasible:
        best = quadratic_program(np.eye(6), N, need, np.full(6, -bound), np.full(6, bound))
        np.testing.assert_allclose(r.u, best, atol=1e-6 * bound)
        assert r.active
        np.testing.assert_allclose(system.acceleration(x, u=r.u).vdot, free.vdot, atol=1e-8)
    else:
        assert r.status == control.Verdict.LIMITED
        assert "contradict" in r.message
        assert r.missing
        np.testing.assert_allclose(system.acceleration(x, u=r.u).vdot, r.vdot, atol=1e-8)


def test_the_limits_shares_above_cover_both_cases():
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.1, 0.55, 0.2))
    free = control.actuator_forces(system, x, {"L1": 3.0})
    size = np.abs(free.u).max()
    assert control.actuator_forces(system, x, {"L1": 3.0}, limits=0.9 * size).success
    assert not control.actuator_forces(system, x, {"L1": 3.0}, limits=0.05 * size).success


def test_a_contact_that_only_pushes_is_kept_pushing():
    """A bound on a multiplier is kept by the force of least change that does not disturb the motion."""
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.1, 0.55, 0.2))
    free = control.actuator_forces(system, x, {"L1": 3.0})
    wanted = abs(free.multipliers[0]) + 5.0
    r = control.actuator_forces(system, x, {"L1": 3.0}, reactions={"grip.x": (wanted, np.inf)})
    assert r.success
    a = system.acceleration(x, u=r.u)
    np.testing.assert_allclose(a.vdot, free.vdot, atol=1e-9)
    assert a.multipliers[0] == pytest.approx(wanted, abs=1e-8)
    assert r.active == (f"grip.x ≥ {wanted:g}",)


@pytest.mark.parametrize("seed", range(20))
def test_least_distance_agrees_with_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    G, h = rng.normal(size=(7, 4)), rng.normal(size=7)
    w, _ = least_change(G, h)
    feasible = linprog(np.zeros(4), A_ub=-G, b_ub=-h, bounds=[(None, None)] * 4).success
    assert (w is not None) == feasible
    if feasible:
        opti = ca.Opti("conic")
        v = opti.variable(4)
        opti.minimize(ca.sumsqr(v))
        opti.subject_to(ca.mtimes(G, v) >= h)
        opti.solver("daqp")
        np.testing.assert_allclose(w, opti.solve().value(v), atol=1e-7)


def test_at_a_singular_position_the_extra_freedom_needs_another_motor():
    """The five-bar laid flat gains a freedom; its two motors do not reach it, a third one at the pin does."""
    system = zoo.five_bar().compile()
    flat = system.state(*zoo.five_bar_start(0.0))
    two = control.actuator_forces(system, flat)
    assert (two.mobility, two.reach, len(two.undriven)) == (3, 2, 1)
    assert control.actuator_forces(system, flat, actuated=["left", "right", "C"]).reach == 3


def test_lengths_in_other_units_give_the_same_forces_with_a_characteristic_length():
    """In the metric (48) the shortest force of a slider-crank does not depend on the unit of length."""
    forces = []
    for unit in (1.0, 1000.0):
        sizes = {"crank": 0.15 * unit, "rod": 0.45 * unit}
        system = zoo.slider_crank(**sizes, gravity=9.81 * unit).compile()
        x = system.state(*zoo.slider_crank_start(0.7, 2.0, **sizes))
        W = characteristic_length(system, 0.2 * unit)
        r = control.actuator_forces(system, x, {"A": 5.0}, metric=W)
        forces.append(r.u / [unit**2, unit])  # N m and N in metres
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-9)
    plain = control.actuator_forces(system, x, {"A": 5.0}).u / [unit**2, unit]
    assert np.abs(plain - forces[0]).max() > 1e-2 * np.abs(plain).max()


def test_constraints_that_are_switched_off_need_no_forces():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5, 1.0))
    r = control.actuator_forces(system, x, np.ones(4), actuated=system.v_names, active={"E": False})
    np.testing.assert_allclose(r.u, system.inverse_dynamics(x, np.ones(4)), atol=1e-10)
    assert r.mobility == 4
    np.testing.assert_allclose(r.multipliers, 0.0, atol=1e-9)


def test_an_acceleration_the_constraints_forbid_is_reported():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5, 1.0))
    r = control.actuator_forces(system, x, [1.0, 2.0, 3.0, 4.0])
    assert r.status == control.Verdict.INADMISSIBLE
    assert r.inadmissible > 0.1
    np.testing.assert_allclose(system.acceleration(x, u=r.u).vdot, r.vdot, atol=1e-9)
    too_much = control.actuator_forces(system, x, {"A": 1.0, "B": 1.0, "C": 9.0})
    assert too_much.status == control.Verdict.INADMISSIBLE


def test_the_input_matrix_is_the_derivative_of_the_applied_forces():
    system = zoo.stewart(massless=True).compile()
    x = system.state(*zoo.stewart_start([0.1, -0.2, 1.9], massless=True))
    B = system.input_matrix(x)
    u = np.arange(6.0)
    np.testing.assert_allclose(B @ u, system.applied_forces(x, u=u) - system.applied_forces(x), atol=1e-12)


def test_mistakes_are_named():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5))
    with pytest.raises(UnknownName, match="Did you mean 'left'"):
        control.actuator_forces(system, x, actuated=["lefft"])
    with pytest.raises(ArgumentError, match="twice"):
        control.actuator_forces(system, x, actuated=["A", "A"])
    with pytest.raises(ArgumentError, match="lower ≤ upper"):
        control.actuator_forces(system, x, limits={"left": (3, -3)})
    with pytest.raises(ArgumentError, match="metric is 'manhattan'; needed: 'euclidean' or 'mass'"):
        control.actuator_forces(system, x, metric="manhattan")
    with pytest.raises(ArgumentError, match="above 0"):
        control.actuator_forces(system, x, metric={"left": 0.0})
    two = zoo.five_bar()
    two.add_motor("again", "A")
    r = control.actuator_forces(two.compile(), x.q, metric="mass")
    assert r.status == control.Verdict.UNSOLVED
    assert not r.success
    squared = zoo.five_bar()
    squared.add_joint_force("odd", "B", squared.add_input("w") ** 2)
    with pytest.raises(ValueError, match="not affine in input 'w'"):
        control.actuator_forces(squared.compile(), x.q)
