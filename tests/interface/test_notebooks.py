"""Notebooks show pictures of systems, states, runs and modes: well-formed, small, and never an error."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo
from dalembert.view.notebook import html_of, svg


@pytest.fixture(scope="module")
def pendulum():
    m = da.Mechanism("<pendulum>", gravity=(0, -9.81, 0))
    m.add_joint(
        "A", da.Revolute("z"), m.ground, m.add_body("a & b", mass=1.0, com=(0, -0.5, 0), inertia=da.rod_inertia(1, 1))
    )
    return m.compile()


def picture(html):
    """The SVG in HTML, parsed."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    return root.find("{http://www.w3.org/2000/svg}svg")


def test_systems_states_runs_and_modes_have_pictures(pendulum):
    run = da.simulate(pendulum, {"A": 0.3}, 1.0)
    model = da.linearize(pendulum, {"A": 0.0})
    for shown in (pendulum, pendulum.state({"A": 0.3}), run, run.state(3), model.modes[0]):
        html = shown._repr_html_()
        found = picture(html)
        assert len(found) > 3
        assert len(html) < 300_000
        assert "<pendulum>" not in html
        numbers = np.array([float(x) for p in found for pair in p.get("points").split() for x in pair.split(",")])
        assert np.isfinite(numbers).all()
        assert numbers.min() > -1
        assert numbers.max() < 400
    assert "steps" in run._repr_html_()


def test_a_system_whose_loops_are_open_in_its_neutral_position_is_described_only():
    system = zoo.four_bar().compile(backend="casadi")
    assert "<svg" not in system._repr_html_()
    assert "coupler" in system._repr_html_()
    assert picture(system.state(*zoo.four_bar_start())._repr_html_()) is not None


def test_what_cannot_be_drawn_is_still_said(pendulum):
    assert html_of(pendulum, [[np.nan]], "a < b") == "<pre>a &lt; b</pre>"
    assert html_of(pendulum, [[0.0, 1.0, 2.0]], "text").endswith("<pre>text</pre>")
    chain = zoo.chain(45).compile(backend="casadi")
    assert svg(chain, chain.state().q[None]) == ""


def test_a_mode_is_animated(pendulum, tmp_path):
    """Three swings of the pendulum's period 2π/√(mgl/I), from one end to the other."""
    mode = da.linearize(pendulum, {"A": 0.0}).modes[0]
    path = view.animate(mode, tmp_path / "mode.html", speed=1.0)
    from test_view import facts_of

    facts, poses = facts_of(path)
    assert facts["end"] == pytest.approx(3 * 2 * np.pi / np.sqrt(9.81 * 0.5 / (1 / 12 + 0.25)), rel=1e-6)
    angle = 2 * np.arctan2(poses[:, 1, 6], poses[:, 1, 3])
    times = np.linspace(0, 6 * np.pi, facts["count"])
    np.testing.assert_allclose(angle, 0.15 * np.cos(times), atol=2e-3)
