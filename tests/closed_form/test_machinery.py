"""Motors, cylinders, muscles, tyres and ropes over pulleys, against textbook formulas and published numbers."""

import itertools

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import dalembert as da
from cranes import crane, gradient
from random_mechanisms import random_state


def wheel_on_ground(**tyre) -> da.System:
    """A wheel that may move along x, y, z and turn about y, 100 kg."""
    m = da.Mechanism("wheel", gravity=(0, 0, -10.0))
    parts = [m.add_body(n) for n in ("x", "y", "z")]
    below = m.ground
    for n, part in zip("xyz", parts):
        m.add_joint(n, da.Prismatic(n), below, part)
        below = part
    rim = m.add_body("rim", mass=100.0, inertia=(1.0, 2.0, 1.0))
    m.add_joint("spin", da.Revolute("y"), below, rim)
    m.add_tyre("tyre", rim, radius=0.3, stiffness=2e5, **tyre)
    return m.compile()


# --- electric motors --------------------------------------------------------------------------------------------------


def motor(efficiency=1.0, load=0.0, limits=None) -> da.System:
    m = da.Mechanism("motor", gravity=(0, 0, 0))
    joint = m.add_joint(
        "A", da.Revolute("z"), m.ground, m.add_body("w", mass=1.0, inertia=(0.1, 0.1, 0.1)), armature=0.4
    )
    m.add_dc_motor(
        "m",
        joint,
        torque_constant=0.06,
        back_emf=0.05,
        resistance=1.5,
        ratio=20.0,
        efficiency=efficiency,
        limits=limits,
    )
    m.add_joint_force("load", "A", -load)
    return m.compile()


def test_a_motor_runs_at_the_steady_speed_of_its_constants():
    """ω = (u − R T/(n kₜ))/(n kₑ): without load u/(n kₑ); stall torque n kₜ u/R; time constant J R/(n² kₜ kₑ)."""
    system = motor()
    assert system.applied_forces(system.state(), u={"m": 12.0}) == pytest.approx([20 * 0.06 * 12 / 1.5], rel=1e-14)
    run = da.simulate(system, system.state(), 30.0, u={"m": 12.0})
    assert run.rate("A")[-1] == pytest.approx(12.0, rel=1e-9)
    tau = 0.5 * 1.5 / (400 * 0.06 * 0.05)
    assert da.linearize(system, system.state()).eigenvalues.real.min() == pytest.approx(-1 / tau, rel=1e-12)
    loaded = motor(load=2.0)
    run = da.simulate(loaded, loaded.state(), 30.0, u={"m": 12.0})
    assert run.rate("A")[-1] == pytest.approx((12 - 1.5 * 2 / (20 * 0.06)) / (20 * 0.05), rel=1e-9)


def test_a_motor_gives_its_losses_to_resistance_and_gear():
    """u i = Q v + R i² with kₜ = kₑ in one unit; with a gear of η the joint gets η T while driven, and gives T/η."""
    system = motor(efficiency=0.8, limits=(-6, 6))
    kt, ke, R, n = 0.06, 0.05, 1.5, 20.0
    for v, u in ((3.0, 5.0), (3.0, 1.0), (-3.0, 1.0), (3.0, 100.0)):
        i = (min(u, 6.0) - ke * n * v) / R
        T = n * kt * i
        expected = T * (0.8 if T * v > 0 else 1 / 0.8)
        Q = system.applied_forces(system.state(v={"A": v}), u={"m": u})
        assert pytest.approx([expected], rel=1e-12) == Q


# --- cylinders --------------------------------------------------------------------------------------------------------


def test_a_cylinder_stays_between_the_ends_of_its_stroke():
    """A mass that a cylinder pushes out and draws in: it stops at 1.4 m and stays, and at 0.6 m."""
    m = da.Mechanism("press", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("ram", mass=2.0))
    m.add_actuator("cylinder", m.ground, "ram", stroke=(0.6, 1.4))
    system = m.compile()
    for force, end in ((10.0, 1.4), (-10.0, 0.6)):
        run = da.simulate(system, {"x": 1.0}, 2.0, u={"cylinder": force})
        assert run.success
        meet = np.sqrt(2 * 0.4 / 5.0)
        assert run.switches[0].t == pytest.approx(meet, rel=1e-9)
        assert run["x"][-1] == pytest.approx(end, abs=1e-9)
        assert run.rate("x")[-1] == pytest.approx(0.0, abs=1e-9)


