"""Stiff sliding: friction turns with the slip, the faster the slower the slip is.

Where a contact slides in a plane with slip s, a change δ of s across it turns its friction μn by δ/s. With the
compliance c of its slips that is a rate of

    λ = μ n c / s,                                                                                          (1)

which an explicit method has to resolve, however slowly everything else moves: a ball in a grip creeps with 1e-8 m/s.
"""

from __future__ import annotations

import numpy as np

from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.run.context import Context
from dalembert.simulation.run.located import event_values
from dalembert.simulation.status import Ended

BOUND = 1.0  # times 1/λ: steps of accuracy alone would be shorter, what turns has done so long before two looks


def is_stiff(ctx: Context, h: float) -> bool:
    """Whether steps of length h, as the last ones were, are those that (1) allows."""
    system, modes = ctx.system, ctx.modes
    assert isinstance(system, PhaseSystem)
    if modes is None or h <= 0.0:
        return False
    sliding = [n for n, how in system.mode.touching if how == "slides"]  # in the order of `ModeData`
    event_values(ctx, ctx.record.clock.t)
    forces, c = modes.guards.forces, system.changeable
    at_gap = dict(zip(sliding, modes.guards.slider_rows[:, 0].tolist()))
    try:
        at = Instant(c, ctx.state(), ctx.inputs.copy(), ctx.setup.p[: len(c.base.p_names)])
    except Ended:
        return False
    factor = FactoredRows.of(at, at.rows_of(system.mode))
    for name, place in at_gap.items():
        rows = at.slip_rows(name)
        slip = float(np.linalg.norm(at.speeds[rows]))
        compliance = float(np.square(factor.cut(at.rows[rows])).sum())
        if len(rows) > 1 and h * c.contacts[name].friction * abs(float(forces[place])) * compliance > BOUND * slip:
            return True
    return False
