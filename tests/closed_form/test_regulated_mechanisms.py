"""Closed-chain mechanisms stabilized by regulators made on their minimal models; large cases of the zoo."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def pendulum_on_a_linkage():
    """An inverted pendulum on a cart that a slider-crank drives, with the motor at the crank."""
    m = da.Mechanism("pendulum on a closed-chain cart", gravity=(0, -9.81, 0))
    crank = m.add_body("crank", mass=0.5, com=(0.15, 0, 0), inertia=da.rod_inertia(0.5, 0.3))
    rod = m.add_body("rod", mass=0.6, com=(0.3, 0, 0), inertia=da.rod_inertia(0.6, 0.6))
    cart = m.add_body("cart", mass=1.0)
    pole = m.add_body("pole", mass=0.3, com=(0, 0.4, 0), inertia=da.rod_inertia(0.3, 0.8, "y"))
    m.add_joint("crank", da.Revolute("z"), m.ground, crank)
    m.add_joint("rod", da.Revolute("z"), crank.at(0.3, 0, 0), rod)
    m.add_joint("rail", da.Prismatic("x"), m.ground, cart)
    m.add_joint("pole", da.Revolute("z"), cart, pole)
    m.close_loop("wrist", da.Revolute("z"), rod.at(0.6, 0, 0), cart)
    m.add_motor("torque", "crank")
    return m.compile()


@pytest.fixture(scope="module")
def balanced():
    system = pendulum_on_a_linkage()
    x = system.assemble({"crank": 1.2, "pole": 0.0}, guess={"crank": 1.2, "rod": -1.6, "rail": 0.6})
    return system, da.equilibrium(system, x, solve_for="u")


@pytest.mark.parametrize("independent", [["rail", "pole"], ["crank", "pole"]])
def test_an_inverted_pendulum_on_a_closed_chain_stands(balanced, independent):
    system, rest = balanced
    model = da.linearize(system, rest.state, u=rest.u, independent=independent)
    assert not model.stable
    assert model.controllable
    keep = da.lqr(model.discretize(0.01), R=0.1)
    start = system.assemble({"crank": 1.2, "pole": 0.12}, guess=rest.state)
    fallen = da.simulate(system, start, 3.0, u=rest.u)
    run = da.simulate(system, start, 6.0, u=keep, period=0.01)
    assert run.success
    assert abs(fallen["pole"][-1]) > 1.0
    assert abs(run["pole"]).max() < 0.3
    assert abs(run["pole"][-1]) < 1e-3
    assert abs(run["crank"][-1] - 1.2) < 5e-3


def test_regulators_in_two_coordinates_ask_for_the_same(balanced):
    """The same weights on the same physical states give the same inputs, whatever the coordinates."""
    system, rest = balanced
    rail = da.linearize(system, rest.state, u=rest.u, independent=["rail", "pole"])
    crank = da.linearize(system, rest.state, u=rest.u, independent=["crank", "pole"])
    T = np.zeros((4, 4))  # rail states from crank states, at rest
    for k, e in enumerate(np.eye(4)):
        delta, speed = crank.motion(e)
        names = [system.v_names.index(n) for n in ("rail", "pole")]
        T[:, k] = [*delta[names], *speed[names]]
    Q = np.diag([3.0, 1.0, 0.2, 0.1])
    a, b = da.lqr(rail, Q, 0.5), da.lqr(crank, T.T @ Q @ T, 0.5)
    np.testing.assert_allclose(a.K @ T, b.K, rtol=1e-7)


def test_limits_are_kept(balanced):
    system, rest = balanced
    model = da.linearize(system, rest.state, u=rest.u, independent=["rail", "pole"])
    keep = da.lqr(model, R=0.1, limits={"torque": (-1.0, 1.0)})
    assert keep(0.0, rest.state.replace({"pole": 1.0}))[0] in (-1.0, 1.0)


@pytest.mark.parametrize("closed", [False, True], ids=["tree", "with a sleeve on rods"])
def test_a_governor_opens_as_far_as_its_speed_asks(closed):
    """A steady motion: cos θ = g/(ω² L) for a bob on a turning shaft, also with a rod to a sleeve of no weight."""
    m = da.Mechanism("governor", gravity=(0, 0, -9.81))
    L, speed = 0.3, 9.0
    shaft = m.add_body("shaft", inertia=(1e3, 1e3, 1e3))
    m.add_joint("spin", da.Revolute("z"), m.ground, shaft)
    bob = m.add_body("bob", mass=1.5, com=(0, 0, -L))
    m.add_joint("arm", da.Revolute("y"), shaft, bob)
    guess = {"arm": -1.0}
    if closed:
        sleeve = m.add_body("sleeve", mass=1e-9)
        m.add_joint("sleeve", da.Prismatic("z"), shaft, sleeve)
        m.add_rod("link", bob.at(0, 0, -L), sleeve, length=L)
        guess["sleeve"] = -2 * L * np.cos(1.0)
    system = m.compile(backend="casadi")
    steady = da.equilibrium(system, guess, v={"spin": speed}, tolerance=1e-8)
    assert np.cos(steady.state["arm"]) == pytest.approx(9.81 / (speed**2 * L), rel=1e-7)
    assert steady.state.rate("spin") == pytest.approx(speed)
    known = speed * np.sin(steady.state["arm"])  # of small swings, the heavy shaft keeping its speed
    found = max(2 * np.pi * mode.frequency for mode in steady.model.modes)
    assert found == pytest.approx(abs(known), rel=1e-3)


# --- large ones -----------------------------------------------------------------------------------------------------


def two_routes(system, x, model):
    """Â once more from the derivatives in all coordinates, chained along the motions of the model."""
    full, op = da.linearize_full(system, x, u=model.operating.u), model.operating
    columns = np.block([[op.Kq, np.zeros_like(op.Kv)], [op.Dv, op.Kv]])
    rows = [*(c.index for c in op.coordinates), *(system.nv + c.index for c in op.speeds)]
    return (full.Df @ columns)[rows]


@pytest.mark.parametrize(("name", "dof"), [("ssrms", 10), ("stewart", 6), ("hand", 11)])
def test_large_mechanisms(name, dof):
    """Free bases, quaternions, 13 to 26 velocities: two routes to Â, and every input's reach."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    x = system.project(x.replace(v=0.05 * np.random.default_rng(2).normal(size=system.nv)))
    model = da.linearize(system, x)
    assert model.A.shape == (2 * dof, 2 * dof)
    expected = two_routes(system, x, model)
    np.testing.assert_allclose(model.A, expected, atol=1e-10 * np.abs(expected).max())
    assert model.controllable


def test_the_hand_without_its_thumb_tendons_cannot_reach_every_state():
    """20 joints and 23 tendons; without those of the thumb, four joints and their rates are out of reach, and named."""
    system = zoo.hand(holding=False).compile(backend="casadi")
    x = system.state(zoo.hand_start()[0])
    u = dict.fromkeys(system.u_names, 5.0)
    model = da.linearize(system, x, u=u)
    assert model.controllable
    fingers = [k for k, name in enumerate(system.u_names) if not name.startswith("thumb")]
    names = tuple(system.u_names[k] for k in fingers)
    lost = replace(model, B=model.B[:, fingers], D=model.D[:, fingers], input_names=names)
    touched = {name for h in lost.uncontrollable for name in h.direction}
    assert touched
    assert all(name.startswith("thumb") for name in touched)