# --- muscles ----------------------------------------------------------------------------------------------------------


def muscle(length: float, rate: float, activation: float) -> float:
    """The force of a muscle of 1000 N, 0.1 m and 10 lengths/s behind a tendon of 0.2 m, at a fibre length and speed."""
    m = da.Mechanism("muscle", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_muscle("m", ["ground", "b"], strength=1000.0, optimal_length=0.1, tendon=0.2)
    system = m.compile("casadi")
    x = system.state({"x": 0.2 + 0.1 * length}, {"x": rate})
    return -float(system.applied_forces(x, u={"m": activation})[0])


def test_hills_curves_have_their_published_values():
    """Thelen 2003: 1 at optimal length and rest, e^{−0.25/0.45} at half of it, Hill's hyperbola, 1 at ε₀ passive."""
    assert muscle(1.0, 0.0, 1.0) == pytest.approx(1000.0, rel=1e-12)
    assert muscle(0.5, 0.0, 1.0) == pytest.approx(1000.0 * np.exp(-0.25 / 0.45), rel=1e-12)
    assert muscle(1.0, 0.0, 0.3) == pytest.approx(300.0, rel=1e-12)
    assert muscle(1.6, 0.0, 0.0) == pytest.approx(1000.0, rel=1e-12)  # passive, at the strain 0.6
    for part in (0.1, 0.3, 0.7, 1.0):  # (F + a)(v + b) = (F₀ + a) b with a = F₀/4, b = v_max/4
        F = muscle(1.0, -part, 1.0)
        assert (F + 250.0) * (part + 0.25) == pytest.approx(1250.0 * 0.25, rel=1e-12)
    assert muscle(1.0, -1.3, 1.0) == pytest.approx(0.0, abs=1e-9)  # faster than v_max: nothing
    assert muscle(1.0, 1e6, 1.0) == pytest.approx(1400.0, rel=1e-4)  # stretched fast
    h = 1e-6
    slopes = [(muscle(1.0, h, 1.0) - 1000.0) / h, (1000.0 - muscle(1.0, -h, 1.0)) / h]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-4)  # one slope at rest
    assert muscle(1.0, 0.0, 2.0) == pytest.approx(1000.0, rel=1e-12)  # activation ends at 1
    assert muscle(1.0, 0.0, -1.0) == pytest.approx(0.0, abs=1e-9)


def test_a_muscle_pulls_along_the_gradient_of_its_path_and_stores_its_passive_part():
    """Via points on three bodies: Q = −T ∂L/∂q by differences; without activation Q is the gradient of the energy."""
    m = crane()
    points = [m.ground.at(0, 0, 2), m.bodies["a"].at(0, 0.1, 0), m.bodies["b"].at(0.2, 0, 0), m.bodies["c"].frame]
    m.add_muscle("tendon", points, strength=200.0, optimal_length=1.0, tendon=0.1)
    m.gravity = (0, 0, 0)
    system = m.compile("casadi")
    x = system.state(random_state(system, 3).q)
    Q = system.applied_forces(x, u=[0.0])
    assert np.abs(Q).max() > 1.0
    np.testing.assert_allclose(Q, -gradient(system, x.q), atol=1e-10 * np.abs(Q).max())

    def length(q):
        p = [system.pose(q, f)[:3, 3] for f in points]
        return sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(p))

    h = 1e-6
    arms = [(length(system.plus(x, h * e)) - length(system.plus(x, -h * e))) / (2 * h) for e in np.eye(system.nv)]
    active = system.applied_forces(x, u=[0.7]) - Q
    lam = (length(x) - 0.1) / 1.0
    np.testing.assert_allclose(active, -200 * 0.7 * np.exp(-((lam - 1) ** 2) / 0.45) * np.array(arms), atol=1e-6)


# --- tyres ------------------------------------------------------------------------------------------------------------

