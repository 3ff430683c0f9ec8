"""Chains that hang between two supports come to rest from any guess, with the forces of the pins worked out by hand."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

GRAVITY, SPAN = 9.81, 2.1
LENGTHS, MASSES = np.array([0.6, 1.4, 0.9, 1.1]), np.array([0.3, 4.0, 1.0, 0.7])


@pytest.fixture(scope="module")
def chain():
    m = da.Mechanism("chain", gravity=(0, -GRAVITY, 0))
    end = m.ground
    for k, (length, mass) in enumerate(zip(LENGTHS, MASSES)):
        link = m.add_body(f"link {k}", mass=mass, com=(length / 2, 0, 0), inertia=da.rod_inertia(mass, length))
        m.add_joint(f"hinge {k}", da.Revolute("z"), end, link)
        end = link.at(length, 0, 0)
    m.close_loop("support", da.Revolute("z"), end, m.ground.at(SPAN, 0, 0))
    return m.compile()


@pytest.mark.parametrize("seed", range(12))
def test_a_chain_rests_from_any_guess(chain, seed):
    """(H, V) of the first support balance the moments of each link about its far end: (V − W − w/2) cos θ = H sin θ."""
    rng = np.random.default_rng(seed)
    x = chain.assemble(guess=rng.uniform(-2, 2, 4))
    rest = da.equilibrium(chain, x)
    angles, weights = np.cumsum(rest.state.q), GRAVITY * MASSES
    before = np.cumsum(weights) - weights
    moments = np.column_stack([-np.sin(angles), np.cos(angles)])
    right = (before + weights / 2) * np.cos(angles)
    forces = np.linalg.lstsq(moments, right, rcond=None)[0]
    np.testing.assert_allclose(moments @ forces, right, atol=1e-9 * weights.sum())


def test_arms_that_stand_upright_come_to_hang():
    """Newton's method leads nowhere from there."""
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start())
    rest = da.equilibrium(system, x)
    assert system.potential_energy(rest.state) < system.potential_energy(x)
    assert (rest.model.eigenvalues.real < 1e-6).all()
    assert np.abs(system.acceleration(rest.state).vdot).max() < 1e-8


def test_what_falls_for_ever_is_refused():
    system = zoo.stewart().compile()
    with pytest.raises(da.AssemblyError, match=r"no equilibrium was found near the guess.*Nor was one found downhill"):
        da.equilibrium(system, system.state(*zoo.stewart_start()))
