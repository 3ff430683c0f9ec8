"""Forces of a description: work, energy and action against independent routes."""

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from cranes import crane, gradient
from random_mechanisms import random_state


@pytest.mark.parametrize("seed", range(5))
def test_springs_push_down_the_gradient_of_their_energy(seed):
    """Joint springs (quaternion joint included), point springs and taut elastic cables: Q − g = −∂U/∂δ."""
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=4)
    m = crane(
        A={"stiffness": (3.0, 4.0, 5.0), "rest": (0.1, 0.2, 0.3)},
        B={"stiffness": (6.0, 7.0, 9.0), "rest": rest / np.linalg.norm(rest)},
        C={"stiffness": 2.0},
    )
    a, b, c = (m.bodies[n] for n in "abc")
    m.add_spring("s", m.ground.at(1, 1, 0), c.at(0, 0, 0.3), stiffness=11.0, rest_length=0.4)
    m.add_spring("zero", a.at(0, 0, 1), b.at(0, 1, 0), stiffness=5.0)
    m.add_cable("rope", [m.ground.at(0, 0, 2), a.at(0, 0.1, 0), b.at(0.2, 0, 0), c], stiffness=8.0, rest_length=0.5)
    system = m.compile(backend="casadi")
    x = system.state(random_state(system, seed).q)
    Q = system.applied_forces(x) - system.gravity_vector(x)
    np.testing.assert_allclose(Q, -gradient(system, x.q), atol=1e-10 * np.abs(Q).max())


@pytest.mark.parametrize("seed", range(5))
def test_dampers_take_exactly_what_the_energy_loses(seed):
    """dE/dt = Q_damping · v < 0, and linear in v."""
    m = crane(A={"damping": 0.4}, B={"damping": (0.1, 0.2, 0.4)}, C={"damping": 0.7})
    m.add_spring("s", m.ground.at(1, 1, 0), m.bodies["c"].at(0, 0, 0.3), stiffness=0.0, damping=2.0)
    system = m.compile(backend="casadi")
    x = random_state(system, seed)
    Q = system.applied_forces(x)
    tip = system.twist(x, m.bodies["c"].at(0, 0, 0.3), axes="world")[3:]
    d = system.pose(x, m.bodies["c"].at(0, 0, 0.3))[:3, 3] - [1, 1, 0]
    lost = 2.0 * (tip @ d) ** 2 / (d @ d) + 0.4 * x.rate("A") @ x.rate("A")
    lost += np.array([0.1, 0.2, 0.4]) @ x.rate("B") ** 2 + 0.7 * x.rate("C") ** 2
    assert Q @ x.v == pytest.approx(-lost, rel=1e-12)
    np.testing.assert_allclose(system.applied_forces(x.replace(v=2 * x.v)), 2 * Q, rtol=1e-12)


def test_a_wrench_does_the_work_of_its_frame_in_either_axes():
    rng = np.random.default_rng(2)
    f, n = rng.normal(size=3), rng.normal(size=3)
    for axes in ("world", "body"):
        m = crane()
        tip = m.add_frame("tip", m.bodies["c"].at(0.1, 0.2, 0.3, rotation=da.rotation("x", 0.4)))
        m.add_wrench("w", tip, force=tuple(f), moment=tuple(n), axes=axes)
        system = m.compile(backend="casadi")
        x = random_state(system, 1)
        J = system.jacobian(x, "tip", axes=axes)
        np.testing.assert_allclose(system.applied_forces(x), J.T @ np.concatenate([n, f]), atol=1e-12)


def test_a_cable_pulls_along_the_gradient_of_its_length():
    m = crane()
    T = m.add_input("T")
    points = [m.ground.at(0, 0, 2), m.bodies["a"].at(0, 0.1, 0), m.bodies["b"].at(0.2, 0, 0), m.bodies["c"].frame]
    m.add_cable("tendon", points, tension=T)
    system = m.compile(backend="casadi")
    x = random_state(system, 3)

    def length(q):
        p = [system.pose(q, f)[:3, 3] for f in points]
        return sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(p))

    h = 1e-6
    slope = [(length(system.plus(x, h * e)) - length(system.plus(x, -h * e))) / (2 * h) for e in np.eye(system.nv)]
    np.testing.assert_allclose(system.applied_forces(x, u=[3.0]), -3.0 * np.array(slope), atol=1e-8)


