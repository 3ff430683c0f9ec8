"""Positions within the limits of joints, from closed ones that may be outside."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.branch.ending import Ending, close_one
from dalembert.branch.rows import BranchRows
from dalembert.errors import AssemblyError
from dalembert.protocols import SystemLike

SIDES = 8  # searches for another side of a chain that closes outside its limits
ROOM = 1e-9  # rad or m: by how much limits may be missed, a hundred times the tolerance of closed loops


class OutsideLimits(AssemblyError):
    """What was asked for is only possible outside the limits of joints."""


def inside_limits(rows: BranchRows, end: Ending, tolerance: float) -> tuple[Ending, str]:
    """A position within the limits of the joints, from a closed one; else what joint is outside.

    Angles are turned by whole turns. Then joints outside are held at the limits they pass while the rest is closed
    again, one more joint each time. Where that does not close, the search starts a few times more with the joint, and
    those that are in no other constraints, at random places within their limits: a leg often closes on another side.
    """
    system, rng = rows.system, np.random.default_rng(0)
    low, high = joint_limits(system)
    plain = {system.q_names.index(n): k for k, n in enumerate(system.v_names) if n in system.q_names}
    fixed, tried = dict[int, float](), set[int]()
    while True:
        end.q = turned(rows, end.q)
        far = {i: max(low[k] - end.q[i], end.q[i] - high[k]) for i, k in plain.items()}
        worst = max(far, key=lambda i: far[i], default=-1)
        if worst < 0 or far[worst] <= ROOM:
            return end, ""
        k, x = plain[worst], float(end.q[worst])
        past = f"{system.q_names[worst]} = {x:.6g} is outside its limits {low[k]:.6g} … {high[k]:.6g}"
        if worst in rows.held:
            return end, past
        again = None
        if worst not in fixed:
            fixed[worst] = float(np.clip(x, low[k], high[k]))
            start = end.q.copy()
            start[list(fixed)] = list(fixed.values())
            again = close_one(rows.also(fixed), start, tolerance)
        if (again is None or not again.closed) and worst not in tried:
            tried.add(worst)
            fixed.pop(worst)
            again = _other_side(rows, end.q, worst, tolerance, (plain, low, high), rng)
        if again is None or not again.closed:
            return end, past
        end = again


def _other_side(
    rows: BranchRows, q: np.ndarray, joint: int, tolerance: float,
    limits: tuple[Mapping[int, int], np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> Ending | None:  # fmt: skip
    """A closed position like q but with one coordinate, outside its limits there, within them."""
    plain, low, high = limits
    A = np.abs(rows.constraints(q[None], np.zeros(1, dtype=int))[1][0]) > 0.0
    of = np.array(rows.system.rows.of)
    own = np.isin(of, of[A[:, plain[joint]]])
    alone = A[own].any(axis=0) & ~A[~own].any(axis=0)
    reach = np.where(rows.angular, np.pi, rows.length[0])
    for _ in range(SIDES):
        start = q.copy()
        for i, k in plain.items():
            if i == joint or (alone[k] and i not in rows.held):
                ends = (x if np.isfinite(x) else s * reach[k] for x, s in ((low[k], -1.0), (high[k], 1.0)))
                start[i] = rng.uniform(*sorted(ends))
        found = close_one(rows, start, tolerance)
        if found.closed:
            found.q = turned(rows, found.q)
            if low[plain[joint]] - ROOM <= found.q[joint] <= high[plain[joint]] + ROOM:
                return found
    return None


def turned(rows: BranchRows, q: np.ndarray) -> np.ndarray:
    """q with angles outside their limits turned by whole turns to within, where that is possible."""
    (low, high), q, v_names = joint_limits(rows.system), q.copy(), list(rows.system.v_names)
    for i in rows.angles:
        k = v_names.index(rows.system.q_names[i])
        if i not in rows.held and not low[k] <= q[i] <= high[k]:
            x = q[i] - 2 * np.pi * np.ceil((q[i] - high[k]) / (2 * np.pi)) if np.isfinite(high[k]) else q[i]
            x = x if x >= low[k] else q[i] + 2 * np.pi * np.ceil((low[k] - q[i]) / (2 * np.pi))
            q[i] = x if low[k] - ROOM <= x <= high[k] + ROOM else q[i]
    return q


def joint_limits(system: SystemLike) -> tuple[np.ndarray, np.ndarray]:
    """(nv,) lower and upper limits of the joints of the tree."""
    pairs = np.vstack([np.zeros((0, 2)), *(a.limits.reshape(-1, 2) for a in system.layout.joints.values())])
    return pairs[:, 0], pairs[:, 1]
