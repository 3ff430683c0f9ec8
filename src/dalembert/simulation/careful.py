"""Steps next to a singular position: by factorizations that reveal the rank, landed by them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.formulations import make_landing, make_precise
from dalembert.integrators.methods import METHODS
from dalembert.native.bound import Bound
from dalembert.simulation.layout import Layout, Stepper
from dalembert.system.formulation_options import formulation_options

ACROSS = 1e-4  # σ from which a position that is met is crossed in one step
FINEST = 1e-11  # tolerance of these steps: rounding of constraint forces is not resolved


def careful(layout: Layout, rows: tuple[int, ...] | None) -> Stepper:
    """The stepper of a run that uses these rows; it uses all of them."""
    s, system, dop853 = layout.setup, layout.system, METHODS["dop853"]
    options: dict[str, Any] = {"tolerance": 0.5 * layout.hit, "floor": 0.5 * layout.hit}
    if s.formulation == "auto":
        options = {**s.options, **options}
    usual = layout.usual_rank(rows)
    ode = layout.formulation("nullspace", options, None, usual).trust(0.0, 0.0)
    fields: dict[str, Any] = {
        "singular": 1,
        "across": ACROSS,
        "until": (2.0 * layout.policy.near) ** 2,
        "rtol": max(FINEST, s.rtol),
        "atol": max(FINEST, s.atol),
    }
    if s.projection is not None and system.rows.of:
        low = np.zeros(system.nq)
        correct = _nearest(layout, "position", options, usual, low)
        fields |= {"correct": correct, "filter": _nearest(layout, "velocity", options, usual, low)}
        fields |= {"frozen": 0, "restore_energy": 0, "filter_velocities": 1, "project_every": 1}
        fields |= {"low": low, "low_before": np.zeros(system.nq), "precise": correct.owner.exact}
        if correct.owner.exact:
            fields |= {"max_corrections": 4, "tolerance": 1e-22 * min(1.0, system.layout.length)}
    return Stepper(ode, dop853, dop853.make(0), fields)


def _nearest(layout: Layout, name: str, options: Mapping[str, Any], usual: int, low: np.ndarray) -> Bound:
    """The nearest position or velocity on the manifold; low: (nq,) where low parts of positions are."""
    s, system = layout.setup, layout.system
    rows = None
    if name == "position" and not system.rows.holonomic.all():
        rows = tuple(np.flatnonzero(system.rows.holonomic).tolist())
    metric = s.projection.weights(system.nv) if s.projection is not None else None
    chosen = formulation_options(
        system, "nullspace", s.p, metric="mass" if metric is None else metric, rows=rows,
        tolerance=options["tolerance"], floor=options["floor"],
    )  # fmt: skip
    return make_landing(
        name,
        system.kernel("equations", rows=rows),
        system.kernel("plus"),
        layout.values(None),
        nq=system.nq,
        nv=system.nv,
        rows=layout.usual_rank(rows),
        powers=layout.plain_powers,
        options={**chosen, "usual_rank": usual if rows is None else 0},
        rounding=4e-16 * max(1.0, system.layout.length),
        program=(lambda places: make_precise(system, rows, places)) if name == "position" else None,
        low=low,
        rates=system.kernel("rates"),
        turns=layout.quaternions(),
    )
