"""The reason why a mechanism cannot be assembled: which constraints contradict each other, and by how much.

Where loops cannot close, the configuration nearest to it (least squares, held coordinates kept) has Aᵀ Φ = 0: the
residuals are a combination of rows that vanishes, and the constraints with a share in it are those in conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.closing import Closing, Held, residual
from dalembert.analysis.unfolding import Unfolding
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

ROUNDS, FALL = 60, 1e-7  # of a search, which ends when the residual falls no more than by this part
SHARE = 0.01  # of the largest residual: constraints with less are not in conflict
TINY = 1e-100  # of the largest singular value, rows and velocities in units of size 1; squares of less are lost
NAMED = 4  # constraints a message names
JOINTS = ("loop", "rod")  # constraints that are open where they do not hold


def nearest(
    system: SystemLike, closing: Closing, held: Held, p: Parameters, on: np.ndarray, start: StateLike | None = None
) -> Closing:
    """The configuration where a mechanism that does not close comes nearest to it, from where a search gave up.

    Levenberg and Marquardt's method on the group, q ⊕ δ, with the held coordinates where they are held. From a given
    `start`, reversed loops are led to the branch that is meant (`unfolding`).
    """
    rows, state = on & system.rows.holonomic, held.set_in(closing.state if start is None else start)
    unfolding = None if start is None else Unfolding(system, p)
    units = closing.units[: len(closing.residuals)]
    reach = np.where(angular_velocities(system), 1.0, rank_policy(system, p).length)
    free = rank_policy().reveal(held.rows(state)[0] * reach).null if len(held.q_index) else np.eye(system.nv)
    phi, missing, A, _ = residual(system, state, held, p, rows)
    away, change = (phi, -phi) if unfolding is None else unfolding(state, rows)
    damping, moved = 1e-3, True
    for _ in range(ROUNDS if len(units) and free.shape[1] else 0):
        if moved:
            J = (A * reach / units[:, None]) @ free
            if not np.isfinite(J).all():
                break
            U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
            if not sigma[0] > TINY:  # nothing that is free moves a row
                break
        limit = damping * float(sigma[0])
        step = Vt.T @ (sigma / (sigma**2 + limit**2) * (U.T @ (change / units)))  # (JᵀJ + limit²)⁻¹ Jᵀ change
        trial = held.set_in(state.replace(q=system.plus(state, reach * (free @ step))))
        after = residual(system, trial, held, p, rows)
        there = (after[0], -after[0]) if unfolding is None else unfolding(trial, rows)
        fall = 1.0 - float(np.linalg.norm(there[0] / units) / max(float(np.linalg.norm(away / units)), 1e-300))
        moved = fall > 0.0
        if moved:
            state, (phi, missing, A, _), damping = trial, after, max(damping / 5, 1e-8)
            away, change = there
        else:
            damping *= 10
        if damping > 1e4 or 0.0 < fall < FALL or not np.abs(phi).max() > 0.0:
            break
    return replace(closing, state=state, residuals=phi, held=missing)


def explained(system: SystemLike, closing: Closing, on: np.ndarray, q: Mapping[str, Any]) -> str:
    """The sentence for a position that cannot be reached, q held."""
    held = f" with {', '.join(f'{k} = {v}' for k, v in q.items())} held" if q else ""
    for name, wrong in closing.mirrored.items():
        return (
            f"'{system.name}' closes only with '{name}' on its mirror branch ({wrong}){held}; give a guess nearer to "
            "the branch you mean."
        )
    rows = np.flatnonzero(on & system.rows.holonomic)
    gaps = np.abs(closing.residuals / closing.units[: len(rows)])
    if not len(rows) or np.abs(closing.held).max(initial=0.0) > gaps.max():
        return f"'{system.name}' does not reach the held coordinates{held}: they contradict each other; hold fewer."
    repair = "Hold fewer coordinates, check the lengths, or give a guess nearer to the wanted position."
    worst = int(np.argmax(gaps))
    found = _in_conflict([system.rows.of[k] for k in rows], gaps)
    before = f"'{system.name}' cannot be assembled{held}: after {closing.iterations} iterations"
    if len(found) == 1:
        row = system.row_names[rows[worst]]
        return f"{before} {_open(system, found[0], closing, rows)} where it comes nearest (row '{row}'). {repair}"
    kinds = {c.name: c.kind for c in system.description.constraints}
    told = ", ".join(_open(system, name, closing, rows) for name in found[:NAMED])
    return (
        f"{before} {_listed([f'{kinds[name]} {name!r}' for name in found])} do not hold together; where they come "
        f"nearest, {told}. Take one of them out or change it{', or hold fewer coordinates' if q else ''}."
    )


def contradicting(names: Sequence[str], misses: np.ndarray, held: bool) -> str:
    """The sentence for velocities that cannot all be had: rows (with their constraints) and what each misses."""
    worst = int(np.argmax(misses))
    found = list(dict.fromkeys(name for name, miss in zip(names, misses) if miss > SHARE * misses[worst]))
    repair = "Hold fewer velocities; here they are not independent." if held else "Take one of them out or change it."
    return (
        f"no velocity satisfies the constraints and the held values: '{names[worst]}' misses by {misses[worst]:.3g}; "
        f"{_listed([repr(name) for name in found])} do not hold together. {repair}"
    )


def _in_conflict(of: Sequence[str], gaps: np.ndarray) -> list[str]:
    """Names of the constraints with a share in the gaps, the largest first."""
    largest: dict[str, float] = {}
    for name, gap in zip(of, gaps):
        largest[name] = max(largest.get(name, 0.0), float(gap))
    order = sorted(largest, key=lambda name: -largest[name])
    return [name for name in order if largest[name] > SHARE * largest[order[0]]] or order[:1]


def _open(system: SystemLike, name: str, closing: Closing, rows: np.ndarray) -> str:
    """By how much a constraint does not hold: its rows of the kind, m or rad, of the one that is worst."""
    own = [i for i, k in enumerate(rows) if system.rows.of[k] == name]
    worst = max(own, key=lambda i: abs(closing.residuals[i] / closing.units[i]))
    angular = system.rows.angular[rows]
    gap = float(np.linalg.norm([closing.residuals[i] for i in own if angular[i] == angular[worst]]))
    kind = next(c.kind for c in system.description.constraints if c.name == name)
    unit = "" if system.rows.own[rows][worst] else " rad" if angular[worst] else " m"
    return f"'{name}' {'is open' if kind in JOINTS else 'misses'} by {gap:.4g}{unit}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:NAMED]) if len(names) > NAMED else list(names[:-1])
    last = f"{len(names) - NAMED} more" if len(names) > NAMED else names[-1]
    return f"{', '.join(shown)} and {last}" if shown else last
