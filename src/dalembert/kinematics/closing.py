"""Newton's method for many positions at once, and the search for first ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.kinematics.held_rows import HeldRows

CLOSED, NEARLY = 1e-12, 1e-10  # rad, or lengths of the mechanism: residuals that are done, or done if they fall no more
ITERATIONS = 16
SLOWEST = 0.6  # of a residual is left by a step: less falls only where nothing closes
FAR = 0.15  # rad, or lengths of the mechanism: how far a position may be from its guess
LONGEST = 0.3  # rad, or lengths of the mechanism: of a step that is not cut in parts
SHORTER = 8  # times shorter steps, where those have failed
SEARCH = 30  # iterations of a search from far away
STRIDE = 0.5  # rad, or lengths of the mechanism: the farthest it goes in one of them
NEAR = 1e-5  # a search leaves the rest to Newton's method
DAMPING = 1e-2  # of a search, per residual
PATIENCE, FALL = 4, 0.8  # a search ends when PATIENCE steps do not bring the residual below FALL of what it was


@dataclass(eq=False)
class Found:
    """Positions, whether each closes, and J there, scaled."""

    q: np.ndarray  # (K, nq)
    ok: np.ndarray  # (K,) bool
    white: np.ndarray  # (K, rows, nv)
    cost: np.ndarray  # (K,) evaluations of the rows


def shortest(rows: HeldRows, white: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest motions δ with J δ = right, unscaled, (K, nv)."""
    if white.shape[1] == white.shape[2]:
        try:
            return np.linalg.solve(white, right[..., None])[..., 0] * rows.reach
        except np.linalg.LinAlgError:
            pass
    return pseudo(rows, white, right[..., None])[..., 0]


def pseudo(rows: HeldRows, white: np.ndarray, right: np.ndarray) -> np.ndarray:
    """J⁺ right, unscaled, (K, nv, n)."""
    U, sigma, Vt = np.linalg.svd(white, full_matrices=False)
    counts = sigma > rows.policy.tolerance * np.maximum(sigma[:, :1], 1.0)
    inverse = np.where(counts, 1.0 / np.where(counts, sigma, 1.0), 0.0)
    y = np.einsum("kij,kin->kjn", U, np.broadcast_to(right, (len(white), *right.shape[-2:]))) * inverse[..., None]
    return np.einsum("kji,kjn->kin", Vt, y) * rows.reach[:, None]


def close(rows: HeldRows, guess: np.ndarray, x: np.ndarray, far: float = FAR) -> Found:
    """Positions with the axes at x, (K, axes), near guesses: by Newton's method, none farther than `far`."""
    K, nv = len(guess), rows.system.nv
    q, ok, last = guess.copy(), np.zeros(K, dtype=bool), np.full(K, np.inf)
    white, cost = np.zeros((K, len(rows.units), nv)), np.zeros(K, dtype=int)
    open_ = np.arange(K)
    for count in range(ITERATIONS):
        if not len(open_):
            break
        away, J = rows.equations(q[open_], x[open_])
        cost[open_] += 1
        gap = np.abs(away).max(axis=1, initial=0.0)
        done = (gap <= CLOSED) | ((gap <= NEARLY) & (gap >= 0.5 * last[open_]))
        white[open_[done]], ok[open_[done]] = J[done], True
        go = (
            ~done
            & np.isfinite(gap)
            & np.isfinite(J).all(axis=(1, 2))
            & (gap <= (10 if count < 2 else SLOWEST) * last[open_])
        )
        delta = shortest(rows, J[go], -away[go])
        small = np.abs(delta / rows.reach).max(axis=1, initial=0.0) <= far
        open_, gap = open_[go][small], gap[go][small]
        q[open_], last[open_] = rows.plus(q[open_], delta[small]), gap
    near = np.abs(rows.minus(q, guess) / rows.reach).max(axis=1, initial=0.0) <= far
    ok &= near & rows.meant(q)
    return Found(q, ok, white, cost)


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
    rows: HeldRows,
    q0: np.ndarray,
    white0: np.ndarray,
    x0: np.ndarray,
    x1: np.ndarray,
    rank: int,
    slowly: np.ndarray,
) -> Found:
    """From positions q0 at x0 straight to x1, on the same branch.

    Steps are as long as the motion is short at the beginning; where that fails, and `slowly`, once more in short ones.
    """
    K = len(q0)
    out = Found(q0.copy(), np.zeros(K, dtype=bool), np.zeros_like(white0), np.zeros(K, dtype=int))
    size = np.abs(ahead(rows, white0, x1 - x0) / rows.reach).max(axis=1, initial=0.0)
    parts = 2 ** np.clip(np.ceil(np.log2(np.maximum(size / LONGEST, 1.0))), 0, 5).astype(int)
    for _ in range(2):
        for steps in np.unique(parts):
            _stepped(rows, out, np.flatnonzero(parts == steps), int(steps), (q0, white0, x0, x1), rank)
        parts = np.where(~out.ok & slowly, np.maximum(SHORTER * parts, 1), 0)
        parts[out.ok] = 0
        if not parts.any():
            break
    return out


