"""The motion inside a step, and straight on from its ends, without another evaluation of the right-hand side."""

from __future__ import annotations

from dalembert.native.jit import inline, native


@inline
def straight_on(run, x, rates, e):
    """stages[1] ← the position a time e after x."""
    moved = run.stages[1]
    for j in range(run.nq):
        moved[j] = x[j] + e * rates[j]


@native
def curve(run, h, trial, s):
    """stages[1] ← the state a time s into the step, on a curve with the values, rates and curvatures of both ends.

    q̈ is known where q̇ = v; other coordinates have values and rates only.
    """
    x, rates, there, out, nq, nv = run.x, run.stages[0], run.stages[run.rows - 1], run.stages[1], run.nq, run.nv
    z = s / h
    w = 1.0 - z
    for j in range(nq + nv):
        p0, p1, d0, d1 = x[j], trial[j], h * rates[j], h * there[j]
        value = p0 + z * z * (3.0 - 2.0 * z) * (p1 - p0) + z * w * w * d0 - z * z * w * d1
        if j < nq and run.plain[j] >= 0:  # the curvature that the cubic misses at both ends
            k = nq + run.plain[j]
            e0 = h * h * rates[k] - 6.0 * (p1 - p0) + 4.0 * d0 + 2.0 * d1
            e1 = h * h * there[k] + 6.0 * (p1 - p0) - 2.0 * d0 - 4.0 * d1
            value += 0.5 * z * z * w * w * (w * e0 + z * e1)
        out[j] = value
