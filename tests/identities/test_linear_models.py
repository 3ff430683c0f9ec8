"""Linear models agree with differences of the nonlinear equations on the manifold."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError
from manifold_differences import differences
from random_loops import random_closed

CHOICES = [
    ("five_bar", None),
    ("loader", ["B", "G"]),  # boom and bucket, Spencer 4.5
    ("loader", ["lift", "tilt"]),  # the cylinders
    ("loader", ["B", "L"]),  # a cut joint's angle
    ("rolling_disc", None),
    ("car", None),
    ("chaplygin_sleigh", None),
    ("bennett", None),
    ("constrained_double_pendulum", None),
]


def moving(name, seed=3):
    """A mechanism of the zoo in some motion."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    rng = np.random.default_rng(seed)
    x = system.project(x.replace(v=x.v + 0.5 * rng.normal(size=system.nv)))
    return system, x, rng.normal(size=len(system.u_names))


def agree(found, expected, tolerance):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize(("name", "independent"), CHOICES, ids=[f"{n}-{'+'.join(i or ['best'])}" for n, i in CHOICES])
def test_in_motion_with_inputs(name, independent):
    system, x, u = moving(name)
    model = da.linearize(system, x, u=u, independent=independent)
    A, B, time = differences(model)
    agree(model.A, A, 1e-6)
    agree(model.B, B, 1e-9)
    agree(model.time, time, 1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_random_mechanisms_with_quaternions_and_redundant_loops(seed):
    system, x = random_closed(seed, bodies=5, loops=1)
    model = da.linearize(system, x)
    assert model.operating.rows is not None
    agree(model.A, differences(model)[0], 1e-6)


def test_a_driven_mechanism_has_a_time_column():
    m = zoo.five_bar()
    m.add_driver("drive", "A", lambda t: -0.1 + 0.3 * ca.sin(2 * t))
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.4, guess=zoo.five_bar_start()[0])
    model = da.linearize(system, x, outputs=["A", "rate:A", "acceleration:A"])
    A, B, time = differences(model)
    agree(model.A, A, 1e-8)
    agree(model.B, B, 1e-10)
    agree(model.time, time, 1e-8)
    phase = 2 * 0.4
    np.testing.assert_allclose(model.C, 0.0, atol=1e-12)  # the driver alone moves A
    expected = [0.6 * np.cos(phase), -1.2 * np.sin(phase), -2.4 * np.cos(phase)]
    np.testing.assert_allclose(model.output_time, expected, atol=1e-12)


def test_any_function_of_the_positions_can_be_a_coordinate():
    system = zoo.loader().compile(backend="casadi")
    x = system.assemble(v={"lift": 0.1, "tilt": -0.1}, guess=zoo.loader_start()[0])
    height = ("height", lambda s: s.position("lip")[2])
    model = da.linearize(system, x, u=[1e4, -1e4], independent=["B", height])
    assert model.state_names == ("B", "height", "B rate", "height rate")
    A, B, _ = differences(model)
    agree(model.A, A, 1e-6)
    agree(model.B, B, 1e-9)


def test_outputs_agree_with_differences_on_the_manifold():
    from manifold_differences import displaced

    system, x, u = moving("loader")
    u = 1e4 * u
    names = ["F", "rate:H", "acceleration:B", "multiplier:D.x", "position:lip", "velocity:lip@z", "energy",
             "kinetic_energy", "potential_energy", ("power", lambda s: s["B"] * s.rate("G") ** 2)]  # fmt: skip
    model = da.linearize(system, x, u=u, independent=["B", "G"], outputs=names)

    def values(y, u):
        z = displaced(model, y, 0.0)
        return da.linearize(system, z, u=u, independent=["B", "G"], outputs=names).output

    h = 1e-3
    for k, e in enumerate(np.eye(4)):
        a, b, c, d = (values(s * h * e, u) for s in (2, 1, -1, -2))
        agree(
            model.C[:, k] / (1 + np.abs(model.output)),
            ((8 * (b - c) - (a - d)) / (12 * h)) / (1 + np.abs(model.output)),
            1e-8,
        )
    for k, e in enumerate(np.eye(2)):
        agree(model.D[:, k], values(np.zeros(4), u + e) - values(np.zeros(4), u), 1e-9)
    assert model.output[list(model.output_names).index("energy")] == pytest.approx(system.energy(x))


