"""Kalman filters, LQG and predictive control against Riccati's recursion, separation and quadratic programs."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.sparse import bmat, eye_array, kron

import dalembert as da
from dalembert import control, zoo
from dalembert.errors import ArgumentError


def pendulum(step=0.01, outputs=("cart", "phi1")):
    system = zoo.cart_pole().compile()
    x = system.state(*zoo.cart_pole_start())
    return system, x, da.linearize(system, x, outputs=list(outputs)).discretize(step)


def test_the_gain_of_the_filter_is_the_limit_of_riccatis_recursion():
    _, _, m = pendulum()
    Q, R = np.diag([1e-6, 2e-6, 1e-5, 3e-5]), np.diag([1e-4, 4e-4])
    found = da.kalman(m, Q=Q, R=R)
    P = np.eye(4)
    for _ in range(20000):
        L = P @ m.C.T @ np.linalg.inv(m.C @ P @ m.C.T + R)
        P = m.A @ (P - L @ m.C @ P) @ m.A.T + Q
    np.testing.assert_allclose(found.L, L, rtol=1e-6)
    assert (np.abs(found.eigenvalues) < 1).all()


def test_lqg_has_the_poles_of_the_regulator_and_those_of_the_filter():
    """x̂ and the error of x̂ do not see each other: 2n eigenvalues of the loop (separation)."""
    _, _, m = pendulum()
    keep, see = da.lqr(m, {"cart": 1.0, "phi1": 10.0}, 0.1), da.kalman(m, 1e-6, 1e-4)
    A, B, C, K, L = m.A, m.B, m.C, keep.K, see.L
    corrected = np.eye(4) - L @ C
    loop = np.block([[A - B @ K @ L @ C, -B @ K @ corrected], [A @ L @ C - B @ K @ L @ C, (A - B @ K) @ corrected]])
    both = np.concatenate([keep.eigenvalues, see.eigenvalues])
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(loop)), np.sort_complex(both), atol=1e-8)


def test_lqg_balances_from_noisy_positions_and_repeats_itself():
    system, x, m = pendulum()
    keep, see = da.lqr(m, {"cart": 1.0, "phi1": 10.0}, 0.1), da.kalman(m, 1e-6, 1e-4)
    law = control.Observed(keep, see, noise=[0.01, 0.01], seed=3)
    start = x.replace(q=x.q + np.array([0.0, 0.05]))
    one, two = (da.simulate(system, start, 8.0, u=law, period=0.01) for _ in range(2))
    np.testing.assert_array_equal(one.q, two.q)
    late = one.t > 4.0
    assert np.abs(one["phi1"][late] - x["phi1"]).max() < 0.05
    assert not law.estimate.any()  # the run had a memory of its own
    with pytest.raises(ArgumentError, match="period"):
        da.simulate(system, start, 1.0, u=law)


def test_prediction_without_bounds_is_the_regulator():
    system, x, m = pendulum(0.02)
    law, keep = (make(m, *more, {"cart": 1.0, "phi1": 10.0}, 0.1) for make, more in (
        (control.PredictiveControl, (15,)), (da.lqr, ())))  # fmt: skip
    at = x.replace(q=x.q + np.array([0.1, 0.05]), v=np.array([0.2, -0.1]))
    np.testing.assert_allclose(law(0.0, at), keep(0.0, at), rtol=1e-6)
    assert law.plan(at).shape == (15, len(system.u_names))


def test_a_bounded_plan_is_the_best_of_its_horizon():
    """Against SLSQP on the same sum, limits active."""
    _, x, m = pendulum(0.05)
    Q, R, N, limit = np.diag([1.0, 10.0, 0.0, 0.0]), 0.1, 8, 1.5
    law = control.PredictiveControl(m, N, np.diag(Q), R, limits=limit)
    at = x.replace(q=x.q + np.array([0.1, 0.1]))
    S = da.lqr(m, np.diag(Q), R).cost
    start = m.deviation(at)

    def cost(u):
        y, total = start, 0.0
        for k in range(N):
            y = m.A @ y + m.B @ u[k : k + 1]
            total += R * u[k] ** 2 + y @ (S if k == N - 1 else Q) @ y
        return total

    best = minimize(
        cost, np.zeros(N), bounds=[(-limit, limit)] * N, method="SLSQP", options={"ftol": 1e-13, "maxiter": 500}
    )
    found = law.plan(at)[:, 0]
    assert np.abs(found).max() == pytest.approx(limit)
    assert cost(found) <= best.fun * (1 + 1e-6)


def small_cart_pole(length):
    """A pole of some length on a cart of 1 kg, at rest and upright."""
    m = da.Mechanism("cart and pole", gravity=(0, 0, -9.81))
    cart = m.add_body("cart", mass=1.0)
    m.add_joint("cart", da.Prismatic("x"), m.ground, cart)
    m.add_joint("phi", da.Revolute("y"), cart, m.add_body("pole", mass=0.2, com=(0, 0, length)))
    m.add_motor("push", "cart")
    return m.compile()


def least_excess(model, N, x0, limit, bounds):
    """min t with |x| ≤ (1 + t) bound at N samples and |u| ≤ limit: a linear program in x and u, by HiGHS."""
    n, m = model.B.shape
    later = eye_array(N, k=-1)
    moves = bmat([[eye_array(N * n) - kron(later, model.A), -kron(eye_array(N), model.B), np.zeros((N * n, 1))]])
    rows = eye_array(N * n).tocsr()[np.concatenate([np.arange(N) * n + k for k in bounds])]
    size = np.repeat(list(bounds.values()), N)[:, None]
    within = [[sign * rows / size, np.zeros((len(size), N * m)), -np.ones_like(size)] for sign in (1, -1)]
    best = linprog(
        np.append(np.zeros(N * (n + m)), 1.0), bmat(within).tocsr(), np.ones(2 * len(size)), moves.tocsr(),
        np.append(model.A @ x0, np.zeros((N - 1) * n)),
        [(None, None)] * N * n + [(-limit, limit)] * N * m + [(None, None)],
    )  # fmt: skip
    assert best.status == 0
    return best.fun


@pytest.mark.parametrize("length", [1.0, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("weight", [1.0, 1e-6, 1e6])
def test_bounds_that_can_be_kept_are_kept_at_any_scale(length, weight):
    """A linear program says that they can be; the plan keeps them to 1e-9 whatever the units and weights."""
    system, N, limit, bound = small_cart_pole(length), 40, 8.0, 0.12 * length
    up, root = system.state(), length**0.5
    model = da.linearize(system, up).discretize(0.04 * root)
    x0 = np.array([0.07 * length, -0.04, 0.15 * root, 0.1 / root])
    assert least_excess(model, N, x0, limit, {0: bound}) < -0.01
    Q, R = {"cart": weight, "phi": 10.0 * weight}, 0.1 * weight
    law = control.PredictiveControl(model, N, Q, R, limits=limit, bounds={"cart": bound})
    at = system.state(up.q + x0[:2], x0[2:])
    x, furthest = x0, 0.0
    for u in law.plan(at):
        x = model.A @ x + model.B @ u
        furthest = max(furthest, abs(x[0]) / bound)
    assert 1 - 1e-6 < furthest < 1 + 1e-9  # the bound matters, and is kept
    assert not law.explain(0.0, at).missed


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_missed_and_reported_just_where_no_inputs_keep_them(seed):
    rng = np.random.default_rng(seed)
    length = 10 ** rng.uniform(-3, 1)
    system, N, root = small_cart_pole(length), int(rng.choice([10, 30, 50])), length**0.5
    up, limit = system.state(), 10 ** rng.uniform(0.0, 1.5)
    model = da.linearize(system, up).discretize(rng.choice([0.01, 0.03, 0.06]) * root)
    bounds = {"cart": 0.1 * length, "phi": 0.15}
    Q = {name: 10 ** rng.uniform(-3, 3) for name in bounds}
    law = control.PredictiveControl(model, N, Q, 10 ** rng.uniform(-4, 2), limits=limit, bounds=bounds)
    for _ in range(4):
        x0 = rng.normal(size=4) * [0.05 * length, 0.04, 0.15 * root, 0.1 / root]
        excess = least_excess(model, N, x0, limit, {0: 0.1 * length, 1: 0.15})
        found = law.explain(0.0, system.state(up.q + x0[:2], x0[2:]))
        beyond = (np.abs(found.states[1:, :2]) / [0.1 * length, 0.15]).max() - 1
        assert np.abs(found.inputs).max() <= limit
        assert bool(found.missed) == (excess > 0)
        assert beyond < 1e-9 if excess < 0 else excess * (1 - 1e-6) < beyond < 10 * excess
        for name, size in bounds.items():
            assert found.missed.get(name, 0.0) <= max(beyond * size, 0.0) * (1 + 1e-9)


def test_a_run_reports_bounds_that_its_law_could_not_keep():
    system = small_cart_pole(0.1)
    model = da.linearize(system, system.state()).discretize(0.01)
    law = control.PredictiveControl(
        model, 30, {"cart": 1.0, "phi": 10.0}, 0.1, limits=5.0, bounds={"cart": (-0.02, 0.02), "phi": 0.3}
    )
    out = da.simulate(system, system.state({"cart": 0.03}), 1.0, u=law, period=0.01)
    assert out.success
    assert abs(out["cart"]).max() < 0.0305
    assert abs(out["cart"][-1]) < 0.02
    assert len(out.remarks) == 1
    assert "could not keep bounds of states" in out.remarks[0]
    assert "'cart' by 0.0" in out.remarks[0]
    assert out.remarks[0][1:] in out.summary()
    within = da.simulate(system, system.state({"cart": 0.01}), 1.0, u=control.Saturated(law, 5.0, system), period=0.01)
    assert not within.remarks  # each run has its own memory
    assert not law.remarks
    law(0.0, system.state({"cart": 0.03}))
    assert law.remarks
    law.reset()
    assert not law.remarks


def test_limits_that_cannot_hold_the_pole_give_inputs_and_a_report():
    system = small_cart_pole(0.1)
    model = da.linearize(system, system.state()).discretize(0.03)
    law = control.PredictiveControl(model, 40, {"cart": 1.0}, 1e-3, limits=0.05, bounds={"cart": 0.01, "phi": 0.1})
    found = law.explain(0.0, system.state({"phi": 0.3}, {"phi": 2.0}))
    assert np.abs(found.inputs).max() <= 0.05
    assert found.missed["phi"] > 1.0


def test_mistakes_are_named():
    system, x, m = pendulum()
    with pytest.raises(ArgumentError, match="has no step"):
        da.kalman(da.linearize(system, x))
    with pytest.raises(ArgumentError, match="has no step"):
        control.PredictiveControl(da.linearize(system, x), 5)
    with pytest.raises(ArgumentError, match=r"what da\.kalman returns"):
        control.Observed(da.lqr(m, 1.0, 1.0), None)
    with pytest.raises(ArgumentError, match="no output sees"):
        da.kalman(pendulum(outputs=("rate:cart",))[2])


@pytest.mark.parametrize("hold", [None, 0.003])
def test_a_law_made_for_another_period_is_refused(hold):
    """A filter predicts one step of its model at every sample: at another period its estimate is wrong."""
    system, x, m = pendulum()
    for law in (
        control.Observed(da.lqr(m, 1.0, 1.0), da.kalman(m)),
        control.PredictiveControl(m, 5),
        control.Saturated(control.PredictiveControl(m, 5), 10.0, system),
    ):
        with pytest.raises(ArgumentError, match="period"):
            da.simulate(system, x, 0.1, u=law, period=hold)
        with pytest.raises(ArgumentError, match="is made for samples every"):
            control.Sampled(law, 0.003)
        assert da.simulate(system, x, 0.1, u=control.Sampled(law, m.step), period=m.step / 2).success