def test_a_slack_cable_pulls_nothing():
    m = da.Mechanism(gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_cable("rope", ["ground", "b"], stiffness=10.0, damping=5.0, rest_length=1.0)
    system = m.compile(backend="casadi")
    for x, v, expected in ((0.5, -3.0, 0.0), (1.5, 0.0, -5.0), (1.5, -3.0, 0.0), (-1.5, 0.0, 5.0), (0.0, 1.0, 0.0)):
        assert system.forward_dynamics(system.state([x], [v])) == pytest.approx([expected], abs=1e-12)
    assert system.potential_energy([0.5]) == 0.0


def test_user_forces_see_coordinates_velocities_poses_time_inputs_and_parameters():
    m = crane()
    k = m.add_parameter("k", 2.0)
    u = m.add_input("u")
    m.add_frame("tip", m.bodies["c"].at(0, 0, 0.3))
    m.add_joint_force("C force", "C", lambda s: -k * ca.sin(s["C"]) + u * s.t - s.rate("C") * s["A"][1])
    m.add_wrench("drag", "tip", force=lambda s: -0.1 * s.velocity("tip") * ca.norm_2(s.velocity("tip")))
    m.add_wrench("thrust", "tip", moment=lambda s: s.rotation("tip").T @ s.position("tip"), axes="body")
    m.add_joint_force("B force", "B", lambda s: -s.twist("tip")[:3])
    system = m.compile(backend="casadi")
    x = random_state(system, 4).replace(t=1.7)
    V, T = system.twist(x, "tip", axes="world"), system.pose(x, "tip")
    Q = system.applied_forces(x, u={"u": 0.7}, p={"k": 5.0})
    expected = system.jacobian(x, "tip", axes="world")[3:].T @ (-0.1 * V[3:] * np.linalg.norm(V[3:]))
    expected += system.jacobian(x, "tip")[:3].T @ T[:3, :3].T @ T[:3, 3]
    expected[system.layout.v_slice("C")] += -5.0 * np.sin(x["C"]) + 0.7 * 1.7 - x.rate("C") * x["A"][1]
    expected[system.layout.v_slice("B")] -= system.twist(x, "tip")[:3]
    np.testing.assert_allclose(Q, expected, atol=1e-12)
    assert system.function("applied_forces").name_in() == ["q", "v", "u", "p", "t"]


def symmetric(rng, size=6):
    X = rng.normal(size=(size, size))
    return X @ X.T


@pytest.mark.parametrize("seed", range(5))
def test_a_bushing_pushes_down_the_gradient_of_its_energy_and_loses_what_its_damping_takes(seed):
    """½ ξᵀ K ξ with ξ = (log R; p): Q = −∂U/∂δ at any rotation, and Q_damping · v = −ξ̇ᵀ C ξ̇ by differences of ξ."""
    rng = np.random.default_rng(seed)
    K, C = symmetric(rng), symmetric(rng)
    m = crane()
    a, b, c = (m.bodies[n] for n in "abc")
    ends = a.at(0.3, -0.2, 0.1, rotation=da.rotation("x", 0.7)), c.at(0.1, 0.2, 0.3, rotation=da.rotation("y", -0.4))
    m.add_bushing("mount", *ends, stiffness=K)
    m.add_bushing("pad", m.ground.at(0, 0, 1), b, stiffness=(1.0, 0, 0, 2.0, 3.0, 0))
    system = m.compile(backend="casadi")
    x = random_state(system, seed)
    still = system.state(x.q)
    Q = system.applied_forces(still) - system.gravity_vector(still)
    np.testing.assert_allclose(Q, -gradient(system, x.q), atol=1e-10 * np.abs(Q).max())

    damped = crane()
    a, c = damped.bodies["a"], damped.bodies["c"]
    ends = a.at(0.3, -0.2, 0.1, rotation=da.rotation("x", 0.7)), c.at(0.1, 0.2, 0.3, rotation=da.rotation("y", -0.4))
    damped.add_bushing("mount", *ends, stiffness=0.0, damping=C)
    other = damped.compile(backend="casadi")

    def measured(h):
        y = other.state(other.plus(x, h * x.v))
        Ta, Tb = (other.pose(y, f) for f in ends)
        T = np.linalg.inv(Ta) @ Tb
        return np.concatenate([Rotation.from_matrix(T[:3, :3]).as_rotvec(), T[:3, 3]])

    h = 1e-5
    rate = (measured(h) - measured(-h)) / (2 * h)
    power = other.applied_forces(x) @ x.v
    assert power == pytest.approx(-rate @ C @ rate, rel=1e-7)
    assert power < 0


def test_a_bushing_beside_a_joint_is_its_spring():
    """Along the axis of a hinge, and along a slide, a bushing does what the joint's own stiffness and damping do."""
    for joint, place in ((da.Revolute("y"), 1), (da.Prismatic("x"), 3)):
        six, none = np.zeros(6), [1e3] * 6
        six[place] = 40.0
        none[place] = 0.0
        own, beside = da.Mechanism("own"), da.Mechanism("beside")
        for m, more in ((own, {"stiffness": 40.0, "damping": 4.0}), (beside, {})):
            body = m.add_body("body", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
            m.add_joint("J", joint, m.ground.at(0.1, 0.2, 0), body, **more)
        beside.add_bushing("k", beside.ground.at(0.1, 0.2, 0), "body", stiffness=six, damping=six / 10)
        beside.add_bushing("stiff across", beside.ground.at(0.1, 0.2, 0), "body", stiffness=none)
        one, other = own.compile(), beside.compile()
        for q, v in ((0.4, 1.0), (-2.9, 3.0), (0.0, -1.0), (1e-9, 0.0)):
            x, y = one.state({"J": q}, {"J": v}), other.state({"J": q}, {"J": v})
            assert other.acceleration(y).vdot == pytest.approx(one.acceleration(x).vdot, rel=1e-10, abs=1e-12)
            assert other.potential_energy(y) == pytest.approx(one.potential_energy(x), rel=1e-12, abs=1e-15)


def test_a_platform_on_a_bushing_and_a_loop_keeps_its_energy():
    """Six stiffnesses between two bodies of a four-bar that are joined already; without damping nothing is lost."""
    K = symmetric(np.random.default_rng(7)) + 5 * np.eye(6)
    m = da.zoo.four_bar()
    a, c = list(m.bodies)[1], list(m.bodies)[3]
    m.add_bushing("mount", a, c, stiffness=K)
    system = m.compile()
    run = da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 1.0, rtol=1e-10, atol=1e-12)
    assert run.success
    assert np.abs(run.energy_error).max() < 1e-7 * np.abs(run.energy).max()
    lin = da.linearize(system, system.assemble({"A": 0.6}))
    assert np.isfinite(lin.A).all()


def test_gravity_can_be_a_parameter():
    m = da.Mechanism("planet", gravity=(0, 0, 0))
    g = m.add_parameter("g", 9.81)
    m.gravity = (0, 0, -g)
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("b", mass=2.0))
    system = m.compile(backend="casadi")
    assert system.forward_dynamics([0.0]) == pytest.approx([-9.81])
    assert system.forward_dynamics([0.0], p={"g": 1.62}) == pytest.approx([-1.62])


