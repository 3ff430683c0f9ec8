"""Environments against `simulate`, the checker of Gymnasium, and each other."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.stats import uniform

import dalembert as da

gymnasium = pytest.importorskip("gymnasium")
DT = 0.05


@pytest.fixture(scope="module")
def crank():
    """A four-bar with a motor and a length that is a parameter."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    rocker = m.add_parameter("rocker", 0.8)
    before = m.ground.at()
    for joint, length in zip("ABC", (0.3, 1.0, rocker)):
        link = m.add_body(f"link {joint}", mass=1.0, com=(length / 2, 0, 0), inertia=(0, 0.02, 0.02))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(1.0, 0, 0))
    m.add_motor("motor", "A")
    return m.compile()


def reward(t, s, u):
    return -((s["A"] - 1.0) ** 2) - 0.1 * u["motor"] ** 2


def observe(t, s):
    return [ca.cos(s["A"]), s.rate("A"), s["C"], t]


def options(**more):
    return {
        "period": DT, "actions": {"motor": (-3.0, 3.0)}, "reward": reward, "observe": observe, "duration": 0.4,
        "v": {"A": 0.0}, **more,
    }  # fmt: skip


def test_steps_are_those_of_simulate(crank):
    env = da.environment(crank, {"A": 0.5}, **options())
    env.reset(seed=3)
    state, rng = crank.assemble({"A": 0.5}, v={"A": 0.0}), np.random.default_rng(5)
    for _ in range(8):
        u = rng.uniform(-4.0, 4.0)
        held = float(np.clip(u, -3.0, 3.0))
        seen, got, over, late, info = env.step([u])
        state = da.simulate(crank, state, DT, u={"motor": held}).state()
        expected = [np.cos(state["A"]), state.rate("A"), state["C"], state.t]
        np.testing.assert_allclose(seen, expected, rtol=2e-6, atol=1e-6)  # single precision
        np.testing.assert_allclose(got, -((state["A"] - 1.0) ** 2) - 0.1 * held**2, rtol=1e-7)
        assert not over
        assert not info
    assert late


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")  # actions are in N m; wrappers rescale them
@pytest.mark.filterwarnings("ignore:.*Box observation space")  # angles and speeds have no limits
@pytest.mark.filterwarnings("ignore:.*not created through")  # by gymnasium.make
def test_gymnasium_approves(crank):
    from gymnasium.utils.env_checker import check_env

    check_env(da.environment(crank, {"A": uniform(0.4, 0.2)}, **options()), skip_render_check=True)


def test_many_are_as_one(crank):
    """The lanes of a vector environment against single environments from the same states."""
    n = 13  # not a multiple of the lanes
    many = da.environments(crank, {"A": uniform(0.0, 6.0)}, n, p={"rocker": uniform(0.75, 0.1)}, **options())
    first, _ = many.reset(seed=11)
    worlds, rng = many.task.worlds, np.random.default_rng(0)
    assert np.ptp(worlds.p[:, 0]) > 0.02
    states = [crank.state(q, v) for q, v in zip(worlds.q, worlds.v)]
    for _ in range(3):
        actions = rng.uniform(-3.0, 3.0, (n, 1))
        seen, rewards, over, _late, _ = many.step(actions)
        for k in range(n):
            states[k] = da.simulate(crank, states[k], DT, u=actions[k], p=worlds.p[k]).state()
            np.testing.assert_allclose(worlds.q[k], states[k].q, atol=1e-8)
            np.testing.assert_allclose(rewards[k], reward(0, states[k], {"motor": actions[k, 0]}), rtol=1e-6)
            np.testing.assert_allclose(seen[k, 1], states[k].rate("A"), rtol=1e-5, atol=1e-5)
        assert not over.any()
    again, _ = many.reset(seed=11)
    np.testing.assert_array_equal(first, again)


