"""The reason why a mechanism cannot be assembled: which constraints contradict each other, and by how much.

Where loops cannot close, the configuration nearest to it (least squares, held coordinates kept) has Aᵀ Φ = 0: the
residuals are a combination of rows that vanishes, and the constraints with a share in it are those in conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

import numpy as np

from dalembert.branch.ending import Ending

FIRM = 1e3  # times as much as frames count loops where not all can be had
MISSED = 1e-6  # rad, or lengths of the mechanism: a frame farther from its goal has not reached it
SHARE = 0.01  # of the largest residual: constraints with less are not in conflict
NAMED = 4  # constraints a message names
JOINTS = ("loop", "rod")  # constraints that are open where they do not hold


def unreached(end: Ending, q: Mapping[str, Any], starts: int) -> str:
    """The sentence for the frame that stays away from its goal where all comes nearest, q held; "" where none does."""
    rows = end.rows
    position = _with_frames_nearest(end) if rows.goals else end.q
    for goal in rows.goals:
        away = goal.rows(position, rows.p[0])[0]
        far, turn = (float(np.linalg.norm(away[which])) for which in (~goal.angular, goal.angular))
        if max(far / rows.system.layout.length, turn) > MISSED:
            gaps = [f"{x:.4g} {unit}" for x, unit in ((far, "m"), (turn, "rad")) if x > 1e-9]
            held = f" with {', '.join(map(str, q))} held" if q else ""
            tried = "one start" if starts == 1 else f"{starts} starts"
            return (
                f"'{rows.system.name}' does not bring frame '{goal.name}' to its goal{held}: the nearest it came "
                f"from {tried} misses by {' and '.join(gaps)}. If the goal is within reach, give a guess nearer to "
                "it or more attempts=; else take another goal, or hold fewer."
            )
    return ""


def _with_frames_nearest(end: Ending) -> np.ndarray:
    """The position with closed loops where the frames come nearest to their goals, by least squares."""
    from scipy.optimize import least_squares

    rows, k = end.rows, np.zeros(1, dtype=int)
    firm = len(rows.positions) + len(rows.held)
    weights = np.concatenate([np.full(firm, FIRM), np.ones(rows.units.shape[1] - firm)]) * rows.units[0]

    def gaps(delta: np.ndarray) -> np.ndarray:
        return rows.equations(rows.plus(end.q[None], delta[None], k), k)[0][0] * weights

    best = least_squares(gaps, np.zeros(rows.system.nv), max_nfev=60).x
    return rows.plus(end.q[None], best[None], k)[0]


def explained(end: Ending, q: Mapping[str, Any]) -> str:
    """The sentence for a position that cannot be reached, q held."""
    system, rows = end.rows.system, end.rows.positions
    held = f" with {', '.join(f'{k} = {v}' for k, v in q.items())} held" if q else ""
    for name, wrong in end.mirrored.items():
        return (
            f"'{system.name}' closes only with '{name}' on its mirror branch ({wrong}){held}; give a guess nearer to "
            "the branch you mean."
        )
    gaps = np.abs(end.residuals[: len(rows)])
    if not len(rows) or np.abs(end.residuals[len(rows) :]).max(initial=0.0) > gaps.max():
        return f"'{system.name}' does not reach the held coordinates{held}: they contradict each other; hold fewer."
    repair = "Hold fewer coordinates, check the lengths, or give a guess nearer to the wanted position."
    worst = int(np.argmax(gaps))
    found = _in_conflict([system.rows.of[k] for k in rows], gaps)
    before = f"'{system.name}' cannot be assembled{held}: after {end.iterations} iterations"
    if len(found) == 1:
        row = system.row_names[rows[worst]]
        return f"{before} {_open(end, found[0])} where it comes nearest (row '{row}'). {repair}"
    kinds = {c.name: c.kind for c in system.description.constraints}
    told = ", ".join(_open(end, name) for name in found[:NAMED])
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


def _open(end: Ending, name: str) -> str:
    """By how much a constraint does not hold: its rows of the kind, m or rad, of the one that is worst."""
    system, rows, phi = end.rows.system, end.rows.positions, end.phi
    own = [i for i, k in enumerate(rows) if system.rows.of[k] == name]
    worst = max(own, key=lambda i: abs(end.residuals[i]))
    angular = system.rows.angular[rows]
    gap = hypot(*(float(phi[i]) for i in own if angular[i] == angular[worst]))  # of any size, without overflow
    kind = next(c.kind for c in system.description.constraints if c.name == name)
    unit = "" if system.rows.own[rows][worst] else " rad" if angular[worst] else " m"
    return f"'{name}' {'is open' if kind in JOINTS else 'misses'} by {gap:.4g}{unit}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:NAMED]) if len(names) > NAMED else list(names[:-1])
    last = f"{len(names) - NAMED} more" if len(names) > NAMED else names[-1]
    return f"{', '.join(shown)} and {last}" if shown else last
