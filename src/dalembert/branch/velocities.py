"""Velocities of closed positions: the nearest ones, in the mass metric, with A v + b = 0 and the held components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows, times


@dataclass(frozen=True, eq=False)
class Velocities:
    """Velocities of n positions, scaled with `reach`, and the rows they come from."""

    v: np.ndarray  # (n, nv) rad/s, m/s
    ok: np.ndarray  # (n,) bool: finite, and no row misses by more than `POLICY.missed`
    misses: np.ndarray  # (n, rows) rad/s or lengths of the mechanism per s: active constraints, then what is held
    speed: np.ndarray  # (n,) the fastest of the velocities, before and after, rad/s or lengths of the mechanism per s
    A: np.ndarray  # (n, m, nv) all constraints
    b: np.ndarray  # (n, m)


def velocities(
    rows: BranchRows, Q: np.ndarray, k: np.ndarray, held: np.ndarray, want: np.ndarray, v: np.ndarray
) -> Velocities:
    """Velocities at Q (len(k), nq) nearest to v (nv,); held: places in v, want: (len(k), held) their values."""
    reach, on, n = rows.reach[k], rows.on, len(Q)
    _, A, b = rows.constraints(Q, k)
    J = np.concatenate(
        [A[:, on], np.broadcast_to(np.eye(rows.system.nv)[held], (n, len(held), rows.system.nv))], axis=1
    )
    units = np.hstack([rows.phi_units[k][:, on], reach[:, held]])
    J = J * reach[:, None] / units[:, :, None]
    wanted = np.hstack([-b[:, on], want]) / units
    at, before = rows.factored(Q, k, J, on), v / reach
    found = before + at.shortest(wanted - times(J, before))
    found += at.shortest(wanted - times(J, found))  # once more for the last digits
    misses = np.abs(times(J, found) - wanted)
    speed = np.maximum(np.abs(found), np.abs(before)).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore"):
        ok = (misses <= POLICY.missed * (speed[:, None] + np.abs(wanted))).all(axis=1) & np.isfinite(found).all(axis=1)
    return Velocities(found * reach, ok, misses, speed, A, b)
