"""Machine elements: forces are gradients of energies, losses those of the laws, derivatives those of differences."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import PchipInterpolator

import dalembert as da
from cranes import crane, gradient
from random_mechanisms import random_state

BUMP = da.Curve([-0.6, -0.1, 0.15, 0.5, 0.9], [-9.0, -1.0, 2.0, 3.0, 14.0])
SOFT = da.Curve([-0.6, -0.1, 0.15, 0.5, 0.9], [-9.0, -1.0, 2.0, 3.0, 14.0], smooth=True)


@pytest.mark.parametrize("beyond", ["linear", "constant"])
@pytest.mark.parametrize("smooth", [False, True])
def test_a_curve_goes_through_its_table_and_its_integral_is_its_area(smooth, beyond):
    """Against numpy's interp and SciPy's PCHIP inside, and quadrature of the curve itself for the integral."""
    rng = np.random.default_rng(5)
    x, y = np.cumsum(rng.uniform(0.1, 1.0, 7)) - 2.0, rng.normal(size=7)
    curve = da.Curve(x, y, smooth=smooth, beyond=beyond)
    inside = np.linspace(x[0], x[-1], 57)
    reference = PchipInterpolator(x, y)(inside) if smooth else np.interp(inside, x, y)
    np.testing.assert_allclose(curve.at(inside), reference, rtol=1e-12, atol=1e-13)
    assert curve.at([]).shape == (0,)
    area = ca.Function("area", [t := ca.SX.sym("t")], [curve.integral(t)])
    for end in (-4.0, -1.1, 0.0, 0.37, 1.5, 5.0):
        by_quadrature = quad(lambda s: curve.at(s), 0.0, end, points=[p for p in x if 0 < abs(p) < abs(end)], limit=200)
        assert float(area(end)) == pytest.approx(by_quadrature[0], rel=1e-9, abs=1e-10)
    slope = curve.at(x[-1] + 2.0) - curve.at(x[-1] + 1.0)
    assert slope == pytest.approx(
        0.0 if beyond == "constant" else (curve.at(x[-1]) - curve.at(x[-1] - 1e-7)) / 1e-7, abs=1e-4
    )


def elements(law) -> da.Mechanism:
    """Every conservative element with a law of the table, on joints with and without quaternions."""
    m = crane()
    a, c = m.bodies["a"], m.bodies["c"]
    m.add_spring("spring", m.ground.at(1, 1, 0), c.at(0, 0, 0.3), stiffness=law, rest_length=1.2)
    m.add_bushing("bushing", a, c.at(0.1, 0, 0), stiffness=[law, 1.0, law, law, 2.0, law])
    m.add_torsion_spring("coil", "C", stiffness=law, rest=0.1)
    m.add_elastic_coupling("bar", {"A.angle": 1.0, "C": -0.4, "A.x": 0.3}, stiffness=law, offset=0.05)
    return m


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", [7.0, BUMP, SOFT], ids=["number", "straight", "smooth"])
def test_elements_push_down_the_gradient_of_their_energy(law, seed):
    system = elements(law).compile(backend="casadi")
    x = system.state(random_state(system, seed).q)
    Q = system.applied_forces(x) - system.gravity_vector(x)
    np.testing.assert_allclose(Q, -gradient(system, x.q), atol=1e-10 * np.abs(Q).max())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", [7.0, BUMP, SOFT], ids=["number", "straight", "smooth"])
def test_dampers_with_a_law_take_force_times_speed(law, seed):
    """P = −Σ F(ė) ė over the damper, the directions of the bushing, the coil and the bar, each by differences of e."""
    m = crane()
    a, c = m.bodies["a"], m.bodies["c"]
    tip = c.at(0, 0, 0.3)
    m.add_damper("damper", m.ground.at(1, 1, 0), tip, damping=law)
    m.add_torsion_spring("coil", "C", stiffness=0.0, damping=law)
    m.add_elastic_coupling("bar", {"A.angle": 1.0, "C": -0.4, "A.x": 0.3}, stiffness=0.0, damping=law)
    m.add_bushing("bushing", a, c.at(0.1, 0, 0), stiffness=0.0, damping=[0, 0, 0, law, 0, law])
    system = m.compile(backend="casadi")
    x = random_state(system, seed)

    def measured(h):
        y = system.state(system.plus(x, h * x.v))
        T = np.linalg.inv(system.pose(y, a.frame)) @ system.pose(y, c.at(0.1, 0, 0))
        bar = y["A.angle"] - 0.4 * y["C"] + 0.3 * y["A.x"]
        return np.array([np.linalg.norm(system.pose(y, tip)[:3, 3] - [1, 1, 0]), y["C"], bar, T[0, 3], T[2, 3]])

    h = 1e-5
    speeds = (measured(h) - measured(-h)) / (2 * h)
    force = law.at(speeds) if isinstance(law, da.Curve) else law * speeds
    assert system.applied_forces(x) @ x.v == pytest.approx(-force @ speeds, rel=1e-7)


def lossy() -> da.Mechanism:
    """What loses power: a gear with losses, a clutch, a brake, a belt that slips, a freewheel."""
    m = crane()
    m.add_gear("gear", "A.angle", "C", ratio=-3.0, stiffness=40.0, damping=0.5, efficiency=0.85)
    m.add_clutch("clutch", "A.angle", "C", capacity=2.0, creep=0.01)
    m.add_brake("brake", "A.x", capacity=3.0, creep=0.01)
    flat = {"friction": 0.3, "pretension": 50.0, "distance": 0.6}
    m.add_belt("belt", "A.angle", "C", radii=(0.1, 0.2), **flat, creep=0.01)
    m.add_one_way_clutch("freewheel", "C", damping=9.0)
    return m


@pytest.mark.parametrize("seed", range(6))
def test_elements_that_lose_power_never_give_any(seed):
    """Q·v + dV/dt ≤ 0 for each, in states of either sign."""
    for name in ("gear", "clutch", "brake", "belt", "freewheel"):
        m = lossy()
        m.forces = {name: m.forces[name]}
        m.gravity = (0, 0, 0)
        system = m.compile(backend="casadi")
        x = random_state(system, seed)
        power = system.applied_forces(x) @ x.v + gradient(system, x.q) @ x.v
        assert power <= 1e-12


def powered() -> da.Mechanism:
    """Motors by their constants, a muscle, and a tyre that slips on a road."""
    m = crane()
    a, c = m.bodies["a"], m.bodies["c"]
    m.add_dc_motor("drive", "A.angle", torque_constant=0.3, resistance=1.5, ratio=4.0, efficiency=0.7)
    m.add_muscle("muscle", [m.ground.at(0, 0, 2), a, c], strength=50.0, optimal_length=1.5, tendon=0.2)
    road = da.Curve([-2, -1, 0, 1, 2], [0.1, 0.0, 0.2, 0.1, 0.0], smooth=True)
    law = {"longitudinal": (5, 1.6, 1.0, 0.3), "lateral": 3.0}
    m.add_tyre("tyre", c, radius=4.0, stiffness=30.0, damping=0.3, road=road, on=a, slow=0.5, **law)
    return m


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [lambda: elements(SOFT), lossy, powered], ids=["elastic", "lossy", "powered"])
def test_derivatives_of_elements_are_those_of_differences(make, seed):
    """The full linearization's columns against central differences of the accelerations along q ⊕ δ and v."""
    system = make().compile()
    x = random_state(system, seed)
    lin = da.linearize_full(system, x)
    h = 1e-6

    def vdot(dq, dv):
        return system.forward_dynamics(system.state(system.plus(x, dq), x.v + dv))

    zero = np.zeros(system.nv)
    by_q = np.column_stack([(vdot(h * e, zero) - vdot(-h * e, zero)) / (2 * h) for e in np.eye(system.nv)])
    by_v = np.column_stack([(vdot(zero, h * e) - vdot(zero, -h * e)) / (2 * h) for e in np.eye(system.nv)])
    scale = max(np.abs(by_q).max(), np.abs(by_v).max())
    np.testing.assert_allclose(lin.vdot_q, by_q, atol=2e-5 * scale)
    np.testing.assert_allclose(lin.vdot_v, by_v, atol=2e-5 * scale)


