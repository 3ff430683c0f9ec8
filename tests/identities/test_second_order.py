"""Velocities in singular positions: only those are given that a motion has."""

import numpy as np
import pytest

import dalembert as da

Z = da.Revolute("z")


def rhombi(count: int, bar: float = 1.0, size: float = 1.0, mass: float = 1.0, moving: bool = False) -> da.System:
    """Posts of one length on a row, joined by bars, flat; the ground may be a body that turns in space."""
    m = da.Mechanism("rhombi", gravity=(0, -9.81, 0))
    base = m.ground
    if moving:
        base = m.add_body("base", mass=5 * mass, com=(0.3 * size, 0, 0), inertia=mass * size**2 * np.ones(3))
        m.add_joint("S", da.Spherical(), m.ground, base)
    bar *= size
    posts = [
        m.add_body(f"p{i}", mass=mass, com=(size / 2, 0, 0), inertia=da.rod_inertia(mass, size))
        for i in range(count + 1)
    ]
    for i, post in enumerate(posts):
        m.add_joint(f"P{i}", Z, base.at(bar * i, 0, 0), post)
    for i in range(count):
        b = m.add_body(f"b{i}", mass=mass, com=(bar / 2, 0, 0), inertia=da.rod_inertia(mass, bar))
        m.add_joint(f"B{i}", Z, posts[i].at(size, 0, 0), b)
        m.close_loop(f"C{i}", Z, b.at(bar, 0, 0), posts[i + 1].at(size, 0, 0))
    return m.compile(backend="casadi")


def motion_has(system: da.System, x: da.State) -> bool:
    """Whether some v̇ gives A v̇ + γ = 0, by NumPy's least squares on rows of one length each."""
    A, gamma = system.constraint_matrix(x), system.constraint_gamma(x)
    size = np.linalg.norm(system.constraint_matrix(system.state(x.q + 0.3)), axis=1) if system.nq == system.nv else 1.0
    A, gamma = (A.T / size).T, gamma / size
    columns = np.linalg.norm(A, axis=0)
    A = A / np.where(columns > 0, columns, 1.0)
    left = gamma + A @ np.linalg.lstsq(A, -gamma, rcond=1e-9)[0]
    return bool(np.abs(left).max() < 1e-6 * np.abs(gamma).max() + 1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("mass", [1e-6, 1e6])
def test_a_held_velocity_in_a_flat_rhombus_selects_the_branch_that_has_it(size, mass):
    """A ω = 0, A the post's speed and ω the bar's: either the bar does not turn, or the post does not (A11)."""
    system = rhombi(1, size=size, mass=mass)
    for held, expected in (({"P0": -1.0}, (-1, -1, 1)), ({"P0": 0.0, "B0": 2.0}, (0, 2, 2))):
        x = system.assemble(v=held)
        np.testing.assert_allclose(x.v, expected, atol=1e-9)
        assert system.acceleration(x).success
        assert motion_has(system, x)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_velocity_that_no_motion_has_is_refused_with_those_that_motions_have(size):
    system = rhombi(1, size=size)
    with pytest.raises(da.AssemblyError, match=r"'C0' would open by it.*\(P1: 1, B0: 1\)") as error:
        system.assemble(v={"P0": 1.0, "B0": 1.0})
    assert "(P0: 1, P1: 1, B0: -1)" in str(error.value)
    wrong = system.state({}, {"P0": -1.0, "P1": 0.25, "B0": 2.25})
    assert np.abs(system.speed_residuals(wrong)).max() < 1e-12 * size
    for formulation in ("auto", "nullspace", "admissible", "projection", "partition"):
        a = system.acceleration(wrong, formulation=formulation)
        assert not a.success
        assert "no motion has this velocity" in a.message
        assert a.residual == pytest.approx(2.5 * size)
    x = system.project(wrong)
    assert system.acceleration(x).success
    assert motion_has(system, x)
    assert np.abs(x.v).max() > 0.1


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("count", [2, 5, 12])
def test_many_flat_loops_at_once_get_a_velocity_that_a_motion_has(count, moving):
    system = rhombi(count, bar=2.0, moving=moving)
    x = system.assemble(v={"P0": 1.0})
    assert x["P0"] == 0.0
    assert x.v[system.v_names.index("P0")] == pytest.approx(1.0)
    assert motion_has(system, x)
    assert system.acceleration(x).success


@pytest.mark.parametrize("seed", range(10))
def test_velocities_found_at_random_in_singular_positions_are_those_of_motions(seed):
    """A motion goes on from the state: a step along v and the loops close again by a move of second order."""
    rng = np.random.default_rng(seed)
    system = rhombi(int(rng.integers(1, 4)), bar=rng.uniform(0.5, 3.0))
    x = system.project(system.state(v=rng.normal(size=system.nv)))
    assert motion_has(system, x)
    moves = []
    for h in (1e-3, 1e-4):
        y = system.project(x.replace(q=x.q + h * x.v, v=np.zeros(system.nv)), tolerance=1e-13)
        moves.append(np.abs(y.q - x.q - h * x.v).max())
    assert moves[1] < 0.02 * moves[0] + 1e-9


def test_drivers_that_ask_for_different_accelerations_are_named():
    """x = t² and x = 2 t² agree in position and velocity at t = 0, and nothing can follow both (F15)."""
    m = da.Mechanism("p")
    m.add_joint("A", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    m.add_driver("one", "A", lambda t: t * t)
    m.add_driver("two", "A", lambda t: 2 * t * t)
    system = m.compile(backend="casadi")
    with pytest.raises(da.AssemblyError, match="'one', 'two' ask for different accelerations"):
        system.assemble()
    for formulation in ("auto", "nullspace", "admissible", "projection", "partition", "lagrange", "augmented"):
        assert not system.acceleration(system.state(), formulation=formulation).success
    m.add_driver("three", "A", lambda t: t * t)
    system = m.compile(backend="casadi").without("two")
    assert system.assemble().v[0] == 0.0
    assert system.acceleration(system.state()).vdot == pytest.approx(2.0)
