"""Laws in runs with switches: the run tells them which constraints hold."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import control

OPEN, SHUT = 0.3, 0.6  # s


@pytest.fixture(scope="module")
def arm():
    """A planar arm of three motors with its tip on a rail, which comes and goes."""
    m = da.Mechanism("arm", gravity=(0, -9.81, 0))
    last = m.ground
    for k in range(3):
        link = m.add_body(f"link {k}", mass=1.0 + k, com=(0.25, 0, 0), inertia=da.rod_inertia(1.0 + k, 0.5))
        m.add_joint(f"q{k}", da.Revolute("z"), last, link)
        m.add_motor(f"m{k}", f"q{k}")
        last = link.at(0.5)
    tip = m.add_frame("tip", last)
    m.add_point_in_plane("rail", tip, m.ground.at(0, 0.4, 0), normal="y")
    return m.compile()


def law(system, **options):
    start = np.array(system.assemble(guess={"q0": 1.0, "q1": -0.7, "q2": -0.6}).position("tip"))
    way = control.quintic([start[0], start[1]], [start[0] - 0.2, start[1]], 0.9)
    return control.hybrid_control(
        system, control.position("tip", "xy"), way, {system.row_names[0]: 5.0}, rate=15.0, **options
    )


def run(system, law):
    switches = [da.Switch(open="rail", at=OPEN), da.Switch(close="rail", at=SHUT, reach=1e-3)]
    start = system.assemble(guess={"q0": 1.0, "q1": -0.7, "q2": -0.6})
    return da.simulate(system, start, 0.9, u=law, period=0.005, switches=switches)


def test_a_law_is_told_what_holds(arm):
    """As by a function of time that knows it; and the force is kept where there is one."""
    told, knows = run(arm, law(arm)), run(arm, law(arm, active=lambda t, s: {"rail": not OPEN <= t < SHUT}))
    assert [s.kind for s in told.switches] == ["opened", "closed"]
    np.testing.assert_array_equal(told.u, knows.u)
    np.testing.assert_array_equal(told.q, knows.q)
    force = told.multiplier(arm.row_names[0])
    held = (told.t < OPEN) | (told.t > SHUT + 0.02)
    assert np.abs(force[held] - 5.0).max() < 0.5
    assert np.abs(force[(told.t > OPEN) & (told.t < SHUT)]).max() == 0.0


def test_a_law_forgets_the_run_that_told_it(arm):
    """One law in a run with switches, in runs in threads, and asked afterwards: as if it were new."""
    shared = law(arm)
    before = shared(0.4, arm.assemble(guess={"q0": 1.0, "q1": -0.7, "q2": -0.6}))
    first = run(arm, shared)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: run(arm, shared), range(4)):
            np.testing.assert_array_equal(other.q, first.q)
    da.simulate(
        arm, arm.assemble(guess=first.state(0)), 0.4, u=shared, period=0.005, switches=da.Switch(open="rail", at=0.3)
    )
    after = shared(0.4, arm.assemble(guess={"q0": 1.0, "q1": -0.7, "q2": -0.6}))
    np.testing.assert_array_equal(after, before)
    assert shared.is_native


def test_force_feedback_rests_while_its_constraint_is_open(arm):
    """A sensor that goes on telling of the rail while it is away does not wind up the integral."""
    sensor = control.force_sensor(arm)
    fed = law(arm, sensor=sensor, force_gains=(0.5, 20.0))
    kept = law(arm, sensor=lambda t, s, u: sensor(t, s, u) * (not OPEN <= t < SHUT), force_gains=(0.5, 20.0))
    np.testing.assert_allclose(run(arm, fed).q, run(arm, kept).q, atol=1e-12)


def test_wrappers_pass_on_what_holds(arm):
    """A law inside wrappers that change nothing is told as it is outside, and the wrappers are as new afterwards."""
    alone = run(arm, law(arm))
    wrapped = control.Sampled(control.Saturated(control.Delayed(law(arm), 0.0), 1e6, arm), 0.005)
    for _ in range(2):
        np.testing.assert_array_equal(run(arm, wrapped).q, alone.q)
    inside = wrapped.law.law.law
    assert inside._structure is None