@pytest.mark.parametrize("law", [BUMP, SOFT], ids=["straight", "smooth"])
def test_a_run_over_the_corners_of_tables_keeps_its_energy(law):
    """Steps end at the corners of straight tables: the energy is kept to the tolerance, with few rejected steps."""
    m = elements(law)
    system = m.compile()
    x = random_state(system, 3)
    run = da.simulate(system, x, 2.0, rtol=1e-9, atol=1e-11)
    assert run.success
    assert np.abs(run.energy_error).max() < 1e-6 * np.abs(run.energy).max()


def test_elements_merge_and_pickle_like_others():
    import pickle

    whole = da.Mechanism("whole")
    whole.merge(lossy(), "left_")
    whole.merge(elements(BUMP), "right_")
    alone, merged = lossy().compile("casadi"), pickle.loads(pickle.dumps(whole)).compile("casadi")
    x = random_state(alone, 1)
    y = merged.state(np.concatenate([x.q, x.q]), np.concatenate([x.v, x.v]))
    np.testing.assert_allclose(merged.applied_forces(y)[: alone.nv], alone.applied_forces(x), rtol=1e-12)


def test_clutches_that_stick_merge_and_pickle_and_rename_like_others():
    import pickle

    part = da.Mechanism("part", gravity=(0, 0, 0))
    T = part.add_parameter("T", 2.0)
    for n in "ab":
        part.add_joint(n, da.Revolute("z"), part.ground, part.add_body(n, mass=1.0, inertia=(1, 1, 1)))
    part.add_clutch("clutch", "a", "b", capacity=T)
    whole = da.Mechanism("whole", gravity=(0, 0, 0))
    base = whole.add_body("base", mass=1.0, inertia=(1, 1, 1))
    whole.add_joint("float", da.Free(), whole.ground, base)
    whole.merge(part, "left ", at=base)
    whole.merge(part, "right ", at=base.at(1, 0, 0), parameters={"T": 4.0})
    whole = pickle.loads(pickle.dumps(whole))
    whole.rename("left clutch", "plates", kind="force")
    system = whole.compile()
    run = da.simulate(system, system.state(v={"left a": 3.0, "right a": 3.0}), 1.0)
    assert sorted((s.what, round(s.t, 9)) for s in run.switches) == [
        ("plates sticks", 0.75),
        ("right clutch sticks", 0.375),
    ]
    assert np.abs(run.energy_error).max() < 1e-9


