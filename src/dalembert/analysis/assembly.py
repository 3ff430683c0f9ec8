"""Assembly: a configuration and a velocity on the constraint manifold.

Loops are closed by `branch.closing`. Velocities follow in one linear solve (`branch.velocities`). In a singular
position they also satisfy the second-order condition of `second_order`, so that a motion has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.failure import contradicting, explained, unreached
from dalembert.analysis.limits import OutsideLimits, inside_limits
from dalembert.analysis.manifold import Tangent
from dalembert.analysis.second_order import SecondOrder
from dalembert.blas import one_thread
from dalembert.branch.closing import unwind
from dalembert.branch.ending import Ending, close_one
from dalembert.branch.goals import frame_goals
from dalembert.branch.mirrors import openness
from dalembert.branch.nearest import nearest
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows, UndefinedHere, places, undefined
from dalembert.branch.velocities import velocities
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.mechanism.checks import no_joint
from dalembert.protocols import Active, Parameters, StateGiven, StateLike, SystemLike
from dalembert.rank import rank_policy

ONE = np.zeros(1, dtype=int)


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """Evidence of how a state was found."""

    residual: float  # ‖Φ‖∞, m or rad
    speed_residual: float  # ‖A v + b‖∞, m/s or rad/s
    iterations: int  # of Newton's method
    attempts: int  # starts, the first from the guess
    rank: int  # of A
    contraction: float  # ρ of the last steps: 0 for quadratic convergence, 0.5 at a singular configuration


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of an assembly, as rows."""

    system: SystemLike
    p: Parameters
    rows: BranchRows
    start: StateLike  # with what is held in place
    q: Mapping[str, Any]  # held, by name
    frames: Mapping[Any, Any] | None
    held_v: np.ndarray  # places in v of held velocities
    v: np.ndarray  # (held velocities,)
    tolerance: float


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
    branches: int | str,
    attempts: int | None,
    seed: int,
    frames: Mapping[Any, Any] | None = None,
    limits: bool | None = None,
) -> Sequence[StateLike]:
    """Up to `branches` different states; raises AssemblyError where there is none. See `System.assemble`."""
    t, tolerance = checks.number(t, "t"), checks.number(tolerance, "tolerance", above=0.0, most=1e-3)
    every = isinstance(branches, str) and branches == "all"
    number = 1 if every else checks.whole(branches, "branches", least=1, most=1000)
    attempts = attempts if attempts is None else checks.whole(attempts, "attempts", least=1, most=100_000)
    rng = np.random.default_rng(checks.whole(seed, "seed", least=0))
    request = requested(system, q, v, guess, t, p, active, tolerance, frames)
    within = bool(frames) if limits is None else checks.flag(limits, "limits")
    search = Search(request, within, number, POLICY.starts if every or attempts is None else attempts, rng)
    if not every:
        return search.run()
    from dalembert.analysis.modes import assembly_modes

    try:
        first = search.run()[0]
    except AssemblyError:
        first = None
    return assembly_modes(request, first, within, POLICY.all_starts if attempts is None else attempts, rng)


def requested(
    system: SystemLike,
    q: Any,
    v: Any,
    guess: Any,
    t: float,
    p: Parameters,
    active: Active,
    tolerance: float,
    frames: Any,
) -> Request:
    """The rows of an assembly and its start."""
    on = system.arguments.active_rows(active)
    q, v = _held_names(system, q, "q"), _held_names(system, v, "v")
    start, p = system.arguments.begin({} if guess is None else guess, p)
    values = np.array(system.arguments.parameter_vector(p), dtype=float)[None]
    held, held_v = places(q, system.q_names, system.layout.q_slice), places(v, system.v_names, system.layout.v_slice)
    moved, wanted = start.q.copy(), np.zeros(0)
    if q or v:
        target = system.state(q or None, v or None)  # checks sizes
        moved[held], wanted = target.q[held], target.v[held_v]
    start = start.replace(q=moved, t=t)
    goals = [] if frames is None else frame_goals(system, frames)
    rows = BranchRows(system, values, t, on, held, start.q[None, held], goals)
    return Request(system, p, rows, start, q, frames, held_v, wanted, tolerance)


def _held_names(system: SystemLike, values: Mapping[str, Any] | None, what: str) -> Mapping[str, Any]:
    """The values to hold, by names of the tree."""
    if values is None:
        return {}
    names = system.q_names if what == "q" else system.v_names
    for name in checks.mapping(values, what):
        if name not in names and name not in system.layout.joints:
            known = dict.fromkeys([*system.layout.joints, *names])
            raise no_joint("joint or coordinate", name, known, system.description.constraints, f"held {what}")
    return values


