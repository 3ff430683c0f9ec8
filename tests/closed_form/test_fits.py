"""`da.fit`: parameters that made a motion come back, with intervals that hold as often as they say."""

import numpy as np
import pytest

import dalembert as da

TIMES = np.linspace(0.05, 2.0, 25)


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L, d, mass = m.add_parameter("L", 1.0), m.add_parameter("d", 0.1), m.add_parameter("mass", 1.0)
    bob = m.add_body("bob", mass=mass, com=(0, -L, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob, damping=d)
    m.add_frame("tip", bob.at(0, -L, 0))
    return m.compile()


def four_bar():
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    l1, d = m.add_parameter("l1", 0.5), m.add_parameter("d", 0.2)
    crank = m.add_body("crank", mass=1.0, com=(l1 / 2, 0, 0), inertia=da.rod_inertia(1.0, l1))
    coupler = m.add_body("coupler", mass=3.0, com=(0.75, 0, 0), inertia=da.rod_inertia(3.0, 1.5))
    rocker = m.add_body("rocker", mass=2.4, com=(0.6, 0, 0), inertia=da.rod_inertia(2.4, 1.2))
    m.add_joint("A", da.Revolute("z"), m.ground, crank, damping=d)
    m.add_joint("B", da.Revolute("z"), crank.at(l1, 0, 0), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.5, 0, 0), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(1.5, 0, 0), rocker.at(1.2, 0, 0))
    return m.compile()


def swung(system, p, noise=0.0, seed=0, of=("A",)):
    run = da.simulate(system, {"A": 1.0}, TIMES[-1], p=p, t_eval=TIMES, rtol=1e-10)
    rng = np.random.default_rng(seed)
    return {"t": TIMES, **{name: run[name] + noise * rng.normal(size=len(TIMES)) for name in of}}


