"""Kalman filters, LQG and predictive control against Riccati's recursion, separation and quadratic programs."""

import numpy as np
import pytest
from scipy.optimize import minimize

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
    found = da.kalman(m, process=Q, measurement=R)
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
    one, two = (da.simulate(system, start, 8.0, u=law, hold=0.01) for _ in range(2))
    np.testing.assert_array_equal(one.q, two.q)
    late = one.t > 4.0
    assert np.abs(one["phi1"][late] - x["phi1"]).max() < 0.05
    assert not law.estimate.any()  # the run had a memory of its own
    with pytest.raises(ArgumentError, match="hold"):
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
        with pytest.raises(ArgumentError, match="hold"):
            da.simulate(system, x, 0.1, u=law, hold=hold)
        with pytest.raises(ArgumentError, match="is made for samples every"):
            control.Sampled(law, 0.003)
        assert da.simulate(system, x, 0.1, u=control.Sampled(law, m.step), hold=m.step / 2).success
