"""Bounds and friction cones of multipliers: against linear and quadratic programs on seeded cases."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import null_space, sqrtm
from scipy.optimize import linprog, minimize

from dalembert import control, zoo
from dalembert.control import Cone, Verdict
from dalembert.errors import ArgumentError, UnknownName
from random_loops import random_closed

closed = cache(random_closed)


@cache
def arms(redundant=False):
    """Two arms with six motors and three freedoms; with a coupling that says again how the grip is turned."""
    m = zoo.two_arms()
    if redundant:
        turn = {"L1": 1.0, "L2": 1.0, "L3": 1.0, "R1": -1.0, "R2": -1.0, "R3": -1.0}
        m.add_coupling("turn", turn, offset=-np.pi)
    system = m.compile()
    return system, system.state(*zoo.two_arms_start(0.1, 0.55, 0.2))


class Model:
    """v̇(u), λ(u) and N u = r in NumPy: λ the shortest, K orthonormal in the mass metric."""

    def __init__(self, system, x, vdot, B):
        M, A = system.mass_matrix(x), system.constraint_matrix(x)
        f = system.applied_forces(x) - system.bias(x)
        root = np.real(sqrtm(M))
        self.K = np.linalg.solve(root, null_space(A @ np.linalg.inv(root), rcond=1e-9))
        self.N, self.r = self.K.T @ B, self.K.T @ (M @ vdot - f)
        up = np.linalg.pinv(A.T, rcond=1e-9)
        slope = up @ (M @ self.K @ self.N - B)
        self.slope, self.rest = slope, up @ (M @ (vdot - self.K @ self.r) - f)

    def multipliers(self, u):
        return self.rest + self.slope @ u


def program(H, g, A, low, high, n):
    """min ½xᵀH x + g·x with low ≤ A x ≤ high, by DAQP."""
    H, A = ca.DM(H), ca.DM(A)
    solver = ca.conic("qp", "daqp", {"h": H.sparsity(), "a": A.sparsity()}, {"error_on_fail": False})
    x = solver(h=H, g=g, a=A, lba=low, uba=high, lbx=-np.inf, ubx=np.inf)["x"]
    assert solver.stats()["success"]
    return np.array(x).ravel()


def possible(A, low, high):
    """Whether some x has low ≤ A x ≤ high, by a linear program."""
    rows, right = np.vstack([A, -A]), np.concatenate([high, -low])
    given = np.isfinite(right)
    return linprog(np.zeros(A.shape[1]), rows[given], right[given], bounds=[(None, None)] * A.shape[1]).success


def case(seed):
    """A mechanism at a state with an acceleration, and random bounds of motors, multipliers and a planar cone."""
    rng = np.random.default_rng(seed)
    system, x = arms(seed % 2 == 1)
    x = x.replace(v=np.zeros(system.nv))
    asked = {"L1": rng.normal(), "L2": rng.normal(), "L3": rng.normal()}
    free = control.actuator_forces(system, x, asked)
    limit = np.abs(free.u).max() * rng.uniform(0.4, 2.5)
    spread = np.abs(free.multipliers).max()
    lows = free.multipliers[:2] + spread * rng.uniform(-1, 0.5, size=2)
    reactions = {row: (low, low + spread * rng.uniform(0, 2)) for row, low in zip(system.row_names[:2], lows)}
    mu, sign = rng.uniform(0.2, 2.0), rng.choice([-1.0, 1.0])
    cones = [Cone({"grip.x": sign}, ["grip.y"], mu)] if rng.random() < 0.5 else None
    if cones:
        reactions.pop("grip.y")
    model = Model(system, x, free.vdot, system.input_matrix(x))
    pick = np.eye(len(free.multipliers))
    C = [pick[system.row_names.index(row)] for row in reactions]
    low, high = [b[0] for b in reactions.values()], [b[1] for b in reactions.values()]
    if cones:
        n, t = sign * pick[system.row_names.index("grip.x")], pick[system.row_names.index("grip.y")]
        C, low, high = [*C, n, mu * n - t, mu * n + t], [*low, 0.0, 0.0, 0.0], [*high, *[np.inf] * 3]
    options = {"limits": limit, "reactions": reactions, "cones": cones}
    return system, x, asked, options, model, np.array(C), np.array(low), np.array(high)


def verdict_against_programs(seed):
    """Check one case against DAQP, HiGHS and L-BFGS; returns the verdict."""
    system, x, asked, options, model, C, low, high = case(seed)
    found, limit, n = control.actuator_forces(system, x, asked, **options), options["limits"], 6
    box, size = np.full(n, limit), np.abs(found.u).max()
    assert np.abs(found.u).max() <= limit * (1 + 1e-9)
    given = system.acceleration(x, u=found.u).multipliers
    np.testing.assert_allclose(given[:2], found.multipliers[:2], atol=1e-7 * size)  # the moments are not determinate
    np.testing.assert_allclose(model.multipliers(found.u), found.multipliers, atol=1e-7 * size)
    G, shift = C @ model.slope, C @ model.rest
    bounds, lower, upper = np.vstack([np.eye(n), G]), np.append(-box, low - shift), np.append(box, high - shift)
    whole = [np.vstack([model.N, bounds]), np.append(model.r, lower), np.append(model.r, upper)]
    if possible(*whole):
        assert found.status == Verdict.DONE
        best = program(2 * np.eye(n), np.zeros(n), *whole, n)
        np.testing.assert_allclose(found.u, best, atol=1e-6 * size)
    elif possible(bounds, lower, upper):
        assert found.status == Verdict.LIMITED
        assert not found.broken
        H = 2 * (model.N.T @ model.N + 1e-10 * np.abs(model.N).max() ** 2 * np.eye(n))
        best = program(H, -2 * model.N.T @ model.r, bounds, lower, upper, n)
        missed = np.linalg.norm(model.N @ found.u - model.r)
        assert missed <= np.linalg.norm(model.N @ best - model.r) * (1 + 1e-4)  # DAQP is the less exact here
    else:
        assert found.status == Verdict.CONTRADICTED
        assert found.broken
        assert "is missed by" in found.message
        length = np.linalg.norm(G, axis=1)

        def given_up(u):  # and its gradient
            y = shift + G @ u
            e = np.maximum(0.0, np.maximum(low - y, y - high)) / length
            return e @ e, -2 * G.T @ (e * np.where(low > y, 1.0, -1.0) / length)

        best = minimize(given_up, found.u, jac=True, bounds=[(-limit, limit)] * n, options={"ftol": 1e-16})
        assert given_up(found.u)[0] <= best.fun * (1 + 1e-3) + (1e-6 * limit) ** 2
    return found.status


def test_bounds_are_kept_where_any_forces_keep_them():
    """Sixty random cases, half with a constraint that says the same as the grip; every verdict is among them."""
    found = [verdict_against_programs(seed) for seed in range(60)]
    assert all(found.count(v) >= 5 for v in (Verdict.DONE, Verdict.LIMITED, Verdict.CONTRADICTED))


@pytest.mark.parametrize("seed", range(6))
def test_friction_cones_in_space_are_kept_at_least_cost(seed):
    """Least forces of a spatial loop with one multiplier normal and two across it, by its conditions of optimality."""
    system, x = closed(seed % 3)
    rng = np.random.default_rng(seed)
    free = control.actuator_forces(system, x, actuated=system.v_names)
    settable = [k for k in range(len(system.row_names)) if np.abs(free.multipliers[k]) > 0][:3]
    n, s, t = rng.permutation(settable)
    names, mu, sign = system.row_names, rng.uniform(0.1, 0.6), np.sign(free.multipliers[n])
    cone = Cone({names[n]: sign}, [names[s], {names[t]: 1.0}], mu)
    found = control.actuator_forces(system, x, actuated=system.v_names, cones=[cone])
    model = Model(system, x, free.vdot, np.eye(system.nv))
    Z = null_space(model.N)

    def room(w):
        y = model.multipliers(free.u + Z @ w)
        return mu * sign * y[n] - np.hypot(y[s], y[t])

    assert room(np.zeros(Z.shape[1])) < 0  # the forces without a cone break it
    assert found.success
    w = Z.T @ (found.u - free.u)
    size = np.linalg.norm(w)
    np.testing.assert_allclose(Z @ w, found.u - free.u, atol=1e-7 * size)
    assert abs(room(w)) < 1e-6 * np.abs(found.multipliers).max()
    turned = np.array([sign, 1.0, 1.0])  # the normal, then the tangents
    y, slope = turned * model.multipliers(found.u)[[n, s, t]], turned[:, None] * model.slope[[n, s, t]] @ Z
    d, *_ = np.linalg.lstsq(slope.T, w, rcond=1e-9)  # w = Σ d × slope, d in the dual cone and d·y = 0: the shortest
    np.testing.assert_allclose(slope.T @ d, w, atol=1e-4 * size)
    assert mu * np.hypot(d[1], d[2]) <= d[0] * (1 + 1e-4)
    assert abs(d @ y) < 1e-5 * size**2


GOAL = ("L1", "L2", "L3")


def test_controllers_keep_bounds_and_cones_as_inverse_dynamics_does():
    """The same motion asked of both, with motors, multipliers and a cone bounded; and their verdicts."""
    system, x = arms()
    task, at = control.coordinates(*GOAL), {name: x[name] for name in GOAL}
    cases = [
        ({"limits": 20.0, "reactions": {"grip.x": (None, -20.0)}}, Verdict.DONE),
        ({"cones": [Cone({"grip.x": -1.0}, ["grip.y"], 0.3)]}, Verdict.DONE),
        ({"limits": 5.0, "reactions": {"grip.x": (None, -20.0)}}, Verdict.LIMITED),
        ({"limits": 2.0, "reactions": {"grip.x": (None, -200.0)}}, Verdict.CONTRADICTED),
    ]
    for options, verdict in cases:
        law = control.motion_control(system, task, at, **options)
        assert law.is_native
        found = law.explain(0.0, x)
        direct = control.actuator_forces(system, x, dict.fromkeys(GOAL, 0.0), **options)
        assert found.status == direct.status == verdict
        if verdict == Verdict.DONE:
            np.testing.assert_allclose(found.u, direct.u, atol=1e-8 * np.abs(direct.u).max())
        else:  # errors are measured by row of the task, and of a motion as a whole in the mass metric
            rows = [system.v_names.index(name) for name in GOAL]
            by_task, by_motion = (np.linalg.norm(r.vdot[rows]) for r in (found, direct))
            assert by_task <= by_motion * (1 + 1e-9)
        np.testing.assert_allclose(law(0.0, x), found.u, atol=1e-9 * np.abs(found.u).max())
    free = control.force_control(system, {}, reactions={"grip.x": (None, -20.0)})
    assert system.acceleration(x, u=free(0.0, x)).multipliers[0] == pytest.approx(-20.0)


@pytest.mark.parametrize("limit", [9.0, 12.0])
def test_wanted_forces_come_as_near_as_bounds_let_them(limit):
    """A grip of −60 N that the motors cannot give while they hold the object: the firmest there is, by HiGHS."""
    system, x = arms()
    task, at = control.coordinates(*GOAL), {name: x[name] for name in GOAL}
    found = control.hybrid_control(system, task, at, {"grip.x": -60.0}, limits=limit).explain(0.0, x)
    assert found.status == Verdict.FORCES_MISSED
    model = Model(system, x, np.zeros(6), system.input_matrix(x))
    best = linprog(model.slope[0], A_eq=model.N, b_eq=model.r, bounds=[(-limit, limit)] * 6)
    assert found.multipliers[0] == pytest.approx(model.rest[0] + best.fun, rel=1e-5)


def test_constraints_that_are_switched_off_have_no_bounds():
    system, x = arms()
    options = {"reactions": {"grip.x": (5.0, None)}, "cones": [Cone("grip.y", ["grip.rz"], 0.1)]}
    off = control.actuator_forces(system, x, active={"grip": False}, **options)
    plain = control.actuator_forces(system, x, active={"grip": False})
    assert off.success
    np.testing.assert_array_equal(off.u, plain.u)
    assert control.actuator_forces(system, x, **options).multipliers[0] >= 5.0 * (1 - 1e-9)


def test_mistakes_in_cones_are_named():
    system, x = arms()
    with pytest.raises(ArgumentError, match="needed: a list of one or two rows"):
        Cone("grip.x", [], 0.3)
    with pytest.raises(ArgumentError, match="the friction of a cone"):
        Cone("grip.x", ["grip.y"], -0.3)
    with pytest.raises(UnknownName, match=r"row 'grip\.z'"):
        control.actuator_forces(system, x, cones=[Cone("grip.z", ["grip.y"], 0.3)])
    with pytest.raises(ArgumentError, match=r"needed: a list of control\.Cone"):
        control.actuator_forces(system, x, cones={"grip.x": 0.3})


def test_the_least_forces_of_a_hand_in_cones_depend_continuously_on_its_state():
    """Tangent planes of a cone become nearly parallel; a step that one of them blocks must not end the search.

    States 1e-4 apart have tensions of nearly equal cost. At rest the forces cancel, and the verdict knows.
    """
    system = zoo.hand(gravity=-9.81).compile()
    x = system.state(*zoo.hand_start())
    cones = [control.Cone(f"{c}.z", [f"{c}.x", f"{c}.y"], 0.6) for c in system.layout.mechanism.constraints]
    law = control.motion_control(
        system, control.position("object"), x.position("object"), rate=25.0, free_damping=25.0, cones=cones,
        limits=dict.fromkeys(system.u_names, (0.0, 60.0)),
    )  # fmt: skip
    rng = np.random.default_rng(11)
    beside = [system.project(x.replace(v=1e-4 * rng.normal(size=system.nv))) for _ in range(25)]
    costs = [np.linalg.norm(law(0.0, s)) for s in beside]
    np.testing.assert_allclose(costs, costs[0], rtol=0.01)
    assert law.explain(0.0, x).success
