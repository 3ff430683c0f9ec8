"""What may differ from run to run, which mechanisms may be in an ensemble, and what is kept of it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.stats import norm, uniform

import dalembert as da
from dalembert.ensembles.summary import BINS, Bins, Summary


def cart(stiffness: float = 2.0) -> tuple[da.System, ca.SX]:
    """A mass of 2 kg on a line, with a motor and a gain as a parameter."""
    m = da.Mechanism("cart")
    gain = m.add_parameter("gain", stiffness)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("push", "x")
    return m.compile(), gain


def swing(t: np.ndarray, k: float) -> np.ndarray:
    """x(t) of 2 ẍ = −k x from x = 1 at rest."""
    return np.cos(t * np.sqrt(k / 2.0))


def test_gains_of_a_law_differ_as_parameters_in_lanes():
    system, gain = cart()
    law = da.expression(lambda t, s: {"push": -gain * s["x"]})
    gains = np.linspace(1.0, 6.0, 11)
    runs = da.ensemble(system, {"x": 1.0}, 3.0, u=law, p={"gain": gains})
    assert not runs.alone.any()
    np.testing.assert_allclose(runs["x"], [swing(3.0, k) for k in gains], atol=1e-8)


def test_every_run_has_the_controller_that_a_function_makes():
    system, _ = cart()

    def law(k, values):
        noise = np.random.default_rng(k).normal()
        return lambda t, s: [-values["stiffness"] * (s["x"] - 1e-3 * noise)]

    runs = da.ensemble(
        system, {"x": 1.0}, 1.0, vary={"stiffness": uniform(1.0, 4.0)}, controllers=law, n=5, seed=3, workers=2
    )
    assert runs.alone.all()
    assert runs.success.all()
    for k, stiffness in enumerate(runs.varied["stiffness"]):
        rest = 1e-3 * np.random.default_rng(k).normal()
        np.testing.assert_allclose(runs["x"][k], rest + (1 - rest) * swing(1.0, stiffness), atol=1e-8)
    np.testing.assert_array_equal(runs.run(2).q[-1], runs.q_end[2])


def test_a_controller_that_cannot_be_made_refuses_its_run_alone():
    system, _ = cart()

    def law(k, values):
        if k == 1:
            raise RuntimeError("no gains")
        return lambda t, s: [0.0]

    runs = da.ensemble(system, {"x": 1.0}, 0.1, controllers=law, n=3)
    assert runs.success.tolist() == [True, False, True]
    assert "no gains" in runs.messages[1]


def test_a_function_draws_correlated_parameters_by_run_and_seed_alone():
    system, gain = cart()
    law = da.expression(lambda t, s: {"push": -gain * s["x"]})

    def draw(k, rng):
        if k == 4:
            raise ValueError("no sample")
        return {"gain": 3.0 + rng.uniform()}

    few, many = (da.ensemble(system, {"x": 1.0}, 1.0, u=law, p=draw, n=n, seed=7) for n in (6, 40))
    np.testing.assert_array_equal(few.varied["gain"][[0, 1, 2, 3, 5]], many.varied["gain"][[0, 1, 2, 3, 5]])
    np.testing.assert_array_equal(few.q_end, many.q_end[:6])
    assert few.status[4] == da.Status.NOT_BEGUN
    assert "no sample" in few.messages[4]
    with pytest.raises(da.ArgumentError, match="same names"):
        da.ensemble(system, {"x": 1.0}, 1.0, p=lambda k, rng: {"gain": 1.0} if k else {}, n=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_refuses_its_run_alone(bad):
    system, gain = cart()
    law = da.expression(lambda t, s: {"push": -gain * s["x"]})
    runs = da.ensemble(system, {"x": [1.0, 1.0, bad]}, 1.0, u=law, p={"gain": [2.0, bad, 2.0]})
    assert runs.success.tolist() == [True, False, False]
    assert "gain" in runs.messages[1]
    assert "'x'" in runs.messages[2]
    np.testing.assert_allclose(runs["x"][0], swing(1.0, 2.0), atol=1e-8)
    with pytest.raises(da.ArgumentError, match="no run can begin"):
        da.ensemble(system, {"x": 1.0}, 1.0, p={"gain": [bad, bad]})


def test_balls_that_bounce_are_followed_one_by_one():
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.5)
    system, heights, times = m.compile(), np.array([5.1, 1.35, 0.3]), np.array([0.3, 0.9])
    runs = da.ensemble(system, {"z": heights}, 1.2, t_eval=times)
    assert runs.alone.all()
    assert runs.success.all()
    for k, z in enumerate(heights):
        run = da.simulate(system, {"z": z}, 1.2, t_eval=times)
        np.testing.assert_array_equal(runs.q[k, :, 0], run(times)[0][:, 0])
    fall = np.sqrt(2 * (heights[1] - 0.1) / 10)  # half a second: rebounds with half its speed
    assert runs["z"][1, 1] == pytest.approx(0.1 + 0.5 * 10 * fall * (0.9 - fall) - 5 * (0.9 - fall) ** 2)


def test_switches_act_in_every_run():
    system = da.zoo.four_bar().compile()
    starts = [system.assemble({"A": 0.9}, v={"A": speed}) for speed in (1.0, 2.0)]
    switch = da.Switch(open="C", at=0.2)
    runs = da.ensemble(system, starts, 0.4, switches=switch)
    for k, x in enumerate(starts):
        np.testing.assert_array_equal(runs.q_end[k], da.simulate(system, x, 0.4, switches=switch).q[-1])


def test_a_summary_has_the_extremes_and_quantiles_of_paths_it_does_not_keep(tmp_path):
    system, gain = cart()
    law = da.expression(lambda t, s: {"push": -gain * s["x"]})
    given = {
        "u": law, "p": {"gain": norm(3.0, 0.3)}, "n": 300, "sampling": "latin", "t_eval": np.linspace(0.0, 4.0, 21),
        "outputs": {"x": lambda t, s: s["x"], "speed": lambda t, s: s.rate("x")},
    }  # fmt: skip
    whole = da.ensemble(system, {"x": 1.0}, 4.0, **given)
    for options in ({}, {"store": tmp_path / "runs"}, {"store": tmp_path / "runs"}, {"workers": 3, "lanes": 8}):
        short = da.ensemble(system, {"x": 1.0}, 4.0, keep="summary", **given, **options)
        assert not short.outputs
        assert short.q is None
        for name in ("x", "speed"):
            for a, b in zip(short.extremes(name), whole.extremes(name)):
                np.testing.assert_allclose(a, b, atol=1e-9)
            bin = np.ptp(whole.outputs[name], axis=0) / 2048 + 1e-15
            x = whole.outputs[name]
            np.testing.assert_allclose(whole.mean(name), x.mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(whole.standard_deviation(name), x.std(axis=0, ddof=1), atol=1e-12)
            assert (np.abs(short.mean(name) - whole.mean(name)) <= bin).all()
            assert (np.abs(short.standard_deviation(name) - whole.standard_deviation(name)) <= bin).all()
            levels = np.array([0.0, 0.05, 0.3, 0.5, 0.95, 1.0])
            exact = whole.quantiles(name, levels)
            error = np.abs(short.quantiles(name, levels) - exact)
            assert (error <= np.ptp(whole.outputs[name], axis=0) / 2048 + 1e-15).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_counts_for_quantiles_do_not_depend_on_the_order_of_the_values(scale):
    x = scale * np.random.default_rng(0).standard_cauchy(3000)
    one, other = Bins(), Bins()
    one.add(x)
    for part in np.array_split(x[::-1], 17):
        other.add(part)
    assert (one.power, one.first) == (other.power, other.first)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert len(one.counts) == BINS
    levels = np.linspace(0.0, 1.0, 41)
    assert np.abs(one.quantiles(levels) - np.quantile(x, levels)).max() <= np.ptp(x) / 2048


def test_quantiles_of_one_value_and_of_none_are_that_value_and_nan():
    same, none = Summary(3, np.array([0.0])), Summary(2, np.array([0.0]))
    same.add(np.arange(3), np.array([[0.1], [0.1], [np.nan]]))
    np.testing.assert_array_equal(same.quantiles(np.array([0.0, 0.5])), [[0.1], [0.1]])
    np.testing.assert_array_equal(same.moments(), [[0.1], [0.0]])
    two = Summary(2, np.array([0.0]))
    two.add(np.arange(2), np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(two.moments(), [[0.5], [np.sqrt(0.5)]], atol=1e-3)
    none.add(np.arange(2), np.full((2, 1), np.nan))
    assert np.isnan(none.moments()).all()
    assert np.isnan(none.quantiles(np.array([0.5]))).all()
    assert np.isnan(none.extremes.least).all()


def test_lanes_follow_kinematic_inputs():
    m = da.Mechanism("cart and pole", gravity=(0, -9.81, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=1.0))
    m.add_joint("A", da.Revolute("z"), m.bodies["cart"], m.add_body("pole", mass=0.5, com=(0, -0.4, 0)))
    m.add_kinematic_input("drive", "x")
    system, pushes = m.compile(), np.linspace(-2.0, 2.0, 5)
    runs = da.ensemble(system, {"A": 0.2}, 1.5, u={"drive": pushes})
    for k, a in enumerate(pushes):
        run = da.simulate(system, {"A": 0.2}, 1.5, u={"drive": a})
        np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-8)
    np.testing.assert_allclose(runs["x"], 0.5 * pushes * 1.5**2, atol=1e-9)


@pytest.mark.parametrize("make", [lambda: 0, lambda k, values: 3, lambda k, values: 1 / 0])
def test_functions_that_make_no_controller_are_named(make):
    system = da.zoo.four_bar().compile()
    with pytest.raises(da.ArgumentError, match=r"controllers\(0, …\) (raised|gives)"):
        da.ensemble(system, {"A": [0.5, 0.6]}, 0.1, controllers=make)


def named(*names: str) -> da.System:
    """A pendulum with parameters of these names, the first of which is its length."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length, *_ = [m.add_parameter(name, 1.0) for name in names]
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    return m.compile()


