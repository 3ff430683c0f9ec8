"""Live pages of several kinds of mechanism in a real browser: the numbers of the library to 1e-12, below 1 MB."""

import numpy as np
import pytest

import dalembert as da
from browser_waiting import until
from dalembert import zoo
from live_in_node import STEPS

SECONDS = 1.0
#: rolling wheels, a tree, a knife edge, a loop through dead points, a spatial tree
NAMES = ("car", "chain", "chaplygin_sleigh", "equal_slider_crank", "furuta")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_computes_what_the_library_does(tab, tmp_path, name):
    """States after every step, the least singular value at the start, closed loops at the end."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    x = system.state(*entry.start())
    path = da.view.export_html(system, tmp_path / "page.html", x, modes=False)
    assert path.stat().st_size < 1_000_000
    run = da.simulate(system, x, SECONDS)
    tab.goto(path.as_uri())
    until(tab, "!!window.live && live.drawn > 0")
    found = tab.evaluate("t => { const machine = live.machine\n" + STEPS + "}", run.t.tolist())
    assert found["ended"] is None
    states = np.hstack([run.q, run.v])[1:]
    rows = np.array(found["rows"])[:, : states.shape[1]]
    np.testing.assert_allclose(found["times"], run.t[1:], rtol=0, atol=1e-14)
    assert np.abs(rows - states).max() < 1e-12 * (1 + np.abs(states).max())
    assert found["residual"] < 1e-11
    if system.rows.of:
        report = system.report(x)
        least = report.singular_values[report.rank - 1]
        assert abs(found["least"] - least) < 1e-12
