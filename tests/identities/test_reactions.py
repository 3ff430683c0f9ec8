"""Forces in joints against the free-body balance of every body, and their determinacy."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_loops import random_closed
from random_mechanisms import GRAVITY


def _world_wrench(T, W):
    """A wrench in a frame's axes, at its origin, as (moment about the ground's origin; force) in the ground's axes."""
    f = T[:3, :3] @ W[3:]
    return np.concatenate([T[:3, :3] @ W[:3] + np.cross(T[:3, 3], f), f])


def balance(system, x, r, gravity, extra=()):
    """Rate of momentum of each body minus all wrenches on it, from Newton's and Euler's laws body by body."""
    out = {}
    layout = system.layout
    for name, body in layout.bodies.items():
        if name == "ground":
            continue
        T = system.pose(x, name)
        V, dV = (
            system.twist(x, name, axes="world"),
            system.frame_acceleration(x, name, r.acceleration.vdot, axes="world"),
        )
        R, p = T[:3, :3], T[:3, 3]
        c = R @ body.com.astype(float)
        J = R @ body.inertia.astype(float) @ R.T
        m = float(body.mass)
        w, alpha = V[:3], dV[:3]
        a_c = dV[3:] + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
        rate = np.concatenate([J @ alpha + np.cross(w, J @ w) + np.cross(p + c, m * a_c), m * a_c])
        weight = m * np.array(gravity)
        total = rate - np.concatenate([np.cross(p + c, weight), weight])
        for joint, a in layout.joints.items():
            W = _world_wrench(system.pose(x, a.child), r.joints[joint])
            if a.child.body is body:
                total -= W
            if a.parent.body is body:
                total += W
        for loop in system.description.constraints:
            if loop.name in r.loops:
                W = _world_wrench(system.pose(x, loop.b), r.loops[loop.name])
                total -= W * (loop.b.body is body) - W * (loop.a.body is body)
        for on, W in extra:
            total -= W * (on == name)
        out[name] = total
    return out


@pytest.mark.parametrize("seed", range(8))
def test_every_body_is_in_balance(seed):
    """m a_c and the rate of spin equal weight, joint wrenches and loop wrenches, all in the ground's frame."""
    system, x = random_closed(seed, redundant=False)
    r = system.constraint_forces(x, np.random.default_rng(seed).normal(size=system.nv))
    scale = max(np.abs(w).max() for w in r.joints.values())
    for name, rest in balance(system, x, r, GRAVITY).items():
        np.testing.assert_allclose(rest, 0, atol=1e-8 * max(1.0, scale), err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_the_joint_wrench_along_the_screws_is_the_joint_force(seed):
    system, x = random_closed(seed, redundant=False)
    tau = np.random.default_rng(seed).normal(size=system.nv)
    r = system.constraint_forces(x, tau)
    for i, (name, a) in enumerate(system.layout.joints.items()):
        if a.joint.nv:
            S = a.joint.screws(x.q[system.layout.q_slice(name)].astype(object)).astype(float)
            O = a.joint.orientation.astype(float)
            W = r.joints[name]
            W = np.concatenate([O.T @ W[:3], O.T @ W[3:]])
            expected = tau[system.layout.v_slice(name)]
            np.testing.assert_allclose(S.T @ W, expected, atol=1e-7 * max(1, np.abs(W).max()), err_msg=str(i))


ASKEW = {"float": [0.8, 0.6, 0, 0, 0.3, 0, 0]}


def _closed(m, **sides):
    """A contact that sticks, as a constraint."""
    m.add_contact("c", "ball", on="plate", friction=0.5, **sides)
    m._constrain(m.contacts.pop("c").closed(sticking=True))


@pytest.mark.parametrize(
    ("add", "guess"),
    [
        (lambda m: m.add_rolling("c", "ball", radius=0.3, on="plate"), {"float.z": 0.3}),
        (lambda m: m.add_rolling("c", "ball", radius=0.3, on="plate", axis="y"), {"float.z": 0.3}),
        (lambda m: m.add_skate("c", "ball", sideways="y"), {}),
        (lambda m: m.add_point_driver("c", "ball", lambda t: (ca.sin(t), 0.1 * t, 0.5)), {"float.z": 0.5}),
        (lambda m: m.add_rolling_discs("c", "plate", 0.4, "ball", 0.2), {"float.x": 0.6}),
        (lambda m: m.add_rod("c", "plate", "ball", length=0.5), {"float.x": 0.5}),
        (lambda m: m.add_point_on_line("c", "ball", "plate", (1, 2, 0)), {}),
        (lambda m: _closed(m, shape=("disc", 0.3)), {"float": [0.8, 0.6, 0, 0, 0, 0, 0.3]}),
        (lambda m: _closed(m, shape=("capsule", (0.1, 2.0)), on_shape=("capsule", (0.2, 3.0))), ASKEW),
        (lambda m: _closed(m, radius=0.1, on_shape=("box", (0.4, 0.4, 0.4))), {"float.x": 0.3, "float.z": 0.1}),
        (
            lambda m: m.add_pulley_rope("c", ["plate", da.Pulley("ball", 0.2, turn=-1), m.ground.at(1, 1, 0.2)]),
            {"float.x": 1.0, "float.y": -1.0},
        ),
    ],
)
def test_forces_of_constraints_act_where_the_bodies_touch(add, guess):
    """What each constraint puts on the bodies makes up Aᵀλ, so the balance of every joint holds with them."""
    m = da.Mechanism("ball", gravity=(3.0, 2.0, -9.81))
    plate = m.add_body("plate", mass=2.0, inertia=(1, 1, 1))
    ball = m.add_body("ball", mass=1.0, com=(0.02, 0, 0.01), inertia=da.sphere_inertia(1.0, 0.3))
    m.add_joint("slide", da.Prismatic("x"), m.ground, plate)
    m.add_joint("float", da.Free(), m.ground, ball)
    add(m)
    system = m.compile(backend="casadi")
    x = system.assemble(v={"slide": 4.0}, guess=guess, t=0.3)
    r = system.constraint_forces(x)
    assert r.acceleration.success
    assert np.abs(r.acceleration.multipliers).max() > 0.01
    # the free joint passes nothing on, the slide nothing along x: all that holds the bodies is the constraint
    np.testing.assert_allclose(r.joints["float"], 0, atol=1e-9)
    assert r.joints["slide"][3] == pytest.approx(0, abs=1e-9)


def test_a_driver_brings_the_power_it_needs():
    """A crank driven at constant speed against gravity: power = moment × speed, and only the driver brings any."""
    m = da.Mechanism("crank", gravity=(0, -9.81, 0))
    m.add_joint(
        "A", da.Revolute("z"), m.ground, m.add_body("arm", mass=2.0, com=(0.5, 0, 0), inertia=da.rod_inertia(2.0, 1.0))
    )
    m.add_driver("motor", "A", lambda t: 3.0 * t)
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.2)
    r = system.constraint_forces(x)
    moment = 2.0 * 9.81 * 0.5 * np.cos(0.6)
    assert r.multipliers["motor.drive"] == pytest.approx(moment, rel=1e-12)
    assert r.power["motor"] == pytest.approx(3.0 * moment, rel=1e-12)
    assert r.joints["A"][2] == pytest.approx(moment, rel=1e-12)


