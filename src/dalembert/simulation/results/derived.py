"""Histories that follow from the states of a run: singular values, the indicator (3.7), coordinates of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.charts.point import ChartPoint
from dalembert.rank import rank_policy
from dalembert.system.formulation_options import metric_factor, of_mass

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run


def whitened(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """A R⁻¹ in the run's metric W = RᵀR, (N, m, nv), and the part of rounding in it, (N,)."""
    A, M = run._constraints[1], run._batch("mass_matrix")
    floor = np.full(len(run.t), rank_policy(run.system, run.p).floor)
    if of_mass(run.metric):
        L = np.linalg.cholesky(M)
    else:
        L = np.broadcast_to(metric_factor(run.metric, run.system.nv)[1].T, M.shape)
        floor = floor * np.sqrt(np.trace(M, axis1=1, axis2=2) / np.square(L).sum(axis=(1, 2)))
    return np.swapaxes(np.linalg.solve(L, np.swapaxes(A, 1, 2)), 1, 2), floor


def indicator(run: Run) -> np.ndarray:
    """‖v_m u_mᵀ γ‖ of the smallest singular value that is ever non-zero."""
    usual = int(run.rank.max(initial=0))
    if not usual:
        return np.zeros(len(run.t))
    U = np.linalg.svd(whitened(run)[0], full_matrices=False)[0]
    return np.abs(np.einsum("ni,ni->n", U[:, :, usual - 1], run._batch("gamma")))


def chart_coordinates(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """y and w of each recorded state in the chart it was computed in, NaN where there was none."""
    known = [chart for _, chart in run.charts if chart is not None]
    y = np.full((len(run.t), max((c.dof for c in known), default=0)), np.nan)
    w = np.full((len(run.t), max((c.speeds for c in known), default=0)), np.nan)
    last, guess = None, None
    for k in range(len(run.t)):
        chart = run.chart(k)
        if chart is None:
            continue
        x = run.state(k)
        at = ChartPoint(chart, x, chart.coordinates(x, guess if chart is last else None))
        y[k, : chart.dof], w[k, : chart.speeds] = at.y, at.w
        last, guess = chart, at.y
    return y, w
