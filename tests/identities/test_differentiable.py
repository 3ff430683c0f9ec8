"""Functions with derivatives, as libraries of arrays see them, against runs, systems, and each other."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError
from numpy_model import NumpyModel
from parameterized import four_bar, random_parameterized


def started(name):
    system = getattr(zoo, name)().compile()
    return system, system.state(*getattr(zoo, f"{name}_start")())


def moving(name, seed=0):
    """A zoo mechanism in motion, with inputs."""
    system, x = started(name)
    rng = np.random.default_rng(seed)
    v = rng.normal(size=system.nv) if system.rows.of else x.v + rng.normal(size=system.nv)
    x = system.project(system.state(x.q, v))
    return system, x, 0.3 * rng.normal(size=len(system.u_names))


ZOO = ("five_bar", "delta", "heavy_top", "rolling_disc", "bennett", "car", "chain")


@pytest.mark.parametrize("name", ZOO)
def test_a_rollout_is_a_run_with_rk4(name):
    """Closed loops, quaternions, rolling, redundant rows: equal to 1e-14 of the largest numbers."""
    system, x, u = moving(name)
    model = NumpyModel(system, x)
    q, v = model.rollout(x.q, x.v, u, step=1e-3, steps=50)
    run = da.simulate(system, x, 0.05, method="rk4", step=1e-3, u=u if len(u) else None)
    assert abs(q - run.q[1:]).max() <= 1e-14 * abs(run.q).max()
    assert abs(v - run.v[1:]).max() <= 2e-14 * abs(run.v).max()


def test_lanes_make_the_runs_that_one_lane_makes():
    """19 runs, a number that fills no whole block, with other inputs in each."""
    system, x, _ = moving("delta")
    model, rng = NumpyModel(system, x), np.random.default_rng(1)
    u = rng.normal(size=(19, 5, system.nv))[..., : len(system.u_names)]
    q, v = model.rollout(x.q, x.v, u, step=1e-3)
    for k in range(19):
        one = model.rollout(x.q, x.v, u[k], step=1e-3)
        assert abs(q[k] - one[0]).max() < 1e-14
        assert abs(v[k] - one[1]).max() < 1e-13


def differences(model, x, e=1e-6):
    """(ny, nx) of the function that was applied last, by central differences in lanes."""
    shifts = np.concatenate([np.eye(len(x)), -np.eye(len(x))]) * e
    y = model.value(x + shifts)
    return ((y[: len(x)] - y[len(x) :]) / (2 * e)).T


CASES = {
    "rollout": lambda m, x, u: m.rollout(x.q, x.v, u, step=2e-3, steps=3),
    "acceleration": lambda m, x, u: m.acceleration(x.q, x.v, u),
    "inverse_dynamics": lambda m, x, u: m.inverse_dynamics(x.q, x.v, x.v + 0.5, u),
    "projection": lambda m, x, u: m.project(x.q + 0.01, x.v),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_differences_and_of_each_other(case, seed):
    """Random closed mechanisms with parameters and quaternions: tangent, adjoint and second derivatives of each."""
    system, x = random_parameterized(seed, driven=seed == 1, backend="native")
    model, rng = NumpyModel(system, x), np.random.default_rng(seed)
    CASES[case](model, x, 0.2 * rng.normal(size=len(system.u_names)))
    f, at, c = model.last
    J = differences(model, at[0])
    scale = abs(J).max()
    dx, w = rng.normal(size=(2, 1, max(f.nx, f.ny)))
    dx, w = dx[:, : f.nx], w[:, : f.ny]
    assert abs(model.tangent(dx)[1][0] - J @ dx[0]).max() < 3e-7 * scale * f.nx
    assert abs(model.adjoint(w)[0] - w[0] @ J).max() < 3e-7 * scale * f.ny
    # second derivatives: those of the adjoint by differences, and their symmetry
    gradient, change = model.second(w, dx)
    assert abs(gradient - model.adjoint(w)).max() < 1e-9 * abs(gradient).max()
    e = 1e-5
    sides = []
    for s in (1, -1):
        model._arrays.last = f, at + s * e * dx, c
        sides.append(model.adjoint(w)[0])
    model._arrays.last = f, at, c
    assert abs(change[0] - (sides[0] - sides[1]) / (2 * e)).max() < 1e-5 * max(abs(change).max(), abs(gradient).max())
    other = rng.normal(size=(1, f.nx))
    crossed = model.second(w, other)[1][0] @ dx[0]
    assert abs(change[0] @ other[0] - crossed) < 1e-9 * abs(change).max() * f.nx


def test_gradients_of_rollouts_agree_with_sensitivities():
    """A four-bar's last state by its lengths, masses, damping and gravity: RK4 of 0.5 ms against dop853 at 1e-11."""
    system = four_bar()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    run = da.simulate(system, x, 0.2, rtol=1e-11, atol=1e-11)
    found = da.sensitivities(run, of=["A", "B", "D"], wrt=list(system.p_names), held=["A"])
    model = NumpyModel(system, x)
    names = list(system.q_names)
    start = da.sensitivities(system, x, of=names, wrt=list(system.p_names), held=["A"])
    model.rollout(x.q, x.v, steps=400, step=5e-4)
    f, _, _ = model.last
    # the start moves with the parameters too: positions by `start`, velocities by their differences
    count = len(system.p_names)
    lift = np.zeros((count, f.nx))
    lift[:, -count:] = np.eye(count)
    lift[:, : system.nq] = start.jacobian.T
    for k, name in enumerate(system.p_names):
        value, e = system.parameters[name], 1e-5
        v = [system.assemble({"A": 0.6}, v={"A": 2.0}, p={name: value + s * e}).v for s in (1, -1)]
        lift[k, system.nq : system.nq + system.nv] = (v[0] - v[1]) / (2 * e)
    f, at, c = model.last
    model._arrays.last = f, np.repeat(at, count, axis=0), np.repeat(c, count, axis=0)
    ends = model.tangent(lift)[1][:, -(system.nq + system.nv) :][:, [names.index(n) for n in ("A", "B", "D")]].T
    assert abs(ends - found.jacobian).max() < 1e-7 * abs(found.jacobian).max()


