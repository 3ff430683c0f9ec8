"""Rest, coupling and the estimate of the way to a singular position do not depend on the units of a mechanism."""

import numpy as np
import pytest

import dalembert as da

UNITS = [(1.0, 1.0, 1.0), (2.0**-20, 1.0, 1.0), (2.0**20, 1.0, 1.0), (1.0, 1.0, 2.0**-20), (2.0**10, 2.0**20, 2.0**20)]


def press(length, mass, clock):
    """A slider-crank with a spring on its slider and a motor on its crank."""
    m = da.Mechanism("press", gravity=(0, -9.81 * length / clock**2, 0))
    crank = m.add_body("crank", mass=mass, com=(0.2 * length, 0, 0), inertia=da.rod_inertia(mass, 0.4 * length))
    rod = m.add_body("rod", mass=mass, com=(0.5 * length, 0, 0), inertia=da.rod_inertia(mass, length))
    slider = m.add_body("slider", mass=2 * mass)
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.4 * length, 0, 0), rod)
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.close_loop("C", da.Revolute("z"), rod.at(length, 0, 0), slider)
    k = 50.0 * mass / clock**2
    m.add_joint_force("spring", "x", lambda s: -k * (s["x"] - 1.1 * length))
    m.add_motor("torque", "A")
    return m.compile()


def start(system, length):
    return system.assemble({"A": 0.9}, guess={"B": -1.2, "x": 1.2 * length})


@pytest.mark.parametrize(("length", "mass", "clock"), UNITS)
def test_a_mechanism_rests_in_the_same_position(length, mass, clock):
    """Where the energy of weights and spring, by hand as a function of the crank's angle, is stationary."""
    system = press(length, mass, clock)
    rest = da.equilibrium(system, start(system, length))
    a = float(rest.state["A"])

    def energy(angle):  # of weights and spring, in units
        height, reach = 0.4 * np.sin(angle), np.sqrt(1.0 - (0.4 * np.sin(angle)) ** 2)
        x = 0.4 * np.cos(angle) + reach
        return 9.81 * (0.2 * np.sin(angle) + 0.5 * height) + 25.0 * (x - 1.1) ** 2

    h = 1e-5
    slope, bend = (energy(a + h) - energy(a - h)) / (2 * h), (energy(a + h) - 2 * energy(a) + energy(a - h)) / h**2
    assert abs(slope / bend) < 1e-8
    held = da.equilibrium(system, start(system, length), solve_for="u")
    expected = (energy(0.9 + h) - energy(0.9 - h)) / (2 * h)
    assert held.u[0] * clock**2 / mass / length**2 == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("length", "mass", "clock"), UNITS)
def test_what_falls_freely_does_not_rest(length, mass, clock):
    m = da.Mechanism("stone", gravity=(0, 0, -9.81 * length / clock**2))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("stone", mass=mass))
    with pytest.raises(da.AssemblyError, match="does not rest"):
        da.equilibrium(m.compile())


def test_the_way_to_a_singular_position_is_the_same_in_lengths():
    ways = []
    for length, mass, clock in UNITS:
        system = press(length, mass, clock)
        report = system.report(start(system, length))
        far, of = report.to_singularity
        unit = length if of == "x" else 1.0
        ways.append((far / unit, of, report.horizon / unit, report.lines()[-2][1] if of != "x" else ""))
    assert all(way[0] == pytest.approx(ways[0][0], rel=1e-6) for way in ways)
    assert len({way[1:2] + way[3:] for way in ways}) == 1


@pytest.mark.parametrize(("length", "mass", "clock"), UNITS)
def test_coupled_motions_are_called_so_at_any_size(length, mass, clock):
    """A linkage couples; a wheel beside a cart that stands still does not."""
    system = press(length, mass, clock)
    assert not system.subspaces(start(system, length)).decoupled
    m = da.Mechanism("slides", gravity=(0, 0, 0))
    cart = m.add_body("cart", mass=mass)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("w", da.Revolute("x"), cart, m.add_body("wheel", mass=mass, inertia=da.disc_inertia(mass, length)))
    m.add_driver("still", "x", lambda t: 0.0 * t)
    slides = m.compile()
    assert slides.subspaces(slides.state()).decoupled


def test_what_has_no_freedom_rests():
    m = da.Mechanism("plate")
    m.add_joint("weld", da.Fixed(), m.ground, m.add_body("plate", mass=1.0))
    for mechanism in (m, da.Mechanism("nothing")):
        assert da.equilibrium(mechanism.compile()).residual == 0.0
