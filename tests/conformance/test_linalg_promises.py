"""What every kernel promises: no allocation, a sentence for each status, clear words at the Python face."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError
from numba.core.runtime import _nrt_python, rtsys

from dalembert import linalg as la
from dalembert.errors import ArgumentError
from dalembert.native.jit import kernel
from dalembert.outcome import Outcome


def test_a_kernel_that_allocates_does_not_compile():
    """The decorator compiles without Numba's allocator, so the promise is kept by construction."""

    @kernel
    def wasteful(n):
        return np.zeros(n).sum()

    with pytest.raises(NumbaError, match="zeros"):
        wasteful(3)


def test_no_kernel_allocates_when_called():
    """Numba counts what passing the arguments allocates, and no more for a thousand uses than for one."""

    @njit
    def work(f, clear, doubtful, c, v, times):
        for _ in range(times):
            la.rank_factor(f, clear, 1e-10, 100.0, True)
            la.solve(f, c, v)
            la.rank_factor(f, doubtful, 1e-10, 100.0, True)
            la.project_null(f, v, v)

    A = np.random.default_rng(0).normal(size=(4, 6))
    arguments = la.allocate(4, 6), A, A * np.array([1, 1, 1, 1e-10])[:, None], np.ones(4), np.empty(6)
    enabled = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        counts = []
        for times in (1, 1, 1000):
            work(*arguments, times)
            counts.append(rtsys.get_allocation_stats().alloc)
    finally:
        if not enabled:
            _nrt_python.memsys_disable_stats()
    assert arguments[0].info[la.ROUTE] == la.VIA_SVD
    assert counts[2] - counts[1] == counts[1] - counts[0]


def test_every_status_carries_a_sentence():
    for status in Outcome:
        assert len(status.sentence) >= 4
        assert Outcome(int(status)) is status


def test_the_python_face_names_what_is_wrong():
    with pytest.raises(ArgumentError, match=r"a matrix is needed; found an array of shape \(3,\)"):
        la.factorize(np.ones(3))
    with pytest.raises(ArgumentError, match="A has 2 rows, so c needs as many entries"):
        la.least_squares(np.ones((2, 3)), np.ones(3))
    with pytest.raises(ArgumentError, match="holds NaN or infinity"):
        la.singular_values(np.full((2, 2), np.nan))