def _stepped(
    rows: HeldRows, out: Found, which: np.ndarray, steps: int, begin: tuple[np.ndarray, ...], rank: int
) -> None:
    """Follow some of the ways in a number of steps; what arrives goes into `out`."""
    if not steps:
        return
    q, white, x0, x1 = (x[which].copy() for x in begin)
    way, on = (x1 - x0) / steps, np.arange(len(which))
    for k in range(steps):
        if not len(on):
            return
        guess = rows.plus(q[on], ahead(rows, white[on], way[on]))
        found = close(rows, guess, x0[on] + (k + 1) * way[on] if k + 1 < steps else x1[on])
        out.cost[which[on]] += found.cost
        good = found.ok.copy()
        good[good] = same_side(white[on][good], found.white[good], rank)
        on = on[good]
        q[on], white[on] = found.q[good], found.white[good]
    out.q[which[on]], out.white[which[on]], out.ok[which[on]] = q[on], white[on], True


def ahead(rows: HeldRows, white: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The motion of a step along the axes, kept short where J is nearly singular, (K, nv)."""
    moving = rows.kept[: way.shape[1]]
    right = np.zeros(white.shape[:2])
    led = slice(rows.constraints, rows.constraints + int(moving.sum()))
    right[:, led] = way[:, moving] / rows.units[led]
    delta = shortest(rows, white, right)
    size = np.abs(delta / rows.reach).max(axis=1, initial=0.0)
    return delta * np.minimum(1.0, 2 * STRIDE / np.maximum(size, 1e-300))[:, None]


def search(rows: HeldRows, q: np.ndarray, x: np.ndarray) -> Found:
    """Positions at x from starts that may be far away: steps of bounded length, shortened until the residual falls."""
    q, cost = q.copy(), np.ones(len(q), dtype=int)
    away, white = rows.equations(q, x)
    gap = np.linalg.norm(away, axis=1)
    before, alive = np.full((PATIENCE, len(q)), np.inf), np.isfinite(gap)
    for count in range(SEARCH):
        alive &= (gap > NEAR) & (gap < FALL * before[count % PATIENCE])
        before[count % PATIENCE] = gap
        on = np.flatnonzero(alive)
        if not len(on):
            break
        J = white[on]
        normal = np.swapaxes(J, 1, 2) @ J + (DAMPING * np.minimum(gap[on], 1.0))[:, None, None] * np.eye(J.shape[2])
        step = -np.linalg.solve(normal, np.einsum("kij,ki->kj", J, away[on])[..., None])[..., 0]
        step *= np.minimum(1.0, STRIDE / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        for _ in range(3):
            trial = rows.plus(q[on], step * rows.reach)
            far, J = rows.equations(trial, x[on])
            cost[on] += 1
            norm = np.linalg.norm(far, axis=1)
            good = norm < gap[on]
            took = on[good]
            q[took], away[took], white[took], gap[took] = trial[good], far[good], J[good], norm[good]
            on, step = on[~good], 0.25 * step[~good]
            if not len(on):
                break
        alive[on] = False
    out = Found(q, np.zeros(len(q), dtype=bool), white, cost)
    near = np.flatnonzero(gap < FAR)
    last = close(rows, q[near], x[near])
    out.q[near], out.ok[near], out.white[near] = last.q, last.ok, last.white
    out.cost[near] += last.cost
    return out
