"""Assembly: a configuration and a velocity on the constraint manifold.

Loops are closed by `closing`. Velocities follow in one linear solve: the nearest v, in the mass metric, with
A v + b = 0 and the wanted components. In a singular position they also satisfy the second-order condition of
`second_order`, so that a motion has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.closing import Closing, Held, close, unwind, with_held
from dalembert.analysis.failure import contradicting, explained, nearest
from dalembert.analysis.manifold import tangent
from dalembert.analysis.reaching import HeldFrames, inside_limits
from dalembert.analysis.second_order import SecondOrder
from dalembert.blas import one_thread
from dalembert.errors import AssemblyError
from dalembert.mechanism.checks import no_joint
from dalembert.protocols import Active, Parameters, StateGiven, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

REPEATED = 4  # searches from other starts that end in the same gap: it does not close
MORE = 90  # starts for several, and twice as many as the last new one took
CLOSABLE = 1e-3  # rad, or lengths of the mechanism: a gap from which Newton's method is tried again
SAME_GAP = 1e-3  # relative
MISSED = 1e-8  # of a velocity: by how much rows may miss it


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """Evidence of how a state was found."""

    residual: float  # ‖Φ‖∞, m or rad
    speed_residual: float  # ‖A v + b‖∞, m/s or rad/s
    iterations: int  # of Newton's method
    attempts: int  # starts, the first from the guess
    rank: int  # of A
    contraction: float  # ρ of the last steps: 0 for quadratic convergence, 0.5 at a singular configuration


@one_thread()  # hundreds of small factorizations: threads that wait for each other take ten times as long
def assemble(
    system: SystemLike,
    q: Mapping[str, Any] | None,
    v: Mapping[str, Any] | None,
    guess: StateGiven | None,
    t: float,
    p: Parameters,
    active: Active,
    tolerance: float,
    branches: int,
    attempts: int,
    seed: int,
    frames: Mapping[Any, Any] | None = None,
    limits: bool = False,
) -> list[StateLike]:
    """Up to `branches` different states; raises AssemblyError where there is none. See `System.assemble`."""
    t, tolerance = checks.number(t, "t"), checks.number(tolerance, "tolerance", above=0.0, most=1e-3)
    branches = checks.whole(branches, "branches", least=1, most=1000)
    attempts = checks.whole(attempts, "attempts", least=1, most=10_000)
    rng = np.random.default_rng(checks.whole(seed, "seed", least=0))
    on = system.active_rows(active)
    q, v = (_held_values(system, x, what) for x, what in ((q, "q"), (v, "v")))
    held = HeldFrames(system, q, v, frames, p)
    limits = checks.flag(limits, "limits")
    start = system.state(guess, t=t) if guess is None or isinstance(guess, Mapping) else system.as_state(guess)
    start = held.set_in(start.replace(t=t))
    found: list[StateLike] = []
    gaps: list[float] = []
    failure: Closing | None = None
    outside = ""
    attempt, last = 0, 0
    while len(found) < branches and attempt < (MORE + 2 * last if found else attempts):
        attempt += 1
        at = start if attempt == 1 else _scattered(system, start, p, held, rng, attempt)
        closing = close(system, at, held, p, on, tolerance)
        if not (closing.closed or found):
            near = nearest(system, closing, held, p, on, at)
            near = close(system, near.state, held, p, on, tolerance) if near.gap < CLOSABLE else near
            closing = closing if closing.small and not near.closed else near
            gaps += [closing.gap] if not closing.small else []
        if closing.closed:
            unwind(system, closing, held, start, p, on)
        if closing.closed and limits:
            closing, past = inside_limits(system, closing, held, p, on, tolerance)
            outside = outside or past
            if past:
                continue
        if closing.closed and not any(_same(system, p, closing.state, other) for other in found):
            found.append(_moving(system, closing, held, p, on, attempt))
            last = attempt
        elif not closing.closed and (failure is None or _worse(failure, closing)):
            failure = closing
        if not found and sum(gap < (1 + SAME_GAP) * min(gaps) for gap in gaps) >= REPEATED:
            break
    if not found and outside:
        raise AssemblyError(
            f"'{system.name}' closes only outside the limits of its joints: {outside}. Leave out limits=."
        )
    if not found:
        assert failure is not None
        raise AssemblyError(held.unreached(failure.state, on) or explained(system, failure, on, q))
    return found


def _worse(one: Closing, other: Closing) -> bool:
    """Whether the first of two failures tells less: a mirror branch tells more than a gap, the smaller gap more."""
    return (not one.mirrored, one.gap) > (not other.mirrored, other.gap)


def _held_values(system: SystemLike, given: Mapping[str, Any] | None, what: str) -> Mapping[str, Any]:
    """The values to hold, by names of the tree."""
    if given is None:
        return {}
    names = system.q_names if what == "q" else system.v_names
    for name in checks.mapping(given, what):
        if name not in names and name not in system.layout.joints:
            known = dict.fromkeys([*system.layout.joints, *names])
            raise no_joint("joint or coordinate", name, known, system.description.constraints, f"held {what}")
    return given


def project(system: SystemLike, state: StateLike, p: Parameters, active: Active, tolerance: float) -> StateLike:
    """The state nearest a given one, position first, then velocity, in the mass metric."""
    tolerance = checks.number(tolerance, "tolerance", above=0.0, most=1e-3)
    on = system.active_rows(active)
    nothing = Held(system, {}, {})
    closing = close(system, state, nothing, p, on, tolerance)
    if not closing.closed:
        raise AssemblyError(explained(system, closing, on, {}))
    return _moving(system, closing, nothing, p, on, 1)


def _moving(system: SystemLike, closing: Closing, held: Held, p: Parameters, on: np.ndarray, attempt: int) -> StateLike:
    """The closed state with the nearest admissible velocity."""
    state, policy = closing.state, rank_policy(system, p)
    _, A, b = system.evaluate("constraints", state, p=p)
    E = np.eye(system.nv)[held.v_index]
    rows = np.vstack([A[on], E])
    at = with_held(system, state, p, A[on], E, policy.sizes[on])
    wanted = np.concatenate([-b[on], held.v[held.v_index]])
    v = state.v + at.shortest(wanted - rows @ state.v)
    v = v + at.shortest(wanted - rows @ v)  # once more for the last digits
    miss = np.abs(rows @ v - wanted)
    reach = np.where(angular_velocities(system), 1.0, policy.length)
    units = np.concatenate([policy.units[on], reach[held.v_index]])
    speed = max(np.abs(v / reach).max(initial=0.0), np.abs(state.v / reach).max(initial=0.0))
    if not (miss <= MISSED * (units * speed + np.abs(wanted))).all():
        names = [n for n, a in zip(system.row_names, on) if a] + [f"velocity {system.v_names[k]}" for k in held.v_index]
        raise AssemblyError(contradicting(names, miss / units, len(held.v_index) > 0))
    here = tangent(system, state, p, on)
    if here.rank < len(here.A):
        second = SecondOrder(system, state, p, on, here, float(speed))
        found = second.nearest(v, at.admissible)
        if found is None:
            raise AssemblyError(second.refusal(v, [f"{system.v_names[k]} = {held.v[k]:g}" for k in held.v_index]))
        v = found
    evidence = Assembly(
        float(np.abs(closing.residuals).max(initial=0.0)),
        float(np.abs(A[on] @ v + b[on]).max(initial=0.0)),
        closing.iterations,
        attempt,
        here.rank,
        closing.contraction,
    )
    return state.replace(v=v, evidence=evidence)


def _scattered(
    system: SystemLike, start: StateLike, p: Parameters, held: Held, rng: np.random.Generator, attempt: int
) -> StateLike:
    """Another start: the guess moved at random, farther with every attempt."""
    spread = min(0.3 * attempt, 3.0)
    slide = 0.2 * spread * rank_policy(system, p).length
    delta = rng.uniform(-1, 1, system.nv) * np.where(angular_velocities(system), spread, slide)
    return held.set_in(start.replace(q=system.plus(start, delta)))


def _same(system: SystemLike, p: Parameters, one: StateLike, other: StateLike) -> bool:
    """Whether two states are the same configuration, angles compared around the circle."""
    delta, length = system.minus(one, other), rank_policy(system, p).length
    delta = np.where(angular_velocities(system), (delta + np.pi) % (2 * np.pi) - np.pi, delta / length)
    return bool(np.abs(delta).max(initial=0.0) < 1e-5)
