"""Following branches from many positions at once, to values of the axes of a map; the search for first positions."""

from __future__ import annotations

import numpy as np

from dalembert.branch.corrector import CorrectedMany, correct_many
from dalembert.branch.map_rows import MapRows
from dalembert.branch.policy import POLICY


def close(rows: MapRows, guess: np.ndarray, x: np.ndarray, far: float = POLICY.beside_guess) -> CorrectedMany:
    """Positions with the axes at x, (K, axes), within `far` of their guesses, on the branches that are meant."""
    out = correct_many(rows, guess, x, far)
    near = np.abs(rows.minus(out.q, guess) / rows.reach).max(axis=1, initial=0.0) <= far
    out.ok &= near & rows.meant(out.q)
    return out


def same_side(before: np.ndarray, after: np.ndarray, rank: int) -> np.ndarray:
    """(K,) bool: J did not become singular between two positions: its determinant keeps its sign."""
    if not rank:
        return np.ones(len(before), dtype=bool)
    if before.shape[1] == before.shape[2] == rank:
        return np.linalg.slogdet(before)[0] * np.linalg.slogdet(after)[0] >= 0
    U, _, Vt = np.linalg.svd(before, full_matrices=False)
    square = np.swapaxes(U[:, :, :rank], 1, 2) @ after @ np.swapaxes(Vt[:, :rank], 1, 2)
    return np.linalg.slogdet(square)[0] >= 0


def follow(
    rows: MapRows,
    q0: np.ndarray,
    white0: np.ndarray,
    x0: np.ndarray,
    x1: np.ndarray,
    rank: int,
    slowly: np.ndarray,
) -> CorrectedMany:
    """From positions q0 at x0 straight to x1, on the same branch.

    Steps are as long as the motion is short at the beginning; where that fails, and `slowly`, once more in short ones.
    """
    K = len(q0)
    out = CorrectedMany(
        q0.copy(), np.zeros(K, dtype=bool), np.zeros_like(white0), np.zeros(K, dtype=int), np.full(K, np.inf)
    )
    size = np.abs(ahead(rows, white0, x1 - x0)).max(axis=1, initial=0.0)
    parts = 2 ** np.clip(np.ceil(np.log2(np.maximum(size / POLICY.part, 1.0))), 0, 5).astype(int)
    for _ in range(2):
        for steps in np.unique(parts):
            _stepped(rows, out, np.flatnonzero(parts == steps), int(steps), (q0, white0, x0, x1), rank)
        parts = np.where(~out.ok & slowly, np.maximum(POLICY.shorter_parts * parts, 1), 0)
        parts[out.ok] = 0
        if not parts.any():
            break
    return out


def _stepped(
    rows: MapRows, out: CorrectedMany, which: np.ndarray, steps: int, begin: tuple[np.ndarray, ...], rank: int
) -> None:
    """Follow some of the ways in a number of steps; what arrives goes into `out`."""
    if not steps:
        return
    q, white, x0, x1 = (x[which].copy() for x in begin)
    way, on = (x1 - x0) / steps, np.arange(len(which))
    for k in range(steps):
        if not len(on):
            return
        guess = rows.moved(q[on], ahead(rows, white[on], way[on]))
        found = close(rows, guess, x0[on] + (k + 1) * way[on] if k + 1 < steps else x1[on])
        out.cost[which[on]] += found.cost
        good = found.ok.copy()
        good[good] = same_side(white[on][good], found.white[good], rank)
        on = on[good]
        q[on], white[on] = found.q[good], found.white[good]
    out.q[which[on]], out.white[which[on]], out.ok[which[on]] = q[on], white[on], True


def ahead(rows: MapRows, white: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The motion of a step along the axes, scaled, kept short where J is nearly singular, (K, nv)."""
    moving = rows.kept[: way.shape[1]]
    right = np.zeros(white.shape[:2])
    led = slice(rows.constraints, rows.constraints + int(moving.sum()))
    right[:, led] = way[:, moving] / rows.units[led]
    delta = rows.shortest(white, right)
    size = np.abs(delta).max(axis=1, initial=0.0)
    return delta * np.minimum(1.0, 2 * POLICY.stride / np.maximum(size, 1e-300))[:, None]


def search(rows: MapRows, q: np.ndarray, x: np.ndarray) -> CorrectedMany:
    """Positions at x from starts that may be far away: steps of bounded length, shortened until the residual falls."""
    q, cost = q.copy(), np.ones(len(q), dtype=int)
    away, white = rows.many(q, x)
    gap = np.linalg.norm(away, axis=1)
    before, alive = np.full((POLICY.search_patience, len(q)), np.inf), np.isfinite(gap)
    for count in range(POLICY.search_rounds):
        alive &= (gap > POLICY.search_end) & (gap < POLICY.search_fall * before[count % POLICY.search_patience])
        before[count % POLICY.search_patience] = gap
        on = np.flatnonzero(alive)
        if not len(on):
            break
        J = white[on]
        damping = POLICY.search_damping * np.minimum(gap[on], 1.0)
        normal = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(J.shape[2])
        step = -np.linalg.solve(normal, np.einsum("kij,ki->kj", J, away[on])[..., None])[..., 0]
        step *= np.minimum(1.0, POLICY.stride / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        for _ in range(3):
            trial = rows.moved(q[on], step)
            far, J = rows.many(trial, x[on])
            cost[on] += 1
            norm = np.linalg.norm(far, axis=1)
            good = norm < gap[on]
            took = on[good]
            q[took], away[took], white[took], gap[took] = trial[good], far[good], J[good], norm[good]
            on, step = on[~good], 0.25 * step[~good]
            if not len(on):
                break
        alive[on] = False
    out = CorrectedMany(q, np.zeros(len(q), dtype=bool), white, cost, gap)
    near = np.flatnonzero(gap < POLICY.beside_guess)
    last = close(rows, q[near], x[near])
    out.q[near], out.ok[near], out.white[near] = last.q, last.ok, last.white
    out.cost[near] += last.cost
    return out
