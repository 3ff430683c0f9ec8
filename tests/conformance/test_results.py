"""Every result answers the same questions in the same words, where it has the data."""

import csv

import matplotlib
import numpy as np
import pytest

from dalembert.errors import UnknownName
from dalembert.tables import Tabular
from result_cases import CASES, four_bar, sweep, sweeps

matplotlib.use("Agg")

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
