"""Singular positions on the way: passed, found at the times that energy gives, and reported as they are."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da
from dalembert import zoo
from dalembert.errors import CompileError
from dalembert.simulation.run import singularities


def flat_times(loops, until):
    """When the ladder's cranks are flat, from (π/2, −1 rad/s): one degree of freedom, couplers only shift.

    ½ J θ̇² + G sin θ is kept, J = ((N + 1)/3 + N) m l², G = ((N + 1)/2 + N) m g l; t = ∫ dθ/|θ̇|.
    """
    J, G = (loops + 1) / 3 + loops, 9.81 * ((loops + 1) / 2 + loops)
    speed = lambda a: np.sqrt(1 + 2 * G / J * (1 - np.sin(a)))  # noqa: E731
    times, angle = [quad(lambda a: 1 / speed(a), 0, np.pi / 2, epsabs=1e-13)[0]], 0.0
    while times[-1] < until:
        times.append(times[-1] + quad(lambda a: 1 / speed(a), angle - np.pi, angle, epsabs=1e-13, limit=200)[0])
        angle -= np.pi
    return np.array(times[:-1])


@pytest.mark.parametrize("loops", [1, 2, 5])
def test_the_ladder_passes_all_its_flat_positions_on_time(loops):
    system = zoo.ladder(loops).compile()
    x = system.state(*zoo.ladder_start(loops))
    expected = flat_times(loops, 10.0)
    assert len(expected) == 10
    run = da.simulate(system, x, 10.0)
    assert run.success
    assert len(run.passages) == 10
    for passage, t in zip(run.passages, expected):
        assert passage.start <= t <= passage.end
        assert passage.end - passage.start < 0.2
        assert passage.nearest == pytest.approx(t, abs=5e-3)
        assert passage.branches
        assert set(passage.rows) <= {f"C{k}.x" for k in range(1, loops + 1)}
        assert passage.rows
    assert run.residuals.max() < 1e-9
    assert np.abs(run.energy_error).max() < 1e-5
    angles = [run[f"A{k}"] for k in range(loops + 1)]
    np.testing.assert_allclose(
        angles, np.broadcast_to(angles[0], np.shape(angles)), rtol=0, atol=1e-4
    )  # still one ladder


@pytest.mark.parametrize("rtol", [1e-4, 1e-5, 1e-6, 1e-8])
def test_long_steps_of_a_long_ladder_pass_no_flat_position_unseen(rtol):
    """Rows that get short hide behind the angle between others, whose sine is then the least margin of a stage."""
    system = zoo.ladder(10).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(10)), 10.0, rtol=rtol, atol=0.1 * rtol)
    assert run.success
    np.testing.assert_allclose([p.nearest for p in run.passages], flat_times(10, 10.0), rtol=0, atol=0.02)


def test_samples_and_spans_tell_of_the_same_passages():
    system = zoo.ladder(2).compile()
    x = system.state(*zoo.ladder_start(2))
    span, samples = (da.simulate(system, x, 5.0, t_eval=t) for t in (None, np.linspace(0, 5, 14)))
    assert len(span.passages) == len(samples.passages) == len(flat_times(2, 5.0))
    for a, b in zip(span.passages, samples.passages):
        assert a.nearest == pytest.approx(b.nearest, abs=1e-3)
        assert a.rows == b.rows


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("loops", [1, 2, 5])
def test_states_between_records_are_as_exact_in_a_flat_position_as_elsewhere(loops, rtol):
    """There the cranks lie along the ground and turn as fast as the fall makes them."""
    system = zoo.ladder(loops).compile()
    x = system.state(*zoo.ladder_start(loops))
    J, G = (loops + 1) / 3 + loops, 9.81 * ((loops + 1) / 2 + loops)
    speed = -np.sqrt(1 + 2 * G / J)
    run = da.simulate(system, x, 2.0, rtol=rtol, atol=0.1 * rtol)
    late = [0.0, 1e-9, -1e-7, 1e-6, -1e-5]
    for k, flat in enumerate(flat_times(loops, 2.0)):
        seen = run.passages[k].nearest  # as exact as the run
        assert seen == pytest.approx(flat, abs=200 * rtol)
        for t in seen + np.array(late):
            state = run(t)
            for name in (f"A{i}" for i in range(loops + 1)):
                assert state[name] + k * np.pi == pytest.approx(
                    speed * (t - flat), abs=1e3 * rtol + 10 * (t - seen) ** 2
                )
                assert state.v[system.v_names.index(name)] == pytest.approx(speed, rel=1e3 * rtol + 10 * abs(t - seen))
        sampled = da.simulate(system, x, 2.0, rtol=rtol, atol=0.1 * rtol, t_eval=np.sort(seen + np.array(late)))
        np.testing.assert_allclose(sampled.q, [run(t).q for t in sampled.t], rtol=0, atol=1e3 * rtol)


@pytest.mark.parametrize("coordinates", [None, "tangent", "partition"])
def test_beside_a_position_that_was_met_the_next_one_is_passed_at_its_distance(coordinates):
    """Where σ is least, straight ahead it falls no more: that is no position to be met, and none to be crossed."""
    system, rng = zoo.five_bar().compile(), np.random.default_rng(0)
    x = system.state(*zoo.five_bar_start())
    for _ in range(6):
        moved = x.replace(q=x.q + 1e-15 * rng.standard_normal(system.nq))
        run = da.simulate(system, moved, 5.0, coordinates=coordinates)
        assert run.success, run.message
        assert np.abs(run.energy_error).max() < 1e-4
        assert all(p.distance < 10 * p.resolution for p in run.passages if p.met)


@pytest.mark.parametrize(
    ("method", "step"), [("variational", 1e-3), ("variational", 5e-4), ("rk4", 1e-3), ("rk4", 1e-4)]
)
@pytest.mark.parametrize("miss", [0.0, 1e-4, 1e-3])
def test_steps_of_a_given_length_do_not_determine_what_they_cannot_tell(method, step, miss):
    """Without error control the side of a cone is that of the method's error, and the passage says so."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    aside = system.subspaces(x).K @ [1, 0.37]
    x = system.project(x.replace(q=x.q + miss * aside / np.abs(aside).max()))
    run, exact = (
        da.simulate(system, x, 1.0, **options) for options in ({"method": method, "step": step}, {"rtol": 1e-11})
    )
    assert run.passages
    determined = all(p.determined for p in run.passages)
    assert not determined or np.abs(run.q[-1] - exact.q[-1]).max() < 1e-3


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-6, 1.0), (1e3, 1.0), (1.0, 1e-9), (1.0, 1e9)])
def test_equal_slider_crank_slides_through_its_singular_positions(length, mass):
    """q₂ = −2 q₁: ½ m l²(1 + 4 sin² q₁) q̇₁² + m g l sin q₁ is kept; singular where q₁ is an odd multiple of π/2."""
    clock = np.sqrt(length)  # the unit of time that goes with it
    system = zoo.equal_slider_crank(length=length, mass=mass).compile()
    x = system.state(*zoo.equal_slider_crank_start(0.5, 5.0 / clock))
    J = lambda a: 1 + 4 * np.sin(a) ** 2  # noqa: E731
    E = J(0.5) * 25.0 / 2 + 9.81 * np.sin(0.5)
    slow = lambda a: np.sqrt(J(a) / (2 * (E - 9.81 * np.sin(a))))  # noqa: E731
    expected = [clock * quad(slow, 0.5, a, limit=200, epsabs=1e-13)[0] for a in np.pi * np.array([0.5, 1.5, 2.5, 3.5])]
    run = da.simulate(system, x, expected[-1] + 0.1 * clock)
    assert run.success
    assert len(run.passages) == 4
    for passage, t in zip(run.passages, expected):
        assert passage.start <= t <= passage.end
        assert passage.nearest == pytest.approx(t, abs=5e-3 * clock)
        assert passage.rows == ("C.across 1",)
        assert passage.branches  # it may fold there, and turn about the origin
    np.testing.assert_allclose(run["q2"], -2 * run["q1"], rtol=0, atol=1e-4)
    assert np.abs(run.energy_error).max() < 1e-5 * length * mass