#: Bakker, Nyborg and Pacejka, SAE 870421, table 1: a₁ … a₈ and C of the side force and the brake force; F_z in kN
SIDE = (-22.1, 1011.0, 1078.0, 1.82, 0.208, 0.0, -0.354, 0.707, 1.30)
BRAKE = (-21.3, 1144.0, 49.6, 226.0, 0.069, -0.006, 0.056, 0.486, 1.65)


def published(kind: str, Fz: float) -> tuple[float, float, float, float]:
    """B (per degree, per percent), C, D (N), E of the paper at a load in kN."""
    a1, a2, a3, a4, a5, a6, a7, a8, C = SIDE if kind == "side" else BRAKE
    D = a1 * Fz**2 + a2 * Fz
    slope = a3 * np.sin(a4 * np.arctan(a5 * Fz)) if kind == "side" else (a3 * Fz**2 + a4 * Fz) / np.exp(a5 * Fz)
    return slope / (C * D), C, D, a6 * Fz**2 + a7 * Fz + a8


@pytest.mark.parametrize("load", [2.0, 4.0, 6.0])
def test_the_magic_formula_gives_the_forces_of_its_publication(load):
    """Side force over the slip angle in degrees, brake force over percent of slip; the peaks are D."""
    side, brake = published("side", load), published("brake", load)
    scaled = {
        "lateral": (side[0] * 180 / np.pi, side[1], side[2] / (1e3 * load), side[3]),
        "longitudinal": (brake[0] * 100, brake[1], brake[2] / (1e3 * load), brake[3]),
    }
    system = wheel_on_ground(**scaled, slow=1e-6)
    z = 0.3 - 1e3 * load / 2e5

    def formula(x, B, C, D, E):
        return D * np.sin(C * np.arctan(B * x - E * (B * x - np.arctan(B * x))))

    free = system.layout.v_slice
    peak = 0.0
    for degrees in np.arange(-15, 15.5, 0.5):
        vy = -20.0 * np.tan(np.radians(degrees))
        x = system.state({"z": z}, {"x": 20.0, "y": vy, "spin": 20.0 / z})
        F = system.applied_forces(x)[free("y")][0]
        assert pytest.approx(formula(degrees, *side), rel=1e-6, abs=1e-3) == F
        peak = max(peak, F)
    assert peak == pytest.approx(side[2], rel=0.01)
    for percent in (-80, -30, -5, 5, 20, 60):
        x = system.state({"z": z}, {"x": 20.0, "spin": 20.0 * (1 + percent / 100) / z})
        Q = system.applied_forces(x)
        assert Q[free("x")][0] == pytest.approx(formula(percent, *brake), rel=1e-6)
        assert Q[free("spin")][0] == pytest.approx(-formula(percent, *brake) * z, rel=1e-6)


def test_a_linear_tyre_corners_with_its_stiffness_and_shares_a_combined_slip():
    system = wheel_on_ground(lateral=8e4, longitudinal=6e4, slow=1e-6)
    z = 0.295
    x = system.state({"z": z}, {"x": 10.0, "y": -0.2, "spin": 10.3 / z})
    Q = system.applied_forces(x)
    kappa, alpha = 0.03, np.arctan(0.02)
    assert Q[:2] == pytest.approx([6e4 * kappa, 8e4 * alpha], rel=1e-9)


def test_a_tyre_in_the_air_does_nothing_and_one_on_a_slope_pushes_along_its_normal():
    system = wheel_on_ground(lateral=8e4, longitudinal=6e4)
    assert np.abs(system.applied_forces(system.state({"z": 0.31}, {"x": 3.0, "y": 1.0}))).max() == 0.0
    hill = wheel_on_ground(road=([0.0, 10.0], [0.0, 5.0]))
    x = hill.state({"x": 2.0, "z": 1.0 + 0.29})
    Q = hill.applied_forces(x)
    assert Q[:3] == pytest.approx([-0.5 * 2e5 * 0.01, 0.0, 2e5 * 0.01], rel=1e-9)
    np.testing.assert_allclose(Q - hill.gravity_vector(x), -gradient(hill, x.q), atol=1e-9)