def test_values_keep_their_names_beside_columns_of_the_same_name():
    """Parameters t, margin and given.t, and outputs q and success: all are in the tables, under names of their own."""
    system = named("t", "margin", "given.t")
    given = {"t": [1.0, 2.0], "margin": [7.0, 8.0], "given.t": [5.0, 6.0]}
    outputs = {"q": lambda t, s: 7 * s["A"], "success": lambda t, s: s["A"], "output.q": lambda t, s: -s["A"]}
    runs = da.ensemble(system, {"A": 0.5}, 0.5, p=given, t_eval=[0.0, 0.5], outputs=outputs)
    table = runs.to_pandas()
    assert table["t"].tolist() == [0.5, 0.5]
    assert table["given.given.t"].tolist() == given["t"]
    assert table["given.t"].tolist() == given["given.t"]
    assert table["given.margin"].tolist() == given["margin"]
    data = runs.to_xarray()
    np.testing.assert_array_equal(data["q"], runs.q)
    np.testing.assert_array_equal(data["output.output.q"], 7 * runs["A"])
    np.testing.assert_array_equal(data["output.q"], -runs["A"])
    np.testing.assert_array_equal(data["output.success"], runs["A"])
    assert data["success"].values.tolist() == [True, True]
    np.testing.assert_array_equal(data["given.t"], given["t"])


