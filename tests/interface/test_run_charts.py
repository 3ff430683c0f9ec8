"""What a run tells of its charts, of its metric and of the indicator (3.7)."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


@pytest.fixture(scope="module")
def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 12.0})


def test_y_is_in_the_coordinates_of_the_chart_of_its_time(four_bar):
    """The rocker leads until it turns back, then another coordinate does: run.y follows, with its names."""
    system, x = four_bar
    run = da.simulate(system, x, 1.0, coordinates=["D"])
    assert len(run.charts) > 1
    for k in range(len(run.t)):
        chart = run.chart(k)
        assert chart is [c for t, c in run.charts if t <= run.t[k]][-1]
        (name,) = chart.names
        assert run.y[k, 0] == pytest.approx(run[name][k], abs=1e-12)
        assert run.y_rate[k, 0] == pytest.approx(run.rate(name)[k], abs=1e-9)
        np.testing.assert_allclose(chart.state(run.y[k], guess=run.state(k), t=run.t[k]).q, run.q[k], atol=1e-9)


def test_cut_joints_lead_a_run_as_they_lead_a_linear_model():
    """simulate(coordinates=["A", "E"]) with E cut: y is E's own angle, beyond half a turn without a jump."""
    system = zoo.five_bar().compile()
    x = system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])
    run = da.simulate(system, x, 0.3, coordinates=["A", "E"], rtol=1e-10)
    other = da.simulate(system, x, 0.3, rtol=1e-11)
    assert run.success
    assert run.chart(0).names == ("A", "E")
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-8)
    assert run.chart().names == ("A", "E")
    angle, speed = system.evaluate("cut_joint", run.state(), frame="E")
    assert np.sin(0.5 * (run.y[-1, 1] - angle[0])) == pytest.approx(0, abs=1e-9)
    assert np.abs(np.diff(run.y[:, 1])).max() < 1.0
    assert run.y_rate[-1, 1] == pytest.approx(speed[0], abs=1e-8)
    model = da.linearize(system, x, independent=["A", "E"])
    chart = system.chart(x, ["A", "E"])
    np.testing.assert_allclose(model.operating.Kq, chart.K(x), atol=1e-10)
    np.testing.assert_allclose(model.operating.Dv, chart.derivative(x)[4:, :2], atol=1e-9)


def test_implicit_methods_step_cut_joints_and_functions():
    """sdirk4 has the exact Jacobian of every named chart, cut joints and functions of the state among them."""
    system = zoo.five_bar().compile()
    x = system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])
    exact = da.simulate(system, x, 0.2, rtol=1e-11)
    for names in (["A", "E"], ["A", ("mean", lambda s: 0.5 * (s["A"] + s["B"]))]):
        run = da.simulate(system, x, 0.2, coordinates=names, method="sdirk4", rtol=1e-8)
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-6)


def test_charts_of_a_run_survive_files_and_processes(four_bar, tmp_path):
    system, x = four_bar
    for coordinates in (["D"], "tangent"):
        run = da.simulate(system, x, 0.6, coordinates=coordinates)
        run.save(tmp_path / "run.arrow")
        for again in (da.read_run(tmp_path / "run.arrow", system), pickle.loads(pickle.dumps(run))):
            assert [(t, c.names, c.kind) for t, c in again.charts] == [(t, c.names, c.kind) for t, c in run.charts]
            np.testing.assert_array_equal(again.y, run.y)
    own = da.simulate(system, x, 0.1, coordinates=da.Chart(lambda q, y: q[0] - y**3, [0.8]))
    np.testing.assert_allclose(own.y[:, 0] ** 3, own["A"], atol=1e-9)
    lost = pickle.loads(pickle.dumps(own))
    assert lost.charts[0][1].names == ("y0",)
    with pytest.raises(da.ArgumentError, match="functions of your own, which are not kept"):
        _ = lost.y


def test_runs_without_a_chart_have_no_y(four_bar):
    run = da.simulate(*four_bar, 0.05)
    assert run.y.shape == run.y_rate.shape == (len(run.t), 0)
    assert run.chart() is None
    assert run.charts == ()