@pytest.mark.parametrize("touching", [False, True])
def test_a_wire_has_branches_where_it_crosses_itself_and_where_it_touches_itself(touching):
    """A bead on y² = x²(1 + x)², and on y² = x⁴, where it may well change over to the other parabola."""
    m = da.Mechanism("bead", gravity=(0, 0, 0))
    slide, bead = m.add_body("slide"), m.add_body("bead", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("y", da.Prismatic("y"), slide, bead)
    wire = (lambda x: x**2) if touching else (lambda x: -x * (1 + x))
    m.add_constraint("wire", holonomic=lambda s: s["y"] ** 2 - wire(s["x"]) ** 2)
    system = m.compile()
    slope = -0.4 if touching else -0.6
    run = da.simulate(system, system.state({"x": -0.2, "y": wire(-0.2)}, {"x": 1.0, "y": slope}), 0.4)
    assert run.success
    (passage,) = run.passages
    assert passage.branches
    assert passage.rank == 0
    if touching:
        np.testing.assert_allclose(np.abs(run["y"]), run["x"] ** 2, rtol=0, atol=1e-3)
    else:
        np.testing.assert_allclose(run["y"], wire(run["x"]), rtol=0, atol=1e-3)
    assert run["x"][-1] > 0.1


@pytest.mark.parametrize("span", [True, False])
def test_singularities_are_warned_of_or_ended_at_as_asked(span):
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    t_eval = None if span else np.linspace(0, 1, 11)
    with pytest.warns(
        UserWarning, match=r"'five-bar': at t = 0\.650815.* the constraints E\.x were dependent: rank 1"
    ) as seen:
        run = da.simulate(system, x, 1.0, t_eval=t_eval, on_singularity="warn")
    assert run.success
    assert len(seen) == len(run.passages) == 1
    assert "the motion may go on in more than one way" in str(seen[0].message)
    run = da.simulate(system, x, 1.0, t_eval=t_eval, on_singularity="stop")
    assert run.status.name == "SINGULAR"
    assert run.message.endswith("a singular configuration was reached and on_singularity='stop' was asked for")
    assert run.t[-1] < 0.6508151444
    run = da.simulate(system, x, 1.0, t_eval=t_eval, on_singularity="continue")
    assert run.success


@pytest.mark.parametrize("scale", [1e-6, 1e3])
@pytest.mark.parametrize("options", [{}, {"coordinates": "tangent"}, {"formulation": "nullspace"}], ids=str)
def test_size_does_not_matter(scale, options):
    """All lengths by s and time by √s: the same angles at the same scaled times, the same passages."""
    lengths = np.array([1.0, 1.5, 1.5, 1.0])
    one = zoo.five_bar().compile()
    x = one.state(*zoo.five_bar_start())
    system = zoo.five_bar(
        span=scale, lengths=scale * lengths, inertias=scale**2 * np.array([1.0, 2.0, 2.0, 1.0])
    ).compile()
    clock = np.sqrt(scale)
    times = np.linspace(0, 1.0, 6)
    small = da.simulate(system, system.state(x.q, x.v), times[[0, -1]] * clock, t_eval=times * clock, **options)
    usual = da.simulate(one, x, times[[0, -1]], t_eval=times, **options)
    assert small.success, small.message
    np.testing.assert_allclose(small.q, usual.q, rtol=0, atol=1e-5)
    assert len(small.passages) == len(usual.passages) == 1
    assert small.passages[0].nearest == pytest.approx(clock * usual.passages[0].nearest, rel=1e-3)
    assert small.passages[0].rows == ("E.x",)
    assert small.residuals.max() < 1e-9 * scale


def test_drivers_and_singular_positions_far_from_zero_time():
    """A span that starts at t = 7 with a driven crank: the state is checked, and moves, at the time of the span."""
    m = zoo.four_bar()
    m.add_driver("motor", "A", lambda t: 0.6 + 2.0 * (t - 7.0) + 0.1 * ca.sin(t - 7.0))
    system = m.compile()
    x = system.assemble({}, v={}, guess={"A": 0.6}, t=7.0)
    run = da.simulate(system, x.replace(t=0.0), (7.0, 9.0))
    assert run.success
    s = run.t - 7.0
    np.testing.assert_allclose(run["A"], 0.6 + 2.0 * s + 0.1 * np.sin(s), rtol=0, atol=1e-11)
    assert np.abs(run.energy_error).max() < 1e-7
    with pytest.raises(da.ArgumentError, match="misses row 'motor"):
        da.simulate(system, x, (8.0, 9.0))


def test_a_run_that_cannot_compile_what_a_singular_position_needs_returns_what_it_has(monkeypatch):
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    whole = da.simulate(system, x, 1.0)

    def broken(layout, rows):
        raise CompileError("no room for code")

    monkeypatch.setattr(singularities, "lease", broken)
    run = da.simulate(system, x, 1.0)
    assert not run.success
    assert (
        run.message == f"at t = {run.t[-1]:.6g} s the code needed from here on could not be compiled: no room for code"
    )
    assert 0.65 < run.t[-1] < 0.651
    np.testing.assert_array_equal(run.q, whole.q[: len(run.t)])


@pytest.mark.parametrize("coordinates", ["tangent", "partition"])
def test_independent_coordinates_start_at_a_singular_position_too(coordinates):
    """No chart is sound there: the first steps are in all coordinates."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.0))
    run = da.simulate(system, x, 0.5, coordinates=coordinates, max_steps=20_000)
    whole = da.simulate(system, x, 0.5)
    assert run.success, run.message
    assert run.passages[0].start == 0.0
    assert abs(run.energy_error).max() < 5e-3
    np.testing.assert_allclose(run.q[-1], whole.q[-1], rtol=0, atol=0.05)


@pytest.mark.parametrize(("radius", "lean_rate"), [(0.4, 0.3), (0.4, -2.0), (4e-6, 30.0), (4e5, 1e-4)])
def test_a_disc_that_falls_flat_ends_the_run_with_the_name_of_its_contact(radius, lean_rate):
    system = zoo.rolling_disc(radius=radius).compile()
    x = system.state(*zoo.rolling_disc_start(spin=0.0, lean_rate=lean_rate, radius=radius))
    run = da.simulate(system, x, 50.0 * np.sqrt(radius / 9.81), max_steps=50_000)
    assert not run.success
    assert run.message.endswith(
        "constraint 'ground contact' has no direction next to here, as of a disc that falls flat"
    )
    assert np.isfinite(run.q).all()


@pytest.mark.parametrize("loops", [1, 3])
@pytest.mark.parametrize("duration", [0.05, 1 / 3, 1e4])
def test_a_mechanism_at_rest_in_a_singular_position_stays_there_and_one_passage_says_so(loops, duration):
    """Flat, without weight: nothing moves it, and the motion that could follow is not determined."""
    system = zoo.ladder(loops, gravity=0.0).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(loops, 0.0, 0.0)), duration, max_steps=1000)
    assert run.success
    assert run.t[-1] == duration
    assert not run.v.any()
    assert (run.q == run.q[0]).all()
    (passage,) = run.passages
    assert (passage.start, passage.end, passage.determined) == (0.0, duration, False)
    assert "rested" in run.warnings[0]


@pytest.mark.parametrize("rtol", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11])
def test_verdicts_of_branches_that_cross_do_not_depend_on_the_tolerance(rtol):
    """A delta robot that falls, from its symmetric start and three beside it, meets positions where branches cross.

    Three legs in one plane with the platform: neighbours come to such a position too. At rtol 1e-5 states in them are
    1e-4 off, and what is left of the constraints there is rounding.
    """
    entry, rng = zoo.CATALOG["delta"], np.random.default_rng(5)
    system = entry.build().compile()
    x = system.state(*entry.start())
    for aside in (0.0, 1e-2, 1e-2, 1e-2):
        beside = system.project(x.replace(q=system.plus(x, aside * rng.standard_normal(system.nv))))
        run = da.simulate(system, beside, 1.3, rtol=rtol, atol=0.1 * rtol)
        assert run.passages
        assert all(p.met and p.determined and p.branches == "crossing" for p in run.passages)


def test_energy_is_kept_beside_singular_positions_too():
    """Five seconds of a five-bar, 220 J at most: the third position is passed at 4e-7, where forces are 1/σ.

    Restored, it is right to rounding of what moves it there; else its error falls with the tolerance.
    """
    system = zoo.five_bar().compile()
    x, errors = system.state(*zoo.five_bar_start()), []
    for rtol in (1e-9, 1e-10, 1e-11):
        run = da.simulate(system, x, 5.0, rtol=rtol)
        errors.append(np.abs(run.energy_error).max())
        restored = da.simulate(system, x, 5.0, rtol=rtol, stabilization="energy")
        assert len(run.passages) == len(restored.passages) == 3
        assert np.abs(restored.energy_error).max() < 1e-10
    assert errors[0] < 3e-8
    assert max(errors[1:]) < errors[0]
    assert max(errors[1:]) < 5e-9  # rounding of forces 1/σ: a tighter tolerance does not reduce it
