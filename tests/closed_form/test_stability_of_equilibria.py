"""The stability of equilibria, always told, and the search for stable ones."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def pendulum(damping=0.0, length=1.0):
    m = da.Mechanism("pendulum", gravity=(0, 0, -9.81))
    bob = m.add_body("bob", mass=2.0, com=(0, 0, -length))
    m.add_joint("pivot", da.Revolute("y"), m.ground, bob, damping=damping)
    return m.compile()


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
def test_a_pendulum_is_stable_below_and_unstable_above(length):
    system = pendulum(length=length)
    down, up = (da.equilibrium(system, {"pivot": q}) for q in (0.2, 3.0))
    assert (down.stability, down.stable) == ("stable", True)
    assert (up.stability, up.stable) == ("unstable", False)
    assert up.state["pivot"] == pytest.approx(np.pi)
    assert f"e-fold in {np.sqrt(length / 9.81):.3g} s" in up.message  # λ = √(g/l)
    assert "unstable" in repr(up)
    assert da.equilibrium(pendulum(0.1 * length**1.5, length), {"pivot": 0.2}).stability == "asymptotically stable"


@pytest.mark.parametrize("start", [np.pi, 3.0, -0.4])
def test_a_search_for_a_stable_position_leaves_an_unstable_one(start):
    """Even from the top itself, where nothing pulls."""
    rest = da.equilibrium(pendulum(), {"pivot": start}, stable=True)
    assert rest.stable
    assert np.cos(rest.state["pivot"]) == pytest.approx(1.0)


def test_stable_positions_of_linkages_have_less_energy_and_the_same_branch():
    four, five = zoo.four_bar().compile(), zoo.five_bar().compile()
    for system, x in ((four, four.assemble({"A": 0.6})), (five, five.assemble(guess=zoo.five_bar_start()[0]))):
        found, stable = da.equilibrium(system, x), da.equilibrium(system, x, stable=True)
        assert not found.stable
        assert stable.stability == "stable"
        assert system.potential_energy(stable.state) < system.potential_energy(found.state)
        assert np.abs(da.linearize(system, stable.state).eigenvalues.real).max() < 1e-6


def test_a_cart_is_neutral_and_a_slope_has_no_rest():
    m = da.Mechanism("cart", gravity=(0, 0, -9.81))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=1.0))
    assert da.equilibrium(m.compile(), {}).stability == "neutral"
    tilted = da.Mechanism("slope", gravity=(1.0, 0, -9.81))
    tilted.add_joint("x", da.Prismatic("x"), tilted.ground, tilted.add_body("cart", mass=1.0))
    with pytest.raises(da.AssemblyError):
        da.equilibrium(tilted.compile(), {}, stable=True)


def test_rest_on_a_stop_is_judged_with_the_stop():
    """Beyond the top a pendulum leans on its bound: stable there, though the model without the stop is not."""
    rest = da.equilibrium(pendulum(), {"pivot": 2.9}, bounds={"pivot": (2.0, None)})
    assert rest.stops
    assert rest.stability == "stable"
    with pytest.raises(da.ArgumentError, match="stable=True"):
        da.equilibrium(zoo.loader().compile(), zoo.loader_start()[0], solve_for="u", stable=True)


def test_statics_say_that_ropes_and_contacts_do_not_act():
    """A body on a rope: the rope is named, and no coordinate blamed alone."""
    m = da.Mechanism("hung", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("z", da.Prismatic("z"), m.ground, body)
    m.add_rope("rope", [m.ground.at(0, 0, 1), body], length=1.5)
    with pytest.raises(da.ArgumentError, match=r"no inputs to hold it.* do not act here: 'rope'"):
        da.static_forces(m.compile(), {"z": -0.5})
    m.add_motor("M", "z")
    system = m.compile()
    with pytest.raises(da.AssemblyError, match=r"ropes and rigid stops do not act here: 'rope'"):
        da.equilibrium(system, {"z": -0.5})
    forces = da.static_forces(system, {"z": -0.5})
    assert forces["M"] == pytest.approx(9.81)
    assert "do not act here: 'rope'" in repr(forces)
    weak = da.static_forces(system, {"z": -0.5}, limits={"M": 1.0})
    assert "'rope'" in weak.messages[0]
    held = da.equilibrium(system, {"z": -0.5}, solve_for="u")
    assert "'rope'" in held.message
