"""Tables as pictures: curves that belong together, bars where there is one row, colours for light and dark."""

import matplotlib
import numpy as np
import pytest

from dalembert.tables import Columns
from dalembert.view.curves import plot_columns

matplotlib.use("Agg")
from matplotlib import pyplot, rc_context, style
from matplotlib.colors import to_rgb


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def variants(n):
    A, k = np.tile([0.0, 1.0, 2.0], n), np.repeat(np.arange(n), 3)
    values = {"variant": k, "A": A, "q.A": A, "q.B": A + k, "success": k > 0}
    return Columns("four-bar", "row", np.arange(3 * n), values, {"A": "rad"}, along="A", by="variant")


def test_each_variant_is_a_curve_over_what_is_led():
    (axes,) = plot_columns(variants(2)).axes
    assert [line.get_label() for line in axes.lines] == ["q.B, variant 0", "q.B, variant 1"]
    np.testing.assert_array_equal([line.get_xdata() for line in axes.lines], [[0, 1, 2]] * 2)
    np.testing.assert_array_equal([line.get_ydata() for line in axes.lines], [[0, 1, 2], [1, 2, 3]])
    assert axes.get_xlabel() == "A (rad)"


def test_many_variants_share_a_colour_and_one_entry_of_the_legend():
    (axes,) = plot_columns(variants(20)).axes
    assert len(axes.lines) == 20
    assert {line.get_color() for line in axes.lines} == {"C0"}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["q.B"]


def test_columns_of_yes_and_no_are_drawn_when_they_are_named():
    (axes,) = plot_columns(variants(2), "success").axes
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), [True] * 3)


def test_a_single_row_is_bars_with_their_names_and_numbers():
    values = {"q.A": np.array([0.5]), "q.B": np.array([-1.25]), "u.push": np.array([40.0])}
    above, below = plot_columns(Columns("rest", "row", np.arange(1), values, {"u.push": "N"})).axes
    assert [t.get_text() for t in above.get_yticklabels()] == ["q.A", "q.B"]
    assert [bar.get_width() for bar in above.patches] == [0.5, -1.25]
    assert [t.get_text() for t in above.texts] == ["0.5", "-1.25"]
    assert below.get_xlabel() == "N"


def test_rows_with_names_have_a_panel_for_each_column():
    values = {
        "quantity": np.array(["x", "y"], dtype=object),
        "value": np.array([1.0, 2.0]),
        "d.l": np.array([3.0, 4.0]),
    }
    figure = plot_columns(Columns("sensitivities", "row", np.arange(2), values, {}, by="quantity"))
    assert [axes.get_xlabel() for axes in figure.axes] == ["value", "d.l"]
    assert [bar.get_width() for bar in figure.axes[1].patches] == [3.0, 4.0]


@pytest.mark.parametrize("background", ["default", "dark_background"])
def test_every_line_of_a_run_stands_out_from_the_background(background):
    """No curve is darker than a fifth of the way from a dark ground, or lighter than that from a light one."""
    import dalembert as da
    from dalembert import view, zoo

    system = zoo.cart_pole().compile()
    run = da.simulate(system, system.state({"phi1": 0.1}), 0.1)
    with rc_context(), style.context(background):
        figures = [view.plot(run), da.linearize(system, run.state(0)).plot("poles")]
        ground = np.mean(to_rgb(matplotlib.rcParams["axes.facecolor"]))
    for figure in figures:
        for line in (x for axes in figure.axes for x in axes.lines):
            assert abs(np.mean(to_rgb(line.get_color())) - ground) > 0.2, line.get_label()
