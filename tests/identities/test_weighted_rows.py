"""Weighted sums of rows in vectors against NumPy, for every remainder that lengths leave."""

import numpy as np
import pytest

from dalembert.native.jit import kernel
from dalembert.native.simd import combine, estimate


@kernel
def _moved(x, h, weights, count, rows, out, size):
    combine(x, h, weights, count, rows, out, size)


@kernel
def _summed(weights, count, rows, out, size):
    estimate(weights, count, rows, out, size)


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_rows_are_summed_by_their_weights_and_nothing_else_is_written(count):
    """x + h Σ w_k rows[k] for lengths 0 to 19, rows wider than that; a weight of zero hides NaN."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(13, 24))
    weights = rng.normal(size=13)
    if count > 1:
        weights[0], rows[0] = 0.0, np.nan
    used = slice(1 if count > 1 else 0, count)
    for size in range(20):
        x, out, total = rng.normal(size=24), np.full(24, 5.0), np.full(24, 5.0)
        _moved(x, 0.3, weights, count, rows, out, size)
        _summed(weights, count, rows, total, size)
        expected = weights[used] @ rows[used, :size]
        np.testing.assert_allclose(total[:size], expected, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(out[:size], x[:size] + 0.3 * expected, rtol=1e-14, atol=1e-14)
        assert (out[size:] == 5.0).all()
        assert (total[size:] == 5.0).all()
