"""W of Kövecses & Piedboeuf (18) and f̂ of Spencer (2.16), by their printed definitions."""

import numpy as np
import pytest

from dalembert import zoo

STARTS = {
    "five-bar": (zoo.five_bar, zoo.five_bar_start),
    "slider-crank": (zoo.slider_crank, lambda: zoo.slider_crank_start(1.0)),
    "delta": (zoo.delta, zoo.delta_start),
    "four-bar, three rows too many": (zoo.four_bar, None),
}


def moving(name):
    """A system and a state on its manifold that moves."""
    make, start = STARTS[name]
    system = make().compile()
    x = system.assemble({"A": 0.6}) if start is None else system.state(*start())
    v = np.random.default_rng(18).normal(size=system.nv)
    return system, system.project(x.replace(v=v))


@pytest.mark.parametrize("name", STARTS)
def test_the_weighted_inverse_is_that_of_cholesky_and_moore_penrose(name):
    """W = L⁻¹ (A L⁻¹)† with M = Lᵀ L; A v = −b leaves v = −W b + P_a v (33), and the acceleration has −W γ (31)."""
    system, x = moving(name)
    spaces = system.subspaces(x)
    M, A = system.mass_matrix(x), spaces.A
    L = np.linalg.cholesky(M).T
    W = np.linalg.solve(L, np.linalg.pinv(A @ np.linalg.inv(L), rcond=1e-10))
    scale = np.abs(W).max()
    np.testing.assert_allclose(spaces.inverse, W, atol=1e-10 * scale)
    np.testing.assert_allclose(spaces.complement, W @ A, atol=1e-10)
    P_a = np.eye(system.nv) - W @ A
    free = np.linalg.solve(M, M @ system.acceleration(x).vdot - A.T @ system.acceleration(x).multipliers)
    vdot = P_a @ free - W @ spaces.gamma
    np.testing.assert_allclose(vdot, system.acceleration(x).vdot, atol=1e-9 * np.abs(free).max())


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("kind", ["partition", "tangent"])
def test_the_local_state_space_form_is_the_reduced_underlying_equation(name, kind):
    """f̂ = DΨ† f(t, Ψ(y)) (2.13): Ψ differentiated by differences, f = (N v, v̇) of all coordinates."""
    system, x = moving(name)
    chart = system.chart(x, kind)
    y = chart.carried(x)

    def psi(y):
        s = chart.state(y[: chart.dof], y[chart.dof :], guess=x)
        return np.concatenate([s.q, s.v])

    h = 1e-5
    columns = [(psi(y + h * e) - psi(y - h * e)) / (2 * h) for e in np.eye(len(y))]
    rates = [(system.plus(x.q, s * h * x.v)) for s in (1, -1)]
    f = np.concatenate([(rates[0] - rates[1]) / (2 * h), system.acceleration(x).vdot])
    expected = np.linalg.pinv(np.array(columns).T) @ f
    found = chart.right_hand_side(x.t, y, guess=x)
    np.testing.assert_allclose(found, expected, atol=1e-6 * (1 + np.abs(expected).max()))
