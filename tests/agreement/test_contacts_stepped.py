"""Runs with contacts, stops, ropes and dry friction against Moreau's time stepping of bodies written by hand."""

import numpy as np
import pytest
from tests import moreau

import dalembert as da

G = 9.81


def planar(name, bodies, gravity):
    """Free bodies in the x-z plane: slides x and z without mass, then a turn about y."""
    m = da.Mechanism(name, gravity=(gravity[0], 0.0, gravity[1]))
    for k, (mass, J) in enumerate(bodies):
        x, z = m.add_body(f"x{k} carrier"), m.add_body(f"z{k} carrier")
        m.add_joint(f"x{k}", da.Prismatic("x"), m.ground, x)
        m.add_joint(f"z{k}", da.Prismatic("z"), x, z)
        m.add_joint(f"r{k}", da.Revolute("y"), z, m.add_body(f"b{k}", mass=mass, inertia=(J, J, J)))
    return m


def with_contacts(name, bodies, gravity, contacts, push=()):
    """A mechanism of ours and the oracle's model of the same bodies."""
    m = planar(name, bodies, gravity)
    for k, (a, (x, z), b, height, mu, e) in enumerate(contacts):
        on = m.ground if b is None else m.bodies[f"b{b}"]
        m.add_contact(f"c{k}", m.bodies[f"b{a}"].at(x, 0, z), on=on.at(0, 0, height), friction=mu, restitution=e)
    for body, force in push:
        m.add_wrench(f"push{body}", m.bodies[f"b{body}"], force=(force, 0, 0))
    return m.compile(), moreau.Bodies(bodies, gravity, contacts, push)


def agrees(system, model, q, v, end, steps=200, speed=1.0):
    """Whether stepped courses come to the end of our run with errors below speed · h, for two lengths h of a step."""
    run = da.simulate(system, system.state(q, v), end, rtol=1e-8, atol=1e-10)
    assert run.success, run.summary()
    assert run.energy_error is None or np.abs(run.energy_error).max() < 1e-6
    for n in (steps, 4 * steps):
        off = np.abs(moreau.course(model, q, v, end, n)[0] - run.q[-1]).max()
        assert off < speed * end / n, (off, end / n, run.summary())
    return run


def box(rng, mu, e=0.0):
    """Mass, inertia, and two lower corners."""
    a, b, mass = *rng.uniform(0.1, 0.4, 2), rng.uniform(0.5, 3.0)
    corners = [(0, (s * a, -b), None, 0.0, mu, e) for s in (-1, 1)]
    return (mass, mass * (a**2 + b**2) / 3.0), corners, a, b


@pytest.mark.parametrize("seed", range(4))
def test_a_box_on_a_slope_slides_and_sticks(seed):
    rng = np.random.default_rng(seed)
    slope, mu = rng.uniform(0.0, 0.5), rng.uniform(0.2, 0.9)
    body, corners, _, b = box(rng, mu)
    system, model = with_contacts("box", [body], (G * np.sin(slope), -G * np.cos(slope)), corners)
    q, v = [0.0, b + 0.02, 0.0], [rng.uniform(-1.5, 1.5), 0.0, 0.0]
    agrees(system, model, q, v, 0.5, 100)


