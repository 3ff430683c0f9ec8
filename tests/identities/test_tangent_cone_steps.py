"""Steps towards the tangent cone: exact where the conditions of a minimum determine them, else the shortest ones."""

import numpy as np
import pytest

from dalembert.analysis.tangent_cone import _solved


@pytest.mark.parametrize("rank", [8, 7, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_steps_are_the_shortest_that_meet_the_conditions(rank, scale):
    rng = np.random.default_rng(rank)
    U, V = (np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(2))
    sizes = np.array([1.0, 0.9, 0.5, 0.3, 0.2, 1e-2, 1e-3, 1e-6])
    sizes[rank:] = 0.0
    A = scale * (U * sizes) @ V.T
    right = A @ rng.normal(size=8)
    found = _solved(A, right)
    np.testing.assert_allclose(A @ found, right, rtol=0, atol=1e-9 * np.abs(right).max())
    np.testing.assert_allclose(V[:, rank:].T @ found, 0.0, atol=1e-9 * np.abs(found).max())


def test_equations_that_are_singular_to_the_last_bit_are_met_too():
    np.testing.assert_allclose(_solved(np.ones((2, 2)), np.array([2.0, 2.0])), [1.0, 1.0], rtol=1e-14)
