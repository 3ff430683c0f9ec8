"""The native part of `whitening`."""

from __future__ import annotations

from dalembert.formulations.whitening import Whitening
from dalembert.linalg import cholesky, solve_upper_transposed
from dalembert.native.calls import data, jump
from dalembert.native.jit import entry
from dalembert.native.memory import doubles
from dalembert.outcome import OK


@entry(Whitening)
def whitened(x, y, w):
    """y ← rows in the mass metric over their usual lengths; zeros where M is not positive definite."""
    f, n, white = w.equations, w.n, w.white
    jump(f.address, x, data(f.y), f.w)
    answer = doubles(y, w.chosen * n)
    status, _, _ = cholesky(w.M, w.upper)
    for k in range(w.chosen):
        for j in range(n):
            white[0, j] = w.A[w.row[k], j]
        solve_upper_transposed(w.upper, white[0])
        for j in range(n):
            answer[k * n + j] = white[0, j] / w.sizes[k] if status == OK else 0.0