@pytest.mark.parametrize("seed", range(6))
def test_a_box_that_lands_on_a_corner(seed):
    """It pivots, slides and falls onto the other one; at last it rocks from one to the other, ever less."""
    rng = np.random.default_rng(100 + seed)
    body, corners, a, b = box(rng, rng.uniform(0.0, 0.8), rng.choice([0.0, 0.4]))
    system, model = with_contacts("box", [body], (0.0, -G), corners)
    turn = rng.uniform(-0.3, 0.3)
    q = [0.0, a * abs(np.sin(turn)) + b * np.cos(turn) + 0.01, turn]
    agrees(system, model, q, [*rng.uniform(-1.0, 1.0, 2), rng.uniform(-1.0, 1.0)], 0.35, speed=20.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_box_on_a_plank_that_is_pulled_away(seed):
    """Friction on both sides of the plank, which slides on the floor."""
    rng = np.random.default_rng(200 + seed)
    top, corners, _, b = box(rng, rng.uniform(0.1, 0.6))
    plank = (rng.uniform(1.0, 4.0), 2.0)
    feet = [(1, (s * 2.0, -0.05), None, 0.0, rng.uniform(0.1, 0.3), 0.0) for s in (-1, 1)]
    above = [(0, point, 1, 0.05, mu, e) for _, point, _, _, mu, e in corners]
    push = ((1, rng.uniform(5.0, 50.0)),)
    system, model = with_contacts("plank", [top, plank], (0.0, -G), above + feet, push)
    q = [0.0, 0.1 + b, 0.0, 0.0, 0.05, 0.0]
    agrees(system, model, q, [rng.uniform(-0.5, 0.5), 0, 0, 0, 0, 0], 0.4, 60)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_falls_onto_four_feet(seed):
    """Four contacts for two equations: forces are not unique, the motion is."""
    rng = np.random.default_rng(300 + seed)
    feet = np.sort(rng.uniform(-1.0, 1.0, 4))
    contacts = [(0, (x, -0.3), None, 0.0, 0.4, 0.0) for x in feet]
    system, model = with_contacts("beam", [(2.0, 0.7)], (0.0, -G), contacts)
    turn = rng.uniform(-0.08, 0.08)
    lift = max(0.3 * np.cos(turn) + x * np.sin(turn) for x in feet) + 0.02
    agrees(system, model, [0.0, lift, turn], [rng.uniform(-0.5, 0.5), 0.0, 0.0], 0.4, speed=4.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_double_pendulum_bounces_off_its_stop_with_friction(seed):
    rng = np.random.default_rng(400 + seed)
    masses, lengths = rng.uniform(0.5, 2.0, 2), rng.uniform(0.4, 0.8, 2)
    stop, e, friction = rng.uniform(-0.3, 0.2), rng.uniform(0.0, 0.9), rng.choice([0.0, 0.4])
    m = da.Mechanism("pendulum", gravity=(0, 0, -G))
    first = m.add_body("first", mass=masses[0], com=(0, 0, -lengths[0]))
    second = m.add_body("second", mass=masses[1], com=(0, 0, -lengths[1]))
    limits = {"limits": (stop, 3.0), "stops": da.Stops(restitution=e)}
    m.add_joint("A", da.Revolute("y"), m.ground, first, friction=friction, **limits)
    m.add_joint("B", da.Revolute("y"), first.at(0, 0, -lengths[0]), second)
    model = moreau.DoublePendulum(tuple(masses), tuple(lengths), stop, e, friction)
    q = np.array([0.9, rng.uniform(-0.5, 0.9)])
    system = m.compile()
    run = da.simulate(system, {"A": q[0], "B": q[1] - q[0]}, 0.9, rtol=1e-8, atol=1e-10)
    assert run.success, run.summary()
    assert run.switches
    for n in (400, 1600):
        found, _ = moreau.course(model, q, np.zeros(2), 0.9, n)
        off = np.abs(found - [run["A"][-1], run["A"][-1] + run["B"][-1]]).max()
        assert off < 12.0 * 0.9 / n, (off, run.summary())


@pytest.mark.parametrize("seed", range(4))
def test_a_stone_on_a_rope_that_goes_slack(seed):
    rng = np.random.default_rng(500 + seed)
    mass, length, e, angle = rng.uniform(0.5, 2.0), rng.uniform(0.5, 1.0), rng.choice([0.0, 0.5]), rng.uniform(1.7, 2.4)
    m = da.Mechanism("stone", gravity=(0, 0, -G))
    x = m.add_body("x")
    m.add_joint("x", da.Prismatic("x"), m.ground, x)
    m.add_joint("z", da.Prismatic("z"), x, m.add_body("stone", mass=mass))
    m.add_rope("rope", [m.ground, m.bodies["stone"]], length=length, restitution=e)
    q, v = length * np.array([np.sin(angle), -np.cos(angle)]) * 0.999, np.array([rng.uniform(-0.5, 0.5), 0.0])
    run = agrees(m.compile(), moreau.OnRope(mass, length, e), q, v, 1.0, 400, speed=25.0)
    assert any("taut" in s.what for s in run.switches)
