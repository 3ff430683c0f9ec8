"""All assembly modes: every position in which the loops close with what is held, and how sure their number is.

Searches start from positions drawn at random from the whole configuration space, and each that closes leads to one
mode. How often modes were met tells what is left (Chao 1984): with f₁ modes met once and f₂ twice,

    estimated number ≥ found + f₁ (f₁ − 1) / (2 (f₂ + 1)),                                                      (1)

and a mode that a share s of the closing starts leads to is missed by n of them with probability (1 − s)ⁿ.           (2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.analysis.assembly import Request, moving
from dalembert.analysis.limits import ROOM, joint_limits, turned
from dalembert.branch.closing import close, unwind
from dalembert.branch.ending import Ending
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows
from dalembert.errors import ArgumentError, AssemblyError

if TYPE_CHECKING:
    from dalembert.protocols import StateLike

TOGETHER = 64  # starts that are closed side by side
MET = 4  # times the rarest mode, before a search ends: with fewer (1) has nothing to go by
LEAST, PER_MODE = 256, 25  # starts that close, before a search ends, and for each mode found: see (2)
DOUBT = 0.01  # probability in (2)
AROUND = 2.0  # lengths of the mechanism: how far slides without limits are drawn from the guess


@dataclass(frozen=True, eq=False)
class AssemblyModes(Sequence[Any]):
    """The states of `system.assemble(..., branches="all")`, nearest to the guess first, and the evidence."""

    states: tuple[StateLike, ...]
    hits: tuple[int, ...]  # random starts that led to each
    starts: int  # random starts
    closed: int  # of these: that closed, on the branch that is meant, within the limits if these count
    system: Any

    @property
    def estimate(self) -> float:
        """Chao's lower estimate of the number of modes, from how often each was met."""
        once, twice = (sum(h == n for h in self.hits) for n in (1, 2))
        return len(self.states) + once * (once - 1) / (2 * (twice + 1)) + 0.0

    @property
    def missed_share(self) -> float:
        """A mode that at least this share of the closing starts leads to is missing with 1 % probability at most."""
        return float(1.0 - DOUBT ** (1.0 / self.closed)) if self.closed else 1.0

    @property
    def complete(self) -> bool:
        """Whether every mode was met several times, so that nothing points to more."""
        return bool(self.hits) and min(self.hits) >= MET

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, k: Any) -> Any:
        """The k-th state, k from 0; negative k count from the end."""
        return self.states[checks.whole(k, "k", least=-len(self), most=len(self) - 1)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.states)

    def __repr__(self) -> str:
        sure = "each met several times" if self.complete else f"estimated: {self.estimate:.3g} or more"
        return (
            f"<{len(self)} assembly modes of '{self.system.name}' ({sure}); {self.closed} of {self.starts} random "
            f"starts closed, so one that {100 * self.missed_share:.2g} % of them lead to is missing with 1 % at most>"
        )


def assembly_modes(r: Request, first: StateLike | None, within: bool, starts: int, rng: Any) -> AssemblyModes:
    """The modes of a request. first: the one that a search from the guess found; starts: random ones, at most."""
    rows = r.rows.times(TOGETHER)
    guess, k = np.tile(r.start.q, (TOGETHER, 1)), np.arange(TOGETHER)
    modes, hits = ([] if first is None else [first.q]), ([] if first is None else [0])
    tried = closed = 0
    iterations = list[int]()
    while tried < starts and not _enough(hits, closed):
        ends = close(rows, _anywhere(rows, guess, rng), tolerance=r.tolerance)
        tried += TOGETHER
        good = ends.ok.copy()
        unwind(rows, guess, ends.q, good)
        if good.any() and tried == TOGETHER:
            _refuse_mobile(rows, ends.q[good], k[good])
        for i in np.flatnonzero(good):
            q = turned(rows, ends.q[i]) if within else ends.q[i]
            if within and not _inside(rows, q):
                continue
            closed += 1
            far = np.abs(rows.apart(np.array(modes).reshape(-1, len(q)), q)).max(axis=1, initial=0.0)
            if len(far) and far.min() < 10 * POLICY.same:
                hits[int(np.argmin(far))] += 1
            else:
                modes.append(q)
                hits.append(1)
                iterations.append(int(ends.iterations[i]))
    if not modes:
        raise AssemblyError(
            f"none of {tried} random starts closes '{r.system.name}'{' within its joint limits' if within else ''}. "
            "Hold fewer coordinates, check the lengths, or give more attempts=."
        )
    order = np.argsort([np.linalg.norm(rows.apart(q[None], r.start.q)) for q in modes], kind="stable")
    known = [] if first is None else [first]
    known += [_state(r, q, n) for q, n in zip(modes[len(known) :], iterations)]
    return AssemblyModes(tuple(known[i] for i in order), tuple(hits[i] for i in order), tried, closed, r.system)


def _enough(hits: list[int], closed: int) -> bool:
    return bool(hits) and min(hits) >= MET and closed >= max(LEAST, PER_MODE * len(hits))


def _state(r: Request, q: np.ndarray, iterations: int) -> StateLike:
    e = r.rows.equations(q[None], np.zeros(1, dtype=int))[0][0]
    return moving(r, Ending(r.rows, q, e, True, iterations, 0.0), 1)


def _anywhere(rows: BranchRows, guess: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random positions: angles anywhere, slides within their limits or around the guess; what is held stays."""
    system, n = rows.system, len(guess)
    low, high = joint_limits(system)
    spread = np.where(rows.angular, np.pi, AROUND)
    Q = rows.plus(guess, rng.uniform(-1, 1, (n, system.nv)) * spread, np.arange(n))
    for v, name in enumerate(system.v_names):
        if not rows.angular[v] and name in system.q_names and np.isfinite([low[v], high[v]]).all():
            Q[:, system.q_names.index(name)] = rng.uniform(low[v], high[v], n)
    Q[:, rows.held] = rows.want
    return Q


def _inside(rows: BranchRows, q: np.ndarray) -> bool:
    low, high = joint_limits(rows.system)
    plain = [(v, rows.system.q_names.index(n)) for v, n in enumerate(rows.system.v_names) if n in rows.system.q_names]
    return all(low[v] - ROOM <= q[i] <= high[v] + ROOM for v, i in plain)


def _refuse_mobile(rows: BranchRows, Q: np.ndarray, k: np.ndarray) -> None:
    """Refuse what still moves with all that is held: its positions are no list."""
    J = rows.equations(Q, k)[1]
    ranks = (np.linalg.svd(J, compute_uv=False) > rows.policy.tolerance).sum(axis=1)
    left = rows.system.nv - int(ranks.max(initial=0))
    if left:
        raise ArgumentError(
            f"'{rows.system.name}' still has {left} degree{'s' if left > 1 else ''} of freedom, so its positions are "
            "not a list of assembly modes; hold as many coordinates more, or give branches= a number."
        )
