"""Singular passages of a run: where the constraints became dependent, which ones, and whether the way was unique."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone, exists
from dalembert.formulations import make_gauge
from dalembert.native.bound import Bound
from dalembert.protocols import Inputs
from dalembert.rank import rank_policy, reach
from dalembert.ruler import Ruler, allowed, claimed, growth_followed
from dalembert.simulation.setup import Setup
from dalembert.simulation.singular.crossing import branch_of
from dalembert.system.equation_rows import is_large
from dalembert.system.state import State
from dalembert.system.system import System

BRANCHES = {
    "crossing": "two branches cross",
    "cone": "the branches form a cone",
    "touch": "branches touch",
    "isolated": "no motion leads through",
    "several": "several loops branch at once",
}


@dataclass(frozen=True, slots=True)
class Met:
    """Record of a passage until it is asked for: numbers only, as a file can hold them."""

    t: float
    sigma: float  # root of the margin
    q: tuple[float, ...]
    v: tuple[float, ...]
    start: float
    end: float
    hit: float
    error: float  # about by how much rounding may turn the motion, rad
    rtol: float
    usual: int
    steps: int
    resolved: bool
    determined: bool | None  # None: not found out yet


@dataclass(frozen=True, slots=True)
class Passage:
    """A singular position that a run met, or passed at a small distance.

    Of motions that meet such a position it is asked whether it is one, to rounding (else branches avoid each other),
    and whether their neighbours meet it too and go on along the same branch; of those that pass at a distance, whether
    rounding leaves them on their side of it, and whether they and their neighbours stay side by side. On a curved cone
    motions that pass at a distance δ are about 1/δ times as far apart behind it: a `growth` beyond 3000, or 3e14 times
    an rtol below 1e-11, magnifies the errors of a run to more than 300 rtol. If not, `determined` is False: a start
    beside this one leads elsewhere, and the run shows one of the motions that may follow. A distance below `resolution`
    is not told from zero: on a cone such a miss is shown as a motion straight through the apex, though the true one
    turns aside.
    """

    start: float  # s: beginning of the step in which it lies
    end: float  # s: its end
    nearest: float  # s: when the position was nearest
    distance: float  # the smallest singular value there, of rows of about unit length
    gap: float  # the same in the coordinate `along` (rad or m): about how far the singular position is
    along: str
    growth: float  # about how many times as far from each other motions are behind it, by having passed beside it
    resolution: float  # distances below this are not told from zero
    rank: int  # of the constraints in the position
    rows: tuple[str, ...]  # constraint rows that depend on each other there
    branches: str  # "crossing", "cone", "touch", "isolated" or "several"
    met: bool  # whether the position itself was met, to within the resolution
    determined: bool  # whether the start determines how the motion goes on
    taken: str  # the branch that was taken, and why
    steps: int  # careful ones

    def __str__(self) -> str:
        where = "were dependent" if self.met else f"were nearly dependent ({self.gap:.1e} of {self.along} away)"
        doubt = "" if self.determined else "; the motion may go on in more than one way"
        return (
            f"at t = {self.nearest:.8g} s the constraints {', '.join(self.rows)} {where}: rank {self.rank}, "
            f"{BRANCHES[self.branches]}, {self.taken}{doubt}"
        )


def describe(system: System, p: np.ndarray, met: Met, u: Inputs = None) -> Passage:
    """A passage, with what the state in it, and inputs u (default: 0), tell of the constraints."""
    u, state = system.arguments.input_vector(u), system.state(np.array(met.q), np.array(met.v), met.t)
    seen = _seen_in_many_loops(system, p, met, state) if is_large(system) else None
    seen = _seen(system, p, met, state, u) if seen is None else seen
    return Passage(
        start=met.start,
        end=met.end,
        nearest=met.t,
        resolution=met.hit,
        met=met.sigma <= met.hit,
        taken=_taken(met, bool(np.any(state.v)), seen.determined, seen.growth),
        steps=met.steps,
        **seen._asdict(),
    )


class _Seen(NamedTuple):
    """What the constraints are in a position."""

    distance: float
    gap: float
    along: str
    growth: float
    rank: int
    rows: tuple[str, ...]
    branches: str
    determined: bool


def _seen(system: System, p: np.ndarray, met: Met, state: State, u: np.ndarray) -> _Seen:
    """By decompositions of all rows."""
    here = tangent_of_motion(system, state, p)
    sigma = here.sigma[: met.usual]
    distance = float(sigma[-1])
    limit = min(max(Ruler.together * distance, Ruler.within * met.hit), Ruler.weak * max(1.0, float(sigma[0])))
    rank = met.usual - max(1, int((sigma <= limit).sum()))
    cone = TangentCone.of(system, state, p, rank, met.usual, here, u)
    parts = np.abs(cone.W * cone.tangent.scale).max(axis=0)
    rows = tuple(name for name, part in zip(system.row_names, parts) if part > 0.1)
    hits = met.sigma <= met.hit
    y = cone.local(state.v)
    gap, along, miss = _gap(system, p, cone, y, distance)
    growth = max(1.0, 1.0 / miss) if cone.parts_neighbours and not hits and miss > 0.0 else 1.0

    def selected() -> bool:
        return branch_of(cone, state.v) is not None and exists(system, state, p, rank, met.usual, u)

    return _Seen(distance, gap, along, growth, rank, rows, cone.kind, _determined(met, growth, selected))


def _seen_in_many_loops(system: System, p: np.ndarray, met: Met, state: State) -> _Seen | None:
    """By elements; None of a single dependency, or of several loops at once, or where drivers move the mechanism."""
    if system.description.prescribed or met.usual != len(system.rows.of):
        return None
    from dalembert.simulation.singular.local_cone import (  # SciPy's sparse matrices: half of all imports
        ElementRows,
        LocalCone,
    )

    by_elements = ElementRows.of(system, state, p)
    sigma = by_elements.singular_values()
    distance = _least(system, p, state)
    limit = min(max(Ruler.together * distance, Ruler.within * met.hit), Ruler.weak * max(1.0, float(sigma[-1])))
    cone = LocalCone.of(system, state, p, by_elements, max(1, int((sigma <= limit).sum())))
    if cone is None or cone.U.shape[0] == 1:
        return None
    d = cone.local(state.v)
    size = cone.length(d)
    if not size > 0.0:  # at rest: any direction shows whether motions lead through
        d = cone.local(np.random.default_rng(0).standard_normal(system.nv))
        size = cone.length(d)
    on, direction = cone.nearest(d), d / size
    motion = direction * (distance / max(cone.opening(direction), 1e-300))
    k = int(np.argmax(np.abs(motion / reach(system, p))))
    leads = on is not None and cone.length(on) > Ruler.distinct * size

    def selected() -> bool:
        return on is not None and leads and cone.selects(on) and cone.exists(system, state, p)

    parts = abs(cone.U).max(axis=0).toarray().ravel()
    rows = tuple(name for name, part in zip(system.row_names, parts) if part > 0.1)
    rank, branches = met.usual - cone.U.shape[0], "several" if leads else "isolated"
    gap, determined = float(abs(motion[k])), _determined(met, 1.0, selected)
    return _Seen(distance, gap, system.v_names[k], 1.0, rank, rows, branches, determined)


def _least(system: System, p: np.ndarray, state: State) -> float:
    """The least singular value of all rows at a state, by inverse iteration."""
    values, count = {"p": p, "sizes": rank_policy(system, p).sizes}, len(system.rows.of)
    gauge = make_gauge(Bound.of(system.kernel("whitened_rows"), values), nv=system.nv, rows=count, rank=count)
    gauge.y[:] = 1e-3, -1.0
    return float(gauge.at(state.t, state.q)[1] ** 0.5)


def known_with_drift(setup: Setup, met: Met, u: np.ndarray) -> Met:
    """The record of a passage at a distance, with its verdict where constraints have drifted and nothing lands steps.

    A drift δ moves the position that is passed at σ by δ/σ, so that the motion is turned by δ/σ². Where two branches
    cross, motions beside them come together again behind the position, and what is left is δ/σ or (δ/σ²)².
    """
    system, p = setup.system, setup.p
    if met.sigma <= met.hit or not (setup.projection is None or setup.projection.every > 1):
        return met
    state = system.state(np.array(met.q), np.array(met.v), met.t)
    drift = float(np.abs(system.residuals(state, p=p) / rank_policy(system, p).units).max(initial=0.0))
    turned, most = drift / met.sigma**2, allowed(met.rtol)
    if turned > most and describe(system, p, met, u).branches in ("crossing", "several"):
        turned *= max(turned, met.sigma)
    return replace(met, determined=False, error=turned) if turned > most else met


def is_determined(system: System, p: np.ndarray, met: Met) -> bool:
    """`Passage.determined` by itself: only positions that are met, or that part neighbours, need a look."""
    if met.determined is not None:
        return met.determined
    spatial = system.nv - met.usual > 1  # three dimensions and time: a cone that is curved
    looked_at = met.sigma <= met.hit or spatial
    return describe(system, p, met).determined if looked_at else _on_its_side(met)


def _determined(met: Met, growth: float, selected: Callable[[], bool]) -> bool:
    """`Passage.determined`; selected: whether a motion that meets the position goes on along one branch."""
    if met.determined is not None:
        return met.determined
    return selected() if met.sigma <= met.hit else _on_its_side(met) and growth <= growth_followed(met.rtol)


def _on_its_side(met: Met) -> bool:
    """Whether rounding leaves a motion that passes at a distance on its side of the position."""
    return met.resolved and met.error <= claimed(met.rtol)


def _taken(met: Met, moving: bool, determined: bool, growth: float) -> str:
    hits = met.sigma <= met.hit
    if not hits and growth > growth_followed(met.rtol):
        return f"passed as one of many motions that part here: differences grow about {growth:.0e} times"
    if not hits and not met.resolved:
        return "passed by steps too long to tell the side"
    if not hits and not determined:
        return f"passed with positions too inexact for it, which turn the motion by about {met.error:.1g} rad"
    if not hits:
        return "passed as the regular motion it is"
    if not moving:
        return "left along the nearest acceleration, or rested in where there is none"
    return f"passed straight on, {'as the velocity selects' if determined else 'as if it were met exactly'}"


def _gap(system: System, p: np.ndarray, cone: TangentCone, y: np.ndarray, distance: float) -> tuple[float, str, float]:
    """About how far the position is: of the coordinate that moves most, its name, and in 1 rad or lengths."""
    size = float(np.linalg.norm(y))
    direction = y / size if size > 0.0 else np.eye(len(y))[0] if len(y) else y
    opening = cone.opening(direction)
    motion = cone.K @ direction * (distance / max(opening, 1e-300))
    relative = np.abs(motion / reach(system, p))
    k = int(np.argmax(relative))
    return float(abs(motion[k])), system.v_names[k], float(relative[k])
