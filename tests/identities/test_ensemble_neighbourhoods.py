"""Ensembles drawn at random, over the zoo and the options: their runs are those of `simulate`, in any company.

At tight tolerances two runs agree whatever one of them leaves out. At loose ones their errors are large, and agree to
rounding where the same steps were taken in the same way.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from parameterized import four_bar as parameterized_four_bar

#: light enough to be compiled in a test; all have motions of order one
MACHINES = (
    "car", "cart_pole", "cartesian_pendulum", "chaplygin_sleigh", "constrained_double_pendulum", "five_bar", "four_bar",
    "furuta", "heavy_top", "ladder", "parallel_four_bar", "planar_3rrr", "rolling_disc", "slider_crank",
)  # fmt: skip
STABILIZATIONS = ("projection", "none", "energy", "baumgarte", da.Projection(corrections=1))
ALONE = ("energy", "baumgarte")  # such runs go alone
RK4 = {"method": "rk4", "step": 0.03}


@cache
def system(name: str) -> da.System:
    return zoo.CATALOG[name].build().compile()


@pytest.mark.parametrize("seed", range(28))
def test_drawn_ensembles_are_their_runs(seed):
    rng = np.random.default_rng(seed)
    name = MACHINES[seed % len(MACHINES)]
    machine = system(name)
    x = machine.state(*(zoo.five_bar_start(0.5) if name == "five_bar" else zoo.CATALOG[name].start()))
    n, rtol = int(rng.integers(2, 20)), float(10.0 ** rng.uniform(-9, -6))
    kept = STABILIZATIONS[int(rng.integers(len(STABILIZATIONS)))]
    options = {
        "rtol": rtol, "atol": rtol, "method": str(rng.choice(["dop853", "dopri5", "rk4"])), "stabilization": kept,
        "t_eval": np.sort(rng.uniform(0.0, 0.3, int(rng.integers(1, 9)))),
    }  # fmt: skip
    if options["method"] == "rk4":
        options["step"] = 0.0023
    starts = [
        machine.project(machine.state(machine.plus(x, 0.02 * rng.standard_normal(machine.nv)), x.v)) for _ in range(n)
    ]
    inputs = rng.standard_normal((n, len(machine.u_names)))
    u = {one: inputs[:, k] for k, one in enumerate(machine.u_names)}
    lanes, workers = int(rng.choice([1, 8, 16])), int(rng.integers(1, 5))
    runs = da.ensemble(machine, starts, 0.3, u=u or None, lanes=lanes, workers=workers, n=n, **options)
    assert runs.success.all(), runs.messages
    if machine.rows.of and isinstance(kept, str) and kept in ALONE:
        assert runs.alone.all()
    scale = 1e4 * rtol
    for k in rng.permutation(n)[:3]:
        run = da.simulate(machine, starts[k], 0.3, u=inputs[k], **options)
        np.testing.assert_allclose(runs.q[k], run.q, atol=scale, rtol=scale)
        np.testing.assert_allclose(runs.v[k], run.v, atol=30 * scale, rtol=30 * scale)
    order = rng.permutation(n)[: max(1, n // 2)]
    some = {one: values[order] for one, values in u.items()}
    part = da.ensemble(
        machine, [starts[k] for k in order], 0.3, u=some or None, lanes=lanes, workers=1, n=len(order), **options
    )
    np.testing.assert_array_equal(part.q, runs.q[order])
    np.testing.assert_array_equal(part.v_end, runs.v_end[order])
    np.testing.assert_array_equal(part.steps, runs.steps[order])


def agrees(runs: da.Ensemble, k: int, run: da.Run, rounding: float = 0.0) -> None:
    """Run k was made by the steps of `run`. rounding: how far that of its start leads `run` away."""
    assert (runs.steps[k], runs.rejected[k]) == (run.steps, run.rejected)
    if len(runs.t):
        np.testing.assert_allclose(runs.q[k], run.q, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(runs.v[k], run.v, rtol=1e-6, atol=1e-6)
    else:
        if not runs.events and not runs.passages[k]:  # lanes count those of attempts inside a step too
            assert runs.corrections[k] == run.corrections
        near = 1e-7 + 30 * rounding
        np.testing.assert_allclose(runs.q_end[k], run.q[-1], rtol=near, atol=near)
        np.testing.assert_allclose(runs.v_end[k], run.v[-1], rtol=10 * near, atol=10 * near)
        for name, work in run.work.items():
            np.testing.assert_allclose(runs.work[name][k], work[-1], rtol=10 * near, atol=10 * near)
    for name in ("drift", "speed_drift") if not runs.passages[k] else ():  # there nothing but rounding
        np.testing.assert_allclose(getattr(runs, name)[k], getattr(run, name), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rk4"])
@pytest.mark.parametrize("name", MACHINES)
def test_coarse_steps_in_lanes_are_those_of_a_run_alone(name, method):
    rng, machine = np.random.default_rng([len(name), len(method)]), system(name)
    x = machine.state(*(zoo.five_bar_start(0.5) if name == "five_bar" else zoo.CATALOG[name].start()))
    starts = [
        machine.project(machine.state(machine.plus(x, 0.02 * rng.standard_normal(machine.nv)), x.v)) for _ in range(4)
    ]
    inputs = rng.standard_normal((4, len(machine.u_names)))
    u = {one: inputs[:, k] for k, one in enumerate(machine.u_names)} or None
    for more in ({"t_eval": [0.11, 0.5, 0.77]}, {}, {"stabilization": "none"}, {"max_step": 0.08}, {"step": 1e-3}):
        options = {**(RK4 if method == "rk4" else {"method": method, "rtol": 1e-3, "atol": 1e-3}), **more}
        runs = da.ensemble(machine, starts, 1.0, u=u, workers=1, **options)
        assert not runs.alone.any()
        for k, start in enumerate(starts):
            run, apart = da.simulate(machine, start, 1.0, u=inputs[k], **options), 0.0
            if run.passages:  # beside singular positions rounding grows
                twin = da.simulate(machine, start.replace(q=start.q * (1 + 1e-15)), 1.0, u=inputs[k], **options)
                apart = np.abs(twin.q[-1] - run.q[-1]).max()
            agrees(runs, k, run, apart)


def test_coarse_steps_of_driven_machines_know_the_time():
    """A crank led by a function of time, a wind that comes and goes, and lengths that differ from run to run."""
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    lengths = [m.add_parameter(name, value) for name, value in (("l1", 0.5), ("l2", 1.5), ("l3", 1.2))]
    before = m.ground.at()
    for joint, length in zip("ABC", lengths):
        link = m.add_body(joint, mass=1.0, com=(length / 2, 0, 0), inertia=(0, 0.1, 0.1))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(1.5, 0, 0))
    bead = m.add_body("bead", mass=0.5, com=(0, -0.3, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("S", da.Revolute("z"), m.bodies["B"].at(0.3, 0, 0), bead)
    m.add_driver("turn", "A", lambda t: 0.9 + 0.5 * ca.sin(3.0 * t))
    m.add_wrench("wind", bead.at(0, -0.3, 0), force=lambda s: (4.0 * ca.sin(9.0 * s.t), 0.0, 0.0))
    machine, rng = m.compile(), np.random.default_rng(4)
    p = {"l1": 0.5 + 0.05 * rng.uniform(size=5), "l3": 1.2 + 0.05 * rng.uniform(size=5)}
    for more in ({}, {"t_eval": [0.11, 0.5, 0.77]}, {"method": "dopri5"}, {"stabilization": "none"}, RK4):
        options = {"rtol": 1e-3, "atol": 1e-3, **more}
        runs = da.ensemble(
            machine, {"S": 0.2}, 1.0, p=p, guess={"B": -0.3, "C": -2.0}, v={"S": 0.0}, workers=1, **options
        )
        assert not runs.alone.any()
        for k in range(5):
            start = machine.state(runs.start[0][k], runs.start[1][k])
            agrees(runs, k, da.simulate(machine, start, 1.0, p={name: x[k] for name, x in p.items()}, **options))


@pytest.mark.parametrize("hold", [None, 0.07])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("steps", [{"max_step": 0.2}, RK4], ids=["chosen", "given"])
def test_coarse_steps_with_a_controller_and_events_are_those_of_a_run_alone(hold, sampled, steps):
    """Parameters differ; the controller knows the time; the last event ends some of the runs."""
    machine, rng = parameterized_four_bar(), np.random.default_rng(8)
    law = da.expression(lambda t, s: {"torque": 30.0 * ca.cos(7.0 * t) - 3.0 * s.rate("A")})
    most = 1.55 if hold is None else 1.95
    events = {
        "low": da.Event(da.expression(lambda t, s: s["D"] - 1.4)),
        "clock": da.Event(da.expression(lambda t, s: t - 0.4 * s["B"] - 0.5), direction=1),
        "end": da.Event(da.expression(lambda t, s: s["A"] - most), direction=1, terminal=True),
    }
    n, p = 11, {"l1": 0.5 + 0.05 * rng.uniform(size=11), "m2": 2.0 + rng.uniform(size=11)}
    more = {"t_eval": [0.05, 0.3, 0.31]} if sampled else {}
    options = {"u": law, "period": hold, "events": events, "rtol": 1e-3, "atol": 1e-3, **steps, **more}
    runs = da.ensemble(machine, {"A": 0.7}, 0.9, v={"A": 1.0}, p=p, workers=1, lanes=8, **options)
    assert not runs.alone.any()
    assert 0 < (runs.status == da.Status.EVENT).sum() < n
    for k in range(n):
        start = machine.state(runs.start[0][k], runs.start[1][k])
        run = da.simulate(machine, start, 0.9, p={name: x[k] for name, x in p.items()}, **options)
        assert runs.status[k] == run.status
        for name, hits in run.t_events.items():
            np.testing.assert_allclose(runs.events[name].get(k, []), hits, rtol=1e-8)
        if run.status == da.Status.DONE:
            agrees(runs, k, run)
        elif not sampled:
            np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-7)
            np.testing.assert_allclose(runs.v_end[k], run.v[-1], atol=1e-6)


def test_given_steps_take_forces_that_begin_to_act_as_they_come():
    """Masses on elastic cables: adaptive steps end where a cable is taut, given ones in lanes do not, as alone."""
    m = da.Mechanism("bob", gravity=(0, 0, -9.81))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("bob", mass=2.0))
    m.add_cable("rope", ["ground", "bob"], stiffness=900.0, damping=5.0, rest_length=1.0)
    machine, heights = m.compile(), [-0.9, -0.5, -1.05]
    runs = da.ensemble(machine, {"z": heights}, 1.0, workers=1, **RK4)
    assert runs.success.all()  # the balance is off by more than tolerances would allow, as fixed steps may be
    assert not runs.alone.any()
    for k, height in enumerate(heights):
        agrees(runs, k, da.simulate(machine, machine.assemble({"z": height}), 1.0, **RK4))
    assert da.ensemble(machine, {"z": heights}, 1.0, workers=1).alone.all()


def test_margins_and_trust_of_a_run_know_its_own_masses():
    """Rows of constraints are as long as 1/√mass: all masses scaled by one number leave motion and margins alone."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    mass, before = m.add_parameter("mass", 1.0), m.ground.at()
    for joint, length in zip("ABC", (1.0, 3.0, 2.5)):
        link = m.add_body(joint, mass=mass, com=(length / 2, 0, 0), inertia=(0, 0.1 * mass, 0.1 * mass))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(3.2, 0, 0))
    machine, guess = m.compile(), {"B": 0.3, "C": -1.5}
    runs = da.ensemble(machine, {"A": 0.6}, 0.5, p={"mass": [1.0, 1e-12, 1e12]}, guess=guess, workers=1)
    assert not runs.alone.any()
    alone = da.simulate(machine, machine.assemble({"A": 0.6}, guess=guess), 0.5)
    np.testing.assert_allclose(runs.margin, alone.margin.min(), rtol=1e-3)  # rounding moves the ends of steps
    np.testing.assert_allclose(runs.q_end, np.tile(alone.q[-1], (3, 1)), atol=1e-7)