def test_episodes_begin_again(crank):
    """A copy that is over, or cut off, starts anew with the next step and has no reward for it; the others go on."""
    many = da.environments(crank, {"A": uniform(0.2, 1.5)}, 9, **options(ends=lambda t, s: s["A"] > 1.0, duration=0.25))
    many.reset(seed=2)
    worlds, was_over = many.task.worlds, np.zeros(9, dtype=bool)
    restarts = 0
    for _ in range(14):
        before = worlds.t.copy()
        _, rewards, over, late, _ = many.step(np.full((9, 1), 2.0))
        np.testing.assert_array_equal(worlds.t[was_over], 0.0)
        np.testing.assert_array_equal(rewards[was_over], 0.0)
        np.testing.assert_allclose(worlds.t[~was_over], before[~was_over] + DT)
        going = ~was_over
        np.testing.assert_array_equal(over[going], worlds.q[going, 0] > 1.0)
        np.testing.assert_array_equal(late[going], (worlds.t[going] > 0.24) & ~over[going])
        was_over = over | late
        restarts += was_over.sum()
    assert restarts > 9


def test_a_step_that_fails_ends_its_episode_only(crank):
    """One copy is given velocities that no step limit can follow: it says so, the others do not notice."""
    many = da.environments(crank, {"A": uniform(0.2, 1.0)}, 5, **options(max_steps=40))
    many.reset(seed=4)
    worlds = many.task.worlds
    worlds.v[2] *= 0.0
    worlds.v[2] = crank.assemble({"A": worlds.q[2, 0]}, v={"A": 3000.0}).v
    q = worlds.q[2].copy()
    seen, _, over, _, info = many.step(np.zeros((5, 1)))
    np.testing.assert_array_equal(over, [False, False, True, False, False])
    np.testing.assert_array_equal(worlds.q[2], q)
    assert "not made" in info["message"][2]
    assert np.isfinite(seen).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"actions": {"moter": (-1, 1)}}, "moter"),
        ({"actions": {"motor": (1, -1)}}, "greater"),
        ({"actions": {}}, "actions is empty"),
        ({"reward": None}, "reward"),
        ({"reward": lambda t, s, u: [1.0, s["A"]]}, "2 numbers"),
        ({"period": 0.0}, "period"),
        ({"observe": lambda t, s: s["Z"]}, "Z"),
    ],
)
def test_wrong_arguments_are_named(crank, change, sentence):
    with pytest.raises(da.DalembertError, match=sentence):
        da.environment(crank, {"A": 0.5}, **options(**change)).step([0.0])


def test_a_guess_chooses_the_branch_of_every_episode(crank):
    """The two ways to close a four-bar mirror each other in the diagonal from the crank's tip to the last joint."""
    seen = {}
    for guess in ({"A": 0.5, "B": 0.5, "C": -2.0}, {"A": 0.5, "B": -1.5, "C": 2.0}):
        env = da.environment(crank, {"A": uniform(0.4, 0.2)}, guess=guess, **options())
        found = [env.reset(seed=k)[0][2] for k in range(4)]
        seen[guess["C"]] = np.array(found)
    assert (seen[-2.0] < 0.0).all()
    np.testing.assert_allclose(seen[2.0], -seen[-2.0], rtol=1e-6)


@pytest.mark.parametrize("n", [1, 4])
def test_copies_that_end_in_the_same_step_begin_again_together(crank, n):
    """All are cut off by the duration: the next step only begins them anew, without reward."""
    many = da.environments(crank, {"A": uniform(0.2, 1.0)}, n, **options(duration=2 * DT))
    many.reset(seed=0)
    times = []
    for _ in range(7):
        _, rewards, over, _, _ = many.step(np.zeros((n, 1)))
        times.append(many.task.worlds.t.copy())
        assert not over.any()
        assert (rewards == 0.0).all() == (times[-1] == 0.0).all()
    np.testing.assert_allclose(np.array(times)[:, 0], DT * np.array([1, 2, 0, 1, 2, 0, 1]))


