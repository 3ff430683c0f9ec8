"""Derivatives of runs across impacts, switches, rests and releases: closed forms, and differences of whole runs."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError

TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def differences(make, run, names, of, step):
    """(of, names) central differences of order four of the last values of runs with other parameters."""
    at = run.system.arguments.parameter_vector(run.p)

    def last(name, x):
        p = dict(zip(run.system.p_names, at))
        p[name] += x
        return of(make(p))

    columns = []
    for name in names:
        near, far = ((last(name, h) - last(name, -h)) / (2 * h) for h in (step, 2 * step))
        columns.append((4 * near - far) / 3)
    return np.array(columns).T


def ball():
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    r, mass = m.add_parameter("r", 0.1), m.add_parameter("mass", 2.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=mass))
    m.add_contact("floor", "ball", radius=r, restitution=0.5)
    return m.compile()


def test_a_bouncing_ball_has_the_derivatives_of_its_closed_form():
    """z(T) = r + e w s − g s²/2, s = T − τ, w = g τ, τ = √(2 (h − r)/g): h = 5.1, r = 0.1, g = 10, e = ½."""
    run = da.simulate(ball(), {"z": 5.1}, 1.5, **TIGHT)
    d = da.sensitivities(run, of=["z", "rate:z"], wrt=["held:z", "held:rate:z", "r", "mass"], held=["z"])
    tau, s = 1.0, 0.5
    by_h, g, e = 1.0 / (10.0 * tau), 10.0, 0.5
    slope = e * g * (s - tau) + g * s  # ∂z/∂τ
    np.testing.assert_allclose(d.gradient("z"), [slope * by_h, 0.0, 1 - slope * by_h, 0.0], atol=1e-9)
    by_tau = e * g + g
    np.testing.assert_allclose(d.gradient("rate:z"), [by_tau * by_h, 1.0, -by_tau * by_h, 0.0], atol=1e-9)
    several = da.sensitivities(run, of=["z"], wrt=["held:z"], held=["z"], at=[0.5, 0.999, 1.001, 1.5])
    np.testing.assert_allclose(several.d("z", "held:z"), [1.0, 1.0, -0.5 + 0.0015, 0.25], atol=1e-8)


def test_the_time_of_an_event_after_a_bounce():
    """The top of the first bounce: at τ + e τ, ∂/∂h = (1 + e)/(g τ)."""
    top = da.Event(da.expression(lambda t, s: s.rate("z") + 100.0 * (t < 1.2)), direction=-1, terminal=True)
    run = da.simulate(ball(), {"z": 5.1}, 3.0, events=top, **TIGHT)
    assert run.t[-1] == pytest.approx(1.5)
    of = {"time": "time", "z": "z", "area": da.Integral("z")}
    d = da.sensitivities(run, of=of, wrt=["held:z"], held=["z"])
    assert d.d("time", "held:z") == pytest.approx(0.15, rel=1e-8)
    assert d.d("z", "held:z") == pytest.approx(0.25, rel=1e-8)
    # ∫z over the fall and the rise: h τ − g τ³/6 and r e τ + g (e τ)³/3
    tau, g, e, r, h = 1.0, 10.0, 0.5, 0.1, 5.1
    exact = tau + (h - g * tau**2 / 2 + r * e + g * e**3 * tau**2) * 0.1
    assert d.d("area", "held:z") == pytest.approx(exact, rel=1e-7)


def pendulum(e):
    """A double pendulum whose lower link hits a stop of the upper one, in a spatial frame that a driver turns."""
    m = da.Mechanism("double pendulum", gravity=(0, -9.81, 0))
    a, b = m.add_parameter("a", 0.6), m.add_parameter("b", 0.4)
    one = m.add_body("one", mass=1.0, com=(a / 2, 0, 0), inertia=(0.001, 0.03, 0.03))
    two = m.add_body("two", mass=b, com=(b / 2, 0, 0), inertia=(0.001, 0.01, 0.01))
    m.add_joint("A", da.Revolute("z"), m.ground, one, damping=0.05)
    m.add_joint("B", da.Revolute("z"), one.at(a, 0, 0), two, limits=(-0.5, 2.0), stops=da.Stops(restitution=e))
    return m.compile()


@pytest.mark.parametrize(("e", "end"), [(0.6, 0.9), (0.0, 0.55)])
def test_a_double_pendulum_on_its_stop(e, end):
    """Several hits, or one after which the stop bears and lets go."""
    system = pendulum(e)

    def make(p):
        return da.simulate(system, {"A": 0.1, "B": 0.9}, end, p=p, **TIGHT)

    run = make({})
    kinds = [s.kind for s in run.switches]
    assert "hit" in kinds, kinds
    of = ["A", "B", "rate:A", "rate:B"]
    d = da.sensitivities(run, of=of, wrt=["a", "b"])
    found = differences(make, run, ["a", "b"], lambda r: np.append(r.q[-1], r.v[-1]), 1e-4)
    np.testing.assert_allclose(d.jacobian, found, rtol=1e-5, atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_latch_that_falls_in_at_an_event_and_is_drawn_at_a_time(restitution):
    """Two pendulums that are coupled where their angles agree, beside a redundant coupling."""
    m = da.Mechanism("latch", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 0.5)
    for name, x, long in (("A", 0.0, length), ("B", 1.0, 0.3)):
        link = m.add_body(name, mass=1.0, com=(long, 0, 0), inertia=(0.0, 0.01, 0.01))
        m.add_joint(name, da.Revolute("z"), m.ground.at(x, 0, 0), link)
    m.add_coupling("latch", {"A": 1.0, "B": -1.0})
    m.add_coupling("again", {"A": -2.0, "B": 2.0})
    system = m.compile()
    both = ["latch", "again"]
    meet = da.Event(da.expression(lambda t, s: s["A"] - s["B"]), direction=-1)
    switches = [
        da.Switch(open=both, at=0.0),
        da.Switch(close=both, when=meet, restitution=restitution),
        da.Switch(open=both, at=0.65),
    ]

    def make(p):
        return da.simulate(system, {"A": -0.3, "B": -0.8}, 0.9, p=p, switches=switches, **TIGHT)

    run = make({})
    assert [s.kind for s in run.switches][:2] == ["opened", "hit" if restitution else "closed"]
    d = da.sensitivities(run, of=["A", "B", "rate:A", "rate:B"], wrt=["length"])
    found = differences(make, run, ["length"], lambda r: np.append(r.q[-1], r.v[-1]), 1e-4)
    np.testing.assert_allclose(d.jacobian, found, rtol=1e-5, atol=1e-5 * np.abs(found).max())


def test_a_free_body_that_tumbles_onto_a_smooth_moving_floor():
    """Quaternions, a corner that hits a plane which is lifted with time, and flies on."""
    m = da.Mechanism("tumbling", gravity=(0, 0, -9.81))
    size = m.add_parameter("size", 0.2)
    body = m.add_body("brick", mass=1.3, inertia=(0.02, 0.03, 0.04))
    m.add_joint("free", da.Free(), m.ground, body)
    plate = m.add_body("plate", mass=1.0)
    m.add_joint("lift", da.Prismatic("z"), m.ground, plate)
    m.add_driver("drive", "lift", lambda t: 0.1 * ca.sin(3.0 * t))
    m.add_contact("corner", body.at(size, 0.1, -0.05), on=plate, restitution=0.7)
    system = m.compile()
    pose = np.eye(4)
    pose[2, 3] = 0.6
    start = system.assemble({"free": pose}, {"free": [1.0, 2.0, 0.5, 0.1, 0.0, -0.5]})

    def make(p):
        return da.simulate(system, start, 0.5, p=p, **TIGHT)

    run = make({})
    assert [s.kind for s in run.switches].count("hit") >= 1
    d = da.sensitivities(run, of=["position:brick", *(f"rate:{n}" for n in system.v_names)], wrt=["size"])
    found = differences(make, run, ["size"], lambda r: np.append(r.state(-1).position("brick"), r.v[-1]), 1e-4)
    np.testing.assert_allclose(d.jacobian, found, rtol=1e-5, atol=1e-5 * np.abs(found).max())


def test_a_block_that_friction_brings_to_rest():
    """x = v²m/(2F): ∂x/∂v = v m/F, ∂x/∂m = v²/(2F); and it stays at rest."""
    m = da.Mechanism("block", gravity=(0, 0, 0))
    mass = m.add_parameter("mass", 2.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=mass), friction=4.0)
    run = da.simulate(m.compile(), m.compile().state({}, {"x": 3.0}), 5.0, **TIGHT)
    assert [s.kind for s in run.switches] == ["sticks"]
    d = da.sensitivities(run, of=["x", "rate:x"], wrt=["held:rate:x", "mass"], held=["x"])
    np.testing.assert_allclose(d.jacobian, [[1.5, 1.125], [0.0, 0.0]], atol=1e-8)


def test_changes_without_a_derivative_are_refused_with_a_sentence():
    resting = da.simulate(ball(), {"z": 0.6}, 2.0)
    with pytest.raises(ArgumentError, match="infinitely many bounces"):
        da.sensitivities(resting, of=["z"], wrt=["r"])
    run = da.simulate(ball(), {"z": 5.1}, 1.5)
    with pytest.raises(ArgumentError, match="taken forward"):
        da.sensitivities(run, of=["z"], wrt=["r"], method="adjoint")
    with pytest.raises(ArgumentError, match="structure of the run changes"):
        da.linearize_along(run.system, run)
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5, speed=1.0))
    switches = [da.Switch(open="E", at=0.1), da.Switch(close="E", at=0.12, reach=1.0)]
    with pytest.raises(ArgumentError, match="moved the mechanism"):
        da.sensitivities(da.simulate(system, x, 0.2, switches=switches), of=["A"], wrt=["input:left"])


def lifted(F=30.0, **options):
    """A block on the floor under a force F sin ωt, and a run in which it is let go at F sin ωt = mass g, or more."""
    m = da.Mechanism("lifted", gravity=(0, 0, -10.0))
    mass, force = m.add_parameter("mass", 2.0), m.add_parameter("F", 30.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("block", mass=mass))
    m.add_motor("lift", "z")
    m.add_contact("floor", "block", radius=0.1, restitution=0.0)
    system = m.compile()
    law = da.expression(lambda t, s: {"lift": force * ca.sin(6.3 * t)})
    return lambda p: da.simulate(system, system.state({"z": 0.1}), 0.5, p={"F": F, **p}, u=law, **options)


@pytest.mark.parametrize("tolerances", [{}, TIGHT])
def test_a_contact_at_rest_lets_go_with_a_derivative_whatever_rounding_is_left(tolerances):
    """ż(T) of 41 blocks from rest, ∫ (F/m sin ωt − g) dt from τ = asin(m g/F)/ω: forces that balance are rounding."""
    forces, T, w, made = np.linspace(25.0, 35.0, 41), 0.5, 6.3, lifted(**tolerances)
    found = [da.sensitivities(made({"F": F}), of=["rate:z"], wrt=["mass", "F"]).jacobian[0] for F in forces]
    tau = np.arcsin(20.0 / forces) / w
    by_force = (np.cos(w * tau) - np.cos(w * T)) / (2.0 * w)
    np.testing.assert_allclose(found, np.column_stack([-by_force * forces / 2.0, by_force]), rtol=1e-5)


def test_the_phases_of_a_run_have_derivatives_at_their_ends():
    """A ball that falls, and one that lies until it is let go: times, speeds and integrals where a phase ends."""
    run = da.simulate(ball(), {"z": 5.1}, 1.5, **TIGHT)
    fall = da.sensitivities(run.phases[0], of=["time", "rate:z"], wrt=["held:z"], held=["z"])  # τ = √(2 (h − r)/g)
    np.testing.assert_allclose(fall.jacobian[:, 0], [0.1, -1.0], rtol=1e-9)
    lies = lifted(**TIGHT)({}).phases[0]
    s = da.sensitivities(lies, of={"time": "time", "z": "z", "area": da.Integral("z")}, wrt=["mass"])
    by_mass = 10.0 / 30.0 / np.sqrt(1 - (2.0 / 3.0) ** 2) / 6.3  # of τ = asin(m g/F)/ω
    np.testing.assert_allclose(s.gradient("time"), [by_mass], rtol=1e-9)
    np.testing.assert_allclose(s.gradient("area"), [0.1 * by_mass], rtol=1e-9)
    np.testing.assert_allclose(s.gradient("z"), [0.0], atol=1e-12)


@pytest.mark.parametrize("static", [None, 8.0])
def test_a_block_that_breaks_loose(static):
    """2 ẍ = F sin ωt − 5 from F sin ωτ = 5, or from 8 with a jump: against differences of whole runs."""
    m = da.Mechanism("block")
    mass, force = m.add_parameter("mass", 2.0), m.add_parameter("F", 30.0)
    body = m.add_body("block", mass=mass)
    m.add_joint("x", da.Prismatic("x"), m.ground, body, friction=da.Friction(5.0, static=static))
    m.add_motor("push", "x")
    system = m.compile()
    law = da.expression(lambda t, s: {"push": force * ca.sin(1.3 * t)})
    for F in (25.3, 30.0, 31.7):

        def made(p):
            return da.simulate(system, {"x": 0.1}, 0.6, p=p, u=law, **TIGHT)

        run = made({"mass": 2.0, "F": F})
        d = da.sensitivities(run, of=["x", "rate:x"], wrt=["mass", "F"])
        numbers = differences(made, run, ["mass", "F"], lambda r: np.array([r["x"][-1], r.rate("x")[-1]]), 1e-3)
        np.testing.assert_allclose(d.jacobian, numbers, rtol=1e-6)
        loose = da.sensitivities(run.phases[0], of=["time"], wrt=["mass", "F"])
        at = (static or 5.0) / F
        np.testing.assert_allclose(loose.jacobian[0], [0.0, -at / F / np.sqrt(1 - at**2) / 1.3], atol=1e-9)
