"""Margins and step responses of linear models against closed forms, and against python-control."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.view.linear import step_response


def slide(mass=2.0, damping=3.0, stiffness=50.0):
    """x / F = 1 / (m s² + d s + k)."""
    m = da.Mechanism("slide")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass), damping=damping, stiffness=stiffness)
    m.add_motor("F", "x")
    system = m.compile()
    return da.linearize(system, system.state(), outputs=["x"])


def third_order(gain):
    """G = gain / (s (s + 1) (s + 2)): the loop is on its border at a gain of 6, ω = √2."""
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -2.0, -3.0]])
    model = slide()
    return replace(
        model, A=A, B=np.array([[0.0], [0.0], [gain]]), C=np.array([[1.0, 0.0, 0.0]]), D=np.zeros((1, 1)),
        rate=np.zeros(3), time=np.zeros(3), state_names=("a", "b", "c"),
    )  # fmt: skip


@pytest.mark.parametrize("gain", [1e-3, 0.5, 2.0, 20.0])
def test_a_third_order_loop_has_its_margins(gain):
    found = third_order(gain).margins()
    assert found.gain == pytest.approx(6.0 / gain, rel=1e-9)
    assert found.gain_frequency == pytest.approx(np.sqrt(2.0), rel=1e-9)
    w = found.phase_frequency
    assert gain / (w * np.hypot(w, 1) * np.hypot(w, 2)) == pytest.approx(1.0, rel=1e-9)
    assert found.phase == pytest.approx(np.pi / 2 - np.arctan(w) - np.arctan(w / 2), abs=1e-9)
    assert (found.phase > 0) == (gain < 6.0)


def test_python_control_finds_the_same_margins():
    control = pytest.importorskip("control")
    model = third_order(1.5)
    gain, phase, at_phase, at_gain = control.margin(model.to_control())
    found = model.margins("F", "x")
    assert [found.gain, np.degrees(found.phase), found.gain_frequency, found.phase_frequency] == pytest.approx(
        [gain, phase, at_phase, at_gain], rel=1e-6
    )


def test_an_oscillator_can_be_fed_back_with_any_gain_below_its_stiffness():
    """|G| < 1 at every frequency of a stiff slide, and G is never negative and real: both margins are infinite."""
    found = slide(stiffness=500.0, damping=40.0).margins()
    assert found.gain == np.inf
    assert found.phase == np.inf
    assert np.isnan(found.phase_frequency)


def test_margins_need_one_input_and_one_output():
    m = slide()
    two = replace(m, C=np.eye(2), D=np.zeros((2, 1)), output=np.zeros(2), output_names=("x", "x rate"))
    with pytest.raises(ArgumentError, match="name them"):
        two.margins()
    assert two.margins(output="x").phase == pytest.approx(m.margins().phase)


@pytest.mark.parametrize("period", [None, 0.01])
def test_a_step_settles_as_the_closed_form_says(period):
    model = slide()
    model = model if period is None else model.discretize(period)
    t, y = step_response(model)
    w, z = 5.0, 3.0 / (2 * 2.0 * 5.0)
    wd = w * np.sqrt(1 - z * z)
    exact = (1 - np.exp(-z * w * t) * (np.cos(wd * t) + z / np.sqrt(1 - z * z) * np.sin(wd * t))) / 50.0
    np.testing.assert_allclose(y[:, 0, 0], exact, atol=1e-12)
    assert y[-1, 0, 0] == pytest.approx(0.02, rel=0.01)


def test_frequencies_surround_the_poles_and_end_at_half_the_sampling():
    model = slide()
    w = model.frequencies()
    assert w[0] < 5.0 / 30 < 5.0 * 30 < w[-1]
    assert np.abs(w - 4.9434).min() < 1e-3  # beside the resonance
    assert model.discretize(0.1).frequencies()[-1] < np.pi / 0.1


@pytest.mark.parametrize("period", [None, 0.01])
def test_a_nyquist_curve_is_round_at_a_sharp_resonance(period):
    """Steps are short beside the circle, of the diameter 1 / (2 ζ k), that the curve of little damping runs through."""
    m = da.Mechanism("mass")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("mass", mass=1.0), stiffness=25.0, damping=0.01)
    m.add_motor("push", "x")
    model = da.linearize(m.compile(), {}, outputs=["x"])
    model = model if period is None else model.discretize(period)
    G = model.frequency_response(model.frequencies())[:, 0, 0]
    assert np.abs(G).max() == pytest.approx(1 / (2 * 0.001 * 25.0), rel=0.01)
    assert np.abs(np.diff(G)).max() < 0.06 * np.abs(G).max()
