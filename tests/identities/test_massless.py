"""Configurations in which a motion moves no mass, exactly or but for rounding: nothing is made up there."""

import numpy as np
import pytest

import dalembert as da
from dalembert import analysis
from dalembert.mechanism.checks import solid


def mast(size: float = 1.0, mass: float = 1.0, armature: float = 0.0) -> da.System:
    """A point mass on a boom that turns and tilts; with the boom upright the turning moves nothing."""
    m = da.Mechanism("mast", gravity=(0, 0, -9.81))
    post, boom = m.add_body("post"), m.add_body("boom", mass=mass, com=(size, 0, 0))
    m.add_joint("turn", da.Revolute("z"), m.ground, post, armature=armature)
    m.add_joint("tilt", da.Revolute("y"), post, boom)
    return m.compile(backend="casadi")


UPRIGHT = [np.pi / 2, -np.pi / 2, np.pi / 2 + 1e-8, 1.5 * np.pi]


@pytest.mark.parametrize("tilt", UPRIGHT)
@pytest.mark.parametrize(("size", "mass"), [(1.0, 1.0), (1e-6, 1e-3), (1e5, 1e6)])
def test_no_acceleration_is_given_where_a_motion_moves_no_mass(tilt, size, mass):
    """cos² of a right angle is 4e-33 in double precision: that is no inertia (C13)."""
    system = mast(size, mass)
    x = system.state({"tilt": tilt}, {"turn": 1.0, "tilt": 1.0})
    for formulation in ("auto", "nullspace", "projection", "lagrange", "augmented"):
        a = system.acceleration(x, formulation=formulation)
        assert a.status.name == "MASS_SINGULAR"
        assert np.isnan(a.vdot).all()
        assert "mass matrix" in a.message
    d = system.diagonal
    asked = [
        lambda: system.forward_dynamics(x),
        lambda: d.acceleration(x),
        lambda: d.coriolis(x),
        lambda: d.solve(x, [1.0, 1.0]),
        lambda: d.log_determinant(x),
        lambda: d.mobility(x, "boom"),
        lambda: da.linearize(system, x),
    ]
    for ask in asked:
        with pytest.raises(da.AssemblyError, match="'turn' moves no mass there"):
            ask()
    with pytest.raises(da.ArgumentError, match="singular in this configuration"):
        analysis.curvature(system, x)


@pytest.mark.parametrize("tilt", [0.3, 1.5, np.pi / 2 - 1e-4])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_beside_it_the_answers_are_those_of_a_spherical_pendulum(tilt, size):
    """θ̈ = −cos θ (φ̇² sin θ + g/l ...) in closed form: tilt down is positive here."""
    system = mast(size)
    x = system.state({"tilt": tilt}, {"turn": 0.5, "tilt": 0.2})
    s, c, g = np.sin(tilt), np.cos(tilt), 9.81 / size
    expected = [2 * 0.5 * 0.2 * s / c, -(0.5**2) * s * c + g * c]
    np.testing.assert_allclose(system.acceleration(x).vdot, expected, rtol=1e-7)
    np.testing.assert_allclose(system.forward_dynamics(x), expected, rtol=1e-7)


def test_an_armature_gives_the_motion_inertia():
    system = mast(armature=1e-3)
    assert system.acceleration(system.state({"tilt": np.pi / 2})).success
    assert np.isfinite(system.forward_dynamics({"tilt": np.pi / 2})).all()


@pytest.mark.parametrize("seed", range(6))
def test_chains_that_are_not_looked_at_move_mass_in_every_configuration(seed):
    """Rods, which do not resist turning about themselves, and points on axes that pass through them or not."""
    rng = np.random.default_rng(seed)
    m, parent = da.Mechanism("rods"), None
    axes = "yz" if seed % 2 else "xyz"
    for k in range(3):
        length = float(rng.uniform(0.1, 2.0))
        J = length**2 / 12 * float(rng.integers(2))
        rod = m.add_body(f"b{k}", mass=float(10 ** rng.uniform(-1, 1)), com=(length / 2, 0, 0), inertia=(0, J, J))
        at = m.ground if parent is None else parent.at((length, 0, 0))
        m.add_joint(f"j{k}", da.Revolute(axes[rng.integers(len(axes))]), at, rod)
        parent = rod
    try:
        system = m.compile(backend="casadi")
    except da.DescriptionError:
        return
    if solid(system.layout, system.layout.mechanism.parameters):
        M = np.array([system.mass_matrix(q) for q in rng.uniform(-np.pi, np.pi, (200, 3))])
        d = np.sqrt(np.median(np.diagonal(M, axis1=1, axis2=2), axis=0))
        assert np.linalg.eigvalsh(M / np.outer(d, d)).min() > 1e-10
    assert solid(system.layout, system.layout.mechanism.parameters) == all(
        a.joint.axis[0] == 0 for a in system.layout.joints.values()
    )


def test_a_parameter_that_makes_mass_negative_is_refused():
    """A pendulum with moment 0.1 + M L² about its pivot: −0.9 kg m² at M = −1, and no number at L = 1e200."""
    m = da.Mechanism("pendulum")
    M, L = m.add_parameter("M", 1.0), m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("bob", mass=M, com=(L, 0, 0), inertia=(0.1, 0.1, 0.1)))
    system = m.compile()
    for p in ({"M": -1.0}, {"L": 1e200}):
        with pytest.raises(da.AssemblyError, match="'A' moves no mass there, or negative mass"):
            da.simulate(system, {"A": 0.3}, 1.0, p=p)
        with pytest.raises(da.AssemblyError, match="negative mass"):
            system.forward_dynamics({"A": 0.3}, p=p)
        assert not system.acceleration({"A": 0.3}, p=p).success
    assert da.simulate(system, {"A": 0.3}, 1.0, p={"M": 0.0}).success  # its own inertia is left
    runs = da.ensemble(system, {"A": 0.3}, 1.0, p={"M": [1.0, -1.0, 0.0], "L": [1.0, 1.0, 1.0]})
    assert runs.success.tolist() == [True, False, True]
    assert "negative mass" in runs.messages[1]