def test_springs_of_cut_joints_push_down_the_gradient_of_their_energy_where_the_loop_is_closed():
    """Q · n = −∂U/∂δ · n for every admissible motion n, and dampers take d times the squared speed of the joint."""
    m = da.zoo.bennett()
    m.gravity = (0, 0, 0)
    loop = next(iter(m.constraints))
    m.add_cut_joint_spring("spring", loop, stiffness=7.0, rest=0.4)
    system = m.compile(backend="casadi")
    x = system.assemble()
    A = system.constraint_matrix(x)
    n = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, tol=1e-9) :].T
    Q = system.applied_forces(x)
    assert np.abs(Q @ n).max() > 0.1
    np.testing.assert_allclose(Q @ n, -gradient(system, x.q) @ n, atol=1e-9)

    m = da.zoo.bennett()
    m.add_cut_joint_spring("damper", loop, damping=2.0)
    system = m.compile(backend="casadi")
    x = system.state(x.q, n[:, 0])
    speed = system.evaluate("cut_joint", x, frame=loop)[1]
    np.testing.assert_allclose(system.applied_forces(x) @ x.v, -2.0 * speed @ speed, rtol=1e-9)
    assert abs(speed[0]) > 0.1


def potentials() -> da.Mechanism:
    """Energies of a planar, a quaternion and a screw joint, of places and of directions, with a parameter."""
    m = crane()
    k = m.add_parameter("k", 3.0)
    tip = m.add_frame("tip", m.bodies["c"].at(0.1, 0.2, 0.3 * k, rotation=da.rotation("x", 0.4)))
    m.add_potential("joints", lambda s: k * ca.cos(s["A.x"]) * s["C"] ** 2 + ca.sumsqr(s["B"][1:]) * s["A"][2])
    m.add_potential("place", lambda s: ca.log(2 + ca.sumsqr(s.position(tip) - s.position("a"))) * k)
    m.add_potential("direction", lambda s: ca.dot(s.rotation("b")[:, 0], s.rotation("tip")[:, 1]) + s.position("b")[2])
    m.add_potential("constant", lambda s: ca.SX(2.0))
    return m


