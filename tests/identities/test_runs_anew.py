"""A run does not know of the runs before it: layouts and records that are kept give the bits of new ones."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError

OPTIONS = [
    {},
    {"stabilization": "energy"},
    {"method": "sdirk4", "rtol": 1e-6},
    {"formulation": "nullspace"},
    {"stabilization": da.Projection(metric=(1.0, 2.0, 3.0, 1.0))},
    {"coordinates": "tangent"},
]


def five_bar():
    """With inputs, so that works are kept, and two starts; the second leads through a singular position."""
    system = zoo.five_bar().compile()
    return system, [system.state(*zoo.five_bar_start(angle)) for angle in (0.9, 0.5)]


def bits(run):
    counts = run.steps, run.rejected, run.evaluations, run.corrections, run.drift, run.speed_drift
    return [x.tobytes() for x in (run.t, run.q, run.v, run.u, run.margin, *run.work.values())], counts


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_runs_after_others_are_the_runs_of_a_new_system(options):
    """Other starts, times, inputs and ends before do not show."""
    used, (a, b) = five_bar()
    u = [0.4, -0.2]
    da.simulate(used, b, 1.0, **options)
    da.simulate(used, a.replace(t=2.0), 0.3, u=[30.0, 10.0], **options)
    again = da.simulate(used, a, 0.4, u=u, **options)
    alone = da.simulate(five_bar()[0], a, 0.4, u=u, **options)
    assert bits(again) == bits(alone)
    times = np.linspace(0.0, 0.4, 7)
    np.testing.assert_array_equal(again(times)[0], alone(times)[0])


def test_parameters_of_a_run_do_not_show_in_the_next():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    system = m.compile()
    other = system.with_parameters(length=4.0)
    short, long = (da.simulate(system, {"A": 1.0}, 1.0, p=p) for p in (None, {"length": 4.0}))
    assert bits(da.simulate(other, {"A": 1.0}, 1.0)) == bits(long)
    assert bits(da.simulate(system, {"A": 1.0}, 1.0)) == bits(short)
    assert bits(da.simulate(other, {"A": 1.0}, 1.0, p=[1.0])) == bits(short)


def test_options_that_are_equal_but_of_another_kind_are_checked_again():
    system, (x, _) = five_bar()
    da.simulate(system, x, 1e-3, max_steps=1, rtol=1)
    for options in ({"max_steps": True}, {"max_steps": 1.0}, {"rtol": True}):
        with pytest.raises(ArgumentError, match="needed"):
            da.simulate(system, x, 1e-3, **options)


def test_the_unit_of_works_is_that_of_the_start():
    """A folded arm is light: the error of a work is measured by the inertia where its run starts."""

    def arm():
        m = da.Mechanism("arm", gravity=(0, -9.81, 0))
        upper, lower = (
            m.add_body(name, mass=1.0, com=(1.0, 0, 0), inertia=(1e-4, 1e-4, 1e-4)) for name in ("up", "low")
        )
        m.add_joint("A", da.Revolute("z"), m.ground, upper)
        m.add_joint("B", da.Revolute("z"), upper.at((1.0, 0, 0)), lower)
        m.add_motor("motor", "A")
        return m.compile()

    def run(system: da.System, elbow: float) -> da.Run:
        return da.simulate(system, {"B": elbow}, 1.0, u=[1e4], rtol=1e-13)

    used = arm()
    run(used, 0.0)
    assert bits(run(used, np.pi - 1e-3)) == bits(run(arm(), np.pi - 1e-3))


def test_a_run_of_many_steps_comes_to_its_end():
    """More steps than doublings of a whole number of 63 bits times the room for records."""
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    run = da.simulate(system, start, 140.0, method="rk4", step=1e-3, t_eval=[140.0])
    assert (run.steps, run.status) == (140_000, da.Status.DONE)
