"""Eigenvalues of the stabilized equations: against differences off the manifold, and against closed forms."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_loops import random_closed


def field(system, x, alpha=0.0, beta=0.0):
    """v̇ off the manifold with Baumgarte's feedback, by NumPy: [M Aᵀ; A 0] solved by least squares."""
    M, f, A, gamma = system.evaluate("constrained", x)
    gamma = gamma + 2 * alpha * system.speed_residuals(x) + beta**2 * system.residuals(x)
    rows = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.lstsq(rows, np.concatenate([f, -gamma]), rcond=1e-11)[0][: system.nv]


def by_differences(system, x, alpha, beta, h=1e-6):
    """The lower half of A: ∂v̇/∂(δ, v) with every coordinate varied as if it were free."""
    columns = []
    for e in np.eye(system.nv):
        pair = [x.replace(q=system.plus(x, s * h * e)) for s in (1, -1)]
        columns.append((field(system, pair[0], alpha, beta) - field(system, pair[1], alpha, beta)) / (2 * h))
    for e in np.eye(system.nv):
        pair = [x.replace(v=x.v + s * h * e) for s in (1, -1)]
        columns.append((field(system, pair[0], alpha, beta) - field(system, pair[1], alpha, beta)) / (2 * h))
    return np.transpose(columns)


def hanging_ball():
    """A rod on a ball joint whose end slides in a plane, with a pendulum on it: quaternions at rest."""
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    a = m.add_body("a", mass=1.0, com=(0, 0, -0.5), inertia=(0.2, 0.3, 0.1))
    b = m.add_body("b", mass=0.5, com=(0, 0.1, -0.2), inertia=(0.02, 0.02, 0.02))
    m.add_joint("ball", da.Spherical(), m.ground, a)
    m.add_joint("hinge", da.Revolute("x"), a.at(0, 0, -1), b)
    m.add_point_in_plane("plane", a.at(0, 0, -1), m.ground, (1, 0, 0.0))
    system = m.compile()
    return system, da.equilibrium(system, system.state()).state


def four_bar():
    system = zoo.four_bar().compile()
    return system, da.equilibrium(system, system.assemble({"A": -1.0})).state


def five_bar():
    system = zoo.five_bar().compile()
    return system, da.equilibrium(system, system.assemble({"A": -1.0, "B": -0.3}, guess={"C": 1.5, "D": -1.5})).state


def sleigh():
    system = zoo.chaplygin_sleigh().compile()
    return system, system.state()


AT_REST = {f.__name__: f for f in (hanging_ball, four_bar, five_bar, sleigh)}


def matched(a, b):
    """The largest distance between two sets of numbers, each paired with the nearest that is left."""
    left, worst = list(b), 0.0
    for x in a:
        k = int(np.argmin(np.abs(np.array(left) - x)))
        worst = max(worst, abs(left.pop(k) - x))
    assert not left
    return worst


@pytest.mark.parametrize("case", AT_REST)
@pytest.mark.parametrize("kept", ["none", da.Baumgarte(3.0, 5.0), da.Baumgarte(7.0, 2.0)])
def test_eigenvalues_are_those_of_the_motion_and_of_the_errors(case, kept):
    """Theorem 4.1.2 with stabilization: the linear model's, and the roots of λ² + 2α λ + β², a pair for each row."""
    system, x = AT_REST[case]()
    s = da.linearize_stabilized(system, x, kept)
    assert matched(s.eigenvalues, [*s.motion, *s.constraints]) < 3e-4 * max(1.0, np.abs(s.eigenvalues).max())
    rank = system.acceleration(x).rank
    holonomic = rank if system.rows.holonomic.all() else 0
    assert len(s.constraints) == rank + holonomic
    if kept == "none":
        assert not s.constraints.any()
    elif holonomic:
        np.testing.assert_allclose(s.constraints**2 + 2 * kept.alpha * s.constraints + kept.beta**2, 0, atol=1e-9)
    else:
        np.testing.assert_allclose(s.constraints, -2 * kept.alpha)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 7])