@pytest.mark.parametrize(("n", "more"), [(1, {}), (3, {}), (3, {"on_singularity": "stop"}), (3, {"method": "sdirk4"})])
def test_every_episode_moves_with_its_own_parameters(crank, n, more):
    """Against `simulate` with the parameters of the episode, in lanes and alone, from the second episode on too."""
    given = options(p={"rocker": uniform(0.6, 0.4)}, **more)
    env = da.environments(crank, {"A": 0.5}, n, **given) if n > 1 else da.environment(crank, {"A": 0.5}, **given)
    worlds, seen = env.task.worlds, set()
    for episode in range(3):
        env.reset(seed=episode)
        q, v, p = worlds.q.copy(), worlds.v.copy(), worlds.p.copy()
        env.step(np.full((n, 1), 1.0)[0] if n == 1 else np.full((n, 1), 1.0))
        for k in range(n):
            run = da.simulate(crank, crank.state(q[k], v[k]), DT, u=[1.0], p=p[k], **more)
            np.testing.assert_allclose(worlds.v[k], run.v[-1], atol=1e-6)
        seen.add(float(p[0, 0]))
    assert len(seen) == 3


def test_a_start_that_is_not_possible_is_drawn_again(crank):
    """A quarter of the rockers is too short to close: these are drawn again, and counted."""
    given, n = options(p={"rocker": uniform(0.15, 0.4)}, ends=lambda t, s: s["A"] > 0.55), 4
    env = da.environments(crank, {"A": 0.5}, n, **given)
    worlds, begun, later = env.task.worlds, 0, 0
    for seed in range(2):
        begun += np.sum(env.reset(seed=seed)[1].get("redrawn", 0))
        for _ in range(6):
            later += np.sum(env.step(np.full((n, 1), 3.0))[-1].get("redrawn", 0))
        assert max(np.abs(crank.residuals(worlds.q[k], p=worlds.p[k])).max() for k in range(n)) < 1e-9
    assert begun > 0
    assert later > 0
    one = da.environment(crank, {"A": 0.5}, **given)
    assert any("redrawn" in one.reset(seed=seed)[1] for seed in range(6))


@pytest.mark.parametrize(
    ("p", "sentence"), [({"rocker": 0.1}, "cannot start: "), ({"rocker": uniform(0.01, 0.02)}, "in 3 draws")]
)
def test_starts_that_are_never_possible_are_refused(crank, p, sentence, monkeypatch):
    monkeypatch.setattr("dalembert.learning.worlds.DRAWS", 3)
    with pytest.raises(da.ArgumentError, match=sentence):
        da.environments(crank, {"A": 0.5}, 2, **options(p=p))


# --- on the ground ----------------------------------------------------------------------------------------------------

STEPPED = {"method": "moreau", "step": 1e-3}


