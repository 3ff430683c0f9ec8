"""What is traced by elements agrees with the dense matrices, on random closed mechanisms and long chains."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.recursions.elimination import TreeFactor
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.sparse import Sparse, entries
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


@pytest.mark.parametrize("seed", range(6))
def test_row_sizes_are_those_of_dense_algebra(seed):
    """Lengths in the mass metric by Cholesky, coefficients over angles and slides, the largest arm; M's diagonal."""
    system, x = random_closed(seed, 6, 2, redundant=seed % 2 == 1)
    lengths, angles, slides, arms, least = system.evaluate("row_sizes", x)
    A, M = system.constraint_matrix(x), system.mass_matrix(x)
    turning = np.concatenate([a.joint.angular for a in system.layout.joints.values()]).astype(bool)
    L = np.linalg.cholesky(M)
    np.testing.assert_allclose(lengths, (np.linalg.solve(L, A.T) ** 2).sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(angles, (A[:, turning] ** 2).sum(axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slides, (A[:, ~turning] ** 2).sum(axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(arms, (A[:, turning] ** 2).max(axis=1, initial=0.0), rtol=1e-12, atol=1e-14)
    assert least[0] > 0
    np.testing.assert_allclose(system.evaluate("mass_diagonal", x), np.diag(M), rtol=1e-12)


@pytest.mark.parametrize("kind", [TreeFactor, Innovations])
@pytest.mark.parametrize("seed", range(5))
def test_a_row_by_elements_is_the_row(seed, kind):
    """L^−ᵀ of rows that touch a few links, joints of several velocities among them."""
    system = random_tree(seed, 9, floating=seed % 2 == 0).compile(backend="casadi")
    q = random_state(system, seed).q.astype(object)
    at = system.layout.tree.at(q)
    factor = Innovations(at) if kind is Innovations else TreeFactor(system.mass_matrix(q.astype(float)).astype(object))
    rng = np.random.default_rng(seed)
    for _ in range(8):
        row = np.where(rng.uniform(size=system.nv) < 0.3, rng.normal(size=system.nv), 0.0).astype(object)
        dense = factor.lower_transposed(row).astype(float)
        sparse = Sparse([factor.lower_transposed_row(entries(row))], system.nv).dense()[0].astype(float)
        np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-13 * max(1.0, np.abs(dense).max()))


def test_products_by_elements_are_products():
    rng = np.random.default_rng(3)
    X = np.where(rng.uniform(size=(7, 9)) < 0.4, rng.normal(size=(7, 9)), 0.0).astype(object)
    S, x, y = Sparse.of(X), rng.normal(size=9).astype(object), rng.normal(size=7).astype(object)
    np.testing.assert_array_equal(S.dense(), X)
    np.testing.assert_allclose((S @ x).astype(float), (X @ x).astype(float), rtol=1e-14)
    np.testing.assert_allclose(S.transposed_times(y).astype(float), (X.T @ y).astype(float), rtol=1e-14)
    X[:, [2, 5]] = 0.0
    np.testing.assert_array_equal(S.without([2, 5]).dense(), X)


def test_a_chain_of_sixty_bodies_closed_at_its_end_has_the_acceleration_of_dense_algebra():
    """Innovations and rows by elements together, at speed."""
    m = zoo.chain(60, axes=("y", "x"), bobs=False)
    m.close_loop("end", da.Spherical(), "tip", m.ground.at(6.0, 4.0, -30.0))
    system = m.compile()
    rng = np.random.default_rng(0)
    x = system.assemble(v={"J3": 0.3}, guess=rng.uniform(-0.2, 0.2, system.nq))
    found = system.acceleration(x)
    M, A = system.mass_matrix(x), system.constraint_matrix(x)
    right = np.concatenate([-system.bias(x), -system.constraint_gamma(x)])
    K = np.block([[M, -A.T], [A, np.zeros((3, 3))]])
    expected = np.linalg.solve(K, right)[: system.nv]
    np.testing.assert_allclose(found.vdot, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
