"""Rest, load cases and stiffness against closed forms, virtual work and conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import dalembert as da
from dalembert import zoo


def pendulum(length=1.0, mass=1.0, gravity=10.0):
    m = da.Mechanism("pendulum", gravity=(0, -gravity, 0))
    bob = m.add_body("bob", mass=mass, com=(length, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob)
    m.add_frame("tip", bob.at(length, 0, 0))
    return m


# --- inputs within bounds -------------------------------------------------------------------------------------------


def test_tendons_of_the_hand_only_pull():
    """The shortest tensions that are not negative: N u = r, u = max(Nᵀν, 0) for some ν (Karush, Kuhn and Tucker)."""
    hand = zoo.hand().compile()
    x = hand.state(*zoo.hand_start())
    assert (da.static_forces(hand, x).u < -1e-6).sum() > 11  # without bounds most would push
    rest = da.static_forces(hand, x, limits=dict.fromkeys(hand.u_names, (0, None)))
    u = rest.u[0]
    assert (u >= 0).all()
    A = hand.constraint_matrix(x)
    K = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, tol=1e-9) :].T if A.size else np.eye(hand.nv)
    N, load = K.T @ hand.input_matrix(x), K.T @ hand.inverse_dynamics(x, np.zeros(hand.nv))
    assert np.abs(N @ u - load).max() < 1e-9 * np.abs(load).max()
    pulling = u > 1e-9 * u.max()
    nu = np.linalg.lstsq(N[:, pulling].T, u[pulling], rcond=None)[0]
    assert np.abs(N.T @ nu - u)[pulling].max() < 1e-7 * u.max()
    assert (N.T @ nu)[~pulling].max() < 1e-7 * u.max()
    least = linprog(np.ones(len(u)), A_eq=N, b_eq=load)  # HiGHS: the least sum of tensions is no more than ours
    assert least.status == 0
    assert least.fun <= u.sum() * (1 + 1e-9)


def test_antagonists_hold_a_joint_by_the_one_that_pulls():
    """Two cables over a joint with lever arms ±r: 20 N m take 20/r of one and none of the other, or its pretension."""
    m = pendulum(length=2.0)
    for name, side in (("front", 0.5), ("back", -0.5)):
        m.add_joint_force(name, "A", side * m.add_input(name))
    system = m.compile()
    pull = da.equilibrium(system, {"A": 0.0}, solve_for="u", bounds={"front": (0, None), "back": (0, None)})
    assert pull.u == pytest.approx([40.0, 0.0], abs=1e-9)
    tight = da.equilibrium(system, {"A": 0.0}, solve_for="u", bounds={"front": (0, None), "back": (5.0, None)})
    assert tight.u == pytest.approx([45.0, 5.0], abs=1e-9)


def test_bounds_that_cannot_be_kept_are_named():
    m = pendulum()
    m.add_motor("pull", "A")
    with pytest.raises(da.AssemblyError, match="pull ≤ 5"):
        da.equilibrium(m.compile(), {"A": 0.0}, solve_for="u", bounds={"pull": (0, 5.0)})
    held = da.static_forces(m.compile(), {"A": 0.0}, [{}, {"tip": (0, 6.0, 0)}], limits={"pull": (0, 5.0)})
    assert held.success.tolist() == [False, True]
    assert "pull ≤ 5" in held.messages[0]
    assert held["pull"][1] == pytest.approx(4.0)


# --- stops ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "rests", "force"), [(-0.5, -0.5, 10 * np.cos(0.5)), (-2.0, -np.pi / 2, None)])
def test_a_pendulum_leans_on_its_stop_or_hangs(low, rests, force):
    rest = da.equilibrium(pendulum().compile(), {"A": 0.3}, bounds={"A": (low, None)})
    assert rest.state["A"] == pytest.approx(rests, abs=1e-9)
    assert rest.stops == ({} if force is None else {"A": pytest.approx(force)})


@pytest.mark.parametrize("push", [3.0, -2.0, 1e-9, 1e9])
def test_a_cart_without_stiffness_is_pushed_to_its_stop(push):
    """No spring, no gravity along the way: K = 0, and the stop bears the whole push."""
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("push", "x")
    found = da.equilibrium(m.compile(), {"x": 0.1}, u={"push": push}, bounds={"x": (-1.0, 0.5)})
    assert found.state["x"] == pytest.approx(0.5 if push > 0 else -1.0, abs=1e-12)
    assert found.stops["x"] == pytest.approx(-push)


def test_a_stop_that_would_have_to_pull_is_let_go():
    """Set down beyond its upper stop, a pendulum is put on the stop and then falls from it."""
    rest = da.equilibrium(pendulum().compile(), {"A": 1.0}, bounds={"A": (-3.0, 0.2)})
    assert rest.state["A"] == pytest.approx(-np.pi / 2, abs=1e-9)
    assert not rest.stops


def test_the_force_of_a_stop_is_the_slope_of_the_potential_along_it():
    """A four-bar sinks until its rocker leans on a stop: f = dV/dD along the branch, by virtual work."""
    system = zoo.four_bar().compile()
    rest = da.equilibrium(system, zoo.four_bar_start(0.6)[0], bounds={"D": (1.4, None)})
    assert rest.state["D"] == pytest.approx(1.4, abs=1e-12)
    h = 1e-4
    turn = system.sweep({"D": [1.4 - h, 1.4 + h]}, rest.state)
    low, high = (system.potential_energy(turn.state(k)) for k in (0, 1))
    assert rest.stops["D"] == pytest.approx((high - low) / (2 * h), rel=1e-6)
    freely = da.equilibrium(system, rest.state, bounds={"D": (None, 3.0)})
    assert not freely.stops
    assert system.potential_energy(freely.state) < system.potential_energy(rest.state)


# --- load cases -----------------------------------------------------------------------------------------------------


def test_many_loads_on_a_closed_chain_are_held_without_acceleration():
    """With Jᵀ W beside the inputs found, every acceleration of the loader is zero."""
    loader = zoo.loader().compile()
    x = loader.state(*zoo.loader_start())
    loads = [{"bucket": (F, 0.0, -2 * F)} for F in (0.0, 5e3)] + [
        {"boom": (0, 4e2, 0, 0, 0, -1e3), "bucket": (0, 0, 7e3)}
    ]
    forces = da.static_forces(loader, x, loads)
    assert forces.success.all()
    assert np.abs(forces.u[0] - da.equilibrium(loader, x, solve_for="u").u).max() < 1e-6
    for k, case in enumerate(loads):
        tau = np.zeros(loader.nv)
        for frame, W in case.items():
            W = np.concatenate([np.zeros(6 - len(W)), W])
            tau += loader.jacobian(x, frame, axes="world").T @ W
        a = loader.acceleration(x, tau, u=forces.u[k])
        assert np.abs(a.vdot).max() < 1e-8
        assert np.abs(a.multipliers - forces.multipliers[k]).max() < 1e-6 * np.abs(a.multipliers).max()


def test_joints_carry_loads_as_if_these_were_described():
    """A load case gives the wrenches of a mechanism whose description has the load as a force."""

    def arm(load):
        m = da.Mechanism("arm", gravity=(0, 0, -9.81))
        a = m.add_body("a", mass=2.0, com=(0.4, 0, 0.1), inertia=(0.1, 0.2, 0.2))
        b = m.add_body("b", mass=1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.1, 0.1))
        m.add_joint("A", da.Revolute("y"), m.ground.at(0.1, 0.2, 0.3), a.at(0, 0.1, 0))
        m.add_joint("B", da.Revolute("y"), a.at(0.8, 0, 0), b)
        hook = m.add_frame("hook", b.at(0.7, 0.05, 0.2, rotation=da.rotation("x", 0.4)))
        if load:
            m.add_wrench("load", hook, force=(30.0, -20.0, -50.0), moment=(1.0, 2.0, 3.0))
        for n in "AB":
            m.add_motor(f"M{n}", n)
        return m.compile()

    x, case = {"A": 0.4, "B": -0.7}, (1.0, 2.0, 3.0, 30.0, -20.0, -50.0)
    described, plain = arm(True), arm(False)
    body = described.layout.mechanism.forces["load"]
    axes = "body" if getattr(body, "axes", "world") == "body" else "world"
    u = da.equilibrium(described, x, solve_for="u").u
    truth = described.constraint_forces(x, u=u)
    found = da.static_forces(plain, x, {"hook": case}, axes=axes)
    assert np.abs(found.u[0] - u).max() < 1e-9
    for joint in "AB":
        assert np.abs(found.reactions(joint)[0] - truth.joints[joint]).max() < 1e-9


# --- stiffness ------------------------------------------------------------------------------------------------------


def test_servos_of_an_arm_give_its_tip_the_compliance_j_c_jt():
    m = pendulum(gravity=0.0)
    second = m.add_body("second", mass=1.0, com=(0.3, 0, 0))
    m.add_joint("B", da.Revolute("z"), m.bodies["bob"].at(1.0, 0, 0), second)
    m.add_frame("tool", second.at(0.6, 0, 0))
    system, x = m.compile(), {"A": 0.4, "B": 1.1}
    J = system.jacobian(x, "tool", axes="world")
    found = da.stiffness(system, x, "tool", springs={"A": 200.0, "B": 50.0})
    C = J @ np.diag([1 / 200.0, 1 / 50.0]) @ J.T
    assert np.abs(found.compliance - C).max() < 1e-15
    assert found.rigid.shape == (6, 4)
    assert np.abs(found.compliance @ found.rigid).max() < 1e-12
    assert np.abs(found.compliance @ found.stiffness @ found.compliance - C).max() < 1e-12
    locked = da.stiffness(system, x, "tool", springs={"B": 50.0}, held=["A"])
    assert np.abs(locked.compliance - np.outer(J[:, 1], J[:, 1]) / 50.0).max() < 1e-15


def test_a_stewart_platform_is_as_stiff_as_its_legs_along_their_lines():
    """Without weight: K = Σ k ŝ ŝᵀ with the lines ŝ = (r × n; n) of the legs (Gosselin 1990)."""
    system = zoo.stewart(gravity=0.0).compile()
    R, p = da.rotation("x", 0.2) @ da.rotation("z", -0.3), np.array([0.1, 0.2, 2.1])
    x = system.state(*zoo.stewart_start(p, R))
    k = 1e5 * np.array([1.0, 2.0, 3.0, 1.5, 2.5, 0.5])
    base, top = zoo.StewartGeometry().points()
    K = np.zeros((6, 6))
    for i in range(6):
        r = R @ top[i]
        n = p + r - base[i]
        n /= np.linalg.norm(n)
        line = np.concatenate([np.cross(r, n), n])
        K += k[i] * np.outer(line, line)
    found = da.stiffness(system, x, "platform", springs={f"P{i + 1}": k[i] for i in range(6)})
    assert np.abs(found.stiffness - K).max() < 1e-9 * np.abs(K).max()
    assert found.rigid.shape[1] == 0


@pytest.mark.parametrize("angle", [0.6, 2.0])
def test_the_stiffness_of_a_loaded_loop_is_the_curvature_of_its_potential(angle):
    """A four-bar under its weight, its crank on a servo: k + d²V/dA² along the branch, multipliers included."""
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(angle))
    h = 2e-3
    turn = system.sweep({"A": angle + h * np.arange(-2, 3)}, x)
    V = np.array([system.potential_energy(turn.state(k)) for k in range(5)])
    bend = np.array([-1, 16, -30, 16, -1]) @ V / (12 * h * h)
    found = da.stiffness(system, x, "rocker", springs={"A": 80.0})
    crank = system.v_names.index("A")
    assert 1 / found.joint_compliance[crank, crank] == pytest.approx(80.0 + bend, rel=1e-7)
    assert abs(bend) > 0.3


def test_a_spherical_pendulum_yields_by_its_length_over_its_weight():
    """Hanging at rest on a ball joint: l/(m g) along both horizontals, whatever the turn of its axes."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    bob = m.add_body("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.3))
    m.add_joint("ball", da.Spherical(), m.ground, bob)
    system = m.compile()
    x = system.state({"ball": da.rotation("z", 0.7)})
    found = da.stiffness(system, x, bob.at(0, 0, -0.5), springs={"ball.wz": 5.0})
    assert found.compliance[3:5, 3:5] == pytest.approx(np.eye(2) * 0.5 / 20.0, abs=1e-12)
    assert found["rz", "rz"] == pytest.approx(0.2)
    with pytest.raises(da.ArgumentError, match="not held"):
        da.stiffness(system, x, bob)
    with pytest.raises(da.ArgumentError, match="does not rest"):
        da.stiffness(system, {"ball": da.rotation("x", 0.7)}, bob, springs={"ball.wz": 5.0})


