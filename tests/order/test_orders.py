"""Slopes of the error: every method has its order, in all coordinates and in few, at records and between, in works."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

TIMES = np.linspace(0, 1, 23)
TIGHT = {"rtol": 1e-13, "atol": 1e-14}
U = {"torque": 0.7}


@pytest.fixture(scope="module")
def four_bar():
    """Damped, with a constant torque, so that both works are there; and its motion to rounding."""
    m = zoo.four_bar()
    m.add_joint_force("friction", "B", lambda s: -0.3 * s.rate("B"))
    system = m.compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    return system, x, da.simulate(system, x, 1.0, t_eval=TIMES, u=U, **TIGHT)


def compare(problem, **options):
    """A run at the times of an exact one, and its largest errors: of positions, and of each work."""
    system, x, exact = problem
    run = da.simulate(system, x, 1.0, t_eval=exact.t, u=U, **options)
    works = {name: np.abs(run.work[name] - exact.work[name]).max() for name in exact.work}
    assert set(works) == {"inputs", "forces"}
    return run, {"position": np.abs(run.q - exact.q).max(), **works}


def orders(coarse, fine, ratio):
    return {name: np.log(coarse[name] / fine[name]) / np.log(ratio) for name in coarse}


@pytest.mark.parametrize(
    "options",
    [
        {"stabilization": "none"},
        {"stabilization": "projection"},
        {"stabilization": "energy"},
        {"stabilization": da.Projection(directions="frozen")},
        {"stabilization": da.Projection(metric="euclidean", every=3)},
        {"stabilization": "baumgarte"},
        {"coordinates": "A"},
        {"coordinates": "tangent"},
    ],
    ids=["none", "projection", "energy", "frozen", "euclidean, every third", "baumgarte", "A leads", "tangent"],
)
def test_rk4_has_order_four_whatever_keeps_it_on_the_manifold(four_bar, options):
    """In positions and in works, at its own steps and between them."""
    (_, coarse), (_, fine) = (compare(four_bar, method="rk4", step=h, **options) for h in (1 / 80, 1 / 640))
    for order in orders(coarse, fine, 8).values():
        assert order == pytest.approx(4.0, abs=0.4)


def test_switching_charts_loses_no_order(four_bar):
    """The rocker's angle leads and comes to its turning point; another takes its place, at the same time in both."""
    system, _, _ = four_bar
    x = system.assemble({"A": 0.6}, v={"A": 12.0})
    exact = da.simulate(system, x, 1.0, u=U, **TIGHT).q[-1]
    runs = [da.simulate(system, x, 1.0, u=U, method="rk4", step=h, coordinates="D") for h in (1 / 640, 1 / 1280)]
    (_, (one, _)), (_, (two, _)) = (run.charts for run in runs)
    assert one == pytest.approx(two, abs=1e-9)
    coarse, fine = (np.abs(run.q[-1] - exact).max() for run in runs)
    assert np.log2(coarse / fine) == pytest.approx(4.0, abs=0.2)


@pytest.mark.parametrize(("method", "order"), [("dopri5", 5), ("dop853", 8), ("sdirk4", 4)])
@pytest.mark.parametrize("coordinates", [None, "A", "tangent"])
def test_adaptive_methods_have_their_order(four_bar, method, order, coordinates):
    """Error against mean step, as the tolerance falls: one run may be lucky, a line through nine is not."""
    first, last = {"dopri5": (1e-6, 1e-9), "dop853": (1e-6, 1e-11), "sdirk4": (1e-5, 1e-9)}[method]
    tolerances = np.geomspace(first, last, 9)
    runs, found = zip(*(compare(four_bar, method=method, coordinates=coordinates, rtol=r, atol=r) for r in tolerances))
    steps = np.log([run.steps for run in runs])
    for name in found[0]:
        slope = -np.polyfit(steps, np.log([errors[name] for errors in found]), 1)[0]
        assert slope > order - 0.6, name
    assert found[-1]["position"] < 100 * last


