"""Motions in variational steps: one call against single steps, the iteration, and the elimination it uses."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.linearization.discrete_motion import followed
from dalembert.recursions.oblique import oblique
from random_loops import random_closed


@pytest.mark.parametrize("loops", [1, 4])
def test_an_oblique_elimination_solves_the_equations(loops):
    """M x = f + Aᵀλ and B x + γ = 0 with rows of separate loops, and with a zero in A that B has not."""
    rng = np.random.default_rng(loops)
    n, m = 3 * loops, 2 * loops
    L = np.tril(rng.normal(size=(n, n)))
    M = L @ L.T + n * np.eye(n)
    A, B = np.zeros((2, m, n))
    for k in range(loops):
        A[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] = rng.normal(size=(2, 3))
        B[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] = A[2 * k : 2 * k + 2, 3 * k : 3 * k + 3] + 0.2 * rng.normal(
            size=(2, 3)
        )
    A[0, 1] = 0.0
    f, gamma = rng.normal(size=n), rng.normal(size=m)
    x, lam = (y.astype(float) for y in oblique(*(y.astype(object) for y in (M, f, A, B, gamma))))
    np.testing.assert_allclose(M @ x, f + A.T @ lam, atol=1e-11)
    np.testing.assert_allclose(B @ x, -gamma, atol=1e-11)


@pytest.mark.parametrize("backend", ["native", "casadi"])
def test_a_motion_with_feedback_is_made_of_single_steps(backend):
    """Inputs are u + K (x less what is wanted), between their limits; quaternions and loops included."""
    m = da.Mechanism("top", gravity=(0, 0, -9.81))
    carriage, top = (
        m.add_body("carriage", mass=0.8),
        m.add_body("top", mass=1.3, com=(0.1, 0.2, 0.4), inertia=(0.5, 0.6, 0.4)),
    )
    m.add_joint("x", da.Prismatic("x"), m.ground, carriage)
    m.add_joint("ball", da.Spherical(), carriage, top)
    m.add_rod("rod", top.at(0.3, 0.1, 0.5), m.ground.at(1.0, -0.4, 1.1), length=1.2)
    m.add_motor("push", "x")
    system = m.compile(backend=backend)
    start = system.project(system.state({"x": 0.2}, {"x": 0.5, "ball.wx": 1.0, "ball.wz": 3.0}, 0.4))
    rng, h, N, p = np.random.default_rng(3), 0.01, 12, system.arguments.parameter_vector(None)
    u, K, limits = rng.normal(size=(N, 1)), rng.normal(size=(N, 1, 8)), (np.array([-2.0]), np.array([1.5]))
    wanted = np.array([[*system.plus(start.q, 0.1 * rng.normal(size=4)), *rng.normal(size=4)] for _ in range(N)])
    taken = followed(system, [start], h, u, p, (K, wanted, limits))
    x, bound = start, 0
    for k in range(N):
        off = np.concatenate([system.minus(x.q, wanted[k, :5]), x.v - wanted[k, 5:]])
        one = np.clip(u[k] + K[k] @ off, *limits)
        bound += one[0] in (-2.0, 1.5)
        step = da.discrete_step(system, x, h, u=one)
        np.testing.assert_allclose(taken.u[k], one, atol=1e-11)
        np.testing.assert_allclose(taken.delta[k], step.delta, atol=1e-12)
        x = step.after
        np.testing.assert_allclose(taken.after[k], [*x.q, *x.v], atol=1e-10)
    assert 0 < bound < N
    apart = followed(system, taken.states[:-1], h, taken.u, p)
    np.testing.assert_allclose(apart.after, taken.after, atol=1e-10)


@pytest.mark.parametrize("damping", [0.1, 30.0, 1e4])
def test_a_step_with_a_strong_damper_has_its_closed_form(damping):
    """v₁/v₀ = (1 − a)/(1 + a), a = c h / 2 m: an iteration with M/h alone diverges from a = 1 on."""
    m = da.Mechanism("damped")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=2.0), damping=damping)
    system = m.compile(backend="casadi")
    step = da.discrete_step(system, system.state({}, {"x": 3.0}), 0.1)
    a = damping * 0.1 / 4.0
    assert step.delta[0] == pytest.approx(0.3 / (1 + a), rel=1e-12)
    assert step.after.v[0] == pytest.approx(3.0 * (1 - a) / (1 + a), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_equations_of_a_step_are_met_to_rounding(seed):
    """R of `discrete_slopes`, which shares no elimination with the iteration, vanishes at what it found."""
    system, state = random_closed(seed)
    step = da.discrete_step(system, state, 0.01)
    rows = step.slopes.rows
    _, values = rows.jacobian({name: np.repeat(x, rows.count, axis=0) for name, x in step.slopes.known.items()})
    assert np.abs(values[rows.implicit]).max() < 1e-11 * max(1.0, np.abs(step.momentum).max())


def test_the_code_of_an_iteration_grows_with_the_chain_not_with_its_square():
    counts = [zoo.chain(n).compile(backend="casadi").function("variational").n_instructions() for n in (30, 60, 120)]
    assert counts[2] - counts[1] < 2.1 * (counts[1] - counts[0])