def test_stabilized_equations_are_those_of_differences_in_motion_too(seed):
    """A at a random state in motion, quaternions and redundant rows included, against a field written in NumPy."""
    system, x = random_closed(seed)
    for alpha, beta in ((0.0, 0.0), (3.0, 5.0)):
        s = da.linearize_stabilized(system, x, da.Baumgarte(alpha, beta))
        found = by_differences(system, x, alpha, beta)
        np.testing.assert_allclose(s.A[system.nv :], found, atol=2e-5 * max(1.0, np.abs(found).max()))
    none = da.linearize_stabilized(system, x, "none")
    np.testing.assert_allclose(none.A, da.linearize_stabilized(system, x, da.Baumgarte(0.0, 0.0)).A, atol=1e-9)


@pytest.mark.parametrize("case", AT_REST)
def test_projection_keeps_the_motion_and_removes_the_errors(case):
    """Df Π has the eigenvalues of the motion and zeros (Theorem 4.1.2); Π is a projector onto the tangent space."""
    system, x = AT_REST[case]()
    for metric in ("mass", np.linspace(0.5, 2.0, system.nv)):
        s = da.linearize_stabilized(system, x, da.Projection(metric=metric))
        assert matched(s.eigenvalues, [*s.motion, *np.zeros(len(s.constraints))]) < 1e-6
        assert np.isneginf(s.constraints).all()
        assert s.stiffness == 0.0
    unfiltered = da.linearize_stabilized(system, x, da.Projection(velocities=False))
    rank = system.acceleration(x).rank
    assert (unfiltered.constraints == 0).sum() == rank


def test_errors_of_a_run_decay_as_the_eigenvalues_say():
    """Baumgarte's drift after a passage at speed falls with e^(−10 t) (1 + 10 t), double root −10."""
    system, x = four_bar()
    s = da.linearize_stabilized(system, x, "baumgarte")
    np.testing.assert_allclose(s.constraints, -10.0)
    state = x.replace(q=x.q + np.array([0.0, 1e-6, -2e-6]))
    h, drift = 1e-3, [np.abs(system.residuals(state)).max()]
    for _ in range(400):  # explicit midpoint of the field above, off the manifold
        half = state.replace(q=state.q + h / 2 * state.v, v=state.v + h / 2 * field(system, state, 10, 10))
        state = state.replace(q=state.q + h * half.v, v=state.v + h * field(system, half, 10, 10))
        drift.append(np.abs(system.residuals(state)).max())
    t = h * np.arange(401)
    np.testing.assert_allclose(drift, drift[0] * np.exp(-10 * t) * (1 + 10 * t), rtol=2e-2)


def test_a_driven_mechanism_has_the_eigenvalues_of_its_errors():
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    m.add_driver("motor", "A", lambda t: 0.3 * ca.sin(t))
    system = m.compile(backend="casadi")
    x = system.assemble({"B": 0.4}, v={"B": 0.5}, t=0.2)
    s = da.linearize_stabilized(system, x, da.Baumgarte(2.0, 1.0))
    np.testing.assert_allclose(s.A[2:], by_differences(system, x, 2.0, 1.0), atol=1e-6)
    assert s.constraints.real == pytest.approx([-2 + np.sqrt(3), -2 - np.sqrt(3)])


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_the_projection_of_a_step_is_that_of_differences_in_motion_too(seed):
    """Df Π with Π the derivative of `system.project`: nearest positions, then nearest velocities there."""
    system, x = random_closed(seed)
    h, columns = 1e-6, []
    for e in h * np.eye(2 * system.nv):
        off = [x.replace(q=system.plus(x, s * e[: system.nv]), v=x.v + s * e[system.nv :]) for s in (1, -1)]
        ahead, behind = (system.project(y) for y in off)
        small = system.minus(ahead, x) - system.minus(behind, x)
        columns.append(np.concatenate([small, ahead.v - behind.v]) / (2 * h))
    expected = da.linearize_full(system, x).Df @ np.transpose(columns)
    found = da.linearize_stabilized(system, x, "projection").A
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))