def test_sampled_models_keep_the_drift_of_a_state_that_is_no_equilibrium():
    """x₊ with δu, from `rate` and (for a driven one) `time`, against integrating the affine model."""
    from scipy.integrate import solve_ivp

    m = zoo.five_bar()
    m.add_driver("drive", "A", lambda t: -0.1 + 0.3 * ca.sin(2 * t))
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.4, guess=zoo.five_bar_start()[0])
    model = da.linearize(system, x)
    du, h = np.array([0.3, -0.2]), 0.2
    step = model.discretize(h)
    start = np.array([0.01, -0.02])

    def flow(t, y):
        return model.rate + model.A @ y + model.B @ du + model.time * t

    expected = solve_ivp(flow, (0, h), start, rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(step.rate + step.A @ start + step.B @ du, expected, rtol=1e-9)


@pytest.mark.parametrize(("length", "mass"), [(1e4, 1e-6), (1e-4, 1e6), (1.0, 1e-9)])
def test_size_and_mass_do_not_matter_to_angles(length, mass):
    """Lengths and gravity scaled alike leave the equations of angles as they are; so do all masses together."""

    def model(s, c):
        bars = {"ground": 0.55 * s, "crank": 0.20 * s, "coupler": 0.60 * s, "rocker": 0.40 * s}
        m = zoo.four_bar(**bars, masses=(c, 1.5 * c, 1.2 * c), gravity=9.81 * s)
        system = m.compile(backend="casadi")
        x = system.state(*zoo.four_bar_start(0.7, speed=2.0, **bars))
        return da.linearize(system, system.project(x), independent=["A"]), da.linearize(system, system.project(x))

    (small, chosen), (expected, default) = model(length, mass), model(1.0, 1.0)
    agree(small.A, expected.A, 1e-9)
    assert chosen.velocities == default.velocities


def test_a_mechanism_without_freedom_has_outputs_in_time_alone():
    m = zoo.four_bar()
    m.add_driver("drive", "A", lambda t: 0.6 + 0.5 * t)
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.2, guess=zoo.four_bar_start(0.7)[0])
    model = da.linearize(system, x, outputs=["A", "D"])
    assert model.A.shape == (0, 0)
    assert model.C.shape == (2, 0)
    np.testing.assert_allclose(model.output_time, [0.5, x.rate("D")], atol=1e-12)
    assert model.stable
    assert model.controllable
    assert model.modes == ()


def test_one_body_and_massless_carriers():
    """A particle on two massless slides, tied to a circle: the pendulum's own equation, whichever coordinate leads."""
    system = zoo.cartesian_pendulum().compile(backend="casadi")
    angle = 0.4
    x = system.state({"x": np.sin(angle), "y": -np.cos(angle)})
    turned = ("angle", lambda s: ca.atan2(s["x"], -s["y"]))
    model = da.linearize(system, x, independent=[turned])
    np.testing.assert_allclose(model.A, [[0, 1], [-9.81 * np.cos(angle), 0]], atol=1e-12)
    assert model.rate[1] == pytest.approx(-9.81 * np.sin(angle))


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_step_is_judged_by_time_constants_and_not_by_units(unit):
    """ẍ = −k x with x in metres or in micrometres beside v in m/s: rotation by ω h, at any unit; growth is refused."""
    m = da.Mechanism("spring", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=1.0), stiffness=4.0)
    model = da.linearize(m.compile(), {})
    scaled = replace(model, A=model.A * [[1.0, unit], [1.0 / unit, 1.0]])
    for h in (0.3, 3000.0):
        turned = np.array([[np.cos(2 * h), unit * np.sin(2 * h) / 2], [-2 / unit * np.sin(2 * h), np.cos(2 * h)]])
        off = (scaled.discretize(h).A - turned) / [[1.0, unit], [1 / unit, 1.0]]
        assert np.abs(off).max() < 1e-14 * max(1.0, 4 * h)
    with pytest.raises(ArgumentError, match="time constants"):
        scaled.discretize(1e7)
    falling = replace(model, A=np.abs(model.A))
    with pytest.raises(ArgumentError, match="grows by exp"):
        falling.discretize(1000.0)
    assert np.isfinite(falling.discretize(100.0).A).all()