@pytest.mark.parametrize("seed", range(3))
def test_a_potential_pushes_down_its_gradient_and_its_derivatives_are_those_of_its_formula(seed):
    m = potentials()
    system = m.compile(backend="casadi")
    x = random_state(system, seed)
    Q = system.applied_forces(x, p={"k": 2.0}) - system.gravity_vector(x)
    np.testing.assert_allclose(Q, -gradient(system, x.q, ([2.0],)), atol=1e-11 * np.abs(Q).max())
    tau_q = system.inverse_dynamics_derivatives(x, np.zeros(system.nv))[0]
    d = ca.SX.sym("d", system.nv)
    f = system.function("inverse_dynamics")
    moved = f(system.function("plus")(x.q, d), x.v, np.zeros(system.nv), [3.0])
    slope = np.array(ca.Function("s", [d], [ca.jacobian(moved, d)])(np.zeros(system.nv)))
    np.testing.assert_allclose(tau_q, slope, atol=1e-9 * np.abs(slope).max())


def test_a_spring_is_the_potential_of_its_stretch_and_both_keep_the_energy():
    def pendulum(springy):
        m = da.Mechanism(gravity=(0, -9.81, 0))
        rod = m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
        m.add_joint("A", da.Revolute("z"), m.ground, rod)
        far = m.ground.at(0.3, 2.0, 0.0)
        if springy:
            m.add_spring("k", far, rod.at(1, 0, 0), stiffness=40.0, rest_length=0.5)
        else:
            m.add_potential("k", lambda s: 20.0 * (ca.norm_2(s.position(rod.at(1, 0, 0)) - s.position(far)) - 0.5) ** 2)
        return m.compile()

    one, two = pendulum(True), pendulum(False)
    runs = [da.simulate(s, s.state({"A": 0.4}), 2.0) for s in (one, two)]
    assert runs[1]["A"][-1] == pytest.approx(runs[0]["A"][-1], abs=1e-7)
    assert np.ptp(runs[1]["A"]) > 0.5
    assert np.abs(runs[1].energy - runs[1].energy[0]).max() < 1e-6
    assert np.abs(runs[1].energy_error).max() < 1e-6


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (lambda s: s.rate("x") ** 2, "depends on velocities"),
        (lambda s: s["x"] * s.t, "depends on time"),
        (lambda s: s["x"] * s.u, "could not be evaluated"),
        (lambda s: ca.vertcat(s["x"], 1), "has shape"),
    ],
)
def test_an_energy_that_is_not_one_of_the_position_alone_is_refused(energy, message):
    m = da.Mechanism()
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_potential("V", energy)
    with pytest.raises(da.DescriptionError, match=message):
        m.compile()
    with pytest.raises(da.DescriptionError, match="needed: a function"):
        m.add_potential("W", 3.0)


