"""Limits of joints that a run went beyond: they are data, and nothing stops a motion at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run


def beyond_limits(run: Run) -> list[str]:
    """A sentence for each coordinate that leaves the limits of its joint, with the first record at which it does."""
    out: list[str] = []
    first = run.phases[0] if getattr(run, "phases", ()) else run
    if getattr(getattr(first.system, "changeable", None), "stops", None) is not None:
        return out  # stops= of the run keep them
    for a in run.system.layout.joints.values():
        if a.joint.nq != a.joint.nv or not np.isfinite(a.limits).any() or a.stops is not None:
            continue  # no limits, or stops that keep them, compliant ones a little beyond
        for name, (low, high), angular in zip(a.coordinates, a.limits, a.joint.angular):
            q = run[name]
            slack = 1e-9 * np.maximum(1.0, np.abs(q))
            outside = np.flatnonzero((q < low - slack) | (q > high + slack))
            if len(outside):
                k, unit = outside[0], "rad" if angular else "m"
                limit = low if q[k] < low else high
                out.append(
                    f"at t = {run.t[k]:.6g} s '{name}' is at {q[k]:.6g} {unit}, beyond its limit of {limit:.6g}: "
                    "limits of joints are kept as data and stop nothing."
                )
    return out
