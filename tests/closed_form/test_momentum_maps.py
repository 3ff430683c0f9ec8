"""Noether's theorem on runs: which momenta a mechanism keeps is known, and variational runs keep them to rounding."""

import numpy as np
import pytest

import dalembert as da


def satellite(gravity=0.0, **arm):
    """A free body with an arm that has a motor."""
    m = da.Mechanism("satellite", gravity=(0, 0, gravity))
    a, b = m.add_body("a", mass=2.0, inertia=(1, 2, 1.5)), m.add_body("b", mass=1.0, com=(0.3, 0, 0), inertia=(1, 2, 2))
    m.add_joint("free", da.Free(), m.ground, a)
    m.add_joint("arm", da.Revolute("y"), a.at(0.5, 0, 0), b, **arm)
    m.add_motor("motor", "arm")
    return m


def spun(system):
    return system.state({}, {"arm": 2.0, "free.wx": 1.0, "free.wz": 0.5, "free.vy": 0.3})


ALL = ("along x", "along y", "along z", "about x", "about y", "about z")


@pytest.mark.parametrize(("gravity", "names"), [(0.0, ALL), (-9.81, ("along x", "along y", "about z"))])
def test_internal_forces_keep_the_momenta_of_space(gravity, names):
    """Motor and damping act between bodies: Euler's laws, and the momenta are those of the system."""
    system = satellite(gravity, damping=0.4, stiffness=3.0).compile(backend="casadi")
    run = da.simulate(system, spun(system), 4.0, u=[0.3], method="variational", step=0.02)
    maps = run.momentum_maps
    assert maps.names == names
    assert (maps.change < 1e-11).all()
    whole = np.array([system.momentum(run.state(k)) for k in (0, -1)])  # (angular; linear) by sums over bodies
    order = {"about": 0, "along": 3}
    for name in names:
        k = order[name[:5]] + "xyz".index(name[-1])
        np.testing.assert_allclose(maps[name][[0, -1]], whole[:, k], atol=1e-11)
    rough = da.simulate(system, spun(system), 4.0, u=[0.3], method="rk4", step=0.02).momentum_maps
    assert rough.names == names
    assert rough.change.max() > 1e-9  # what is kept is a property of the method


def test_closed_chains_keep_theirs_too():
    """A four-bar loop that floats in space, with a quaternion base; p = M v is reported."""
    m = da.Mechanism("loop", gravity=(0, 0, 0))
    given = {"com": (0.3, 0.1, 0), "inertia": (0.2, 0.3, 0.4)}
    bodies = [m.add_body(name, mass=1.0 + k, **given) for k, name in enumerate("abcd")]
    m.add_joint("free", da.Free(), m.ground, bodies[0])
    for name, a, b in zip("BCD", bodies, bodies[1:]):
        m.add_joint(name, da.Revolute("z"), a.at(1.0, 0, 0), b)
    m.close_loop("A", da.Revolute("z"), bodies[3].at(1.0, 0, 0), bodies[0])
    system = m.compile(backend="casadi")
    turn = np.pi / 2
    start = system.assemble({"B": turn + 0.3}, guess=system.state({"B": turn + 0.3, "C": turn - 0.3, "D": turn + 0.3}))
    start = system.project(start.replace(v=np.linspace(-1.0, 1.0, system.nv)))
    run = da.simulate(system, start, 1.0, method="variational", step=0.02)
    assert run.momentum_maps.names == ALL
    assert run.momentum_maps.change.max() < 1e-11
    x = run.state(-1)
    np.testing.assert_allclose(run.momentum[-1], system.mass_matrix(x) @ x.v, atol=1e-12)


def test_axes_that_are_not_through_the_origin_are_found():
    m = da.Mechanism("post", gravity=(0, -9.81, 0))
    a, b = (m.add_body(name, mass=1.0, com=(0.3, 0.1, 0), inertia=(0.2, 0.3, 0.3)) for name in "ab")
    m.add_joint("y", da.Revolute("y"), m.ground.at(1.0, 0, 2.0), a)
    m.add_joint("z", da.Revolute("z"), a.at(0.5, 0, 0), b)
    system = m.compile(backend="casadi")
    run = da.simulate(system, system.state({}, {"y": 1.0, "z": 2.0}), 2.0, method="variational", step=0.02)
    maps = run.momentum_maps
    assert maps.names == ("about y through (1, 0, 2)",)
    np.testing.assert_allclose(maps.twists, [[0, 1, 0, -2, 0, 1]], atol=1e-12)  # v = −ω × c
    np.testing.assert_allclose(maps.values[:, 0], run.momentum[:, 0], atol=1e-12)  # y is a cyclic coordinate
    assert maps.change[0] < 1e-12


def test_what_is_noticed_is_not_reported():
    """A spring to the ground, a force of time that is zero at first, a wall, and an input that acts on the ground."""
    tied, blown, guided = satellite(), satellite(), satellite()
    tied.add_spring("tie", tied.ground.at(0, 0, 5.0), "a", stiffness=2.0)
    assert run_of(tied).momentum_maps.names == ("about x through (0, 0, 5)", "about y through (0, 0, 5)", "about z")
    blown.add_wrench("wind", "a", force=lambda s: (s.t, 0.0, 0.0))
    assert run_of(blown).momentum_maps.names == ("along y", "along z", "about x")
    guided.add_point_in_plane("wall", "a", guided.ground, (1, 0, 0))
    assert run_of(guided).momentum_maps.names == ("along y", "along z", "about x")
    cart = da.Mechanism("cart")
    cart.add_joint("x", da.Prismatic("x"), cart.ground, cart.add_body("cart", mass=1.0))
    cart.add_motor("push", "x")
    system = cart.compile(backend="casadi")
    start = system.state({}, {"x": 1.0})
    assert da.simulate(system, start, 0.1).momentum_maps.names == ("along x",)
    assert da.simulate(system, start, 0.1, u=[1.0]).momentum_maps.names == ()
    with pytest.raises(da.DalembertError, match="momentum map"):
        da.simulate(system, start, 0.1).momentum_maps["along z"]


def run_of(m):
    system = m.compile(backend="casadi")
    return da.simulate(system, spun(system), 0.1, method="variational", step=0.02)