class Search:
    """Searches from the start and from others around it."""

    def __init__(self, request: Request, within: bool, branches: int, attempts: int, rng: np.random.Generator):
        self.request, self.rows, self.within, self.branches = request, request.rows, within, branches
        self.attempts, self.rng = attempts, rng
        self.found: list[StateLike] = []
        self.gaps: list[float] = []
        self.failure: Ending | None = None
        self.outside = ""

    def run(self) -> list[StateLike]:
        """Up to `branches` different states."""
        start, attempt, last = self.request.start.q, 0, 0
        error: UndefinedHere | None = None
        while attempt < (POLICY.more_starts + 2 * last if self.found else self.attempts):
            attempt += 1
            at = start if attempt == 1 else scattered(self.rows, start[None], self.rng, attempt, ONE)[0]
            try:
                new = self._from(at, attempt)
            except UndefinedHere as undefined:
                error = error or undefined
                continue
            last = attempt if new else last
            if len(self.found) >= self.branches:
                return self.found
            if not (self.found or self.outside) and self._same_gaps() >= POLICY.same_gaps:
                break
        if not self.found:
            raise self._refusal(attempt, error)
        return self.found

    def _from(self, at: np.ndarray, attempt: int) -> bool:
        """Take what closes from one start; whether that is new."""
        before = len(self.found)
        for end in self._ends(at, self.attempts if attempt == 1 else 1):
            if not end.closed:
                self.failure = end if self.failure is None or _worse(self.failure, end) else self.failure
                self.gaps += [end.gap] if not (end.small or self.found) else []
                continue
            q = end.q[None].copy()
            unwind(self.rows, self.request.start.q[None], q, np.ones(1, dtype=bool))
            end.q = q[0]
            past = ""
            if self.within:
                end, past = inside_limits(self.rows, end, self.request.tolerance)
            self.outside = self.outside or past
            if not past and not any(same_position(self.rows, end.q, x.q) for x in self.found):
                self.found.append(moving(self.request, end, attempt))
            if len(self.found) == self.branches:
                break
        return len(self.found) > before

    def _ends(self, at: np.ndarray, attempts: int) -> list[Ending]:
        """Where searches from one start end, the best first.

        Newton's method meets loops and goals of frames at once, but may leave the branch on its way. From the start
        with its loops closed the frames are also walked straight to their goals, which stays on the branch but does
        not get everywhere. Of the two ends the one nearer to the start counts more, and from a closed start the one on
        its branch. What does not close, while nothing is found, is brought as near as it comes.
        """
        rows, r = self.rows, self.request
        end = close_one(rows, at, r.tolerance)
        closed = [end] if end.closed else []
        near = end.closed and np.abs(rows.apart(end.q[None], at)).max(initial=0.0) < POLICY.beside
        if rows.goals and r.system.rows.of and rows.on.all() and not near and (attempts > 1 or not closed):
            state = r.start.replace(q=at)
            on_branch = openness(r.system, state, r.p) <= POLICY.open
            closed = [*_walked(r, state, on_branch, attempts), *closed]
            if not on_branch:
                closed.sort(key=lambda end: float(np.linalg.norm(rows.apart(end.q[None], at))))
        if closed or self.found:
            return closed or [end]
        Q, gap = nearest(rows, at[None], np.ones(1, dtype=bool))
        if gap[0] < POLICY.closable:
            nearer = close_one(rows, Q[0], r.tolerance)
            return [end if end.small and not nearer.closed else nearer]
        return [end if end.small else end.moved(Q[0])]

    def _same_gaps(self) -> int:
        return sum(gap < (1 + POLICY.same_gap) * min(self.gaps) for gap in self.gaps)

    def _refusal(self, attempts: int, undefined: UndefinedHere | None) -> AssemblyError:
        r = self.request
        if self.outside:
            return OutsideLimits(
                f"'{r.system.name}' was brought there only outside the limits of its joints: {self.outside}. Give a "
                "nearer guess, or limits=False to leave the limits out of account."
            )
        if self.failure is None:
            assert undefined is not None
            return undefined
        return AssemblyError(unreached(self.failure, r.q, attempts) or explained(self.failure, r.q))