def test_a_balance_is_judged_by_the_energy_on_the_way():
    """A mass on a spring, at rest again after a period: nothing moves at the ends, ½ k a² between them."""
    m, stiffness, reach = da.Mechanism("oscillator", gravity=(0, 0, 0)), 9.0, np.array([0.5, 1.0, 2.0])
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("mass", mass=1.0), stiffness=stiffness)
    options = {"method": "dopri5", "rtol": 1e-5, "atol": 1e-5, "max_step": 0.1, "workers": 1}
    runs = da.ensemble(m.compile(), {"x": reach}, 2.0 * np.pi / 3.0, **options)
    assert not runs.alone.any()
    assert abs(runs.energy_error).max() > 1e-9
    assert runs.success.all(), runs.messages
    np.testing.assert_allclose(runs.motion_energy, 0.5 * stiffness * reach**2, rtol=0.05)


def test_coarse_fixed_steps_succeed_where_they_do_alone():
    """Their errors reach the size of energies: of 40 runs at 0.05 s a fourth keeps its balance."""
    system, rng = zoo.four_bar().compile(), np.random.default_rng(3)
    drawn = zip(rng.uniform(0.3, 2.5, 40), rng.uniform(0.0, 6.0, 40))
    starts = [system.state(*zoo.four_bar_start(angle, speed)) for angle, speed in drawn]
    for step in (0.05, 0.03):
        runs = da.ensemble(system, starts, 2.0, method="rk4", step=step)
        alone = [da.simulate(system, x, 2.0, method="rk4", step=step).success for x in starts]
        assert not runs.alone.any()
        assert 0 < sum(alone) < 40
        np.testing.assert_array_equal(runs.success, alone)
