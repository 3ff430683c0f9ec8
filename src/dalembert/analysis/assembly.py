"""Assembly: find a configuration and a velocity on the manifold.

Newton's method with steps of least length in the mass metric, safe where rows are redundant or the place is singular:

    A δ = −Φ,  q ← q ⊕ s δ,  s by halving until the residual falls                                (Spencer 2.3.1)

and done when the estimated distance to the solution, ρ/(1 − ρ) ‖δ‖ with ρ the contraction rate of the steps, is small.
Velocities follow in one linear solve: the nearest v, in the mass metric, with A v + b = 0 and the wanted components.
Residuals are compared in radians and in lengths of the mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent
from dalembert.errors import AssemblyError
from dalembert.rank import angular_velocities, rank_policy

ATTEMPTS = 30
TURN = 1.0  # rad: the farthest an angle goes in one step of Newton's method
STALLS = 5  # steps that bring nothing after which a start is given up
ROUNDING = 1e-15  # of coordinates: shorter steps lead nowhere
MISSED = 1e-8  # of a velocity: by how much rows may miss it


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """How a state was found."""

    residual: float  # ‖Φ‖∞, m or rad
    speed_residual: float  # ‖A v + b‖∞
    iterations: int
    attempts: int  # starts, the first from the guess
    rank: int
    contraction: float  # ρ of the last steps: 0 for quadratic convergence, 0.5 at a singular configuration


class Held:
    """Coordinates and velocities that must have given values, as rows beside the constraints."""

    def __init__(self, system: Any, q: Mapping[str, Any], v: Mapping[str, Any]):
        self.system = system
        target = system.state(q or None, v or None)  # checks names and sizes
        self.q, self.v = target.q, target.v
        self.q_index = _named(q, system.q_names, system.layout.q_slice)
        self.v_index = _named(v, system.v_names, system.layout.v_slice)
        plain = [system.q_names[k] for k in self.q_index]
        known = all(name in system.v_names for name in plain)  # q̇ = v but for quaternions
        self.N = np.eye(system.nv)[[system.v_names.index(name) for name in plain]] if known else None

    def rows(self, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """N(q) of the held coordinates, (held, nv), and how far each is from its value, (held,)."""
        N = self.N
        if N is None:
            N = np.array([self.system.rates(state.replace(v=e)) for e in np.eye(self.system.nv)]).T[self.q_index]
        return N, state.q[self.q_index] - self.q[self.q_index]


def _named(given: Mapping[str, Any], names: list[str], where: Any) -> np.ndarray:
    index: list[int] = []
    for name in given:
        index += [names.index(name)] if name in names else list(range(len(names))[where(name)])
    return np.array(index, dtype=int)


def assemble(
    system: Any,
    q: Mapping[str, Any],
    v: Mapping[str, Any],
    guess: Any,
    t: float,
    p: Any,
    active: Mapping[str, bool] | None,
    tolerance: float,
    branches: int,
    seed: int,
) -> list[Any]:
    """Up to `branches` different states; raises AssemblyError where there is none."""
    on = system.active_rows(active)
    start = system.state(guess, t=t) if not hasattr(guess, "layout") else guess.replace(t=t)
    start = start.replace(q=q) if q else start
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    failure: Closing | None = None
    for attempt in range(1, (ATTEMPTS if branches == 1 else 10 * ATTEMPTS * branches) + 1):
        at = start if attempt == 1 else _scattered(system, start, p, q, rng, attempt)
        closing = close(system, at, Held(system, q, v), p, on, tolerance)
        if closing.closed and not any(_same(system, p, closing.state, other) for other in found):
            found.append(_moving(system, closing, Held(system, q, v), p, on, tolerance, attempt))
        elif not closing.closed and (failure is None or closing.gap < failure.gap):
            failure = closing
        if len(found) == branches:
            break
    if not found:
        assert failure is not None
        raise AssemblyError(_explain(system, _nearest(system, failure, Held(system, q, v), p, on), on, q))
    return found


@dataclass(slots=True, eq=False)
class Closing:
    """One run of Newton's method."""

    state: Any
    residuals: np.ndarray
    held: np.ndarray
    iterations: int
    rank: int
    contraction: float
    closed: bool
    flipped: list[str]

    @property
    def gap(self) -> float:
        """The largest residual."""
        return float(max(np.abs(self.residuals).max(initial=0.0), np.abs(self.held).max(initial=0.0)))


