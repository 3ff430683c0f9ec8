"""Capsules, discs, boxes and cylinders that touch: rolling, impacts, edges and rest, by hand or by another route."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da

G = 9.81


def free(kind, size, slope=0.0, **options):
    """A free body with one shape over a floor, with the contacts of that shape."""
    m = da.Mechanism(kind, gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = m.add_body("b", solid=da.solid(kind, size, density=800.0))
    m.add_joint("f", da.Free(), m.ground, body)
    assert m.add_contacts(**options) == []
    return m


def place(rotvec, position):
    x, y, z, w = Rotation.from_rotvec(rotvec).as_quat()
    return [w, x, y, z, *position]


@pytest.mark.parametrize("method", [{}, {"method": "moreau", "step": 1e-3}], ids=["events", "moreau"])
def test_a_capsule_rolls_down_a_slope_on_both_ends(method):
    """m ẍ = m g sin α / (1 + J/(m r²)), without slip."""
    r, slope, t = 0.1, 0.3, 0.4
    m = free("capsule", (r, 0.5), slope, friction=0.9)
    body = m.bodies["b"]
    system = m.compile(backend="native" if method else "casadi")
    start = system.state({"f": place([np.pi / 2, 0, 0], [0, 0, r])})
    run = da.simulate(system, start, t, **method)
    assert run.success, run.message
    mass, J = float(body.mass), float(body.inertia[2, 2])
    a = G * np.sin(slope) / (1 + J / (mass * r * r))
    order = 2e-5 if method else 1e-7  # of fixed steps, turning explicitly
    assert run.position("b")[-1, 0] == pytest.approx(0.5 * a * t * t, rel=order)
    assert run.velocity("b")[-1, 0] == pytest.approx(a * t, rel=order)
    assert run.penetration.max() < 1e-12


def test_a_disc_rolls_on_its_rim_as_a_rolling_constraint_lets_it():
    """A coin that leans, precesses and rolls: the contact that sticks against `add_rolling`, an element of its own."""
    r, lean = 0.1, 0.4
    turn = Rotation.from_euler("x", np.pi / 2 - lean)
    ends = []
    for rolling in (True, False):
        m = da.Mechanism("coin")
        coin = m.add_body("coin", mass=0.5, inertia=da.disc_inertia(0.5, r, axis="z"))
        m.add_joint("f", da.Free(), m.ground, coin)
        if rolling:
            m.add_rolling("rim", coin, radius=r, axis="z")
        else:
            m.add_contact("rim", coin, shape=("disc", r), friction=50.0)
        system = m.compile(backend="casadi")
        spin = np.array([0.0, 1.0, 25.0])  # in the coin's axes
        down = turn.inv().apply([0, 0, -1.0])
        down[2] = 0.0
        arm = r * down / np.linalg.norm(down)
        q = place(turn.as_rotvec(), [0, 0, r * np.cos(lean)])
        start = system.state({"f": q}, {"f": np.concatenate([spin, -np.cross(spin, arm)])})
        run = da.simulate(system, start, 0.5, rtol=1e-10, atol=1e-11)
        assert run.success, run.message
        ends.append(run.q[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
    assert abs(ends[0][4:6]).max() > 0.3


@pytest.mark.parametrize("restitution", [1.0, 0.4])
def test_two_capsules_that_cross_part_as_newton_says(restitution):
    """P = (1 + e) v_n / (Σ 1/m + r × n · J⁻¹ r × n) along the line between the nearest points."""
    m = da.Mechanism("rods", gravity=(0, 0, 0))
    size, rods = (0.05, 1.0), []
    for k in range(2):
        rods.append(m.add_body(f"r{k}", solid=da.solid("capsule", size, density=500.0)))
        m.add_joint(f"f{k}", da.Free(), m.ground, rods[-1])
    m.add_contacts(floor=False, between="all", friction=0.0, restitution=restitution)
    system = m.compile(backend="casadi")
    along = np.array([[0.0, 0, 1], [0, 1, 0]])  # the axes: the second turned about x
    centres = np.array([[0.0, 0, 0], [0.2, 0.3, 0.25]])
    start = system.state(
        {"f0": place([0, 0, 0], centres[0]), "f1": place([-np.pi / 2, 0, 0], centres[1])}, {"f0": [0, 0, 0, 2.0, 0, 0]}
    )
    run = da.simulate(system, start, 0.2)
    assert run.success, run.message
    hit = run.switches[0]
    assert hit.t == pytest.approx(0.05, rel=1e-9)
    assert "r0 on r1 hit" in hit.what
    n = np.array([-1.0, 0, 0])
    arms = [0.25 * along[0], -0.3 * along[1]]
    mass, J = float(rods[0].mass), float(rods[0].inertia[0, 0])
    push = (1 + restitution) * 2.0 / (2 / mass + sum(np.sum(np.cross(a, n) ** 2) for a in arms) / J)
    end = run.state(-1)
    np.testing.assert_allclose(end.velocity("r0"), [2.0 - push / mass, 0, 0], atol=1e-9)
    np.testing.assert_allclose(end.velocity("r1"), [push / mass, 0, 0], atol=1e-9)
    spins = [np.cross(arms[0], push * n) / J, np.cross(arms[1], -push * n) / J]
    np.testing.assert_allclose([end.twist(b, axes="world")[:3] for b in ("r0", "r1")], spins, atol=1e-9)
    lost = (1 - restitution**2) / (1 + restitution) * push * 2.0 / 2
    assert hit.lost == pytest.approx(lost, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("v", [0.2, 0.6])
def test_a_ball_that_slides_over_the_edge_of_a_box_leaves_it_where_the_edge_no_longer_pushes(v):
    """½ v² = ½ v₀² + g r (1 − cos θ) and v² = g r cos θ: cos θ = ⅔ + v₀²/(3 g r)."""
    r, height = 0.1, 0.8
    m = da.Mechanism("edge", gravity=(0, 0, -G))
    ball = m.add_body("ball", mass=1.0, inertia=da.sphere_inertia(1.0, r))
    m.add_joint("f", da.Free(), m.ground, ball)
    box = m.ground.at(-0.5, 0, height / 2)
    m.add_contact("top", ball, radius=r, on=box, on_shape=("box", (1.0, 0.7, height)))
    system = m.compile(backend="casadi")
    start = system.state({"f": [1, 0, 0, 0, -0.1, 0.05, height + r]}, {"f": [0, 0, 0, v, 0, 0]})
    run = da.simulate(system, start, 0.1 / v + 0.6, rtol=1e-9, atol=1e-11)
    assert run.success, run.message
    left = next(s for s in run.switches if s.what == "top left")
    cosine = (run(left.t).position("ball")[2] - height) / r
    assert cosine == pytest.approx(2 / 3 + v**2 / (3 * G * r), rel=1e-6)


def test_an_ellipsoid_that_rolls_keeps_its_energy():
    m = free("ellipsoid", (0.3, 0.2, 0.1), friction=30.0)
    system = m.compile(backend="casadi")
    start = system.state({"f": place([0, 0, 0], [0, 0, 0.1])}, {"f": [2.0, 1.0, 0, 0.1, -0.2, 0]})
    run = da.simulate(system, start, 0.6, rtol=1e-9, atol=1e-10)
    assert run.success, run.message
    assert np.abs(run.energy_error).max() < 1e-7
    assert run.penetration.max() < 1e-9
    assert np.ptp(run.position("b")[:, 2]) > 0.005


RESTS = {
    "box": ((0.3, 0.2, 0.1), (0.15, 0.1, 0.05)),
    "cylinder": ((0.1, 0.3), (0.15, 0.1)),
    "capsule": ((0.05, 0.3), (0.05,)),
    "ellipsoid": ((0.1, 0.1, 0.05), (0.05,)),
}


@pytest.mark.parametrize("kind", ["box", "cylinder", "capsule"])
def test_what_is_dropped_comes_to_rest_on_a_face(kind):
    """On faces, rims or ends: at the height of one of them, all weight on the contacts, energy only lost."""
    size, heights = RESTS[kind]
    system = free(kind, size, friction=0.5).compile()
    rng = np.random.default_rng(4)
    weight = float(system.layout.mechanism.bodies["b"].mass) * G
    for _ in range(3):
        q = place(rng.normal(size=3), [0, 0, 0.4])
        run = da.simulate(
            system, system.state({"f": q}, {"f": 0.5 * rng.normal(size=6)}), 3.0, method="moreau", step=1e-3
        )
        assert run.success, run.message
        z = run.position("b")[-1, 2]
        assert min(abs(z - h) for h in heights) < 1e-9
        if kind == "box":
            assert np.abs(run.v[-1]).max() < 1e-9
        forces = [run.multiplier(f"{name}.gap")[-1] for name in system.layout.mechanism.contacts]
        assert sum(forces) == pytest.approx(weight, rel=1e-3 if kind != "box" else 1e-9)
        assert np.diff(run.energy).max() < 1e-3 * weight * 0.4
        assert run.contact_residuals.max() < 1e-6
