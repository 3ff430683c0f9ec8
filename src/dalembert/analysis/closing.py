"""Newton's method for closing loops, with some coordinates held at given values.

    A δ = −Φ,  q ← q ⊕ s δ,  s by halving until the residual falls                                (Spencer 2.3.1)

Steps have the least length in the mass metric, which is safe where rows are redundant or the position is singular. A
search ends when the estimated distance to the solution, ρ/(1 − ρ) ‖δ‖ with ρ the contraction rate of the steps, is
small, or when the residual no longer falls. Residuals are compared in radians and in lengths of the mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis.manifold import Tangent
from dalembert.errors import ArgumentError
from dalembert.mechanism.constraints import MIRRORS
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

ITERATIONS = 60
TURN = 1.0  # rad: the farthest an angle moves in one step
PATIENCE, FALL = 8, 0.9  # a search ends when PATIENCE steps do not bring the residual below FALL of what it was
STALLS = 5  # steps without any progress that end a search
OPEN = 1e-6  # rad, or lengths of the mechanism: a residual that means open loops
ROUNDING = 1e-15  # of coordinates: shorter steps have no effect


class Held:
    """Coordinates and velocities that must have given values, as rows beside the constraints."""

    def __init__(self, system: SystemLike, q: Mapping[str, Any], v: Mapping[str, Any]):
        self.system = system
        target = system.state(q or None, v or None)  # checks names and sizes
        self.q, self.v = target.q, target.v
        self.q_index = _named(q, system.q_names, system.layout.q_slice)
        self.v_index = _named(v, system.v_names, system.layout.v_slice)
        plain = [system.q_names[k] for k in self.q_index]
        known = all(name in system.v_names for name in plain)  # q̇ = v but for quaternions
        self.N = np.eye(system.nv)[[system.v_names.index(name) for name in plain]] if known else None

    def rows(self, state: StateLike) -> tuple[np.ndarray, np.ndarray]:
        """N(q) of the held coordinates, (held, nv), and how far each is from its value, (held,)."""
        N = self.N
        if N is None:
            N = np.array([self.system.rates(state.replace(v=e)) for e in np.eye(self.system.nv)]).T[self.q_index]
        return N, state.q[self.q_index] - self.q[self.q_index]

    def set_in(self, state: StateLike) -> StateLike:
        """A state with the held coordinates at their values."""
        q = state.q.copy()
        q[self.q_index] = self.q[self.q_index]
        return state.replace(q=q)


def _named(given: Mapping[str, Any], names: Sequence[str], where: Any) -> np.ndarray:
    index: list[int] = []
    for name in given:
        index += [names.index(name)] if name in names else list(range(len(names))[where(name)])
    return np.array(index, dtype=int)


@dataclass(slots=True, eq=False)
class Closing:
    """The end of one search."""

    state: StateLike
    residuals: np.ndarray  # (active holonomic rows,) Φ, m or rad
    held: np.ndarray  # (held coordinates,) distance from their values
    units: np.ndarray  # of both, one after another: 1 rad, or the mechanism's length
    iterations: int
    contraction: float
    small: bool  # every residual is below the tolerance
    mirrored: dict[str, str]  # constraints that hold on a mirror branch, and what is wrong there

    @property
    def closed(self) -> bool:
        """Whether every constraint holds, on the branch that is meant."""
        return self.small and not self.mirrored

    @property
    def gap(self) -> float:
        """The largest residual, rad or lengths of the mechanism."""
        return float(np.abs(np.concatenate([self.residuals, self.held]) / self.units).max(initial=0.0))


def close(system: SystemLike, state: StateLike, held: Held, p: Parameters, on: np.ndarray, tolerance: float) -> Closing:
    """Search from a state until every residual is below the tolerance, in rad or lengths of the mechanism."""
    holonomic = on & system.rows.holonomic
    policy, angular = rank_policy(system, p), angular_velocities(system)
    reach = np.where(angular, 1.0, policy.length)  # of a step: rad, or the mechanism's length
    first = size = contraction = 0.0
    count = stalls = 0
    norms: list[float] = []
    phi, missing, A, N = residual(system, state, held, p, holonomic)
    units = np.concatenate([policy.units[holonomic], np.where(N[:, angular].any(axis=1), 1.0, policy.length)])
    for count in range(1, ITERATIONS + 1):
        at = with_held(system, state, p, A, N, policy.sizes[holonomic])
        delta = at.shortest(-np.concatenate([phi, missing]))
        size = float(np.abs(delta / reach).max(initial=0.0))
        norm = float(np.linalg.norm(np.concatenate([phi, missing]) / units))
        if count == 1:
            first = size
        elif first > 0 and size > 0:
            contraction = min((size / first) ** (1.0 / (count - 1)), 0.999)
        turn = float(np.abs(delta[angular]).max(initial=0.0))
        scale = 1.0 if turn <= TURN else TURN / turn
        while True:
            trial = state.replace(q=system.plus(state, scale * delta))
            after = residual(system, trial, held, p, holonomic)
            if np.linalg.norm(np.concatenate(after[:2]) / units) < norm or scale < 1e-3 or norm == 0.0:
                break
            scale *= 0.5
        stalls += scale < 1e-3
        state, (phi, missing, A, N) = trial, after
        small = np.abs(np.concatenate([phi, missing]) / units).max(initial=0.0) <= tolerance
        least = ROUNDING * (1.0 + float(np.abs(state.q).max(initial=0.0)))
        rate = contraction if count > 1 else 0.5  # after one step nothing is known of it but that it contracts
        if small and (rate / (1 - rate) * size <= tolerance or size <= least):
            break
        norms.append(norm)
        if stalls == STALLS or (count > PATIENCE and norm > FALL * norms[-1 - PATIENCE]):
            break
    small = bool(np.abs(np.concatenate([phi, missing]) / units).max(initial=0.0) <= tolerance)
    return Closing(
        state, phi, missing, units, count, contraction, small, mirrored(system, state, p, on) if small else {}
    )


def unwind(system: SystemLike, closing: Closing, held: Held, start: StateLike, p: Parameters, on: np.ndarray) -> None:
    """Take whole turns out of angles of a closed position, back to within half a turn of the start."""
    q, state = closing.state.q.copy(), closing.state
    turning = {name for name, angle in zip(system.v_names, angular_velocities(system)) if angle}
    for k, name in enumerate(system.q_names):
        turns = round((q[k] - start.q[k]) / (2 * np.pi)) if name in turning and k not in held.q_index else 0
        if not turns:
            continue
        moved = q.copy()
        moved[k] -= 2 * np.pi * turns
        trial = state.replace(q=moved)
        after = residual(system, trial, held, p, on & system.rows.holonomic)
        change = np.concatenate(after[:2]) - np.concatenate([closing.residuals, closing.held])
        if np.abs(change / closing.units).max(initial=0.0) < 1e-12 * (1 + abs(turns)):  # no screw, gear or rack
            q, closing.state, closing.residuals, closing.held = moved, trial, after[0], after[1]


def mirrored(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray | None = None) -> dict[str, str]:
    """Active constraints (default all) on a mirror branch, by name, and what is wrong there: an axis is reversed, …"""
    if not system.rows.branch_of:
        return {}
    active = {name for name, a in zip(system.rows.of, on) if a} if on is not None else set(system.rows.branch_of)
    signs = system.evaluate("branch", state, p=p)
    wrong = zip(system.rows.branch_of, system.rows.branch_signs, signs)
    return {name: MIRRORS[what] for name, what, sign in wrong if sign < 0 and name in active}


def refuse_mirrored(system: SystemLike, state: StateLike, p: Parameters) -> None:
    """Refuse a state in which a constraint holds on a mirror branch."""
    for name, wrong in mirrored(system, state, p).items():
        raise ArgumentError(
            f"the state is not on the constraints: '{name}' of '{system.name}' holds on its mirror branch ({wrong}). "
            "Find one that is with system.assemble(...), from a guess near the branch you mean."
        )


def openness(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray | None = None) -> float:
    """The largest residual of active constraints (default all), rad or lengths of the mechanism; ∞ on a mirror branch.

    A state is closed where this is below `OPEN`.
    """
    gaps = np.abs(system.residuals(state, p=p) / rank_policy(system, p).units)
    largest = float((gaps if on is None else gaps[on]).max(initial=0.0))
    return np.inf if largest <= OPEN and mirrored(system, state, p, on) else largest


def with_held(
    system: SystemLike, state: StateLike, p: Parameters, A: np.ndarray, N: np.ndarray, sizes: np.ndarray
) -> Tangent:
    """The tangent of rows A and held rows N; these are measured by their length per unit of their largest entry."""
    M, policy = system.mass_matrix(state, p=p), rank_policy(system, p)
    largest = np.abs(N).max(axis=1, initial=0.0)
    try:
        with np.errstate(invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ji->i", N, np.linalg.solve(M, N.T)))
    except np.linalg.LinAlgError:  # the tangent refuses such a mass matrix
        lengths = largest
    own = np.divide(lengths, largest, out=np.ones(len(N)), where=largest > 0)
    return Tangent.of(np.vstack([A, N]), M, policy, np.concatenate([sizes, own]))


def residual(
    system: SystemLike, state: StateLike, held: Held, p: Parameters, rows: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Φ of some rows, the distance of held coordinates from their values, A of these rows, and N of what is held."""
    phi, A, _ = system.evaluate("constraints", state, p=p)
    N, missing = held.rows(state)
    return phi[rows], missing, A[rows], N
