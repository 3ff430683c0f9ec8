"""Histories by name: against closed forms, differences of the history, Pinocchio, and single states."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import dalembert as da
from pinocchio_peer import Peer
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


def small(difference, size, tolerance=1e-11) -> None:
    assert np.abs(difference).max(initial=0.0) <= tolerance * max(1.0, np.abs(size).max(initial=0.0))


def at_states(system: da.System, states: list[da.State]) -> da.Run:
    """A run whose records are any states."""
    run = da.simulate(system, states[0], 1e-4, t_eval=[0.0])
    n = len(states)
    return replace(
        run,
        t=np.arange(n, dtype=float),
        q=np.array([x.q for x in states]).reshape(n, system.nq),
        v=np.array([x.v for x in states]).reshape(n, system.nv),
        u=np.zeros((n, len(system.u_names))),
        margin=np.ones(n),
        work={name: np.zeros(n) for name in system.work_names},
    )


def test_a_pendulum_moves_and_pulls_as_in_the_books():
    """r = L (sin θ, −cos θ), θ̈ = −g/L sin θ, and the rod carries m (g cos θ + L θ̇²)."""
    L, g, m = 0.7, 9.81, 1.3
    pendulum = da.Mechanism("pendulum", gravity=(0, -g, 0))
    bob = pendulum.add_body("bob", mass=m)
    pendulum.add_joint("A", da.Revolute("z"), pendulum.ground, bob.at(0, L, 0))
    run = da.simulate(pendulum.compile(), {"A": 2.0}, 3.0)
    angle, speed = run["A"], run.rate("A")
    turn = -g / L * np.sin(angle)
    sin, cos, zero = np.sin(angle), np.cos(angle), np.zeros(len(angle))
    small(run.position(bob) - L * np.array([sin, -cos, zero]).T, L)
    small(run.velocity("bob") - (L * speed * np.array([cos, sin, zero])).T, speed)
    expected = (L * turn * np.array([cos, sin, zero]) + L * speed**2 * np.array([-sin, cos, zero])).T
    small(run.acceleration("bob") - expected, expected)
    small(run.twist("bob") - np.array([zero, zero, speed, L * speed, zero, zero]).T, speed)
    small(run.reactions("A")[:, 4] - m * (g * cos + L * speed**2), m * speed**2)
    small(run.reactions("A")[:, 3], m * g)


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_rates_of_histories_are_histories_of_rates(seed):
    """Central differences of order 4 of position, rotation and velocity, on closed chains and floating trees."""
    if seed % 2:
        system, x = random_closed(seed, bodies=5, loops=1, redundant=False, backend="native")
    else:
        system = random_tree(seed, 4, floating=True).compile()
        x = random_state(system, seed)
    h = 1e-3
    run = da.simulate(system, x, 0.02, t_eval=h * np.arange(21), rtol=1e-12, atol=1e-13)
    assert len(run.t) == 21
    for name in ("body3", "probe"):
        position, velocity, acceleration = run.position(name), run.velocity(name), run.acceleration(name)
        R, omega = run.rotation(name), run.twist(name, axes="world")[:, :3]

        def rate(y):
            return ((y[:-4] - y[4:]) + 8.0 * (y[3:-1] - y[1:-3])) / (12.0 * h)

        small(rate(position) - velocity[2:-2], velocity, 1e-6)
        small(rate(velocity) - acceleration[2:-2], acceleration, 1e-6)
        small(rate(R) - np.cross(omega[2:-2, None], R[2:-2], axisb=-2, axisc=-2), omega, 1e-6)


@pytest.mark.parametrize(("seed", "bodies"), [(0, 3), (3, 6), (6, 4), (7, 5), (12, 9)])
def test_frames_agree_with_pinocchio_at_random_states(seed, bodies):
    """Thirteen records, no multiple of the lanes; moving bases and quaternions among them."""
    m = random_tree(seed, bodies, floating=seed % 3 == 0)
    system = m.compile()
    peer = Peer(m, system)
    run = at_states(system, [random_state(system, 100 * seed + k) for k in range(13)])
    pose, body, world = run.pose("probe"), run.twist("probe"), run.twist("probe", axes="world")
    velocity, acceleration = run.velocity("probe"), run.acceleration(m.frames["probe"])
    for k in range(13):
        q, v = peer.q(run.q[k]), run.v[k][peer.v_order]
        a = pin.aba(peer.model, peer.data, q, v, np.zeros(system.nv))
        pin.forwardKinematics(peer.model, peer.data, q, v, a)
        pin.updateFramePlacements(peer.model, peer.data)
        small(pose[k] - peer.data.oMf[peer.frame].homogeneous, pose[k], 1e-10)
        for found, axes in ((body, pin.LOCAL), (world, pin.LOCAL_WORLD_ALIGNED)):
            V = pin.getFrameVelocity(peer.model, peer.data, peer.frame, axes)
            small(found[k] - np.concatenate([V.angular, V.linear]), found[k], 1e-10)
        small(velocity[k] - V.linear, V.linear, 1e-10)
        A = pin.getFrameClassicalAcceleration(peer.model, peer.data, peer.frame, pin.LOCAL_WORLD_ALIGNED)
        condition = np.linalg.cond(system.mass_matrix(run.state(k)))
        small(acceleration[k] - A.linear, np.abs(a).max(), max(1e-10, 1e-14 * condition))


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_histories_are_those_of_single_states(seed, redundant):
    """Multipliers, reactions of every joint, accelerations: at the records one by one, redundant rows included."""
    system, x = random_closed(seed, bodies=5, loops=1, redundant=redundant, backend="native")
    states = [system.project(x.replace(v=np.random.default_rng([seed, k]).normal(size=system.nv))) for k in range(11)]
    run = at_states(system, states)
    single = [system.constraint_forces(y) for y in states]
    size = max(np.abs(W).max() for r in single for W in r.joints.values())
    assert (single[0].acceleration.rank < len(system.row_names)) == redundant
    small(run.multipliers - [r.acceleration.multipliers for r in single], size, 1e-9)
    vdot = np.array([r.acceleration.vdot for r in single])
    small(run.vdot - vdot, vdot, 1e-9)
    for k, name in enumerate(system.row_names):
        np.testing.assert_array_equal(run.multiplier(name), run.multipliers[:, k])
    for name in [*single[0].joints, *single[0].loops]:
        small(run.reactions(name) - [{**r.joints, **r.loops}[name] for r in single], size, 1e-9)
    for name in dict.fromkeys(system.rows.of):
        rows = [k for k, of in enumerate(system.rows.of) if of == name]
        found = run.multiplier(name)
        np.testing.assert_array_equal(found.reshape(11, -1), run.multipliers[:, rows])
        assert found.ndim == (1 if len(rows) == 1 else 2)
        small(run.power(name), size, 1e-9)  # ideal and at rest in time
    for y, pose, V, R in zip(states, run.pose("probe"), run.twist("probe", axes="world"), run.rotation("probe")):
        small(y.pose("probe") - pose, pose)
        small(y.twist("probe", axes="world") - V, V)
        small(y.rotation("probe") - R, 1.0)


def arm() -> da.Mechanism:
    """Everything that has power: a motor, an input of a law, springs, dampers, a wrench, a driver; a quaternion."""
    m = da.Mechanism("arm", gravity=(0.3, -9.81, 0.1))
    k = m.add_parameter("k", 40.0)
    a, b, c = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3)) for n in "abc")
    m.add_joint("A", da.Revolute("z"), m.ground, a, damping=0.3, stiffness=k)
    m.add_joint("B", da.Spherical(), a.at(1, 0, 0), b, damping=[0.1, 0.2, 0.3])
    m.add_joint("C", da.Prismatic("x"), m.ground.at(0, 0, 2), c)
    m.add_motor("motor", "B")
    lift = m.add_input("lift")
    m.add_joint_force("law", "A", lambda s: lift - 0.2 * s.rate("A") ** 3)
    m.add_spring("spring", a.at(1, 0, 0), m.ground.at(0, 1, 1), stiffness=20.0, damping=1.0, rest_length=0.3)
    m.add_wrench("wind", b.at(0.2, 0.3, 0), force=(1.0, 2.0, 0.5), moment=(0.1, 0, 0.2), axes="world")
    m.add_driver("crank", "C", lambda t: 0.2 * t + 0.3 * t**3)
    return m


def test_powers_add_up():
    """Those of forces and joints to v · Q, those of inputs to what inputs add, and each to the rate of its work."""
    system = arm().compile()
    u = {"motor": [0.3, -0.2, 0.4], "lift": 0.7}
    p = system.arguments.parameter_vector({"k": 25.0})
    start = system.assemble({"A": 0.4, "B": da.rotation("x", 0.7)}, v={"A": 1.0, "B": [0.3, 1.0, -0.5]}, p=p)
    h = 1e-3
    run = da.simulate(system, start, 0.4, u=u, p=p, t_eval=h * np.arange(401), rtol=1e-11, atol=1e-12)
    forces = {name: run.power(name) for name in ("motor", "law", "spring", "wind", "A", "B")}
    Q = [system.applied_forces(run.state(k), u=run.u[k], p=p) @ run.v[k] for k in range(len(run.t))]
    small(sum(forces.values()) - Q, Q)
    none = np.zeros(len(system.u_names))
    rest = [system.applied_forces(run.state(k), u=none, p=p) @ run.v[k] for k in range(len(run.t))]
    inputs = run.power("lift") + run.power("motor", kind="input")
    small(inputs - (np.array(Q) - rest), Q)
    small(sum(run.power(f"motor[{i}]") for i in range(3)) - forces["motor"], Q)
    small(run.power("lift") - run.rate("A") * 0.7, Q)
    small(run.power("A") + run.rate("A") * (25.0 * run["A"] + 0.3 * run.rate("A")), Q)
    small(run.power("B") + (run.rate("B") ** 2) @ [0.1, 0.2, 0.3], Q)
    small(run.power("C"), 1.0)  # neither spring nor damper
    crank = run.power("crank")
    small(crank - run.multiplier("crank") * run.rate("C"), crank)

    def rate(y):
        return ((y[:-4] - y[4:]) + 8.0 * (y[3:-1] - y[1:-3])) / (12.0 * h)

    small(rate(run.work["inputs"]) - inputs[2:-2], Q, 1e-7)
    small(rate(run.work["drivers"]) - crank[2:-2], crank, 1e-7)
    weight = np.array([[0.3, -9.81, 0.1]])
    falls = sum((run.velocity(system.layout.bodies[n].at(0.5, 0, 0)) * weight).sum(axis=1) for n in "abc")
    balance = sum(forces.values()) + crank + falls
    small(rate(run.kinetic_energy) - balance[2:-2], balance, 1e-7)


def test_power_of_an_input_is_what_it_adds_where_it_is_not_a_force():
    """A law in the square of an input: power with it less power without it."""
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    u = m.add_input("u")
    m.add_joint_force("law", "x", 3.0 * u * u + 1.0)
    system = m.compile("casadi")
    run = da.simulate(system, system.state(v={"x": 2.0}), 0.1, u={"u": 0.5})
    small(run.power("u") - 0.75 * run.rate("x"), 1.0)
    small(run.power("law") - 1.75 * run.rate("x"), 1.0)


def test_inputs_parameters_and_time_of_each_record_count():
    """Accelerations, multipliers and reactions of a driven arm with a controller, at the records one by one."""
    system = arm().compile()
    p = system.arguments.parameter_vector({"k": 25.0})
    start = system.assemble({"A": 0.4}, v={"A": 1.0}, p=p)
    run = da.simulate(
        system, start, 0.3, p=p, period=0.05, u=lambda t, s: {"motor": [t, -2.0 * t, 1.0], "lift": 3.0 * s["A"]}
    )
    assert np.ptp(run.u, axis=0).max() > 0.1
    found = run.acceleration("b"), run.multiplier("crank"), run.reactions("A"), run.reactions("B")
    for k, (a, crank, A, B) in enumerate(zip(*found)):
        x, u = run.state(k), run.u[k]
        r = system.constraint_forces(x, u=u, p=p)
        expected = system.frame_acceleration(x, "b", r.acceleration.vdot, axes="world", p=p)[3:]
        small(a - expected, expected)
        small(crank - r.multipliers["crank.drive"], 1.0)
        small(A - r.joints["A"], r.joints["A"])
        small(B - r.joints["B"], r.joints["B"])
