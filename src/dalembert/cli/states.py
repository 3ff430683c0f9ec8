"""States as tables, shared by commands that answer with one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.cli.answer import Columns

if TYPE_CHECKING:
    from dalembert.protocols import SystemLike  # needs NumPy, which help does without


def coordinates(system: SystemLike, states: Sequence[Any]) -> dict[str, Columns]:
    """Tables of positions and velocities: a column for each state."""
    one = len(states) == 1
    heads = ["value"] if one else [f"branch {k + 1}" for k in range(len(states))]
    return {
        "positions": {"name": system.q_names, **{h: x.q for h, x in zip(heads, states)}},
        "velocities": {"name": system.v_names, **{h: x.v for h, x in zip(heads, states)}},
    }


def one_table(system: SystemLike, x: Any) -> Columns:
    """Positions and velocities under each other: kind, name, value."""
    return {
        "kind": ["position"] * system.nq + ["velocity"] * system.nv,
        "name": [*system.q_names, *system.v_names],
        "value": [*x.q.tolist(), *x.v.tolist()],
    }