def test_slip_only_loses_power():
    """Q·v + dV/dt = F·w − d δ̇² ≤ 0 in random motions over a bumpy road."""
    rng = np.random.default_rng(4)
    road = da.Curve(np.linspace(-3, 3, 13), 0.05 * rng.normal(size=13), smooth=True)
    law = {"lateral": (10, 1.3, 1.0, 0.2), "longitudinal": (12, 1.65, 1.1, 0.4)}
    system = wheel_on_ground(road=road, damping=300.0, **law)
    touched = 0
    for _ in range(40):
        q = {"x": rng.uniform(-2, 2), "z": rng.uniform(0.2, 0.3), "spin": rng.uniform(-3, 3)}
        x = system.state(q, dict(zip(("x", "y", "z", "spin"), rng.normal(size=4) * [5, 2, 1, 20])))
        Q = system.applied_forces(x)
        power = Q @ x.v + (gradient(system, x.q) - system.gravity_vector(x)) @ x.v
        assert power <= 1e-9
        touched += np.abs(Q).max() > 0
    assert touched > 20


def test_a_wheel_over_a_step_of_the_road_keeps_to_its_tolerance():
    """Driven along a road with corners: steps end there and at lift-off; a tighter run agrees."""
    road = da.Curve([0, 1.0, 1.2, 2.2, 2.4], [0, 0, 0.06, 0.06, 0], beyond="constant")
    system = wheel_on_ground(road=road, damping=1000.0)
    start = system.state({"z": 0.295}, {"x": 4.0})
    runs = [da.simulate(system, start, 1.0, rtol=r, atol=r / 10) for r in (1e-8, 1e-11)]
    assert all(run.success for run in runs)
    assert runs[0]["z"][-1] == pytest.approx(runs[1]["z"][-1], abs=1e-7)


# --- ropes over pulleys -----------------------------------------------------------------------------------------------


def test_a_rope_over_a_heavy_pulley_has_two_tensions():
    """Atwood with inertia: a = (m₁ − m₂) g/(m₁ + m₂ + J/r²), T = m (g ± a), and the pulley turns with it."""
    m1, m2, J, r, g = 3.0, 1.0, 0.02, 0.1, 9.81
    m = da.Mechanism("Atwood", gravity=(0, -g, 0))
    wheel = m.add_body("wheel", mass=1.0, inertia=(J, J, J))
    m.add_joint("turn", da.Revolute("z"), m.ground, wheel)
    for n, mass, x in (("left", m1, -r), ("right", m2, r)):
        m.add_joint(n, da.Prismatic("y"), m.ground.at(x, -1.0), m.add_body(n, mass=mass))
    m.add_pulley_rope("rope", ["left", da.Pulley(wheel, r, turn=-1), "right"])
    system = m.compile()
    a = (m1 - m2) * g / (m1 + m2 + J / r**2)
    found = system.acceleration(system.state())
    assert found.vdot == pytest.approx([a / r, -a, a], rel=1e-12)
    tensions = [system.constraint_forces(system.state()).multipliers[f"rope.piece {k}"] for k in (1, 2)]
    assert tensions == pytest.approx([m1 * (g - a), m2 * (g + a)], rel=1e-10)
    run = da.simulate(system, system.state(), 0.5)
    assert run["left"][-1] == pytest.approx(-a * 0.125, rel=1e-8)


def test_a_block_and_tackle_lifts_with_twice_the_force():
    """A moving pulley between two pieces: its speed is half that of the free end; with equal tensions 2 T = m g."""
    m = da.Mechanism("tackle", gravity=(0, -10.0, 0))
    block = m.add_body("block", mass=4.0)
    m.add_joint("lift", da.Prismatic("y"), m.ground.at(0, -1.0), block)
    sheave = m.add_body("sheave", mass=1e-6, inertia=(1e-9, 1e-9, 1e-9))
    m.add_joint("turn", da.Revolute("z"), block, sheave)
    hand = m.add_body("hand", mass=1.0)
    m.add_joint("pull", da.Prismatic("y"), m.ground.at(0.1, 0.5), hand)
    m.add_pulley_rope("rope", [m.ground.at(-0.1, 0), da.Pulley(sheave, 0.1, turn=1), hand])
    m.add_motor("force", "pull")
    system = m.compile()
    x = system.assemble(v={"pull": 1.0})
    assert (x.rate("lift"), x.rate("turn")) == pytest.approx((0.5, 5.0), rel=1e-9)
    still = system.acceleration(
        system.state(), u={"force": 20.0 + 10.0}
    )  # half of the block, and the hand's own weight
    assert still.vdot == pytest.approx(np.zeros(3), abs=1e-4)


