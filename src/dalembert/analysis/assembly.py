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
from dalembert.analysis.closing import OPEN, Closing, Held, close, openness, unwind, with_held
from dalembert.analysis.failure import contradicting, explained, nearest
from dalembert.analysis.manifold import UndefinedHere, tangent
from dalembert.analysis.reaching import HeldFrames, OutsideLimits, inside_limits
from dalembert.analysis.second_order import SecondOrder
from dalembert.blas import one_thread
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.mechanism.checks import no_joint
from dalembert.protocols import Active, Parameters, StateGiven, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

REPEATED = 4  # searches from other starts that end in the same gap: it does not close
MORE = 90  # starts for several, and twice as many as the last new one took
CLOSABLE = 1e-3  # rad, or lengths of the mechanism: a gap from which Newton's method is tried again
SAME_GAP = 1e-3  # relative
NEAR = 0.5  # rad, or lengths of the mechanism: a position so near the start is on its branch
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
    limits: bool | None = None,
) -> list[StateLike]:
    """Up to `branches` different states; raises AssemblyError where there is none. See `System.assemble`."""
    t, tolerance = checks.number(t, "t"), checks.number(tolerance, "tolerance", above=0.0, most=1e-3)
    branches = checks.whole(branches, "branches", least=1, most=1000)
    attempts = checks.whole(attempts, "attempts", least=1, most=10_000)
    rng = np.random.default_rng(checks.whole(seed, "seed", least=0))
    on = system.active_rows(active)
    q, v = (_held_values(system, x, what) for x, what in ((q, "q"), (v, "v")))
    start, p = system.begin({} if guess is None else guess, p)
    held = HeldFrames(system, q, v, frames, p)
    within = bool(frames) if limits is None else checks.flag(limits, "limits")
    start = held.set_in(start.replace(t=t))
    found: list[StateLike] = []
    gaps: list[float] = []
    failure: Closing | None = None
    undefined: UndefinedHere | None = None
    outside = ""
    attempt, last = 0, 0
    while len(found) < branches and attempt < (MORE + 2 * last if found else attempts):
        attempt += 1
        at = start if attempt == 1 else _scattered(system, start, p, held, rng, attempt)
        try:
            for end in _ends(system, at, held, p, on, tolerance, attempts if attempt == 1 else 1, not found):
                if not end.closed:
                    failure = end if failure is None or _worse(failure, end) else failure
                    gaps += [end.gap] if not (end.small or found) else []
                    continue
                unwind(system, end, held, start, p, on)
                closing, past = inside_limits(system, end, held, p, on, tolerance) if within else (end, "")
                outside = outside or past
                if not past and not any(_same(system, p, closing.state, other) for other in found):
                    found.append(_moving(system, closing, held, p, on, attempt))
                    last = attempt
                if len(found) == branches:
                    return found
        except UndefinedHere as error:
            undefined = undefined or error
            continue
        if not (found or outside) and sum(gap < (1 + SAME_GAP) * min(gaps) for gap in gaps) >= REPEATED:
            break
    if found:
        return found
    if outside:
        raise OutsideLimits(
            f"'{system.name}' was brought there only outside the limits of its joints: {outside}. Give a nearer guess, "
            "or limits=False to leave the limits out of account."
        )
    if failure is None:
        assert undefined is not None
        raise undefined
    raise AssemblyError(held.unreached(failure.state, on, attempt) or explained(system, failure, on, q))


def _ends(
    system: SystemLike, at: StateLike, held: HeldFrames, p: Parameters, on: np.ndarray, tolerance: float,
    attempts: int, first: bool,
) -> list[Closing]:  # fmt: skip
    """Where searches from one start end, the best first.

    Newton's method meets loops and goals of frames at once, but may leave the branch on its way. From the start with
    its loops closed the frames are also walked straight to their goals, which stays on the branch but does not get
    everywhere. Of the two ends the one nearer to the start counts more, and from a closed start the one on its branch.
    attempts: those of closing the loops. first: whether nothing was found before, so that what does not close is
    brought as near as it comes.
    """
    end = close(system, at, held, p, on, tolerance)
    closed = [end] if end.closed else []
    near = end.closed and np.abs(_away(system, p, end.state, at)).max(initial=0.0) < NEAR
    if held.goals and system.rows.of and on.all() and not near and (attempts > 1 or not closed):
        on_branch = openness(system, at, p) <= OPEN
        closed = [*_walked(system, at, on_branch, held, p, tolerance, attempts), *closed]
        if not on_branch:
            closed.sort(key=lambda end: float(np.linalg.norm(_away(system, p, end.state, at))))
    if closed or not first:
        return closed or [end]
    nearer = nearest(system, end, held, p, on, at)
    nearer = close(system, nearer.state, held, p, on, tolerance) if nearer.gap < CLOSABLE else nearer
    return [end if end.small and not nearer.closed else nearer]


def _walked(
    system: SystemLike, at: StateLike, on_branch: bool, held: HeldFrames, p: Parameters, tolerance: float, attempts: int
) -> list[Closing]:
    """Close the loops, unless the start has them closed, and walk the frames to their goals.

    Nothing where that does not succeed: rows of velocities, or held quaternions, cannot be walked along.
    """
    from dalembert.analysis.sweeping import walk  # with SciPy's linear algebra

    q, all_rows = held.coordinates, np.ones(len(system.rows.of), dtype=bool)
    try:
        home = at if on_branch else assemble(system, q, None, at, at.t, p, None, tolerance, 1, attempts, 0)[0]
        there = walk(system, home, {}, frames=held.frames, held=q, p=p)
    except (ArgumentError, AssemblyError):
        return []
    end = close(system, there, held, p, all_rows, tolerance)
    return [end] if end.closed else []


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


def _away(system: SystemLike, p: Parameters, one: StateLike, other: StateLike) -> np.ndarray:
    """(nv,) the way between two configurations, rad around the circle or lengths of the mechanism."""
    delta, length = system.minus(one, other), rank_policy(system, p).length
    return np.where(angular_velocities(system), (delta + np.pi) % (2 * np.pi) - np.pi, delta / length)


def _same(system: SystemLike, p: Parameters, one: StateLike, other: StateLike) -> bool:
    """Whether two states are the same configuration."""
    return bool(np.abs(_away(system, p, one, other)).max(initial=0.0) < 1e-5)