def test_out_of_plane_forces_of_a_planar_loop_are_not_determinate_and_those_in_the_plane_are():
    m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), b)
    m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
    system = m.compile(backend="casadi")
    r = system.constraint_forces(system.assemble(guess={"A": 0.9, "B": 2.0}))
    in_plane = [False, False, True, True, True, False]
    for name in "ABC":
        assert r.determinate[name].tolist() == in_plane
    assert r.determinate_rows == {"C.x": True, "C.y": True, "C.z": False, "C.rx": False, "C.ry": False}
    # a three-hinged arch of two leaning rods: each foot carries one weight, the hinge a thrust of W/(2 tan 60°)
    weight = 9.81
    assert abs(r.loops["C"][3:] @ r.loops["C"][3:]) == pytest.approx((weight / (2 * np.tan(np.pi / 3))) ** 2, rel=1e-9)


def test_a_printed_table_shows_every_wrench_and_what_is_not_determinate():
    system = zoo.four_bar().compile(backend="casadi")
    r = system.constraint_forces(system.state(*zoo.four_bar_start(0.6, speed=2.0)))
    lines = str(r).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["A", "B", "D", "C"]
    assert f"{r.joints['D'][3]:.5g}" in lines[3]
    assert lines[1].count("?") == np.sum(~r.determinate["A"]) == 3
    assert "e-1" not in str(r)  # rounding is printed as zero
    assert len(str(r)) < 500
    assert repr(r) == "<reactions of 3 joints and 1 loops>"


def test_the_power_of_a_driver_is_printed():
    m = da.Mechanism("lift", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("load", mass=2.0))
    m.add_driver("drive", "z", lambda t: 3.0 * t)
    system = m.compile(backend="casadi")
    assert "power (W): drive 60" in str(system.constraint_forces(system.assemble()))


def test_names_that_are_not_there_are_refused_with_those_that_are():
    system = zoo.four_bar().compile(backend="casadi")
    r = system.constraint_forces(system.state(*zoo.four_bar_start(0.6)))
    for values, name, known in (
        (r.joints, "E", "A, B, D, C"),
        (r.loops, "A", "C"),
        (r.multipliers, "C.q", "C.x, C.y"),
        (r.determinate, "E", "A, B, D, C"),
        (r.power, "A", "C"),
    ):
        with pytest.raises(da.UnknownName, match=f"no .* '{name}'; known: {known}"):
            values[name]
    again = pickle.loads(pickle.dumps(r.joints))
    assert list(again) == ["A", "B", "D"]
    np.testing.assert_array_equal(again["C"], r.loops["C"])
    with pytest.raises(da.UnknownName, match="joint 'E'"):
        again["E"]