def _walked(r: Request, at: StateLike, on_branch: bool, attempts: int) -> list[Ending]:
    """Close the loops, unless the start has them closed, and walk the frames to their goals.

    Nothing where that does not succeed: rows of velocities, or held quaternions, cannot be walked along.
    """
    from dalembert.analysis.sweeping import walk  # with SciPy's linear algebra

    system, q = r.system, r.q
    try:
        home = at if on_branch else assemble(system, q, None, at, at.t, r.p, None, r.tolerance, 1, attempts, 0)[0]
        there = walk(system, home, {}, frames=r.frames, held=q, p=r.p)
    except (ArgumentError, AssemblyError):
        return []
    end = close_one(r.rows, there.q, r.tolerance)
    return [end] if end.closed else []


def _worse(one: Ending, other: Ending) -> bool:
    """Whether the first of two failures says less: a mirror branch says more than a gap, the smaller gap more."""
    return (not one.mirrored, one.gap) > (not other.mirrored, other.gap)


def project(system: SystemLike, state: StateLike, p: Parameters, active: Active, tolerance: float) -> StateLike:
    """The state nearest a given one, position first, then velocity, in the mass metric."""
    tolerance = checks.number(tolerance, "tolerance", above=0.0, most=1e-3)
    request = requested(system, None, None, state, state.t, p, active, tolerance, None)
    end = close_one(request.rows, state.q, tolerance)
    if not end.closed:
        raise AssemblyError(explained(end, {}))
    return moving(request, end, 1)


def moving(r: Request, end: Ending, attempt: int) -> StateLike:
    """The closed state with the nearest admissible velocity; raises AssemblyError where there is none."""
    system, on = r.system, r.rows.on
    found = velocities(r.rows, end.q[None], ONE, r.held_v, r.v[None], r.start.v)
    v, A = found.v[0], found.A[0, on]
    M = r.rows.values("mass_matrix", end.q[None], ONE).reshape(system.nv, system.nv)
    if not np.isfinite(v).all():
        raise undefined(A, M)
    if not found.ok[0]:
        names = [n for n, a in zip(system.row_names, on) if a] + [f"velocity {system.v_names[k]}" for k in r.held_v]
        raise AssemblyError(contradicting(names, found.misses[0], len(r.held_v) > 0))
    policy = rank_policy(system, r.p)
    here = Tangent.of(A, M, policy, policy.sizes[on])
    if here.rank < len(A):
        second = SecondOrder(system, r.start.replace(q=end.q), r.p, on, here, float(found.speed[0]))
        if not second.holds(v):
            v = _second_order(r, second, v)
    evidence = Assembly(
        float(np.abs(end.phi).max(initial=0.0)),
        float(np.abs(A @ v + found.b[0, on]).max(initial=0.0)),
        end.iterations,
        attempt,
        here.rank,
        end.contraction,
    )
    return r.start.replace(q=end.q, v=v, evidence=evidence)


def _second_order(r: Request, second: SecondOrder, v: np.ndarray) -> np.ndarray:
    """The nearest velocity that a motion has in a singular position, with the held components."""
    system, here = r.system, second.here
    N = np.eye(system.nv)[r.held_v]
    lengths = np.sqrt(np.einsum("ij,ji->i", N, np.linalg.solve(here.R.T @ here.R, N.T)))
    with_held = Tangent.of(
        np.vstack([here.A, N]), here.R.T @ here.R, rank_policy(system, r.p), np.concatenate([here.scale, lengths])
    )
    found = second.nearest(v, with_held.admissible)
    if found is None:
        raise AssemblyError(second.refusal(v, [f"{system.v_names[k]} = {x:g}" for k, x in zip(r.held_v, r.v)]))
    return found


def scattered(rows: BranchRows, start: np.ndarray, rng: np.random.Generator, attempt: int, k: np.ndarray) -> np.ndarray:
    """Other starts: the guesses (n, nq) of positions k moved at random, all alike, farther with every attempt."""
    spread = min(0.3 * attempt, 3.0)
    delta = rng.uniform(-1, 1, rows.system.nv) * np.where(rows.angular, spread, 0.2 * spread)
    out = rows.plus(start, np.tile(delta, (len(k), 1)), k)
    out[:, rows.held] = rows.want[k]
    return out


def same_position(rows: BranchRows, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two closed positions are the same configuration."""
    return bool(np.abs(rows.apart(one[None], other)).max(initial=0.0) < POLICY.same)