def test_statics_need_closed_loops():
    system = zoo.four_bar().compile()
    with pytest.raises(da.ArgumentError, match="does not close the loops"):
        da.static_forces(system, {"A": 0.6})
    with pytest.raises(da.ArgumentError, match="does not close the loops"):
        da.stiffness(system, {"A": 0.6}, "coupler", springs={"A": 1.0})


# --- steady motions -------------------------------------------------------------------------------------------------


def steered_disc(radius=0.4):
    """A disc on massless carriers, whose x and y follow the ground's axes and are not steady in a turn."""
    m = da.Mechanism("disc", gravity=(0, 0, -9.81))
    last = m.ground
    for name, joint in (
        ("x", da.Prismatic("x")),
        ("y", da.Prismatic("y")),
        ("height", da.Prismatic("z")),
        ("yaw", da.Revolute("z")),
        ("lean", da.Revolute("x")),
    ):
        body = m.add_body(name, mass=0.0)
        m.add_joint(name, joint, last, body)
        last = body
    disc = m.add_body("disc", mass=2.0, inertia=da.disc_inertia(2.0, radius, axis="y"))
    m.add_joint("spin", da.Revolute("y"), last, disc)
    m.add_rolling("contact", disc, radius=radius, axis="y")
    return m.compile()


def test_the_spin_of_a_steady_turn_is_found_from_its_lean_and_the_lean_from_its_spin():
    system, turns = steered_disc(), ["yaw", "lean", "spin"]
    spin = zoo.exact.disc_spin(lean=0.3, yaw_rate=1.7, radius=0.4)
    guess = {"lean": 0.3, "height": 0.4 * np.cos(0.3)}
    found = da.equilibrium(system, guess, q={"lean": 0.3}, v={"yaw": 1.7, "spin": None}, steady=turns)
    assert found.state.rate("spin") == pytest.approx(spin, rel=1e-10)
    near = {"lean": 0.22, "height": 0.4 * np.cos(0.22)}
    found = da.equilibrium(system, near, v={"yaw": 1.7, "spin": spin}, steady=turns)
    assert found.state["lean"] == pytest.approx(0.3, abs=1e-9)
    assert found.state.rate("lean") == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(da.AssemblyError, match="does not rest"):
        da.equilibrium(system, found.state, v={"yaw": 1.7, "spin": spin})  # x and y are not steady


def test_a_conical_pendulum_leans_by_its_speed():
    """cos θ = g / (l ω²), found from the speed, and the speed from the lean."""
    m = da.Mechanism("cone", gravity=(0, 0, -10.0))
    post = m.add_body("post", mass=0.0, inertia=(1.0, 1.0, 1.0))
    m.add_joint("turn", da.Revolute("z"), m.ground, post)
    m.add_joint("lean", da.Revolute("y"), post, m.add_body("bob", mass=1.0, com=(0, 0, -2.0)))
    system = m.compile()
    found = da.equilibrium(system, {"lean": 0.8}, v={"turn": 3.0})
    assert np.cos(found.state["lean"]) == pytest.approx(10 / (2 * 9), rel=1e-9)
    back = da.equilibrium(
        system, system.state({"lean": 0.5}, {"turn": 2.0}), q={"lean": 0.5}, v={"turn": None},
        steady=["turn", "lean"],
    )  # fmt: skip
    truth = brentq(lambda w: np.cos(0.5) * 2 * w * w - 10, 1, 4)
    assert abs(back.state.rate("turn")) == pytest.approx(truth, rel=1e-9)
