"""Controllers in total rates: what their Lyapunov functions promise, as identities and in motion."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.control import PoseRegulation, TotalRateFeedback
from random_mechanisms import random_state, random_tree


def arm(links: int = 6, motors: bool = True) -> da.System:
    """A spatial arm with a spring at a joint, and a motor on each."""
    m = da.Mechanism("arm", gravity=(0, 0, -9.81))
    before = m.ground.at()
    for k in range(1, links + 1):
        link = m.add_body(f"link{k}", mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.03))
        m.add_joint(f"J{k}", da.Revolute("yxz"[k % 3]), before, link)
        before = link.at(0, 0, -0.4)
        if motors:
            m.add_motor(f"M{k}", f"J{k}")
    m.add_frame("tip", before)
    m.add_joint_force("spring", "J2", lambda s: -3.0 * s["J2"] - 0.1 * s.rate("J2"))
    return m.compile()


@pytest.fixture(scope="module")
def system():
    return arm()


@pytest.mark.parametrize("seed", range(6))
def test_kinetic_energy_falls_at_the_promised_rate_whatever_the_joints(seed):
    """Control 8.1: d/dt ½νᵀν = −νᵀcν, gravity compensated; every joint type, no inputs asked for."""
    tree = random_tree(seed + 70, 5, floating=seed % 2 == 0).compile(backend="casadi")
    x = random_state(tree, seed)
    control = TotalRateFeedback(tree, damping=np.linspace(0.5, 3.0, tree.nv))
    nu = tree.diagonal.total_rates(x)
    rate = nu @ tree.diagonal.acceleration(x, control.forces(x))
    assert rate == pytest.approx(-control.decrease(x), rel=1e-9)
    assert control.lyapunov(x) == pytest.approx(0.5 * nu @ nu, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pose", [True, False])
def test_energy_of_the_error_falls_at_the_promised_rate(seed, pose):
    """Control 8.2: d/dt (½νᵀν + ½eᵀke) = −νᵀcν, Ẏ from the twist of the frame."""
    tree = random_tree(seed + 80, 4).compile(backend="casadi")
    x = random_state(tree, seed)
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = da.rotation((1, 2, -1), 1.1 + seed), (0.3, -0.2, 0.5)
    control = PoseRegulation(
        tree, "probe", target if pose else target[:3, 3], damping=np.linspace(0.5, 3.0, tree.nv), stiffness=(7.0, 2.0)
    )
    nu = tree.diagonal.total_rates(x)
    V, R = tree.twist(x, "probe", axes="world"), tree.pose(x, "probe")[:3, :3]
    rate = nu @ tree.diagonal.acceleration(x, control.forces(x)) - 7.0 * control.error(x)[:3] @ V[3:]
    if pose:
        axes = target[:3, :3] - R
        rate -= 2.0 * sum(axes[:, k] @ np.cross(V[:3], R[:, k]) for k in range(3))
    assert rate == pytest.approx(-control.decrease(x), rel=1e-9, abs=1e-9)


def falls(values) -> bool:
    """Monotonically, down to rounding of the first value."""
    return bool(np.all(np.diff(values) <= 1e-11 * values[0]))


def test_rate_feedback_brings_an_arm_to_rest(system):
    control = TotalRateFeedback(system, damping={"J1": 3.0, "J5": 5.0})
    x = system.state({"J1": 0.4, "J3": -0.7}, v={"J1": 2.0, "J2": -1.0, "J4": 3.0})
    times = np.linspace(0.0, 8.0, 81)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, u=control, period=0.005)
    energy = [control.lyapunov(run.state(k)) for k in range(len(run.t))]
    assert run.success
    assert falls(energy)
    assert energy[-1] < 1e-6 * energy[0]


def test_rates_decay_joint_by_joint_where_nothing_turns_the_frame():
    """A gantry has C = 0 and constant m: ν_k(t) = ν_k(0) exp(−c_k t), each by itself."""
    m = da.Mechanism("gantry")
    before = m.ground
    for axis in "xyz":
        body = m.add_body(axis, mass=2.0)
        m.add_joint(axis, da.Prismatic(axis), before, body)
        m.add_motor(f"M{axis}", axis)
        before = body
    system = m.compile()
    c = np.array([1.0, 2.0, 0.5])
    run = da.simulate(
        system, system.state(v=[1.0, -2.0, 3.0]), 1.0, u=TotalRateFeedback(system, damping=c), period=1e-3
    )
    held = (1.0 - c * 1e-3) ** 1000  # exact for inputs held a millisecond
    np.testing.assert_allclose(run.v[-1], np.array([1.0, -2.0, 3.0]) * held, rtol=1e-9)


def test_regulation_takes_the_tip_of_an_arm_to_a_pose(system):
    there = {"J1": 0.6, "J2": 0.3, "J3": 1.2, "J4": 0.4, "J5": 0.3, "J6": 0.9}
    goal = system.pose(there, "tip")
    control = PoseRegulation(system, "tip", goal, damping=4.0, stiffness=(30.0, 6.0))
    x = system.state({name: 0.6 * angle for name, angle in there.items()})
    times = np.linspace(0.0, 40.0, 101)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, u=control, period=0.005)
    energy = [control.lyapunov(run.state(k)) for k in range(len(run.t))]
    assert run.success
    assert falls(energy)
    assert np.abs(system.pose(run.state(-1), "tip") - goal).max() < 1e-4
    assert np.abs(run.v[-1]).max() < 1e-3


def test_bad_controllers_are_refused(system):
    with pytest.raises(da.ArgumentError, match="nothing drives J1"):
        TotalRateFeedback(arm(2, motors=False))(0.0, {})
    with pytest.raises(da.ArgumentError, match="positive numbers"):
        TotalRateFeedback(system, damping=-1.0)
    with pytest.raises(da.ArgumentError, match="one per velocity"):
        TotalRateFeedback(system, damping=[1.0, 2.0])
    with pytest.raises(da.UnknownName):
        TotalRateFeedback(system, damping={"J99": 1.0})
    with pytest.raises(da.ArgumentError, match="a pose"):
        PoseRegulation(system, "tip", np.eye(3))
    with pytest.raises(da.ArgumentError, match="not one"):
        PoseRegulation(system, "tip", 2 * np.eye(4))
    with pytest.raises(da.ArgumentError, match="two positive numbers"):
        PoseRegulation(system, "tip", np.eye(4), stiffness=(1.0, 0.0))
    led = zoo.chain(2)
    led.add_kinematic_input("lead", "J1")
    with pytest.raises(da.ArgumentError, match="kinematic inputs"):
        TotalRateFeedback(led.compile(backend="casadi"))
    half = zoo.chain(2)
    half.add_motor("M1", "J1")
    with pytest.raises(da.ArgumentError, match="its inputs drive 1 of 2"):
        TotalRateFeedback(half.compile(backend="casadi"))(0.0, {})


def crank(seed: int) -> tuple[da.System, da.State]:
    """A five-bar with its two motors, moving, or a Stewart platform with its six legs."""
    name = ("five_bar", "stewart")[seed % 2]
    system = zoo.CATALOG[name].build().compile()
    x = system.state(*zoo.five_bar_start(-1.2, 0.4)) if seed % 2 == 0 else system.state(*zoo.stewart_start())
    K = system.subspaces(x).K
    return system, x.replace(v=x.v + K @ np.random.default_rng(seed).normal(size=K.shape[1]))


@pytest.mark.parametrize("seed", range(2))
def test_energy_of_closed_chains_falls_at_the_promised_rate(seed):
    """Constraint forces do no work in total rates either: dT/dt = vᵀ M v̇ + ½ vᵀ Ṁ v = −νᵀcν under inputs alone."""
    system, x = crank(seed)
    c = np.linspace(0.5, 3.0, system.nv)
    frame = next(iter(system.layout.bodies))
    for law in (
        TotalRateFeedback(system, damping=c),
        PoseRegulation(system, frame, (0.3, 0.2, 0.4), damping=c, stiffness=(5.0, 1.0)),
    ):
        h, rates = 1e-5, []
        u = law(0.0, x)
        a = system.acceleration(x, u=u).vdot
        for s in (-h, h):
            moved = system.state(system.plus(x.q, s * x.v + 0.5 * s**2 * a), x.v + s * a)
            rates.append(law.lyapunov(moved))
        assert (rates[1] - rates[0]) / (2 * h) == pytest.approx(-law.decrease(x), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_machine_code_gives_the_inputs_of_python(seed):
    """Of a tree with motors, of closed chains, and of a tree whose inputs act differently in different positions."""
    if seed < 2:
        system, x = crank(seed)
        laws = [TotalRateFeedback(system, damping=2.0)]
    else:
        m = zoo.chain(2)
        u = m.add_input("u", 2)
        m.add_joint_force("crank", "J1", lambda s: u[0] * (2 + s["J1"]) - u[1] - 0.1 * s.rate("J1"))
        m.add_joint_force("knee", "J2", lambda s: u[1])
        bent, straight = m.compile(), arm(3)
        x = bent.state({"J1": 0.3}, v=[1.0, 2.0])
        laws = [TotalRateFeedback(bent), PoseRegulation(straight, "tip", (0.3, 0.2, -0.8))]
    for law in laws:
        y = x if law.system.nv == len(x.v) else law.system.state([0.3, -0.2, 0.5], [1.0, 2.0, -1.0])
        bound = law.native_controller()
        np.testing.assert_allclose(bound.at(0.0, np.concatenate([y.q, y.v])), law(0.0, y), rtol=1e-11, atol=1e-12)
        tau = np.asarray(law.system.applied_forces(y, u=law(0.0, y)) - law.system.applied_forces(y))
        K = law.system.subspaces(y).K
        np.testing.assert_allclose(K.T @ tau, K.T @ law.forces(y), rtol=1e-9, atol=1e-10)


def test_a_closed_chain_is_brought_to_rest_beside_events_and_a_recording(tmp_path):
    """In machine code: the same run as through Python, with an event on the way, recorded and read back."""
    system, x = crank(0)
    law = TotalRateFeedback(system, damping=3.0)
    slow = da.Event(lambda t, s: s.rate("A"), direction=0)
    options = {"events": {"turns": slow}, "t_eval": np.linspace(0, 4, 41), "rtol": 1e-9, "atol": 1e-11}
    run = da.simulate(system, x, (0, 4), u=law, record=tmp_path / "run.da", **options)
    python = da.simulate(system, x, (0, 4), u=lambda t, s: law(t, s), **options)
    assert run.success
    np.testing.assert_allclose(run.q, python.q, atol=1e-7)
    energy = [law.lyapunov(run.state(k)) for k in range(len(run.t))]
    assert falls(energy)
    assert energy[-1] < 1e-8 * energy[0]
    assert run.residuals.max() < 1e-9
    assert np.array_equal(da.read_run(tmp_path / "run.da", system).q, run.q)