def close(
    system: Any, state: Any, held: Held, p: Any, on: np.ndarray, tolerance: float, iterations: int = 60
) -> Closing:
    """Newton's method from a state, until every residual is below the tolerance in rad or lengths of the mechanism."""
    holonomic = on & system.rows.holonomic
    policy, angular = rank_policy(system, p), angular_velocities(system)
    reach = np.where(angular, 1.0, policy.length)  # of a step: rad, or the mechanism's length
    first = size = contraction = 0.0
    rank = count = stalls = 0
    phi, missing, A, N = _residual(system, state, held, p, holonomic)
    units = np.concatenate([policy.units[holonomic], np.where(N[:, angular].any(axis=1), 1.0, policy.length)])
    for count in range(1, iterations + 1):
        at = _with_held(system, state, p, A, N, policy.sizes[holonomic])
        rank = at.rank
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
            after = _residual(system, trial, held, p, holonomic)
            if np.linalg.norm(np.concatenate(after[:2]) / units) < norm or scale < 1e-3 or norm == 0.0:
                break
            scale *= 0.5
        stalls += scale < 1e-3
        state, (phi, missing, A, N) = trial, after
        small = np.abs(np.concatenate([phi, missing]) / units).max(initial=0.0) <= tolerance
        least = ROUNDING * (1.0 + float(np.abs(state.q).max(initial=0.0)))
        if small and (contraction / (1 - contraction) * size <= tolerance or size <= least):
            break
        if stalls == STALLS:
            break
    small = np.abs(np.concatenate([phi, missing]) / units).max(initial=0.0) <= tolerance
    signs = system.evaluate("branch", state, p=p) if len(system.rows.branch) else np.zeros(0)
    flipped = [
        name for name, s in zip(system.rows.branch_of, signs) if s < 0 and on[[c == name for c in system.rows.of]].any()
    ]
    return Closing(state, phi, missing, count, rank, contraction, bool(small) and not flipped, flipped)


def _with_held(system: Any, state: Any, p: Any, A: np.ndarray, N: np.ndarray, sizes: np.ndarray) -> Tangent:
    """The tangent of rows A and held rows N; these are measured by their length per unit of their largest entry."""
    M, policy = system.mass_matrix(state, p=p), rank_policy(system, p)
    lengths, largest = np.sqrt(np.einsum("ij,ji->i", N, np.linalg.solve(M, N.T))), np.abs(N).max(axis=1, initial=0.0)
    own = np.divide(lengths, largest, out=np.ones(len(N)), where=largest > 0)
    return Tangent.of(np.vstack([A, N]), M, policy, np.concatenate([sizes, own]))


