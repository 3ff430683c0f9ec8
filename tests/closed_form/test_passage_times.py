"""Times of singular positions that are met, against the energy integral of motions with one degree of freedom.

Along the branch that is followed, ½ J(θ) θ̇² + V(θ) is kept, so the time from one angle to another is a quadrature:

    t = ∫ dθ / |θ̇|,   θ̇² = 2 (E − V(θ)) / J(θ)

J and V are energies of states on the branch, which closed forms give; nothing here is integrated in time or singular.
"""

import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da
from dalembert import zoo

FLAT, STRETCHED = 0.0, -np.pi / 2
#: system, start(θ, θ̇), where the motion begins, and the angles of singular positions on its way
MOTIONS = {
    "ladder 1": (lambda: zoo.ladder(1), lambda a, w: zoo.ladder_start(1, a, w), (1.2, -1.0), [FLAT, -np.pi]),
    "ladder 5": (lambda: zoo.ladder(5), lambda a, w: zoo.ladder_start(5, a, w), (1.2, -1.0), [FLAT, -np.pi]),
    "slider-crank": (zoo.equal_slider_crank, zoo.equal_slider_crank_start, (1.0, -0.5), [STRETCHED]),
    "sarrus": (zoo.sarrus, zoo.sarrus_start, (0.7, -0.4), [FLAT, STRETCHED]),
}


def motion(name):
    """A system, where its motion begins, and the times at which it is singular."""
    make, start, (angle, speed), positions = MOTIONS[name]
    system = make().compile()

    def energies(a):
        x = system.state(*start(a, 1.0))
        return system.evaluate("kinetic_energy", x), system.evaluate("potential_energy", x)

    kinetic, potential = (float(x) for x in energies(angle))
    total = kinetic * speed**2 + potential

    def slowness(a):
        J, V = (float(x) for x in energies(a))
        return (J / (total - V)) ** 0.5

    times = [quad(slowness, end, angle, epsabs=1e-12, epsrel=1e-12, limit=200)[0] for end in positions]
    return system, system.state(*start(angle, speed)), np.array(times)


@pytest.fixture(scope="module", params=MOTIONS)
def known(request):
    return motion(request.param)


def allowed(rtol):
    """s: the time of a motion that is off by the tolerance."""
    return 1e-8 + 3 * rtol


@pytest.mark.parametrize("rtol", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 3e-10, 1e-10, 1e-11])
def test_positions_are_met_when_the_energy_integral_says(known, rtol):
    """Also with given output times, and where the run ends in the step that meets the position."""
    system, x, times = known
    first = times[0]
    for end, options in [
        (1.05 * times[-1], {}),
        (1.05 * times[-1], {"t_eval": np.linspace(0.0, 1.05 * times[-1], 7)}),
        (first + 1e-3, {}),
        (first + 1e-7, {"t_eval": [first]}),
    ]:
        run = da.simulate(system, x, end, rtol=rtol, atol=0.1 * rtol, **options)
        assert run.success, run.message
        due = times[times < end]
        assert all(p.met and p.determined for p in run.passages)
        np.testing.assert_allclose([p.nearest for p in run.passages], due, rtol=0, atol=allowed(rtol))


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9, 1e-11])
def test_a_run_that_is_to_stop_there_ends_before(known, rtol):
    system, x, times = known
    run = da.simulate(system, x, 1.05 * times[-1], rtol=rtol, atol=0.1 * rtol, on_singularity="stop")
    assert not run.success
    assert 0.5 * times[0] < run.t[-1] < times[0]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
def test_runs_side_by_side_meet_it_then_too(known, rtol):
    system, x, times = known
    runs = da.ensemble(system, [x, x], 1.05 * times[-1], rtol=rtol, atol=0.1 * rtol, workers=1)
    assert runs.success.all()
    assert runs.passages.tolist() == [len(times)] * 2
    for k in range(2):
        np.testing.assert_allclose([m.t for m in runs._part.met[k]], times, rtol=0, atol=allowed(rtol))


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 1e-6])
def test_a_rhombus_that_turns_evenly_meets_its_flat_position_every_half_turn(tolerance, method):
    """Nothing acts on it, so that a step could be several turns long."""
    m, z = da.Mechanism("rhombus", gravity=(0, 0, 0)), da.Revolute("z")
    a, b, c = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "abc")
    m.add_joint("A", z, m.ground, a)
    m.add_joint("B", z, a.at(1.0), b)
    m.add_joint("D", z, m.ground.at(1.0), c)
    m.close_loop("C", z, b.at(1.0), c.at(1.0))
    system = m.compile()
    x, options = (
        system.state([0.5, -0.5, 0.5], [3.3, -3.3, 3.3]),
        {"method": method, "rtol": tolerance, "atol": tolerance},
    )
    times = (np.pi * np.arange(1, 22) - 0.5) / 3.3
    for more in ({}, {"coordinates": "tangent"}, {"formulation": "nullspace"}):
        run = da.simulate(system, x, 20.0, **options, **more)
        assert len(run.passages) == 21, more
        np.testing.assert_allclose([p.nearest for p in run.passages], times, atol=10 * tolerance)
    many = da.ensemble(system, x, 20.0, vary={"A": np.full(3, 0.5)}, **options)
    assert list(many.passages) == [21] * 3