def test_functions_of_states_are_those_of_the_system():
    system, x, u = moving("delta")
    model, a = NumpyModel(system, x), np.random.default_rng(2).normal(size=system.nv)
    expected = system.acceleration(x, u=u).vdot
    assert abs(model.acceleration(x.q, x.v, u) - expected).max() < 1e-11 * abs(expected).max()
    expected = system.inverse_dynamics(x, a, u=u)
    assert abs(model.inverse_dynamics(x.q, x.v, a, u) - expected).max() < 1e-12 * abs(expected).max()
    body = next(iter(system.layout.bodies))
    assert abs(model.pose(body, x.q) - system.pose(x, body)).max() < 1e-14
    assert abs(model.position(body, x.q) - system.pose(x, body)[:3, 3]).max() < 1e-14
    delta = 0.1 * a
    q = model.plus(x.q, delta)
    assert abs(q - system.plus(x.q, delta)).max() < 1e-15
    assert abs(model.minus(q, x.q) - delta).max() < 1e-13
    off, v = system.plus(x.q, 0.01 * a), x.v + 0.1 * a
    q, v = model.project(off, v)
    near = system.project(system.state(off, x.v + 0.1 * a))
    assert abs(q - near.q).max() < 1e-9
    assert abs(system.residuals(system.state(q, v))).max() < 1e-14


def test_moving_by_nothing_has_derivatives():
    """q ⊕ δ at δ = 0, where the length of δ has none."""
    system, x = started("delta")
    model = NumpyModel(system, x)
    model.plus(x.q, np.zeros(system.nv))
    f, at, _ = model.last
    J = differences(model, at[0])
    w = np.eye(f.ny)
    model._arrays.last = f, np.repeat(at, f.ny, axis=0), np.zeros((f.ny, 1))
    assert abs(model.adjoint(w)[:, system.nq :] - J[:, system.nq :]).max() < 1e-9


def test_a_run_at_a_singular_configuration_is_nan_and_its_neighbours_are_not():
    """A five-bar with all bars in one line: rows are dependent there."""
    system, x = started("five_bar")
    model = NumpyModel(system, x)
    q = np.repeat(x.q[None], 3, axis=0)
    q[1] = 0.0
    q, _ = model.rollout(q, np.zeros((3, system.nv)), step=1e-3, steps=3)
    assert np.isnan(q[1]).all()
    assert np.isfinite(q[[0, 2]]).all()
    assert np.isnan(model.acceleration(np.zeros(system.nq), np.zeros(system.nv))).all()


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_do_not_matter(scale):
    """A four-bar a thousand times smaller and larger: angles as of the one of 1 m, gravity scaled too."""
    found = []
    for size in (1.0, scale):
        system = four_bar()
        p = {n: system.parameters[n] * size for n in ("l1", "l2", "l3", "span", "g")} | {"d": 0.0}
        x = system.assemble({"A": 0.6}, v={"A": 2.0}, p=p)
        found.append(NumpyModel(system, x, p=p).rollout(x.q, x.v, step=1e-3, steps=20)[0])
    assert abs(found[0] - found[1]).max() < 1e-11


def test_what_changes_its_structure_is_refused():
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    ball = m.add_body("ball", mass=1.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, ball, friction=0.5)
    with pytest.raises(ArgumentError, match="dry friction"):
        NumpyModel(m.compile())


def test_messages_name_what_is_wrong():
    system, x = started("five_bar")
    model = NumpyModel(system, x)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\); needed for '.*': \(…, 4\)"):
        model.step(np.zeros(3), x.v, step=1e-3)
    with pytest.raises(ArgumentError, match="one row for each step, or steps=N"):
        model.rollout(x.q, x.v, step=1e-3)
    with pytest.raises(ArgumentError, match="step"):
        model.step(x.q, x.v, step=0.0)