def test_without_noise_the_parameters_come_back():
    truth = {"L": 1.3, "d": 0.4}
    found = da.fit(pendulum(), swung(pendulum(), truth), list(truth), {"A": 1.0})
    assert found.success
    for name, x in truth.items():
        assert found[name] == pytest.approx(x, rel=1e-7)
    assert np.abs(found.residuals).max() < 1e-7


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of 120 fits with independent noise, 95 % intervals of L hold the truth in 95 % ± three standard deviations."""
    system, truth = pendulum(), {"L": 1.3, "d": 0.4}
    clean, inside, errors, values = swung(system, truth), 0, [], []
    rng = np.random.default_rng(3)
    for _ in range(120):
        data = {**clean, "A": clean["A"] + 2e-3 * rng.normal(size=len(TIMES))}
        found = da.fit(system, data, {"L": 1.25, "d": 0.35}, {"A": 1.0}, rtol=1e-7)
        low, high = found.confidence()["L"]
        inside += low <= truth["L"] <= high
        errors.append(found.errors["L"])
        values.append(found["L"])
    assert 0.89 <= inside / 120 <= 1.0
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.25)


def test_a_given_sigma_counts_as_it_is_and_an_unknown_one_is_estimated():
    system, data = pendulum(), swung(pendulum(), {"L": 1.3, "d": 0.4}, noise=1e-3, seed=5)
    known = da.fit(system, data, ["L", "d"], {"A": 1.0}, sigma=1e-3)
    doubled = da.fit(system, data, ["L", "d"], {"A": 1.0}, sigma={"A": 2e-3})
    estimated = da.fit(system, data, ["L", "d"], {"A": 1.0})
    assert doubled.errors["L"] == pytest.approx(2.0 * known.errors["L"], rel=1e-6)
    assert estimated["L"] == pytest.approx(known["L"], rel=1e-8)
    assert estimated.sigma[0] == pytest.approx(1e-3, rel=0.4)


def test_a_mass_that_does_not_matter_is_named_as_undetermined():
    """A pendulum with a bob on a light rod swings alike whatever its mass, if nothing damps it."""
    system = pendulum().with_parameters(d=0.0)
    data = swung(system, {"L": 1.3, "d": 0.0}, noise=1e-4)
    found = da.fit(system, data, ["L", "mass"], {"A": 1.0})
    assert found.undetermined == ("mass",)
    assert np.isinf(found.errors["mass"])
    assert np.isfinite(found.errors["L"])
    assert "do not determine mass" in found.message


def test_damping_and_mass_are_known_only_as_their_ratio():
    system = pendulum()
    data = swung(system, {"L": 1.0, "d": 0.3}, noise=1e-4)
    found = da.fit(system, data, ["d", "mass"], {"A": 1.0})
    assert set(found.undetermined) == {"d", "mass"}
    assert found["d"] / found["mass"] == pytest.approx(0.3, rel=1e-2)


def test_a_loop_is_closed_anew_for_every_trial_and_an_unknown_start_is_found_too():
    system, truth = four_bar(), {"l1": 0.47, "d": 0.5}
    x = system.assemble({"A": 0.9}, {"A": 1.7}, guess={"B": -0.3, "D": 1.5}, p=truth)
    run = da.simulate(system, x, TIMES[-1], p=truth, t_eval=TIMES, rtol=1e-10)
    data = {"t": TIMES, "A": run["A"], "rate:D": run.rate("D")}
    found = da.fit(
        system, data, {"l1": 0.5, "d": 0.2, "held:rate:A": 2.0}, {"A": 0.9}, v={"A": 2.0}, guess={"B": -0.3, "D": 1.5}
    )
    for name, x in {**truth, "held:rate:A": 1.7}.items():
        assert found[name] == pytest.approx(x, rel=1e-5)
    assert found.system.parameters["l1"] == pytest.approx(0.47, rel=1e-5)


def test_tables_and_files_say_the_same_as_mappings(tmp_path):
    import pandas

    system = pendulum()
    data = swung(system, {"L": 1.3, "d": 0.4}, noise=1e-3)
    data["A"][3] = np.nan
    plain = da.fit(system, data, ["L", "d"], {"A": 1.0})
    table = pandas.DataFrame(data).rename(columns={"A": "q.A"})
    table.to_csv(tmp_path / "swing.csv", index=False)
    for other in (table, table.set_index("t"), tmp_path / "swing.csv"):
        found = da.fit(system, other, ["L", "d"], {"A": 1.0})
        np.testing.assert_allclose(found.estimate, plain.estimate, rtol=1e-10)
    assert np.isnan(plain.residuals[3, 0])
    assert list(plain.to_pandas().columns) == ["A.measured", "A.simulated", "A.residual"]


def test_bounds_hold_and_are_named():
    system = pendulum()
    data = swung(system, {"L": 1.3, "d": 0.4})
    found = da.fit(system, data, ["L", "d"], {"A": 1.0}, bounds={"L": (0.5, 1.2)})
    assert found["L"] == pytest.approx(1.2, abs=1e-6)
    assert found.at_bound == ("L",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": {"A": [1.0, 2.0]}}, "no column 't'"),
        ({"data": {"t": [0.0, 1.0], "B": [0.0, 1.0]}}, "B"),
        ({"data": {"t": [1.0, 0.5], "A": [0.0, 1.0]}}, "does not rise"),
        ({"data": {"t": [-1.0, 0.5], "A": [0.0, 1.0]}}, "before the start"),
        ({"parameters": ["l"]}, "'l'"),
        ({"parameters": "L"}, "needed: names"),
        ({"bounds": {"d": (0.0, 1.0)}}, "not among the parameters"),
        ({"bounds": {"L": (2.0, 3.0)}}, "begins at 1"),
        ({"sigma": {"B": 1.0}}, "no entry for A"),
        ({"data": {"t": [0.0, 1.0], "A": [np.nan, np.nan]}}, "0 measurements"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_the_reason(change, message):
    given = {"data": {"t": [0.1, 0.2], "A": [0.9, 0.8]}, "parameters": ["L"], "state": {"A": 1.0}, **change}
    with pytest.raises(da.DalembertError, match=message):
        da.fit(pendulum(), **given)


def test_a_line_that_is_no_number_is_named(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("t,A\n0.1,0.9\n0.2,0;8\n")
    with pytest.raises(da.FileError, match=r"line 3: '0;8' is not a number"):
        da.fit(pendulum(), path, ["L"], {"A": 1.0})


def test_velocities_of_the_start_are_numbers_by_name():
    system = da.zoo.four_bar().compile()
    data = {"t": [0.0, 1.0], "A": [1.0, 2.0]}
    for v in ([1.0], {"A": "fast"}):
        with pytest.raises(da.ArgumentError, match=r"\bv\b"):
            da.fit(system, data, ["crank"], {"A": 0.6}, v=v)
