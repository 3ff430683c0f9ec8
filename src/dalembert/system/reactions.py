"""Forces in the joints: what each passes on, which of it is determinate, and the power it brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanism.constraints import Loop

if TYPE_CHECKING:
    from dalembert.system.acceleration import Acceleration


@dataclass(frozen=True, slots=True, eq=False)
class Reactions:
    """Wrenches (moment; force), each (6,), and what is known of them.

    A tree joint's wrench acts on its child at the joint's child frame, in that frame's axes, and holds everything the
    joint passes on: bearing forces, springs, motors. A loop's acts on frame b of `close_loop(name, joint, a, b)`, in
    b's axes. Where constraints are redundant the multipliers are the shortest ones (those of rows left out are zero)
    and some components are not determinate: they depend on more than rigid bodies.
    """

    acceleration: Acceleration
    multipliers: dict[str, float]  # by row name
    joints: dict[str, np.ndarray]
    loops: dict[str, np.ndarray]
    determinate: dict[str, np.ndarray]  # per joint and loop, (6,) bool
    determinate_rows: dict[str, bool]
    power: dict[str, float]  # per constraint: W brought in; zero but for driven ones


def reactions(system: Any, x: Any, a: Acceleration, u: Any, p: Any, on: np.ndarray) -> Reactions:
    """The reactions that go with an acceleration."""
    rows = system.rows
    loops = [c.name for c in system._description.constraints if isinstance(c, Loop)]

    def wrenches(multipliers: np.ndarray) -> dict[str, np.ndarray]:
        lam = np.concatenate([multipliers, np.zeros(len(rows.all_named) - len(multipliers))])
        joints = system._value("reactions", x, a=a.vdot, lam=lam, u=u, p=p)
        out = dict(zip(system._description.whole.joints, joints))
        return out | {name: system._value("loop_wrench", x, target=name, lam=lam, p=p) for name in loops}

    base = wrenches(a.multipliers)
    A = system.constraint_matrix(x, p=p)
    free, determinate_rows = _free_multipliers(A, on, len(rows.left_out))
    determinate = {name: np.ones(6, dtype=bool) for name in base}
    for n in free:
        more = n.copy()
        more[: len(a.multipliers)] += a.multipliers
        for name, W in wrenches(more).items():
            determinate[name] &= np.abs(W - base[name]) <= 1e-8 * max(1.0, np.abs(base[name]).max())
    power = dict.fromkeys(dict.fromkeys(rows.of), 0.0)
    for k, name in enumerate(rows.of):
        power[name] += float(a.multipliers[k] * (A[k] @ x.v))
    return Reactions(
        a,
        dict(zip(rows.names, a.multipliers.tolist())),
        {name: base[name] for name in system._description.whole.joints},
        {name: base[name] for name in loops},
        determinate,
        dict(zip(rows.names, determinate_rows.tolist())) | dict.fromkeys(rows.void, False),
        power,
    )


def _free_multipliers(A: np.ndarray, on: np.ndarray, void: int) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers that exert nothing in all (one set a row), and which of the rows' multipliers are determinate.

    The last `void` entries are those of rows left out, each of which is free by itself.
    """
    m = len(on)
    alone = np.eye(m + void)[m:]
    active = A[on]
    if not len(active):
        return alone, np.ones(m, dtype=bool)
    U, sigma, _ = np.linalg.svd(active / np.maximum(np.linalg.norm(active, axis=1, keepdims=True), 1e-300))
    rank = int((sigma > 1e-9 * sigma[0]).sum())
    scale = np.linalg.norm(active, axis=1)
    null = np.zeros((len(active) - rank, m + void))
    null[:, np.flatnonzero(on)] = U[:, rank:].T / np.maximum(scale, 1e-300)
    null /= np.maximum(np.abs(null).max(axis=1, keepdims=True), 1e-300)
    return np.vstack([null, alone]), np.abs(null[:, :m]).max(axis=0, initial=0.0) <= 1e-8
