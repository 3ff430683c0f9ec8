"""Mechanisms with one coordinate: constrained accelerations against Lagrange's equation of that coordinate alone.

The closed-form kinematics give the whole state from (θ, θ̇); so m(θ) = 2 T(θ, 1) and V(θ) depend on one number, and

    m θ̈ + ½ m′ θ̇² + V′ = 0,

which uses neither A, nor γ, nor any formulation.
"""

import numpy as np
import pytest

from dalembert import zoo

CASES = {
    "four-bar": (zoo.four_bar, zoo.four_bar_start, "A", 0.6),
    "slider-crank": (zoo.slider_crank, zoo.slider_crank_start, "A", 2.0),
    "equal slider-crank": (zoo.equal_slider_crank, zoo.equal_slider_crank_start, "q1", 0.7),
    "Bennett": (zoo.bennett, zoo.bennett_start, "theta1", 1.3),
    "Bricard": (zoo.bricard, zoo.bricard_start, "theta1", 1.2),
    "Bricard, cube": (zoo.bricard, zoo.bricard_start, "theta1", np.pi / 2),
    "Sarrus": (zoo.sarrus, zoo.sarrus_start, "A1", 0.8),
    "ladder": (lambda: zoo.ladder(6), lambda a, w: zoo.ladder_start(6, a, w), "A0", 0.9),
    "pendulum": (zoo.cartesian_pendulum, zoo.particle_start, "x", -0.4),
    "five-bar, symmetric": (zoo.five_bar, zoo.five_bar_start, "A", 0.7),
}


def derivative(f, x, h=1e-3):
    """Central, sixth order."""
    d = [f(x + k * h) - f(x - k * h) for k in (1, 2, 3)]
    return (45 * d[0] - 9 * d[1] + d[2]) / (60 * h)


@pytest.mark.parametrize("name", CASES)
def test_one_coordinate_moves_by_its_own_lagrange_equation(name):
    build, start, coordinate, theta = CASES[name]
    system = build().compile(backend="casadi")
    speed = 1.7

    def inertia(at):
        return 2 * system.kinetic_energy(system.state(*start(at, 1.0)))

    def potential(at):
        return system.potential_energy(system.state(*start(at, 1.0)))

    alone = -(derivative(inertia, theta) * speed**2 / 2 + derivative(potential, theta)) / inertia(theta)
    per_speed = system.state(*start(theta, 1.0)).rate(coordinate)
    drift = derivative(lambda at: system.state(*start(at, 1.0)).rate(coordinate), theta) * speed**2
    found = system.acceleration(system.state(*start(theta, speed))).vdot[system.v_names.index(coordinate)]
    assert found == pytest.approx(per_speed * alone + drift, rel=1e-8, abs=1e-8)


ASSEMBLED = {
    "four_bar": (["A"], 0.05),
    "slider_crank": (["A"], 0.05),
    "five_bar": (["A", "D"], 0.05),
    "loader": (["lift", "tilt"], 0.02),
    "planar_3rrr": (["A1", "A2", "A3"], 0.05),
    "stewart": (["platform"], 0.02),
    "bricard": (["theta1"], 0.05),
    "sarrus": (["A1"], 0.05),
}


@pytest.mark.parametrize("name", ASSEMBLED)
def test_assembly_finds_the_closed_form_from_nearby(name):
    held, far = ASSEMBLED[name]
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    known = system.state(*entry.start())
    away = system.plus(known, far * np.random.default_rng(5).normal(size=system.nv))
    found = system.assemble({joint: known[joint] for joint in held}, guess=away)
    np.testing.assert_allclose(system.minus(found, known), 0.0, atol=1e-8)
