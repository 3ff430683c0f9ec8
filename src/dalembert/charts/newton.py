"""Ψ by Newton's method (Spencer 2.3.1), with the contraction of its steps as the test of convergence.

    [D₁R; A] δ_j = −[R; Φ],   q ← q ⊕ δ_j,   ρ_j = ‖δ_j‖ / ‖δ_j−1‖
    ‖q_j+1 − Ψ(y)‖ ≤ ρ/(1 − ρ) ‖δ_j‖     ends it, when below the tolerance
    ρ_j ≥ 1                              no contraction: y is out of Newton's reach from here

Where y is out of reach, half of the way is gone first. So Ψ stays on the branch of its reference, up to where (2.28)
fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.charts.point import ChartPoint
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.rank import angular_velocities, rank_policy
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.charts.local import LocalChart

ITERATIONS = 50
ROUNDING = 1e-13  # of a gap, in lengths of the mechanism or rad: no Newton step makes it smaller
SHORTEST = 1e-4  # of the way to y, the least part that is gone at once
FIRST, FARTHEST, GROWTH = 1e-3, 1e7, 1.5  # motions in rad and lengths of the mechanism, when the reach is looked for
SHARP = 1e-3  # relative, of the reach


class ChartAttempt(NamedTuple):
    """Newton's method from one state to one y."""

    state: State
    reached: bool
    contraction: float  # ρ of the last two steps


def newton(chart: LocalChart, y: np.ndarray, x: State, tolerance: float) -> ChartAttempt:
    """Newton's method for Ψ(y) from x, as far as its steps contract."""
    system, policy, units = chart.system, rank_policy(chart.system, chart.p), _units(chart)
    rows = np.concatenate([np.ones(chart.dof), policy.units[system.rows.holonomic]])
    last, contraction = np.inf, 0.0
    for _ in range(ITERATIONS):
        at = ChartPoint(chart, x, y)
        try:
            gap, sound = at.gap, at.positions.rank == system.nv
        except AssemblyError:  # constraints or masses are not defined there
            sound = False
        if not sound or not np.isfinite(gap).all():
            return ChartAttempt(x, False, np.inf)
        step = at.positions.shortest(-gap)
        size = float(np.abs(step / units).max(initial=0.0))
        contraction = size / last if last > 0 else 0.0
        if np.abs(gap / rows).max(initial=0.0) <= ROUNDING:
            return ChartAttempt(x.replace(q=system.plus(x, step)), True, min(contraction, 1.0))
        if not contraction < 1.0:
            return ChartAttempt(x, False, contraction)
        x, last = x.replace(q=system.plus(x, step)), size
        if size <= tolerance or 0.0 < contraction / (1.0 - contraction) * size <= 0.1 * tolerance:
            return ChartAttempt(x, True, contraction)
    return ChartAttempt(x, False, contraction)


def follow(chart: LocalChart, y: np.ndarray, x: State, t: float, tolerance: float) -> State:
    """Ψ(y) at time t, from x: at once, or in parts that Newton's method reaches."""
    start, begin = chart.coordinates(x), x.t
    gone, part, ended = 0.0, 1.0, np.inf
    while gone < 1.0:
        at = min(1.0, gone + part)
        attempt = newton(chart, start + at * (y - start), x.replace(t=begin + at * (t - begin)), tolerance)
        if attempt.reached:
            x, gone, part = attempt.state, at, 2.0 * part
        else:
            part, ended = 0.5 * part, attempt.contraction
            if part < SHORTEST:
                raise _end(chart, y, x, start + gone * (y - start), gone, ended)
    return x


def reach(chart: LocalChart, direction: np.ndarray) -> float:
    """How many times `direction` y can go from the reference before Newton's method from there fails to contract."""
    x = chart.system.state(chart.reference, t=chart.time)

    def contracts(far: float) -> bool:
        return newton(chart, chart.start + far * direction, x, 1e-12).reached

    size = float(np.abs(chart.K(x, chart.start) @ direction / _units(chart)).max())
    inside, outside = 0.0, FIRST / size
    while contracts(outside):
        inside, outside = outside, GROWTH * outside
        if outside * size > FARTHEST:
            return np.inf
    while outside - inside > SHARP * outside and outside * size > 1e-9:
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if contracts(middle) else (inside, middle)
    return inside


def _units(chart: LocalChart) -> np.ndarray:
    """(nv,) 1 rad, or the length of the mechanism: what motions are measured in."""
    return np.where(angular_velocities(chart.system), 1.0, rank_policy(chart.system, chart.p).length)


def _end(
    chart: LocalChart, y: np.ndarray, x: State, last: np.ndarray, gone: float, contraction: float
) -> AssemblyError:
    """The error for coordinates that no point of the chart has."""
    at, wanted = ChartPoint(chart, x, last), dict(zip(chart.names, np.round(y, 12).tolist()))
    sigma, nv = at.positions.sigma, chart.system.nv
    least = sigma[nv - 1] / sigma[0] if len(sigma) >= nv else 0.0
    try:
        at.check()
        why = f"Newton's steps do not contract (ρ = {contraction:.2g})"
    except ArgumentError:
        why = "(2.28) fails"
    return AssemblyError(
        f"no configuration of '{chart.system.name}' has {', '.join(f'{k} = {v:g}' for k, v in wanted.items())} on the "
        f"branch of the reference: the chart ends before, {100 * gone:.3g} % of the way there, where {why} and the "
        f"smallest singular value of [∂R/∂q; A] is {least:.2g} of the largest. Take a new reference, or other "
        "coordinates."
    )