def test_a_bushing_with_the_stiffness_of_a_beam_bends_as_the_beam_does():
    """The 6×6 stiffness of a cantilever's tip (Euler–Bernoulli): F L³/3EI and M L/EI, coupled as in the textbook."""
    E, G, L, I, J, A = 210e9, 81e9, 0.5, 2e-9, 3e-9, 1e-4
    K = np.zeros((6, 6))
    K[0, 0], K[3, 3] = G * J / L, E * A / L
    K[1, 1] = K[2, 2] = 4 * E * I / L
    K[4, 4] = K[5, 5] = 12 * E * I / L**3
    K[1, 5] = K[5, 1] = 6 * E * I / L**2  # w and the turn about y
    K[2, 4] = K[4, 2] = -6 * E * I / L**2  # v and the turn about z
    m = da.Mechanism("beam", gravity=(0, 0, 0))
    tip = m.add_body("tip", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("free", da.Free(), m.ground.at(L, 0, 0), tip)
    m.add_bushing("beam", m.ground.at(L, 0, 0), tip, stiffness=K)
    F = 1e-3  # N, so that rotations stay small beside what is tested
    m.add_wrench("load", tip, force=(0, F, 0))
    rest = da.equilibrium(m.compile(), {})
    y, turn = rest.state.position("tip")[1], rest.state.rotation("tip")[1, 0]
    assert y == pytest.approx(F * L**3 / (3 * E * I), rel=1e-6)
    assert turn == pytest.approx(F * L**2 / (2 * E * I), rel=1e-6)