@pytest.mark.parametrize("coordinates", [None, "tangent"])
@pytest.mark.parametrize("method", ["dop853", "dopri5", "sdirk4"])
def test_states_between_the_records_are_as_good_as_the_records(four_bar, method, coordinates):
    system, x, _ = four_bar
    exact = da.simulate(system, x, 1.0, u=U, **TIGHT)
    run = da.simulate(system, x, 1.0, u=U, method=method, coordinates=coordinates, rtol=1e-7, atol=1e-8)
    middle = (run.t[1:] + run.t[:-1]) / 2
    at_records = np.abs(run.q - exact(run.t)[0]).max()
    between, rates = run(middle)
    assert np.abs(between - exact(middle)[0]).max() < 3 * at_records
    assert max(np.abs(system.residuals(system.state(q, v))).max() for q, v in zip(between, rates)) < 1e-13


def shaken_tops():
    """Two bodies on quaternion joints, damped and driven by a torque, the first carried by a driven slide."""
    m = da.Mechanism("shaken tops", gravity=(0.3, -0.4, -9.81))
    cart = m.add_body("cart", mass=1.0)
    one = m.add_body("one", mass=1.0, com=(0, 0, -0.4), inertia=(0.05, 0.06, 0.03))
    two = m.add_body("two", mass=0.7, com=(0.1, 0, -0.3), inertia=(0.03, 0.02, 0.03))
    m.add_joint("slide", da.Prismatic("x"), m.ground, cart)
    m.add_joint("ball", da.Spherical(), cart, one, damping=0.1)
    m.add_joint("ball2", da.Spherical(), one.at(0, 0, -0.8), two)
    m.add_joint("free", da.Free(), m.ground, m.add_body("load", mass=0.5, inertia=(0.02, 0.03, 0.04)))
    m.add_rod("rod", two.at(0, 0, -0.5), m.bodies["load"].at(0.1, 0, 0), length=0.5)
    m.add_driver("shaker", "slide", lambda t: 0.1 * ca.sin(4 * t))
    m.add_joint_force("wind", "ball2", lambda s: 0.2 * ca.vertcat(ca.cos(9 * s.t), ca.sin(9 * s.t), 0))
    turn = m.add_input("turn")
    m.add_wrench("push", one, moment=(0, 0, turn))
    return m.compile()


@pytest.mark.parametrize("steering", ["constant", "expression", "python"])
def test_the_variational_method_has_order_two_with_quaternions_dampers_inputs_and_drivers(steering):
    system = shaken_tops()
    x = system.assemble({"slide": 0.0}, v={"ball": [0.3, 0.5, 2.0]}, guess={"free": [1, 0, 0, 0, 0.1, 0.2, -1.6]})
    u = {
        "constant": {"turn": 0.3},
        "expression": da.expression(lambda t, s: {"turn": ca.cos(5 * t) - 0.2 * s.rate("ball")[2]}),
        "python": lambda t, s: {"turn": np.cos(5 * t) - 0.2 * s.rate("ball")[2]},
    }[steering]
    end = da.simulate(system, x, 0.5, u=u, rtol=1e-11, atol=1e-12)
    runs = [da.simulate(system, x, 0.5, u=u, method="variational", step=h) for h in (1 / 100, 1 / 400)]
    assert all(run.success for run in runs)
    assert set(end.work) == {"inputs", "forces", "drivers"}
    found = []
    for run in runs:
        works = {name: abs(run.work[name][-1] - end.work[name][-1]) for name in end.work}
        found.append({"q": np.abs(run.q[-1] - end.q[-1]).max(), "v": np.abs(run.v[-1] - end.v[-1]).max(), **works})
    for name, order in orders(*found, 4).items():
        assert order == pytest.approx(2.0, abs=0.3), name
    assert runs[1].residuals.max() < 1e-13
    assert runs[1].speed_residuals.max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(runs[1]["ball"], axis=1), 1.0, rtol=0, atol=1e-14)