def test_an_energy_of_an_input_is_refused():
    m = da.Mechanism()
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    u = m.add_input("u")
    m.add_potential("V", lambda s: s["x"] * u)
    with pytest.raises(da.DescriptionError, match="depends on input 'u'"):
        m.compile()


@pytest.mark.parametrize("seed", range(3))
def test_an_actuator_brings_the_power_of_its_force_and_its_stroke(seed):
    """Q · v = u L̇, with L̇ by differences; beyond its limits the force is the limit; B is of a force inside them."""
    m = crane()
    a, b = m.bodies["a"].at(0.1, 0.2, 0.3), m.bodies["c"].at(0, -0.4, 0.1)
    m.add_actuator("ram", a, b, limits=(-2.0, 5.0))
    m.add_actuator("free", m.ground.at(3, 0, 0), "b")
    system = m.compile(backend="casadi")
    x = random_state(system, seed)
    h = 1e-6
    steps = [x.replace(q=system.plus(x, s * h * x.v)) for s in (1, -1)]
    rates = {n: (steps[0].length(n) - steps[1].length(n)) / (2 * h) for n in ("ram", "free")}
    gap = system.pose(x, b)[:3, 3] - system.pose(x, a)[:3, 3]
    assert x.length("ram") == pytest.approx(np.linalg.norm(gap), rel=1e-14)
    for name, rate in rates.items():
        assert x.length_rate(name) == pytest.approx(rate, rel=1e-8)
    for u, used in (((3.0, 0.0), (3.0, 0.0)), ((9.0, -40.0), (5.0, -40.0)), ((-9.0, 7.0), (-2.0, 7.0))):
        power = used[0] * rates["ram"] + used[1] * rates["free"]
        assert system.applied_forces(x, u=u) @ x.v == pytest.approx(power, rel=1e-7)
    Q = [system.applied_forces(x, u=u) for u in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0))]
    np.testing.assert_allclose(system.input_matrix(x).T, [Q[0] - Q[2], Q[1] - Q[2]], atol=1e-12)


def test_the_length_of_a_line_is_known_to_expressions_and_callbacks_alike():
    m = da.Mechanism(gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_actuator("ram", m.ground.at(0, 0.3, 0), "b")
    m.add_joint_force("soft stop", "x", lambda s: -2.0 * s.length("ram") - 3.0 * s.length_rate("ram"))
    system = m.compile()
    x = system.state({"x": 0.4}, {"x": 2.0})
    assert (x.length("ram"), x.length_rate("ram")) == pytest.approx((0.5, 1.6))
    assert system.forward_dynamics(x, u=[2.5]) == pytest.approx([-2 * 0.5 - 3 * 1.6 + 2.5 * 0.8])

    run = da.simulate(system, x, 0.3, u=[2.0])
    for k in (0, -1):
        assert run.length("ram")[k] == pytest.approx(run.state(k).length("ram"), rel=1e-12)
        assert run.length_rate("ram")[k] == pytest.approx(run.state(k).length_rate("ram"), rel=1e-12)

    def grown(t, s):
        return s.length("ram") - 0.75

    ends = [
        da.simulate(system, x, 1.0, u=[12.0], events={"grown": e}).t_events["grown"]
        for e in (da.Event(grown, terminal=True), da.Event(da.expression(grown), terminal=True))
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)
    with pytest.raises(da.UnknownName, match="spring, cable or actuator 'rum'"):
        x.length("rum")


@pytest.mark.parametrize("limits", [(1.0, 2.0), (2.0, 1.0), (1, 2, 3), (np.nan, 1), "both"])
def test_limits_of_an_actuator_have_zero_between_them(limits):
    m = da.Mechanism()
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    with pytest.raises(da.DescriptionError, match="the limits of actuator 'ram'"):
        m.add_actuator("ram", m.ground.at(0, 1, 0), "b", limits=limits)
    assert not m.inputs
