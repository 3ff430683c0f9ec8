"""Mechanisms in PyTorch: gradients, second derivatives and vmap, and the checks that PyTorch has for operators."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError

torch = pytest.importorskip("torch", reason='these tests need PyTorch (750 MB): pip install "dalembert[torch]"')
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.library import opcheck  # noqa: E402

import dalembert.torch as dt  # noqa: E402
from dalembert.torch import operators  # noqa: E402
from parameterized import four_bar  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")  # torch.func.jvp uses torch.jit


@pytest.fixture(scope="module")
def linkage():
    """A four-bar with parameters, its model and a state."""
    system = four_bar()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    return system, x, dt.Model(system, x)


def arguments(x, model):
    return [torch.tensor(z, requires_grad=True) for z in (x.q, x.v, np.array([0.4]), model.p)]


def test_a_rollout_is_a_run_with_rk4():
    system = zoo.delta().compile()
    x, u = system.state(*zoo.delta_start()), 0.1 * np.arange(1.0, 4.0)
    q, v = dt.Model(system, x).rollout(x.q, x.v, u, step=1e-3, steps=30)
    run = da.simulate(system, x, 0.03, method="rk4", step=1e-3, u=u)
    assert abs(q.numpy() - run.q[1:]).max() <= 1e-14 * abs(run.q).max()
    assert abs(v.numpy() - run.v[1:]).max() <= 1e-14 * abs(run.v).max()


def test_gradients_pass_the_checks_of_torch(linkage):
    """First and second derivatives by states, inputs and parameters."""
    _, x, model = linkage
    at = arguments(x, model)
    for f in (lambda *z: model.rollout(*z, step=1e-3, steps=3), lambda *z: model.acceleration(*z)):
        assert gradcheck(f, at, eps=1e-6, atol=1e-6)
    assert gradgradcheck(lambda *z: model.step(*z, step=1e-2)[1], at, eps=1e-5, atol=1e-4)


def test_operators_pass_opcheck(linkage):
    """Schema, fake tensors, autograd registration and tracing, of all four."""
    _, x, model = linkage
    model.step(x.q, x.v, step=1e-3)
    f = operators._functions[-1]
    state = np.concatenate([x.q, x.v, [0.4], model.p])
    rng = np.random.default_rng(0)
    X = torch.tensor(state + 1e-3 * rng.normal(size=(3, f.nx)), requires_grad=True)
    c, y = torch.zeros(3, 1, dtype=torch.float64), operators.evaluate(f, X, torch.zeros(3, 1).double()).detach()
    number, dx, w = operators._numbers[f], torch.ones_like(X).detach(), torch.ones_like(y)
    opcheck(operators._value, (X, c, number))
    opcheck(operators._tangent, (X, c, y, dx.requires_grad_(), number))
    opcheck(operators._adjoint, (X, c, y, w.requires_grad_(), number))
    opcheck(operators._second, (X.detach(), c, y, w.detach(), dx.detach(), number))


def test_vmap_is_a_loop(linkage):
    _, x, model = linkage
    u = torch.tensor(np.random.default_rng(1).normal(size=(5, 4, 1)))
    p = torch.tensor(model.p)

    def loss(u, p):
        return (model.rollout(x.q, x.v, u, p, step=2e-3)[0] ** 2).sum()

    gradient = torch.func.grad(loss, argnums=(0, 1))
    found = torch.vmap(gradient, (0, None))(u, p)
    hessians = torch.vmap(torch.func.jacrev(torch.func.grad(loss)), (0, None))(u, p)
    for k in range(5):
        for a, b in zip(found, gradient(u[k], p)):
            assert abs(a[k] - b).max() < 1e-13 * abs(b).max()
    H = hessians.reshape(5, 4, 4)
    forward = torch.vmap(torch.func.hessian(loss), (0, None))(u, p).reshape(5, 4, 4)
    assert abs(H - forward).max() < 1e-13 * abs(H).max()
    assert abs(H - H.transpose(1, 2)).max() < 1e-13 * abs(H).max()


def test_sixteen_threads_share_a_model(linkage):
    _, x, model = linkage
    u = torch.tensor(np.random.default_rng(2).normal(size=(64, 10, 1)), requires_grad=True)

    def gradient(_):
        return torch.autograd.grad((model.rollout(x.q, x.v, u, step=1e-3)[1] ** 2).sum(), u)[0]

    alone = gradient(0)
    with ThreadPoolExecutor(16) as pool:
        assert all((found == alone).all() for found in pool.map(gradient, range(64)))


def test_other_numbers_are_refused(linkage):
    _, x, model = linkage
    with pytest.raises(ArgumentError, match=r"q is torch.float32; needed: torch.float64, as in q.double\(\)"):
        model.step(torch.tensor(x.q).float(), x.v, step=1e-3)
    with pytest.raises(ArgumentError, match=r"q is on meta; .* CPU"):
        model.step(torch.tensor(x.q).to("meta"), x.v, step=1e-3)
    z = torch.tensor(x.v, requires_grad=True)
    first = torch.autograd.grad(model.acceleration(x.q, z).sum(), z, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), z, create_graph=True)[0]
    with pytest.raises(ArgumentError, match="third derivatives"):
        torch.autograd.grad(second.sum(), z)
