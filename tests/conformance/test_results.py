"""Every result answers the same questions in the same words, where it has the data."""

import csv

import matplotlib
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.errors import UnknownName
from dalembert.tables import Tabular

matplotlib.use("Agg")


def loader():
    return zoo.loader().compile(), zoo.loader().compile().state(*zoo.loader_start())


def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0})


def pole():
    system = zoo.cart_pole().compile()
    return system, system.state({"phi1": 0.1})


def run():
    return da.simulate(*four_bar(), 0.3)


def phased():
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", restitution=0.5)
    return da.simulate(m.compile(), {"z": 1.0}, 1.0)


def sweep():
    return four_bar()[0].sweep({"A": np.linspace(0.6, 0.9, 7)}, speed=1.0)


def sweep_of_two():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    return system.sweep({"A": np.linspace(x["A"], x["A"] + 0.1, 4), "B": np.linspace(x["B"], x["B"] - 0.1, 4)}, x)


def sweeps():
    return da.sweep_many(four_bar()[0], {"A": np.linspace(0.5, 0.9, 5)}, n=3, speed=2.0)


def ensemble(**how):
    system, x = four_bar()
    return da.ensemble(system, {"A": [0.5, 0.6, 0.7]}, 0.2, v={"A": 1.0}, guess=x, workers=1, **how)


def ensemble_over_time():
    return ensemble(t_eval=np.linspace(0.0, 0.2, 9))


def workspace():
    system, x = four_bar()
    return da.workspace(system, {"A": np.linspace(0.4, 0.8, 4)}, x)


def linear_model():
    return da.linearize(*pole())


def linear_models():
    system, x = pole()
    return da.linearize_many(system, [x, x.replace(q={"phi1": 0.3})])


def linear_trajectory():
    system, x = pole()
    return da.linearize_along(system, da.simulate(system, x, 0.2))


def equilibrium():
    return da.equilibrium(*loader(), solve_for="u")


def static_forces():
    return da.static_forces(*loader(), [{"bucket": (0, 0, -F)} for F in (0.0, 1e4)])


def plan():
    system, x = pole()
    return control.straight_motion(system, x.replace(q={"phi1": 0.0}), {"cart": 0.2}, 0.8, 8)


def optimal():
    system, x = pole()
    return control.optimal_motion(system, x, 0.2, lambda s, u: u["push"] ** 2, lambda s: s["phi1"] ** 2, steps=4)


def forces():
    system, _ = four_bar()
    return control.inverse_dynamics_along(system, sweep(), np.linspace(0, 0.3, 7), actuated=["A"])


def sensitivities():
    from parameterized import four_bar as varied

    system = varied()
    x = system.assemble({"A": 0.7}, guess={"D": 1.2})
    return da.sensitivities(system, x, of=["acceleration:A"], wrt=["l1", "l2"], held=["A"])


CASES = {
    f.__name__: f
    for f in (
        run, phased, sweep, sweep_of_two, sweeps, ensemble, ensemble_over_time, workspace, linear_model, linear_models,
        linear_trajectory, equilibrium, static_forces, plan, optimal, forces, sensitivities,
    )
}  # fmt: skip
MOTIONS = ("run", "phased", "sweep", "sweep_of_two")  # that have frames, forces and energies at every record


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return request.param, CASES[request.param]()


def test_a_table_has_the_numbers_of_the_file(case, tmp_path):
    _, result = case
    assert isinstance(result, Tabular)
    table = result.to_pandas()
    result.to_csv(tmp_path / "result.csv")
    with (tmp_path / "result.csv").open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == [table.index.name, *table.columns]
    assert len(rows) == len(table)
    for k, name in enumerate(table.columns, start=1):
        if table[name].dtype.kind == "f":
            np.testing.assert_array_equal([float(row[k]) for row in rows], table[name])  # to the last digit
    assert set(table.attrs["units"]) <= {table.index.name, *table.columns}


def test_a_dataset_has_the_numbers_of_the_table(case):
    name, result = case
    data = result.to_xarray()
    if name in ("linear_model", "equilibrium", "static_forces", "plan", "forces", "sweep"):
        table = result.to_pandas()
        for column in table.columns:
            np.testing.assert_array_equal(data[column].values, table[column])
            assert data[column].attrs["units"] == table.attrs["units"].get(column, "")
    assert data.sizes


def test_a_picture_is_written(case, tmp_path):
    _, result = case
    figure = result.plot(path=tmp_path / "result.png")
    assert (tmp_path / "result.png").stat().st_size > 5000
    assert all(axes.lines or axes.patches or axes.collections for axes in figure.axes)
    matplotlib.pyplot.close(figure)


def test_a_summary_is_text_and_a_notebook_shows_something(case):
    _, result = case
    assert len(result.summary()) > 20
    assert not result.summary().startswith("<")
    assert "<script>" not in result._repr_html_()
    assert len(result._repr_html_()) > 100
    assert repr(result).startswith("<")


@pytest.mark.parametrize("name", MOTIONS)
def test_motions_answer_about_frames_forces_and_energies(name):
    result = CASES[name]()
    N, system = len(result.q), result.system
    joint, body = next(iter(system.layout.joints)), list(system.layout.mechanism.bodies)[-1]
    assert result.position(body).shape == (N, 3)
    assert result.energy.shape == (N,)
    if name != "sweep_of_two":
        assert result.reactions(joint).shape == (N, 6)
    assert result[joint].shape == (N,)
    assert result.state(0).q.shape == (system.nq,)


def test_the_power_of_a_sweeps_drive_is_the_rate_of_its_energy():
    """One freedom led at a steady speed: what the drive brings in is d(T + V)/dt, here by differences in the angle."""
    system, _ = four_bar()
    A = np.linspace(0.6, 1.2, 61)
    led = system.sweep({"A": A}, speed=1.5)
    rate = np.gradient(led.energy, A, edge_order=2) * 1.5
    np.testing.assert_allclose(led.power("A")[2:-2], rate[2:-2], rtol=1e-3, atol=1e-3 * np.abs(rate).max())


def test_columns_are_chosen_by_name_or_by_the_first_part_of_it():
    result = sweep()
    assert len(result.plot("q").axes) == 1
    assert len(result.plot(["q.A", "force"]).axes) == 2
    with pytest.raises(UnknownName, match="column"):
        result.plot("nothing")
    matplotlib.pyplot.close("all")


def test_a_state_of_sweeps_is_that_of_its_variant():
    many = sweeps()
    x = many.state(1, -1)
    np.testing.assert_array_equal(x.q, many.q[1, -1])
    assert np.abs(many.system.residuals(x)).max() < 1e-10