@pytest.mark.parametrize("metric", ["mass", "euclidean", (1.0, 2.0, 0.5, 3.0)])
def test_condition_and_indicator_are_in_the_metric_asked_for(metric, tmp_path):
    """Against NumPy's SVD of A R⁻¹, state by state; and from a file."""
    system = zoo.five_bar().compile()
    x = system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])
    run = da.simulate(system, x, 0.2, formulation="nullspace", options={"metric": metric}, method="rk4", step=0.01)
    run.save(tmp_path / "run.arrow")
    for one in (run, da.read_run(tmp_path / "run.arrow", system)):
        for k in range(len(run.t)):
            at = run.state(k)
            W = {"mass": system.mass_matrix(at), "euclidean": np.eye(4)}.get(metric if isinstance(metric, str) else "")
            R = np.linalg.cholesky(np.diag(metric) if W is None else W).T
            white = system.constraint_matrix(at) @ np.linalg.inv(R)
            U, sigma, _ = np.linalg.svd(white)
            rank = int((sigma > 1e-9).sum())
            assert one.rank[k] == rank == 2
            assert one.condition[k] == pytest.approx(sigma[0] / sigma[rank - 1], rel=1e-9)
            assert one.indicator[k] == pytest.approx(abs(U[:, rank - 1] @ system.constraint_gamma(at)), rel=1e-7)
    projected = da.simulate(system, x, 0.05, stabilization=da.Projection(metric="euclidean"))
    assert projected.metric == "euclidean"
    assert da.simulate(system, x, 0.05).metric == "mass"


def test_the_indicator_vanishes_with_the_singular_value_in_a_passage():
    """Fig. 3.9b: through the singular position in harmony with it, ‖v_m u_mᵀ Ȧ v‖ and σ_m go to zero together."""
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 1.0, method="rk4", step=1e-3)
    k = int(np.argmax(run.condition))
    assert run.t[k] == pytest.approx(0.6508, abs=2e-3)
    assert run.indicator[k] < 1e-2 * run.indicator.max()


def test_functions_of_time_can_lead():
    """R depends on t: y = A − sin t; ẏ = Ȧ − cos t."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    system = m.compile()
    x = system.state({"A": 0.3}, {"A": 0.2}, 0.5)
    lead = [("moving", lambda s: s["A"] - ca.sin(s.t))]
    chart = system.chart(x, lead)
    np.testing.assert_allclose(chart.rate(x), [0.2 - np.cos(0.5)], atol=1e-12)
    np.testing.assert_allclose(chart.state([0.1], rate=[0.0]).v, [np.cos(0.5)], atol=1e-12)
    np.testing.assert_allclose(chart.bias(x), [-np.sin(0.5)], atol=1e-12)
    run = da.simulate(system, x, 1.0, coordinates=lead, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1], da.simulate(system, x, 1.0, rtol=1e-11).q[-1], atol=1e-8)


def test_the_angle_of_a_cut_joint_turns_on_without_a_jump():
    """A four-bar whose crank bearing is the cut joint: its angle leads through π and on, several times around."""
    m = da.Mechanism("cut crank", gravity=(0, 0, 0))
    crank = m.add_body("crank", mass=1.0, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
    coupler = m.add_body("coupler", mass=1.5, com=(0.3, 0, 0), inertia=da.rod_inertia(1.5, 0.6))
    rocker = m.add_body("rocker", mass=1.2, com=(0.2, 0, 0), inertia=da.rod_inertia(1.2, 0.4))
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55, 0, 0), rocker)
    m.add_joint("C", da.Revolute("z"), rocker.at(0.4, 0, 0), coupler.at(0.6, 0, 0))
    m.add_joint("B", da.Revolute("z"), coupler, crank.at(0.2, 0, 0))
    m.close_loop("A", da.Revolute("z"), m.ground, crank)
    system = m.compile()
    usual = zoo.four_bar().compile()
    a, b, d = usual.state(*zoo.four_bar_start(0.6)).q
    x = system.assemble(guess={"D": d, "C": a + b - d, "B": -b})
    assert system.evaluate("cut_joint", x, frame="A")[0][0] == pytest.approx(0.6, abs=1e-9)
    chart = system.chart(x, ["A"])
    x = chart.state(chart.start, rate=[12.0])
    run = da.simulate(system, x, 1.5, coordinates=["A"])
    assert run.success
    assert [c.names for _, c in run.charts] == [("A",)]
    assert run.y[-1, 0] > 4 * np.pi
    assert (np.diff(run.y[:, 0]) > 0).all()
    turned = run.y[:, 0] - [system.evaluate("cut_joint", run.state(k), frame="A")[0][0] for k in range(len(run.t))]
    np.testing.assert_allclose(np.sin(turned / 2), 0, atol=1e-9)
