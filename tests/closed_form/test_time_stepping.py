"""Method 'moreau': closed forms, agreement with event-driven runs as h → 0, exact rest, random drops, closed loops."""

import numpy as np
import pytest

import dalembert as da

G = 9.81
LENGTHS = np.array([0.2, 0.15, 0.1])  # half sides of a box, over its size


def box(size=1.0, friction=0.5, restitution=0.0, slope=0.0):
    """A free box with a contact at each corner, on a floor that leans by `slope`."""
    m = da.Mechanism("box", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    a, mass = LENGTHS * size, 2.0 * size**3
    body = m.add_body("box", mass=mass, inertia=mass / 3 * (np.sum(a**2) - a**2))
    m.add_joint("free", da.Free(), m.ground, body)
    for k in range(8):
        corner = a * [2 * (k >> i & 1) - 1 for i in range(3)]
        m.add_contact(f"corner {k}", body.at(*corner), friction=friction, restitution=restitution)
    return m.compile()


def thrown(system, size, rng):
    """A box above the floor in any position, turning and flying."""
    q = rng.normal(size=4)
    x = system.state({"free": np.concatenate([q / np.linalg.norm(q), [0, 0, 0.6 * size]])})
    return x.replace(v=np.concatenate([3 * rng.normal(size=3) / size**0.5, rng.normal(size=3) * size**0.5]))


def stepped(system, x, t, h, **options):
    run = da.simulate(system, x, t, method="moreau", step=h, **options)
    assert run.success, run.message
    return run


def orders(system, x, t, steps, of=lambda run: run.q[-1], **options):
    """Errors against the event-driven run for some steps."""
    exact = da.simulate(system, x, t, **options)
    assert exact.success, exact.message
    return np.array([np.abs(of(stepped(system, x, t, h, **options)) - of(exact)).max() for h in steps])


@pytest.mark.parametrize("restitution", [0.0, 0.4, 0.8])
def test_a_bouncing_ball_comes_nearer_as_steps_get_shorter(restitution):
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", radius=0.1, restitution=restitution)
    system, steps = m.compile(), np.array([1e-2, 1e-3, 1e-4])
    errors = orders(system, {"z": 5.1}, 1.72, steps)
    assert (errors <= 30.0 * steps + 1e-12).all()
    rest = stepped(system, {"z": 5.1}, 12.0, 1e-3)
    assert rest["z"][-1] == pytest.approx(0.1, abs=1e-12)
    assert np.abs(rest.v[-1]).max() < 1e-12
    assert rest.multiplier("floor")[-1] == pytest.approx(10.0, rel=1e-9)


def test_a_block_slides_until_friction_has_stopped_it():
    """v²/2μg, and rest from then on."""
    m = da.Mechanism("block", gravity=(0, 0, -G))
    carrier = m.add_body("carrier")
    m.add_joint("x", da.Prismatic("x"), m.ground, carrier)
    m.add_joint("z", da.Prismatic("z"), carrier, m.add_body("block", mass=2.0))
    m.add_contact("floor", "block", friction=0.3)
    system = m.compile()
    for h in (1e-2, 1e-3):
        run = stepped(system, system.state(v={"x": 3.0}), 2.0, h)
        assert run["x"][-1] == pytest.approx(9.0 / (2 * 0.3 * G), abs=3.0 * h)
        still = run.t > 3.0 / (0.3 * G) + 2 * h
        assert np.abs(run.v[still]).max() < 1e-11
        assert np.ptp(run["x"][still]) < 1e-12
        assert run.multiplier("floor")[5, 1] == pytest.approx(-0.3 * 2.0 * G, rel=1e-9)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_ball_slides_until_it_rolls(slope):
    """Spin ω = 5 μ g cos α t / 2r grows until the slip is gone; then a = 5/7 g sin α on the slope."""
    mu, r, v0 = 0.25, 0.1, 2.0
    m = da.Mechanism("ball", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    ball = m.add_body("ball", mass=3.0, inertia=np.full(3, 0.4 * 3.0 * r**2))
    m.add_joint("free", da.Free(), m.ground, ball)
    m.add_contact("floor", ball, radius=r, friction=mu)
    system = m.compile()
    x = system.state({"free": [1, 0, 0, 0, 0, 0, r]}, v={"free.vx": v0})
    g, a = G * np.cos(slope), G * np.sin(slope)
    rolls = v0 / (3.5 * mu * g - a)  # slip v₀ + (a − μ g) t − 5/2 μ g t
    speed = v0 + (a - mu * g) * rolls
    end, errors = 1.5 * rolls, []
    for h in (1e-3, 1e-4):
        run = stepped(system, x, end, h)
        expected = speed + 5 / 7 * a * (end - rolls)
        errors.append(abs(run.velocity("ball")[-1, 0] - expected))
        spin = run.v[-1, 1]
        assert abs(run.velocity("ball")[-1, 0] - r * spin) < (h * spin) ** 2 * abs(run.velocity("ball")[-1, 0])
    assert errors[1] < 5e-4
    assert errors[1] < 0.3 * errors[0] + 1e-9


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_a_box_on_four_corners_rests_exactly(slope):
    """Friction above tan(slope): nothing moves by more than rounding in a thousand steps, and forces balance."""
    system = box(friction=0.6, slope=slope)
    run = stepped(system, {"free": [1, 0, 0, 0, 0, 0, 0.1]}, 1.0, 1e-3)
    assert np.abs(run.v).max() < 1e-12
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    total = sum(run.multiplier(f"corner {k}")[-1] for k in range(8))
    assert total == pytest.approx([2.0 * G * np.cos(slope), -2.0 * G * np.sin(slope), 0.0], abs=1e-8)
    assert run.contact_residuals.max() < 1e-9


def test_a_rocking_block_rocks_as_event_by_event():
    m = da.Mechanism("block", gravity=(0, 0, -G))
    x, z = m.add_body("x"), m.add_body("z")
    m.add_joint("x", da.Prismatic("x"), m.ground, x)
    m.add_joint("z", da.Prismatic("z"), x, z)
    a, b = 0.1, 0.4
    block = m.add_body("block", mass=1.0, com=(0, 0, b), inertia=np.full(3, (a**2 + b**2) / 3))
    m.add_joint("tilt", da.Revolute("y"), z, block)
    for name, side in (("left", -a), ("right", a)):
        m.add_contact(name, block.at(side, 0, 0), friction=1.0)
    system = m.compile()
    start = system.state({"tilt": 0.15, "z": a * np.sin(0.15)})
    steps = np.array([2e-3, 5e-4, 1.25e-4])
    errors = orders(system, start, 0.8, steps, of=lambda run: run["tilt"][-1])
    assert (errors < 8.0 * steps).all()


def test_stick_and_slip_on_a_belt():
    """A mass on a spring, carried by a belt: it sticks, slips back, and sticks again."""
    m = da.Mechanism("belt", gravity=(0, 0, -G))
    mass = m.add_body("mass", mass=1.0)
    belt = m.add_body("belt", mass=1.0)
    m.add_joint("belt", da.Prismatic("x"), m.ground, belt)
    m.add_driver("drive", "belt", lambda t: 0.4 * t)
    m.add_joint("mass", da.Prismatic("x"), belt, mass, friction=da.Friction(2.0))
    m.add_spring("spring", m.ground.at(-1.0), mass, stiffness=50.0, rest_length=1.0)
    system = m.compile()
    x = system.assemble(v={"mass": 0.0, "belt": 0.4})
    steps = np.array([2e-3, 5e-4, 1.25e-4])
    errors = orders(system, x, 1.5, steps)
    assert (errors < 2.0 * steps).all()
    run = stepped(system, x, 1.5, 1e-3)
    assert np.abs(run.multiplier("friction of mass")).max() <= 2.0 + 1e-9
    assert np.abs(run.energy_error).max() < 1e-3


def chain(seed):
    """Two links with rigid stops, dry joints, a rope, and a rough tip above a floor."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("machine", gravity=(0, 0, -G))
    at = m.ground.at(0, 0, 0.85)
    for k in range(2):
        body = m.add_body(f"l{k}", mass=1.0, com=(0, 0, -0.25), inertia=da.rod_inertia(1.0, 0.5, "z"))
        m.add_joint(f"j{k}", da.Revolute("y"), at, body, friction=0.3, limits=(-1.2, 1.2), stops=da.Stops())
        at = body.at(0, 0, -0.5)
    m.add_contact("tip", at, friction=0.5)
    a, b = rng.uniform(0.7, 1.1), rng.uniform(-1.0, 1.0)
    x, z = -0.5 * (np.sin(a) + np.sin(a + b)), 0.85 - 0.5 * (np.cos(a) + np.cos(a + b))
    m.add_rope("rope", [m.ground.at(0, 0, 1.5), at], length=np.hypot(x, 1.5 - z) + 0.05)
    return m.compile(), {"j0": a, "j1": b}


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_stops_ropes_and_dry_joints_as_event_by_event(seed):
    system, start = chain(seed)
    steps = np.array([1e-3, 1e-4])
    errors = orders(system, start, 0.6, steps)
    assert (errors < 20.0 * steps).all()


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_closed_linkage_that_hits_a_floor_stays_closed(restitution):
    m = da.Mechanism("linkage", gravity=(0, -G, 0))
    sizes = {"a": 0.3, "b": 0.8, "c": 0.6}
    a, b, c = (m.add_body(n, mass=s, com=(s / 2, 0, 0), inertia=da.rod_inertia(s, s)) for n, s in sizes.items())
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.3), b)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.7), c)
    m.close_loop("C", da.Revolute("z"), b.at(0.8), c.at(0.6))
    m.add_contact("floor", a.at(0.3), on=m.ground.at(0, -0.1, 0, rotation=da.rotation("x", -np.pi / 2)),
                  friction=0.3, restitution=restitution)  # fmt: skip
    system = m.compile()
    x = system.assemble({"A": 0.9}, v={"A": -1.0})
    steps = np.array([1e-3, 2.5e-4])
    errors = orders(system, x, 0.5, steps)
    assert (errors < 20.0 * steps).all()
    run = stepped(system, x, 3.0, 1e-3)
    assert run.residuals.max() < 1e-12
    assert run.speed_residuals.max() < 1e-12
    assert np.abs(run.v[-1]).max() < 1e-9 or restitution
    assert run.contact_residuals.max() < 1e-9


@pytest.mark.parametrize("seed", range(24))
def test_random_drops_end_well(seed):
    """Friction 0 to 1, restitution 0 to 0.9, sizes from a millimetre to a kilometre: none fails."""
    rng = np.random.default_rng(1000 + seed)
    size, friction, restitution = 10 ** rng.uniform(-3, 3), rng.uniform(0, 1), rng.uniform(0, 0.9)
    system = box(size, friction, restitution)
    h = 1e-3 * size**0.5
    run = stepped(system, thrown(system, size, rng), 2.0 * size**0.5, h)
    energy, unit = run.energy, 2.0 * size**3 * G * size
    made = (energy - np.minimum.accumulate(energy)).max() / unit
    speed = np.abs(run.velocity("box")).max() + np.abs(run.v[:, :3]).max() * size
    assert (
        made < 2.0 * h * speed / size
    )  # gaps that are closed by moving: weight times depth, and depth is h times speed
    assert run.penetration.max() < 2.0 * h * speed
    assert run.contact_residuals.max() < 1e-6
    assert run.penetration[-1] < 1e-3 * size
