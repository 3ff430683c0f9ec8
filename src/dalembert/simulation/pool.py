"""Records of finished runs, kept for the next run like them: laying one out costs more than a short run.

A record in the pool is laid out for all constraint rows and no chart. A run takes it out, so no two runs share one, and
puts it back if it still is laid out so. What differs from run to run is written anew by `lease`.
"""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import WeakKeyDictionary

from dalembert.integrators.run_record import RunRecord
from dalembert.simulation.layout import Layout
from dalembert.simulation.setup import Setup

MOST = 4  # records kept of a kind
KINDS = 16  # kinds kept of a system

Kept = tuple[RunRecord, bytes]  # a record, and its bytes when it was laid out
_kept: WeakKeyDictionary[Any, dict[Any, list[Kept]]] = WeakKeyDictionary()


def kind_of(setup: Setup) -> Any:
    """Equal for setups whose records are laid out alike; None for runs with functions of their own."""
    plain = setup.controller is None and not setup.events and setup.coordinates is None and not setup.named
    projection, method = setup.projection, setup.method
    by_name = projection is None or isinstance(projection.metric, str)
    if not (plain and by_name) or method.implicit or method.kernel:
        return None
    stops = setup.on_singularity == "stop"
    return setup.method_name, setup.stabilization, setup.formulation, setup.rtol, stops, setup.p.tobytes()


def lease(layout: Layout) -> Kept | None:
    """A record of an earlier run, ready for this one; None where there is none."""
    setup = layout.setup
    try:
        run, fresh = _kept[setup.system][kind_of(setup)].pop()
    except (KeyError, IndexError):
        return None
    memory = run._memory
    ctypes.memmove(run.pointer, fresh, len(fresh))
    memory.t = memory.hold_start = memory.sampled_until = setup.start.t
    memory.end, memory.h, memory.max_h = setup.end, setup.step, setup.max_step
    memory.atol = setup.atol
    if memory.nu:
        run.ode.x[memory.u_index : memory.u_index + memory.nu] = setup.u
    if memory.restore_energy:
        run.energy = layout.system.energy(setup.start, p=setup.p)
    return run, fresh


def give_back(layout: Layout, run: RunRecord, fresh: bytes) -> None:
    """Keep the record of a run for the next one, if it is laid out as at its start."""
    kind, start = kind_of(layout.setup), RunRecord.layout.from_buffer_copy(fresh)
    memory = run._memory
    if kind is None or memory.ode != start.ode or memory.x != start.x or memory.method != start.method:
        return
    kinds = _kept.setdefault(layout.system, {})
    if kind in kinds or len(kinds) < KINDS:
        records = kinds.setdefault(kind, [])
        if len(records) < MOST:
            records.append((run, fresh))
