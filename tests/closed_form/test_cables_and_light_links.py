"""Statics of actuators with limits of their own, of preloaded parts, and of links that weigh next to nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize

import dalembert as da
from dalembert import control

ANCHORS = [(-1, 1), (1, 1), (-1, -1), (1, -1)]
CORNERS = [(-0.2, 0.1), (0.2, 0.1), (-0.2, -0.1), (0.2, -0.1)]


def cables(limits=(None, 0)):
    """A plate on four cables, which pull only: their forces are negative."""
    m = da.Mechanism("cables", gravity=(0, -9.81, 0))
    plate = m.add_body("plate", mass=10.0, inertia=da.box_inertia(10.0, (0.4, 0.2, 0.1)))
    m.add_joint("P", da.Planar("z"), m.ground, plate)
    for k, (a, c) in enumerate(zip(ANCHORS, CORNERS)):
        m.add_actuator(f"c{k}", m.ground.at(*a, 0), plate.at(*c, 0), limits=limits)
    system = m.compile()
    return system, system.state({"P": (0.1, -0.05, 0.05)})


def smallest(system, x, load, bounds):
    """The least Σu² with B u = load within bounds, by SciPy."""
    B = system.input_matrix(x)
    held = {"type": "eq", "fun": lambda u: B @ u - load, "jac": lambda u: B}
    start = np.linalg.lstsq(B, load, rcond=None)[0]
    found = minimize(
        lambda u: u @ u, start, jac=lambda u: 2 * u, constraints=[held], bounds=bounds, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 300},
    )  # fmt: skip
    assert np.abs(B @ found.x - load).max() < 1e-9
    return found.x


def test_inputs_that_hold_cables_are_the_smallest_within_their_own_limits():
    system, x = cables()
    weight = system.gravity_vector(x)
    exact = smallest(system, x, weight, [(None, 0)] * 4)
    np.testing.assert_allclose(da.equilibrium(system, x, solve_for="u").u, exact, atol=1e-6)
    np.testing.assert_allclose(control.actuator_forces(system, x, {}).u, exact, atol=1e-6)
    side = da.static_forces(system, x, [{}, {"plate": (30.0, 0, 0)}])
    np.testing.assert_allclose(side.u[0], exact, atol=1e-6)
    pulled = weight - system.jacobian(x, "plate", axes="world").T @ [0, 0, 0, 30.0, 0, 0]
    np.testing.assert_allclose(side.u[1], smallest(system, x, pulled, [(None, 0)] * 4), atol=1e-6)
    assert np.linalg.lstsq(system.input_matrix(x), weight, rcond=None)[0].max() > 20.0  # without limits two would push


def test_bounds_on_several_inputs_are_kept_beside_the_limits():
    system, x = cables()
    tight = da.equilibrium(system, x, solve_for="u", bounds={f"c{k}": (-500, -5) for k in range(4)})
    np.testing.assert_allclose(tight.u, smallest(system, x, system.gravity_vector(x), [(-500, -5)] * 4), atol=1e-6)
    np.testing.assert_allclose(system.acceleration(x, u=tight.u).vdot, 0.0, atol=1e-12)
    with pytest.raises(da.ArgumentError, match="its actuator exerts -inf … 0 N"):
        da.equilibrium(system, x, solve_for="u", bounds={"c0": (5.0, 500.0)})
    with pytest.raises(da.AssemblyError, match=r"c0 ≥ -10.*contradict it"):
        da.equilibrium(system, x, solve_for="u", bounds={"c0": (-10, None), "c1": (-10, None)})


def test_limits_of_actuators_may_be_open_on_one_side():
    system, x = cables(limits=(None, None))
    free = da.equilibrium(system, x, solve_for="u").u
    np.testing.assert_allclose(
        free, np.linalg.lstsq(system.input_matrix(x), system.gravity_vector(x), rcond=None)[0], atol=1e-9
    )
    assert free.max() > 20.0


def test_the_stiffness_of_preloaded_cables_is_that_of_differences():
    """Constant forces in cables: all stiffness comes from their directions."""
    system, x = cables()
    u = da.equilibrium(system, x, solve_for="u", bounds={f"c{k}": (-500, -50) for k in range(4)}).u
    C = da.stiffness(system, x, "plate", u=u).compliance[np.ix_([3, 4, 2], [3, 4, 2])]
    h = 1e-6
    there = [[system.applied_forces(system.plus(x, s * h * e), u=u) for s in (-1, 1)] for e in np.eye(3)]
    K = np.array([(before - after) / (2 * h) for before, after in there]).T
    names = [system.v_names.index(f"P.{n}") for n in ("x", "y", "angle")]
    np.testing.assert_allclose(C @ K[np.ix_(names, names)], np.eye(3), atol=1e-6)


def test_springs_that_pull_against_each_other_leave_a_position_at_rest():
    m = da.Mechanism("antagonists")
    block = m.add_body("block", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, block)
    for name, side in (("left", -1.0), ("right", 1.0)):
        m.add_spring(name, m.ground.at(side, 0.3, 0), block, stiffness=100.0, rest_length=0.5)
    system = m.compile()
    length = np.hypot(1.0, 0.3)
    exact = 2 * 100.0 * (1 / length**2 + (length - 0.5) / length * (1 - 1 / length**2))
    rest = da.equilibrium(system, {"x": 0.2}).state
    assert da.stiffness(system, rest, "block")["x", "x"] * exact == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(da.ArgumentError, match="does not rest there"):
        da.stiffness(system, {"x": 0.01}, "block")


def scissor(light):
    """Two stages of bars of 1 m with 50 kg on top: h = 2 sin φ over a slide at x = cos φ."""
    m = da.Mechanism("scissor", gravity=(0, -9.81, 0))
    slide, roller = (m.add_body(n, mass=light) for n in ("slide", "roller"))
    a, b, c, d = (m.add_body(n, mass=light, inertia=(light,) * 3) for n in "abcd")
    top = m.add_body("top", mass=50.0, inertia=(1, 1, 1))
    m.add_joint("X", da.Prismatic("x"), m.ground, slide)
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), slide, b)
    m.add_joint("C", da.Revolute("z"), a.at(1.0), c)
    m.add_joint("D", da.Revolute("z"), b.at(1.0), d)
    m.add_joint("T", da.Revolute("z"), d.at(1.0), top)
    m.add_joint("R", da.Prismatic("x"), top, roller)
    m.close_loop("M", da.Revolute("z"), a.at(0.5), b.at(0.5))
    m.close_loop("N", da.Revolute("z"), c.at(0.5), d.at(0.5))
    m.close_loop("Q", da.Revolute("z"), c.at(1.0), roller)
    m.add_motor("F", "X")
    system, phi = m.compile(), 0.5
    guess = {"X": 0.9, "B": np.pi - phi, "C": np.pi - 2 * phi, "D": 2 * phi - np.pi, "T": -phi, "R": -0.9}
    return system, system.assemble({"A": phi}, guess=guess)


@pytest.mark.parametrize("light", [1e-3, 1e-6])
def test_light_links_between_heavy_parts_come_to_rest(light):
    """By virtual work F = W dh/dx, W being the weight of the top; the bars add at most 100 of their weights."""
    system, x = scissor(light)
    exact = -50.0 * 9.81 * 2 * np.cos(0.5) / np.sin(0.5)
    assert da.equilibrium(system, x, solve_for="u").u[0] == pytest.approx(exact, abs=1e3 * light + 1e-4)
    assert da.static_forces(system, x)["F"][0] == pytest.approx(exact, abs=1e3 * light + 1e-4)


def test_masses_too_far_apart_for_a_linear_model_are_named_as_the_cause():
    system, x = scissor(1e-9)
    with pytest.raises(da.ArgumentError, match="whose masses differ too much"):
        da.linearize(system, x)
    up = system.sweep({"X": np.linspace(x["X"], 0.3, 9)}, x)
    np.testing.assert_allclose(up.position("top")[:, 1], 2 * np.sqrt(1 - up["X"] ** 2), atol=1e-12)
    np.testing.assert_allclose(up.driving_force("X"), -981.0 * up["X"] / np.sqrt(1 - up["X"] ** 2), rtol=1e-7)