def test_an_angle_and_its_speed_that_both_differ_are_both_kept():
    runs = da.ensemble(named("A"), {"A": [0.1, 0.2]}, 0.1, v={"A": [3.0, 4.0]}, p={"A": [1.0, 1.5]})
    assert {name: x.tolist() for name, x in runs.varied.items()} == {
        "A": [1.0, 1.5],
        "held:A": [0.1, 0.2],
        "held:rate:A": [3.0, 4.0],
    }
    assert runs.to_pandas()["held:rate:A"].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("sampling", ["random", "latin", "sobol"])
def test_draws_do_not_depend_on_the_order_of_names(sampling):
    system, drawn = named("length", "other"), {"length": uniform(1.0, 0.5), "other": norm(0.0, 1.0)}
    given = {"n": 6, "sampling": sampling, "seed": 3}
    one = da.ensemble(system, {"A": 0.1}, 0.05, p=drawn, **given)
    two = da.ensemble(system, {"A": 0.1}, 0.05, p=dict(reversed(drawn.items())), **given)
    np.testing.assert_array_equal(one.p, two.p)


def test_a_labelled_array_has_units():
    m = da.Mechanism("crane", gravity=(0, -9.81, 0))
    trolley, hook = (m.add_body(name, mass=1.0, com=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1)) for name in ("a", "b"))
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("A", da.Revolute("z"), trolley, hook)
    data = da.ensemble(m.compile(), {"A": [0.1, 0.2]}, 0.1, t_eval=[0.0, 0.1]).to_xarray()
    assert data.coordinate_units.values.tolist() == ["m", "rad"]
    assert data.speed_units.values.tolist() == ["m/s", "rad/s"]
    assert (data.t.attrs["units"], data.energy_error.attrs["units"], data.margin.attrs["units"]) == ("s", "J", "1")


def test_runs_and_studies_keep_their_values_when_the_arrays_they_were_given_change():
    system = named("length")
    p, lengths, angles = np.array([1.0]), np.array([1.0, 2.0]), np.array([0.1, 0.2])
    run = da.simulate(system, {"A": 0.1}, 0.2, p=p)
    runs = da.ensemble(system, {"A": angles}, 0.2, p={"length": lengths})
    energy = da.simulate(system, {"A": 0.1}, 0.2, p=[1.0]).energy
    for x in (p, lengths, angles):
        x[:] = 9.0
    assert run.p.tolist() == [1.0]
    np.testing.assert_array_equal(run.energy, energy)
    assert runs.varied["length"].tolist() == [1.0, 2.0]
    assert runs.varied["A"].tolist() == [0.1, 0.2]


def test_runs_that_do_not_begin_say_why_they_have_no_derivatives():
    system = named("length")
    runs = da.ensemble(system, {"A": 0.1}, 0.2, p={"length": [1.0, np.nan, 1.2]}, wrt=["length"])
    assert runs.status[1] == da.Status.NOT_BEGUN
    assert runs.sensitivities.messages == {1: runs.messages[1]}
    assert np.isfinite(runs.sensitivities.jacobian[[0, 2]]).all()


def test_what_is_made_of_many_is_shown_in_a_line():
    system = named("length")
    models = da.linearize_many(system, [system.state({"A": a}) for a in np.linspace(0.0, 1.0, 50)])
    sweeps = da.sweep_many(system, {"A": np.linspace(0.0, 1.0, 50)}, n=20)
    assert repr(models) == "<linear models at 50 states: states A, A rate; inputs none; 0 without a model>"
    assert repr(sweeps) == "<sweeps of 20 variants of 'pendulum' through 50 values of A; 0 fall short>"
