"""The report of a mechanism: mobility, redundancy, determinate multipliers, distance to singularity.

Ranks are decided by `rank`, in the mass metric and with each row measured by its usual length, so that none depends on
units. Singular values and condition are those of the rows in metres and radians. Redundancy that stays when the
mechanism moves is permanent; a rank that is smaller here than nearby is a singular configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from dalembert.analysis.manifold import Tangent, tangent
from dalembert.analysis.second_order import SecondOrder
from dalembert.blas import one_thread
from dalembert.branch.ending import close_one
from dalembert.branch.mirrors import mirrored
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows
from dalembert.errors import AssemblyError
from dalembert.mechanism.constraints import LoopJoint
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import ACCURACY, RankPolicy, earliest_independent, independent, rank_policy, reach

STEP = 0.05  # rad, or lengths of the mechanism: how far "nearby" is
PROBES = 6
AWAY = 0.1 * STEP  # a configuration that is nearer is the same, found again
CLOSURE = 1e-12  # rad, or lengths of the mechanism: residual of a probe
REACH = 1.5  # rad, or lengths of the mechanism: a linear estimate is worthless beyond
SHOWN = 12  # names in one line of a report, and lines of one kind


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Mobility, redundant rows, determinate multipliers and nearby singularities of a system at a state."""

    name: str  # of the mechanism
    nv: int  # velocities
    rows: int  # active rows of the constraints, without trivial ones
    rank: int  # of A, here
    generic_rank: int  # of A, nearby; here where nothing is nearby
    mobility: int  # nv − rank, here
    generic_mobility: int  # nv − rank, nearby; 0 where nothing is
    trivial: tuple[str, ...]  # rows left out when compiled: they hold whatever the mechanism does
    redundant: dict[str, dict[str, float]]  # redundant row: the rows, with coefficients, that make it
    determinate: dict[str, bool]  # per row: whether its multiplier is determinate
    singular_values: np.ndarray  # (min(rows, nv),) of A in the mass metric, falling
    condition: float  # the largest over the smallest retained one
    distance: float  # smallest retained singular value over the largest
    to_singularity: tuple[float, str] | None  # about how far, and of which coordinate, to where the rank drops
    residual: float  # the largest, m or rad
    closed: bool  # whether it is small, as lengths of the mechanism go, and no constraint holds on a mirror branch
    directions: dict[str, list[float]]  # velocities of each admissible motion, by name
    horizon: float = REACH  # rad or m of the coordinate in `to_singularity`: farther no estimate means anything
    led: tuple[str, ...] = ()  # velocities that kinematic inputs lead; the mobility counts them
    mirrored: Mapping[str, str] = field(default_factory=dict)  # constraints on a mirror branch, and what is wrong there
    isolated: bool = False  # whether no motion leads away, though the rank admits velocities
    tree: tuple[str, ...] = ()  # joints that carry the bodies, parents first: their motions are the coordinates
    closing: tuple[str, ...] = ()  # joints that close loops

    @property
    def singular(self) -> bool:
        """Whether the rank drops here only, or no motion leads away from here."""
        return self.rank < self.generic_rank or self.isolated

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {title + ':':22s}{text}" for title, text in self.lines())])

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        body = "".join(f"<tr><th {left}>{escape(t)}</th><td {left}>{escape(x)}</td></tr>" for t, x in self.lines())
        return f"<b>{escape(self.name)}</b><table>{body}</table>"

    def lines(self) -> list[tuple[str, str]]:
        """(title, text) of every line that is printed."""
        out = [("mobility", self._mobility())]
        if self.closing:
            closing = f"{_some(self.closing)} {'closes a loop' if len(self.closing) == 1 else 'close loops'}"
            out.append(("tree", f"{_some(self.tree)}; {closing}" if self.tree else closing))
        if self.led:
            out.append(("led by inputs", ", ".join(self.led)))
        out.append(("constraints", f"{self.rows} rows, rank {self.rank}"))
        if self.trivial:
            out.append(("redundant, trivial", f"{_some(self.trivial)} (hold in every position; left out)"))
        for name, made_of in list(self.redundant.items())[:SHOWN]:
            out.append(("redundant", f"{name} = {_combination(made_of)}"))
        if len(self.redundant) > SHOWN:
            out.append(("redundant", f"… ({len(self.redundant)} rows in all, in report.redundant)"))
        if self.rows or self.trivial:
            out.append(("multipliers", self._multipliers()))
        if self.rows:
            out.append(("singular values", f"{_ends(self.singular_values)} (mass metric)"))
            out.append(("condition", f"{self.condition:.3g}"))
        if self.singular:
            out.append(("nearest singularity", "here"))
        elif self.to_singularity is not None:
            far, of = self.to_singularity
            near = f"about {far:.2g} of '{of}' away (rad or m, linear estimate)"
            none = f"none within about {self.horizon:.2g} of '{of}'"
            out.append(("nearest singularity", near if far < self.horizon else none))
        elif self.rank and self.mobility:
            out.append(("nearest singularity", "not known: the smallest singular value is stationary here"))
        open_ = "" if self.closed else ": the loops are open here, assemble first"
        for name, wrong in self.mirrored.items():
            open_ = f", but '{name}' holds with {wrong}: not closed, assemble first"
        out.append(("closure", f"largest residual {self.residual:.1e}{open_}"))
        return out

    def _multipliers(self) -> str:
        free = [name for name, known in self.determinate.items() if not known]
        if not free:
            return "all determinate" + (", except those of trivial rows" if self.trivial else "")
        return f"not determinate: {_some(free)}" + (", and those of trivial rows" if self.trivial else "")

    def _mobility(self) -> str:
        if self.isolated:
            return f"{self.mobility} to first order, but no motion leads away: an isolated configuration"
        if self.singular:
            return f"{self.mobility} here, {self.generic_mobility} nearby: a singular configuration"
        return str(self.mobility)