def _residual(system: Any, state: Any, held: Held, p: Any, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    phi, A, _ = system.evaluate("constraints", state, p=p)
    N, missing = held.rows(state)
    return phi[rows], missing, A[rows], N


def project(system: Any, state: Any, p: Any, active: Mapping[str, bool] | None, tolerance: float) -> Any:
    """The state nearest a given one, position first, then velocity, in the mass metric."""
    on = system.active_rows(active)
    nothing = Held(system, {}, {})
    closing = close(system, state, nothing, p, on, tolerance)
    if not closing.closed:
        raise AssemblyError(_explain(system, closing, on, {}))
    return _moving(system, closing, nothing, p, on, tolerance, 1)


def _moving(system: Any, closing: Closing, held: Held, p: Any, on: np.ndarray, tolerance: float, attempt: int) -> Any:
    """The closed state with the nearest admissible velocity."""
    state, policy = closing.state, rank_policy(system, p)
    _, A, b = system.evaluate("constraints", state, p=p)
    E = np.eye(system.nv)[held.v_index]
    rows = np.vstack([A[on], E])
    at = _with_held(system, state, p, A[on], E, policy.sizes[on])
    wanted = np.concatenate([-b[on], held.v[held.v_index]])
    v = state.v + at.shortest(wanted - rows @ state.v)
    v = v + at.shortest(wanted - rows @ v)  # once more for the last digits
    miss = np.abs(rows @ v - wanted)
    reach = np.where(angular_velocities(system), 1.0, policy.length)
    units = np.concatenate([policy.units[on], reach[held.v_index]])
    if (miss > MISSED * (units * np.abs(v / reach).max(initial=0.0) + np.abs(wanted))).any():
        worst = int(np.argmax(miss / units))
        names = [n for n, a in zip(system.row_names, on) if a] + [f"velocity {system.v_names[k]}" for k in held.v_index]
        raise AssemblyError(
            f"no velocity satisfies the constraints and the held values: '{names[worst]}' misses by {miss[worst]:.3g}. "
            + (
                "Hold fewer velocities; here they are not independent."
                if len(held.v_index)
                else "Two constraints disagree."
            )
        )
    evidence = Assembly(
        float(np.abs(closing.residuals).max(initial=0.0)),
        float(np.abs(A[on] @ v + b[on]).max(initial=0.0)),
        closing.iterations,
        attempt,
        tangent(system, state, p, on).rank,
        closing.contraction,
    )
    return state.replace(v=v, evidence=evidence)


def _scattered(system: Any, start: Any, p: Any, q: Mapping[str, Any], rng: np.random.Generator, attempt: int) -> Any:
    """Another start: the guess moved at random, farther with every attempt."""
    spread = min(0.3 * attempt, 3.0)
    slide = 0.2 * spread * rank_policy(system, p).length
    delta = rng.uniform(-1, 1, system.nv) * np.where(angular_velocities(system), spread, slide)
    moved = start.replace(q=system.plus(start, delta))
    return moved.replace(q=q) if q else moved


def _same(system: Any, p: Any, one: Any, other: Any) -> bool:
    """Whether two states are the same configuration, angles compared around the circle."""
    delta, length = system.minus(one, other), rank_policy(system, p).length
    delta = np.where(angular_velocities(system), (delta + np.pi) % (2 * np.pi) - np.pi, delta / length)
    return bool(np.abs(delta).max(initial=0.0) < 1e-5)


def _nearest(system: Any, closing: Closing, held: Held, p: Any, on: np.ndarray) -> Closing:
    """Where a mechanism that does not close comes nearest to it: least squares from where Newton gave up."""
    from scipy.optimize import least_squares

    rows = on & system.rows.holonomic

    def residual(delta: np.ndarray) -> np.ndarray:
        return np.concatenate(_residual(system, at(delta), held, p, rows)[:2])

    def at(delta: np.ndarray) -> Any:
        return closing.state.replace(q=system.plus(closing.state, delta))

    best = least_squares(residual, np.zeros(system.nv), max_nfev=60)
    phi, missing, _, _ = _residual(system, at(best.x), held, p, rows)
    return replace(closing, state=at(best.x), residuals=phi, held=missing)


def _explain(system: Any, closing: Closing, on: np.ndarray, q: Mapping[str, Any]) -> str:
    held = f" with {', '.join(f'{k} = {v}' for k, v in q.items())} held" if q else ""
    if closing.flipped:
        return (
            f"'{system.name}' closes only with '{closing.flipped[0]}' on its mirror branch (its axis reversed){held}; "
            "give a guess nearer to the branch you mean."
        )
    rows = np.flatnonzero(on & system.rows.holonomic)
    if len(closing.residuals) == 0 or np.abs(closing.held).max(initial=0.0) > np.abs(closing.residuals).max(
        initial=0.0
    ):
        return f"'{system.name}' does not reach the held coordinates{held}; hold fewer of them."
    worst = int(np.argmax(np.abs(closing.residuals)))
    name, unit = system.rows.of[rows[worst]], "rad" if system.rows.angular[rows[worst]] else "m"
    of = [i for i, r in enumerate(rows) if system.rows.of[r] == name]
    gap = float(np.linalg.norm(closing.residuals[of]))
    return (
        f"'{system.name}' cannot be assembled{held}: after {closing.iterations} iterations '{name}' is open by "
        f"{gap:.4g} {unit} (row '{system.row_names[rows[worst]]}'). Hold fewer coordinates, check the lengths, or give "
        "a guess nearer to the wanted position."
    )