@pytest.fixture(scope="module")
def hopper():
    """A mass on a five-bar leg that slides up and down; its foot touches the floor; the mass is a parameter."""
    m = da.Mechanism("hopper", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=m.add_parameter("mass", 2.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, body)
    ends = []
    for side in "ab":
        upper = m.add_body(f"upper {side}", mass=0.1, com=(0, 0, -0.05), inertia=da.rod_inertia(0.1, 0.1, "z"))
        lower = m.add_body(f"lower {side}", mass=0.1, com=(0, 0, -0.1), inertia=da.rod_inertia(0.1, 0.2, "z"))
        m.add_joint(f"hip {side}", da.Revolute("-y"), body, upper, armature=1e-3)
        m.add_joint(f"knee {side}", da.Revolute("-y"), upper.at(0, 0, -0.1), lower)
        m.add_servo(side, f"hip {side}", stiffness=40.0, damping=1.0)
        ends.append(lower.at(0, 0, -0.2))
    m.close_loop("ankle", da.Revolute("-y"), *ends)
    m.add_contact("foot", ends[0], radius=0.02, friction=0.7)
    return m.compile()


def crouched(system, height=0.0):
    return system.assemble({"z": 0.24 + height, "hip a": 1.14, "hip b": -1.14}, guess={"knee a": -1.6, "knee b": 1.6})


def on_ground(**more):
    return {
        "period": 0.02, "actions": {"a": (0.4, 1.8), "b": (-1.8, -0.4)}, "reward": lambda t, s, u: s["z"],
        **STEPPED, **more,
    }  # fmt: skip


def test_episodes_by_time_stepping_are_one_run_to_rounding(hopper):
    """Flight, impacts and stance: contact forces go on from one action to the next."""
    rng, start = np.random.default_rng(2), crouched(hopper)
    actions = np.column_stack([rng.uniform(0.4, 1.8, 25), rng.uniform(-1.8, -0.4, 25)])
    many = da.environments(hopper, start, 9, **on_ground())
    many.reset(seed=1)
    heights = []
    for a in actions:
        _, rewards, over, _, info = many.step(np.tile(a, (9, 1)))
        heights.append(rewards[4])
        assert not over.any()
        assert not info
    law = lambda t, s: actions[min(int(t / 0.02 + 0.5), 24)]  # noqa: E731
    run = da.simulate(hopper, start, 0.5, u=law, period=0.02, **STEPPED)
    assert run.multiplier("foot.gap").min() == 0.0
    np.testing.assert_allclose(many.task.worlds.q[0], run.q[-1], atol=1e-12)
    np.testing.assert_allclose(many.task.worlds.v[0], run.v[-1], atol=1e-10)
    for k in range(1, 9):  # of both threads
        np.testing.assert_array_equal(many.task.worlds.q[k], many.task.worlds.q[0])
    np.testing.assert_allclose(heights, run.resampled(0.02 * np.arange(1, 26))["z"], rtol=1e-12)


def test_each_episode_on_the_ground_has_its_own_parameters_and_a_start_above_it(hopper):
    """A foot that would begin in the floor is drawn again; a heavier body stands lower on its servos."""
    q, drawn = {"z": uniform(0.23, 0.02), "hip a": 1.14, "hip b": -1.14}, {"mass": uniform(1.0, 3.0)}
    many = da.environments(hopper, q, 8, p=drawn, guess=crouched(hopper), **on_ground())
    seen, info = many.reset(seed=5)
    assert info["redrawn"].max() >= 1
    assert seen[:, 0].min() >= 0.2399
    for _ in range(60):
        _, rewards, *_ = many.step(np.tile([1.14, -1.14], (8, 1)))
    masses = many.task.worlds.p[:, 0]
    assert np.all(np.diff(rewards[np.argsort(masses)]) < 0)
    lightest = int(np.argmin(masses))
    start = crouched(hopper)
    rest = da.simulate(hopper, start, 2.0, u=[1.14, -1.14], p={"mass": masses[lightest]}, **STEPPED)
    assert rewards[lightest] == pytest.approx(rest["z"][-1], abs=1e-6)


def test_contacts_act_event_by_event_in_environments_too():
    """A ball of restitution 0.5 from 1 m, 10 m/s²: hits at √0.2 s, is at e v τ − g τ²/2 after τ more."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_motor("push", "z")
    m.add_contact("floor", "ball", restitution=0.5)
    env = da.environment(
        m.compile(), {"z": 1.0}, period=0.25, actions={"push": (-1.0, 1.0)}, reward=lambda t, s, u: s["z"]
    )
    env.reset(seed=1)
    heights = [env.step([0.0])[1] for _ in range(3)]
    fall = np.sqrt(0.2)
    tau = np.array([0.5, 0.75]) - fall
    expected = [1 - 5 * 0.25**2, *(5 * fall * tau - 5 * tau**2)]
    np.testing.assert_allclose(heights, expected, atol=1e-9)


def test_what_time_stepping_does_not_have_is_refused_before_an_episode(hopper):
    m = da.Mechanism("crane", gravity=(0, 0, -9.81))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("sledge", mass=1.0))
    m.add_kinematic_input("lead", "x")
    led = {**on_ground(), "actions": {"lead": (-1.0, 1.0)}, "reward": lambda t, s, u: s["x"]}
    with pytest.raises(da.ArgumentError, match="no kinematic inputs; 'lead' is one"):
        da.environment(m.compile(), {}, **led)
    with pytest.raises(da.ArgumentError, match="step"):
        da.environment(hopper, crouched(hopper), **{**on_ground(), "step": None})
    with pytest.raises(da.ArgumentError, match=r"cannot start: the start is beyond 'foot' by 0\.0999"):
        da.environment(hopper, crouched(hopper, -0.1), **on_ground())
