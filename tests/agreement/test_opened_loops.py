"""A loop that opens leaves the tree; one that closes again takes what energy the impact costs."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def test_a_five_bar_that_opens_falls_as_a_chain_and_closes_again():
    """Open, it is the chain described without the loop; thrown together again, its energy does not grow."""
    system = zoo.five_bar().compile()
    first = da.simulate(system, system.state(*zoo.five_bar_start()), 0.4)
    chain = da.Mechanism("chain", gravity=(0, -9.81, 0))
    before = chain.ground.at()
    for joint, length, mass, moment in zip("ABCD", (1, 1.5, 1.5, 1), (2, 3, 3, 2), (1, 2, 2, 1)):
        link = chain.add_body(f"link {joint}", mass=mass, com=(length / 2, 0, 0), inertia=(0, moment, moment))
        chain.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length)
    opened = system.without("E")
    assert opened.rows.of == ()
    assert system.rows.of == ("E", "E")
    a = da.simulate(opened, first.state(), 0.05)
    x = first.state()
    tree = chain.compile()
    b = da.simulate(tree, tree.state(x.q, x.v), 0.05)
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-9)
    assert np.abs(system.residuals(a.state())).max() > 1e-3
    closed = system.project(a.state())
    assert np.abs(system.residuals(closed)).max() < 1e-11
    assert np.abs(system.speed_residuals(closed)).max() < 1e-11
    assert system.kinetic_energy(closed) < system.kinetic_energy(closed.replace(v=a.v[-1]))
    last = da.simulate(system, closed, 0.1)
    assert last.success
    assert np.abs(last.energy_error).max() < 1e-6


def test_an_unknown_constraint_is_named():
    with pytest.raises(da.UnknownName, match="there is no constraint 'F'; known: E"):
        zoo.five_bar().compile().without("F")
