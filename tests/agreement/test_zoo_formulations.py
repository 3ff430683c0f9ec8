"""The mechanisms of the zoo by other routes: every formulation, other cuts of the same loop, lighter legs."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

ROUTES = {
    "admissible": {"formulation": "admissible"},
    "projection": {"formulation": "projection"},
    "projection, Euclidean": {"formulation": "projection", "metric": "euclidean"},
    "nullspace, Euclidean": {"formulation": "nullspace", "metric": "euclidean"},
    "partition": {"formulation": "partition"},
}


@pytest.mark.parametrize("name", [n for n, e in zoo.CATALOG.items() if e.build().constraints])
def test_formulations_agree(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    K = np.linalg.svd(system.constraint_matrix(x))[2][system.nv - entry.mobility :].T
    x = x.replace(v=x.v + 0.1 * K @ np.random.default_rng(3).normal(size=entry.mobility))
    u = np.random.default_rng(4).normal(size=len(system.u_names))
    known = system.acceleration(x, u=u)
    size = np.abs(known.vdot).max()
    assert size > 1e-6
    for route in ROUTES.values():
        other = system.acceleration(x, u=u, **route)
        assert other.success
        np.testing.assert_allclose(other.vdot, known.vdot, rtol=1e-7, atol=1e-8 * size)
        np.testing.assert_allclose(other.force, known.force, rtol=1e-7, atol=1e-7 * np.abs(known.force).max())


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "stewart", "loader", "hand", "ssrms", "car", "rolling_disc"])
def test_native_code_and_the_virtual_machine_agree(name):
    entry = zoo.CATALOG[name]
    slow, fast = entry.build().compile(backend="casadi"), entry.build().compile(backend="native")
    a, b = (s.acceleration(s.state(*entry.start())) for s in (slow, fast))
    np.testing.assert_allclose(b.vdot, a.vdot, rtol=1e-9, atol=1e-9 * (1 + np.abs(a.vdot).max()))


def test_a_four_bar_cut_at_another_joint_is_the_same_four_bar():
    lengths, masses = (0.20, 0.60, 0.40), (1.0, 1.5, 1.2)
    m = da.Mechanism("four-bar cut at D", gravity=(0, -9.81, 0))
    before = m.ground.at()
    for joint, length, mass in zip("ABC", lengths, masses):
        link = m.add_body(joint, mass=mass, com=(length / 2, 0, 0), inertia=da.rod_inertia(mass, length))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(0.55))
    one, other = zoo.four_bar().compile(backend="casadi"), m.compile(backend="casadi")
    x = one.state(*zoo.four_bar_start(0.6, 2.0))
    q, v = x.q, x.v
    y = other.state([q[0], q[1], q[2] + np.pi - q[0] - q[1]], [v[0], v[1], v[2] - v[0] - v[1]])
    assert np.abs(other.residuals(y)).max() < 1e-12
    np.testing.assert_allclose(other.acceleration(y).vdot[:2], one.acceleration(x).vdot[:2], rtol=1e-10)


def test_a_slider_without_mass_is_a_point_on_a_line():
    """Uniform bars in both: the slider's own mass goes to zero, its guide becomes the point-on-line row."""
    m = da.Mechanism("point on line", gravity=(0, -9.81, 0))
    crank, rod = (
        m.add_body(n, mass=w, com=(l / 2, 0, 0), inertia=da.rod_inertia(w, l))
        for n, w, l in (("c", 1.0, 0.15), ("r", 1.5, 0.45))
    )
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.15), rod)
    m.add_point_on_line("C", rod.at(0.45), m.ground, "x")
    short = m.compile(backend="casadi")
    full = zoo.slider_crank(slider_mass=1e-9).compile(backend="casadi")
    x = full.state(*zoo.slider_crank_start(0.7, 3.0))
    np.testing.assert_allclose(
        full.acceleration(x).vdot[:2], short.acceleration(short.state(x.q[:2], x.v[:2])).vdot, rtol=1e-6
    )


def test_legs_matter_in_proportion_to_their_mass():
    pose = {"position": [0.1, -0.05, 2.1], "rotation": da.rotation("z", 0.1)}
    bare = zoo.stewart(massless=True).compile(backend="casadi")
    u = np.linspace(200, 300, 6)
    known = bare.forward_dynamics(bare.state(*zoo.stewart_start(**pose, massless=True)), u=u)
    errors = []
    for mass in (1e-2, 1e-3):
        system = zoo.stewart(leg_mass=mass).compile(backend="casadi")
        found = system.acceleration(system.state(*zoo.stewart_start(**pose)), u=u).vdot[:6]
        errors.append(np.abs(found - known).max())
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)