def report(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray) -> Report:
    """Mobility, redundancy, determinate forces and distance to singularity of the active rows at a state."""
    policy, here = rank_policy(system, p), tangent(system, state, p, on)
    gaps, reversed_ = np.abs(system.residuals(state, p=p)[on]), mirrored(system, state, p, on)
    closed = bool((gaps <= POLICY.open * policy.units[on]).all()) and not reversed_
    names = [n for n, a in zip(system.row_names, on) if a]
    around, away = _nearby(system, state, p, on, here)
    generic = max([here.rank, *(t.rank for t in around if away)])
    isolated = bool(here.rank < min(here.A.shape)) and not away and closed
    sigma, r = here.singular_values, here.rank
    largest, smallest = (sigma[0], sigma[r - 1]) if r else (1.0, 1.0)
    K = here.admissible
    near, far = _to_singularity(system, state, p, on, here), reach(system, p)
    return Report(
        system.name,
        system.nv,
        len(names),
        r,
        generic,
        system.nv - r,
        0 if isolated else system.nv - generic,
        system.rows.trivial,
        _redundancies(here, names, policy),
        dict(zip(names, determinate(here, policy).tolist())),
        sigma,
        float(largest / smallest),
        float(smallest / largest),
        near,
        float(gaps.max(initial=0.0)),
        closed,
        {name: K[i].tolist() for i, name in enumerate(system.v_names)},
        REACH if near is None else float(REACH * far[system.v_names.index(near[1])]),
        tuple(system.v_names[d] for d in system.description.prescribed.values()),
        reversed_,
        isolated,
        tuple(system.layout.joints),
        tuple(c.name for c in system.description.constraints if isinstance(c, LoopJoint)),
    )


@one_thread()
def _nearby(
    system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray, here: Tangent
) -> tuple[list[Tangent], bool]:
    """Tangents at configurations a small admissible motion away, back on the manifold; and whether any is away.

    In a singular position most directions are those of no motion: closing leads back from there to it, or so near that
    the ranks are rounding. So directions are taken that satisfy the second-order condition, and configurations that are
    `AWAY` from here. Where there is none, the tangents are those beside it, looked at more sharply. Once all rows are
    independent there is no need for more, and a mechanism that moves in one way only has two directions.
    """
    rng, far, K = np.random.default_rng(1), reach(system, p), here.admissible
    ways = [np.ones(1), -np.ones(1)] if K.shape[1] == 1 else [rng.normal(size=K.shape[1]) for _ in range(PROBES)]
    directions = [K @ way for way in ways if K.shape[1]]
    if directions and here.rank < len(here.A):
        second = SecondOrder(system, state, p, on, here, 1.0)
        if not all(second.holds(v) for v in directions):
            directions = [*second.directions(directions[0])[:PROBES], *directions]
    policy, sharp = rank_policy(system, p), rank_policy(system, p, 0.1 * ACCURACY)
    away, beside = list[Tangent](), list[Tangent]()
    rows = BranchRows(system, np.array(system.arguments.parameter_vector(p), dtype=float)[None], state.t, on)
    for direction in directions:
        size = np.abs(direction / far).max(initial=0.0)
        if size == 0 or (away and away[-1].rank == len(here.A)):
            break
        moved = state.replace(q=system.plus(state, direction * (STEP / size)), v=np.zeros(system.nv))
        try:
            closing = close_one(rows, moved.q, CLOSURE)
            if not closing.closed:
                continue
            there = moved.replace(q=closing.q)
            A, M = system.constraint_matrix(there, p=p)[on], system.mass_matrix(there, p=p)
            if np.abs(system.minus(there, state) / far).max(initial=0.0) > AWAY:
                away.append(Tangent.of(A, M, policy, here.scale))
            else:
                beside.append(Tangent.of(A, M, sharp, here.scale))
        except AssemblyError:
            continue
    return (away, True) if away else (beside, False)