def test_a_belt_of_pieces_between_two_wheels_is_the_coupling_of_their_radii():
    """Open and crossed: n·(v_a − v_b) = 0 along the tangent is r_a ω_a = ±r_b ω_b wherever the centres are."""
    for turns, sign in (((1, 1), 1.0), ((1, -1), -1.0)):
        m = da.Mechanism("wheels", gravity=(0, 0, 0))
        for n, x in (("a", 0.0), ("b", 0.7)):
            m.add_joint(n, da.Revolute("z"), m.ground.at(x, 0.3 * x), m.add_body(n, mass=1.0, inertia=(1, 1, 1)))
        m.add_pulley_rope("belt", [da.Pulley("a", 0.1, turn=turns[0]), da.Pulley("b", 0.25, turn=turns[1])])
        x = m.compile().assemble(v={"a": 5.0})
        assert x.rate("b") == pytest.approx(sign * 2.0, rel=1e-10)


def test_a_cam_lifts_its_follower_as_its_table_says_turn_after_turn():
    """Lift, speed, acceleration and force from SciPy's periodic spline; the torque on the shaft is F h′."""
    angles, lifts = np.linspace(0, 2 * np.pi, 9), np.array([0, 2, 6, 9, 10, 9, 6, 2, 0]) * 1e-3
    m = da.Mechanism("valve", gravity=(0, 0, -10.0))
    m.add_joint("cam", da.Revolute("y"), m.ground, m.add_body("shaft", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    m.add_joint("valve", da.Prismatic("z"), m.ground, m.add_body("stem", mass=0.2), stiffness=500.0, rest=-0.02)
    m.add_cam("profile", "cam", "valve", lift=(angles, lifts))
    m.add_kinematic_input("drive", "cam")
    system, spline = m.compile("casadi"), CubicSpline(angles, lifts, bc_type="periodic")
    for turns, angle in ((0, 0.3), (5, 2.0), (-2, 5.5)):
        x = system.assemble({"cam": angle + 2 * np.pi * turns}, {"cam": 20.0})
        a = system.acceleration(x, u={"drive": 3.0})
        rise = spline(angle, 2) * 400.0 + spline(angle, 1) * 3.0
        assert x["valve"] == pytest.approx(float(spline(angle)), rel=1e-9)
        assert x.rate("valve") == pytest.approx(20.0 * float(spline(angle, 1)), rel=1e-9)
        assert a.vdot[system.v_names.index("valve")] == pytest.approx(rise, rel=1e-9)
        force = 0.2 * (rise + 10.0) + 500.0 * (spline(angle) + 0.02)
        torque = system.constraint_forces(x, u={"drive": 3.0}).drives["drive"]
        assert torque == pytest.approx(0.01 * 3.0 + force * spline(angle, 1), rel=1e-9)


def test_a_cam_that_is_no_cam_is_refused():
    m = da.Mechanism("valve")
    m.add_joint("cam", da.Revolute("y"), m.ground, m.add_body("shaft", mass=1.0, inertia=(1, 1, 1)))
    m.add_joint("valve", da.Prismatic("z"), m.ground, m.add_body("stem", mass=0.2))
    for given, said in (
        (("valve", "cam", np.sin), "asks for coordinate 'valve', which slides"),
        (("cam", "cam", np.sin), "names coordinate 'cam' twice"),
        (("cam", "valve", 0.01), "the lift of cam 'profile' is 0.01"),
        (("cam", "valve", ([0, 2, 1], [0, 1, 0])), "the times increasing"),
    ):
        with pytest.raises(da.DescriptionError, match=said):
            m.add_cam("profile", *given[:2], lift=given[2])
