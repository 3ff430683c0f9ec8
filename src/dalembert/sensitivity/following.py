"""How a state follows parameters: coordinates are held and the loops stay closed, or the mechanism stays at rest.

[C; A_h] ∂q = [1 or 0; −∂Φ],   [C_v; A] ∂v = [1 or 0; −(∂e₃ + e₃_q ∂q)]         C: the rows of what is held      (1)
0 = C (v̇_q ∂q + ∂v̇),   ∂q = ∂q_held + K ∂y,   [C; A_h] K = [1; 0]                at rest                         (2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.linearization.coordinates import best_choice
from dalembert.protocols import Parameters
from dalembert.rank import earliest_independent
from dalembert.sensitivity.equations import SensitivityEquations
from dalembert.system.state import State
from dalembert.system.system import System

REST = 1e-6  # rad/s² or m/s² over the largest entry of ∂v̇/∂q: more is no equilibrium
WORST = 1e10  # condition of rows in (1) and (2)
INDEPENDENT = 1e-8


def held_names(system: System, held: Any) -> list[int] | str | None:
    """The velocities of the names that are held; "equilibrium"; or None."""
    if held is None or (isinstance(held, str) and held == "equilibrium"):
        return held
    if isinstance(held, str) or not isinstance(held, Sequence):
        raise ArgumentError(f"held is {held!r}; needed: a list of coordinates by name, or 'equilibrium'.")
    for name in held:
        if not isinstance(name, str) or name not in system.v_names:
            raise unknown("coordinate", name, system.v_names, "held")
    return [system.v_names.index(name) for name in held]


def following(
    eq: SensitivityEquations, states: Sequence[State], known: dict[str, Any], held: Any
) -> tuple[np.ndarray, np.ndarray]:
    """∂q (as δ) and ∂v, (N, nv, m) each, of states with known u, p, …; held: as `held_names` gives it."""
    system, nv = eq.system, eq.system.nv
    by = eq.closure(known)
    phi, speed = (eq.targets.spread(by[x]) for x in ("phi", "speed"))
    if isinstance(held, str):
        return _at_rest(eq, states, known, by["A"], phi)
    if held is None:
        held = _by_default(eq, states[0], known["p"], bool(phi.any() or speed.any()))
    dq, dv = np.zeros((2, len(states), nv, len(eq.targets.names)))
    if held is not None:
        one = np.eye(nv)[held]
        wanted = _wanted(eq, held)
        for k, x in enumerate(states):
            A, h = by["A"][k], eq.holonomic
            dq[k] = _solved(system, x, one, A[h], wanted[0], -phi[k][h], held)
            missing = -(speed[k] + by["speed_q"][k] @ dq[k])
            kept = earliest_independent(np.vstack([A / _length(A), one]), nv, INDEPENDENT)
            own = [i - eq.m for i in kept if i >= eq.m]
            dv[k] = _solved(system, x, one[own], A, wanted[1][own], missing, [held[i] for i in own])
    return dq, dv


def _by_default(eq: SensitivityEquations, x: State, p: np.ndarray, needed: bool) -> list[int] | None:
    """Coordinates held by default: all of a tree, none of a fully driven mechanism.

    None where the loops do not change: the state stays.
    """
    system = eq.system
    if not eq.m:
        return list(range(system.nv))
    if eq.holonomic.sum() == system.nv:
        return []
    if needed or eq.targets.held:
        names = [system.v_names[k] for k in _independent(system, x, p)]
        raise ArgumentError(
            f"the loops of '{system.name}' change with {', '.join(eq.targets.names[:4])}, so some coordinates must "
            f"follow; say which ones keep their values: held={names!r}, for example."
        )
    return None


def _independent(system: System, x: State, p: Parameters) -> list[int]:
    h = system.rows.holonomic
    return best_choice(system, p, system.constraint_matrix(x, p=p)[h], system.mass_matrix(x, p=p), h)


def _wanted(eq: SensitivityEquations, held: list[int]) -> np.ndarray:
    """(2, held, m): how held positions and rates themselves change with the targets "held:…"."""
    out = np.zeros((2, len(held), len(eq.targets.names)))
    names = [eq.system.v_names[k] for k in held]
    for column, name, rate in eq.targets.held:
        if name not in names:
            raise unknown("held coordinate", name, names, "wrt")
        out[int(rate), names.index(name), column] = 1.0
    return out


def _solved(
    system: System, x: State, one: np.ndarray, A: np.ndarray, chosen: np.ndarray, rest: np.ndarray, held: list[int]
) -> np.ndarray:
    """(1), with rows of unit length."""
    rows = np.vstack([one, A / _length(A)])
    if len(rows) != system.nv or np.linalg.cond(rows) > WORST:
        names = ", ".join(system.v_names[k] for k in held) or "nothing"
        good = [system.v_names[k] for k in _independent(system, x, x.p)]
        raise ArgumentError(
            f"{names} held does not determine how '{system.name}' follows: {system.nv - len(A)} independent "
            f"coordinates are needed, such as held={good!r}."
        )
    return np.linalg.solve(rows, np.vstack([chosen, rest / _length(A)]))


def _length(A: np.ndarray) -> np.ndarray:
    return np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)


def _at_rest(
    eq: SensitivityEquations, states: Sequence[State], known: dict[str, Any], rows: np.ndarray, phi: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(2)."""
    system, nv = eq.system, eq.system.nv
    if eq.targets.held:
        raise ArgumentError("at an equilibrium nothing is held; leave out 'held:…' in wrt.")
    if not eq.holonomic.all():
        raise ArgumentError("held='equilibrium' needs holonomic constraints.")
    d, direct = eq.slopes(known), eq.targets.spread(eq.by_targets(known)["vdot"])
    dq = np.zeros((len(states), nv, len(eq.targets.names)))
    for k, x in enumerate(states):
        stiff = d["vdot_q"][k]
        size = max(1.0, float(np.abs(stiff).max(initial=0.0)))
        if np.abs(x.v).max(initial=0.0) > REST or np.abs(d["vdot"][k]).max(initial=0.0) > REST * size:
            raise ArgumentError(
                f"the state is no equilibrium: |v| ≤ {np.abs(x.v).max(initial=0.0):.2g}, |v̇| ≤ "
                f"{np.abs(d['vdot'][k]).max(initial=0.0):.2g}. Find one with da.equilibrium(...)."
            )
        chosen = _independent(system, x, known["p"]) if eq.m else list(range(nv))
        one, A = np.eye(nv)[chosen], rows[k]
        none = np.zeros((len(chosen), phi.shape[2]))
        K = _solved(system, x, one, A, np.eye(len(chosen)), np.zeros((eq.m, len(chosen))), chosen)
        first = _solved(system, x, one, A, none, -phi[k], chosen)
        G = stiff[chosen] @ K
        scale = np.abs(G).max(initial=0.0)
        if not scale or np.linalg.cond(G / scale) > WORST:
            raise ArgumentError(f"'{system.name}' also rests beside this position: it is no isolated equilibrium.")
        dq[k] = first + K @ np.linalg.solve(G, -(stiff[chosen] @ first + direct[k][chosen]))
    return dq, np.zeros_like(dq)