def _redundancies(here: Tangent, names: list[str], policy: RankPolicy) -> dict[str, dict[str, float]]:
    """Each redundant row as a combination of independent ones; later rows give way."""
    kept = earliest_independent(here.white, here.rank, policy.tolerance)
    basis = policy.reveal(here.white[kept].T, 1.0)
    out: dict[str, dict[str, float]] = {}
    for k in sorted(set(range(len(names))) - set(kept)):
        part = basis.solve(here.white[k]) if kept else np.zeros(0)
        present = np.abs(part) > 10 * policy.tolerance
        factors = part * here.scale[k] / here.scale[kept]
        out[names[k]] = {names[j]: float(c) for j, c, real in zip(kept, factors, present) if real}
    return out


def determinate(here: Tangent, policy: RankPolicy) -> np.ndarray:
    """(m,) bool: whether the multiplier of each row is determinate: no vanishing combination of rows contains it."""
    return np.asarray(policy.absent(here.revealed.dependencies).all(axis=0))


def independent_rows(
    system: SystemLike, state: StateLike, p: Parameters, count: int | None = None
) -> tuple[int, ...] | None:
    """Independent rows near a state, as many as the rank and holonomic ones first; None where no row is redundant.

    The rank is taken nearby, so that a singular position does not count. count: the rank along the motion that led
    here, where it is known; a state with just that rank is not singular, and nothing nearby is looked at.
    """
    policy = rank_policy(system, p)
    A, M = system.constraint_matrix(state, p=p), system.mass_matrix(state, p=p)
    if policy.clearly_independent(A, M):
        return None
    m, here = len(A), Tangent.of(A, M, policy)
    if here.rank == m:
        return None
    around = [] if here.rank == count else _nearby(system, state, p, np.ones(m, dtype=bool), here)[0]
    best = max([here, *around], key=lambda t: t.rank)
    if best.rank == m:
        return None
    positions = np.flatnonzero(system.rows.holonomic)
    first = independent(best.white[positions], policy.reveal(best.white[positions], 1.0).rank)
    return tuple(sorted(independent(best.white, best.rank, positions[first].tolist())))


def _to_singularity(
    system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray, here: Tangent
) -> tuple[float, str] | None:
    """σ_r / ‖∇σ_r‖ along the admissible motions, as a motion of the coordinate that moves most.

    Rows are measured in radians and lengths of the mechanism, so that the estimate does not depend on units.
    """
    K, r, far = here.admissible, here.rank, reach(system, p)
    if r == 0 or K.shape[1] == 0:
        return None
    h, slopes, units = 1e-4, [], rank_policy(system, p).units[on]
    least = here.singular_values_in(units)[r - 1]
    for k in K.T:
        size = max(np.abs(k / far).max(), 1e-300)
        ends = []
        for sign in (1.0, -1.0):
            moved = state.replace(q=system.plus(state, k * (sign * h / size)))
            ends.append(tangent(system, moved, p, on).singular_values_in(units)[r - 1])
        slopes.append((ends[0] - ends[1]) / (2 * h) * size)
    gradient = np.array(slopes)
    steep = float(gradient @ gradient)
    if steep == 0.0:
        return None
    motion = K @ (-least * gradient / steep)
    k = int(np.argmax(np.abs(motion / far)))
    if not np.abs(motion[k] / far[k]) < 1e6:
        return None
    return float(abs(motion[k])), system.v_names[k]


def _some(names: Sequence[str]) -> str:
    """The first of many names, and how many there are."""
    return ", ".join(names[:SHOWN]) + (f", … ({len(names)} in all)" if len(names) > SHOWN else "")


def _combination(made_of: dict[str, float]) -> str:
    if not made_of:
        return "0"
    terms = list(made_of.items())
    text = " ".join(f"{'-' if c < 0 else '+'} {abs(c):.4g} {name}" for name, c in terms[:SHOWN])
    return text.removeprefix("+ ") + (f" + … ({len(terms)} terms)" if len(terms) > SHOWN else "")


def _ends(values: np.ndarray) -> str:
    """The first and the last of many falling numbers, and how many there are."""
    shown = [f"{x:.3g}" for x in values]
    if len(shown) <= 2 * SHOWN:
        return " ".join(shown)
    return f"{' '.join(shown[:SHOWN])} … {' '.join(shown[-SHOWN:])} ({len(shown)} in all)"
