"""Mechanisms in JAX: every transformation gives what the programs give, and what differences give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError

jax = pytest.importorskip("jax", reason='these tests need JAX (380 MB): pip install "dalembert[jax]"')
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import dalembert.jax as dj  # noqa: E402
from parameterized import four_bar  # noqa: E402


@pytest.fixture(autouse=True)
def _doubles():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def linkage():
    """A four-bar with parameters, and a state."""
    system = four_bar()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0})


@pytest.fixture(scope="module")
def delta():
    """A delta robot, which has a quaternion."""
    system = zoo.delta().compile()
    return system, system.state(*zoo.delta_start())


def test_a_jitted_rollout_is_a_run_with_rk4(delta):
    system, x = delta
    model, u = dj.Model(system, x), 0.1 * np.arange(1.0, 4.0)
    q, v = jax.jit(lambda q, v, u: model.rollout(q, v, u, step=1e-3, steps=30))(x.q, x.v, u)
    run = da.simulate(system, x, 0.03, method="rk4", step=1e-3, u=u)
    assert abs(q - run.q[1:]).max() <= 1e-14 * abs(run.q).max()
    assert abs(v - run.v[1:]).max() <= 1e-14 * abs(run.v).max()


def test_gradients_pass_the_check_of_jax(linkage):
    """States, inputs and parameters; forward, reverse, and both orders of second derivatives that have kernels."""
    system, x = linkage
    model = dj.Model(system, x)
    at = jnp.array(x.q), jnp.array(x.v), jnp.array([0.4]), jnp.array(model.p)
    check_grads(lambda *z: model.rollout(*z, step=1e-3, steps=3), at, 1, ["fwd", "rev"], eps=1e-6)
    check_grads(lambda *z: model.acceleration(*z), at, 1, ["fwd", "rev"], eps=1e-6)
    loss = lambda *z: (model.step(*z, step=1e-2)[1] ** 2).sum()  # noqa: E731
    check_grads(jax.grad(loss, (0, 1, 2, 3)), at, 1, ["fwd", "rev"], eps=1e-6)


def test_three_orders_of_second_derivatives_agree(linkage):
    system, x = linkage
    model, n = dj.Model(system, x), system.nq + system.nv
    start = jnp.concatenate([x.q, x.v, jnp.array([0.4])])

    def loss(z):
        q, v = model.rollout(z[: system.nq], z[system.nq : n], z[n:], step=1e-3, steps=4)
        return (v**2).sum() + jnp.sin(q).sum()

    H = jax.hessian(loss)(start)
    scale = 1e-13 * abs(H).max()
    assert abs(H - H.T).max() < scale
    assert abs(H - jax.jacrev(jax.grad(loss))(start)).max() < scale
    assert abs(H - jax.jacrev(jax.jacfwd(loss))(start)).max() < scale
    with pytest.raises(ArgumentError, match=r"forward over forward .* use jax.hessian"):
        jax.jacfwd(jax.jacfwd(loss))(start)
    with pytest.raises(ArgumentError, match="have no kernel"):
        jax.jacfwd(jax.hessian(loss))(start)


def test_vmap_is_a_loop(linkage):
    """Of gradients, nested, with parameters that the runs share or not."""
    system, x = linkage
    model, rng = dj.Model(system, x), np.random.default_rng(0)
    u = jnp.array(rng.normal(size=(3, 5, 4, 1)))

    def loss(u, p):
        return (model.rollout(x.q, x.v, u, p, step=2e-3)[0] ** 2).sum()

    gradient = jax.grad(loss, (0, 1))
    shared = jax.jit(jax.vmap(jax.vmap(gradient, (0, None)), (0, None)))(u, model.p)
    p = jnp.array(np.tile(model.p, (5, 1)))
    own = jax.vmap(jax.vmap(gradient), (0, None))(u, p)
    for i in range(3):
        for j in range(5):
            one = gradient(u[i, j], model.p)
            for found in (shared, own):
                for a, b in zip(found, one):
                    assert abs(a[i, j] - b).max() < 1e-13 * abs(b).max()
    total = jax.grad(lambda p: jax.vmap(jax.vmap(loss, (0, None)), (0, None))(u, p).sum())(jnp.array(model.p))
    assert abs(total - shared[1].sum((0, 1))).max() < 1e-12 * abs(total).max()
    assert jax.vmap(loss, (0, None))(u[0, :0], model.p).shape == (0,)


def test_derivatives_by_quaternions_lie_in_the_tangent_space(delta):
    """q · ∂/∂q = 0 for every quaternion, and along q ⊕ δ they are what differences give."""
    system, x = delta
    model, rng = dj.Model(system, x), np.random.default_rng(1)
    c = jnp.array(rng.normal(size=(2, system.nq)))

    def loss(q):
        after, _ = model.rollout(q, x.v, step=1e-3, steps=2)
        return (c * after).sum()

    g, q = jax.grad(loss)(jnp.array(x.q)), np.array(x.q)
    for start, stop in model._quaternions:
        assert abs(g[start:stop] @ q[start:stop]) < 1e-13
    at_zero = jax.grad(lambda d: loss(model.plus(x.q, d)))(jnp.zeros(system.nv))
    e = 1e-6
    for k in range(system.nv):
        sides = [loss(system.plus(x.q, s * e * np.eye(system.nv)[k])) for s in (1, -1)]
        assert abs(at_zero[k] - (sides[0] - sides[1]) / (2 * e)) < 1e-7


def test_a_linkage_is_closed_anew_as_its_lengths_change(linkage):
    """∂ of the passive angles by lengths through `project`, crank fixed by its weight, against the closed loop."""
    system, x = linkage
    model = dj.Model(system, x)

    def point(p):
        q, _ = model.project(x.q, None, p)
        return model.position("point", q, p)

    p = jnp.array(model.p)
    check_grads(point, (p,), 2, ["rev"], eps=1e-5)
    q, _ = model.project(x.q, None, p * 1.01)
    assert abs(system.residuals(system.state(np.array(q)), p=np.array(p * 1.01))).max() < 1e-13


def test_sixteen_threads_share_a_model(delta):
    """Every thread gets the bits that one thread gets; blocks of a batch are computed in XLA's own threads too."""
    system, x = delta
    model, rng = dj.Model(system, x), np.random.default_rng(2)
    u = jnp.array(rng.normal(size=(64, 10, 3)))
    f = jax.jit(jax.vmap(jax.grad(lambda u: (model.rollout(x.q, x.v, u, step=1e-3)[1] ** 2).sum())))
    alone = np.array(f(u))
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda _: np.array(f(u)), range(64)):
            assert (found == alone).all()


def test_float32_is_refused(linkage):
    system, x = linkage
    model = dj.Model(system, x)
    with pytest.raises(ArgumentError, match=r"q is float32; needed: float64"):
        model.step(jnp.array(x.q, jnp.float32), x.v, step=1e-3)
    with pytest.raises(ArgumentError, match="complex"):
        model.step(1j * jnp.array(x.q), x.v, step=1e-3)
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(ArgumentError, match=r'jax.config.update\("jax_enable_x64", True\)'):
        model.step(x.q, x.v, step=1e-3)
