"""The compiled linear model in given coordinates, kept for all states: kernel, names and constant outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.compiler import Kernel
from dalembert.linearization.large import LargeModel
from dalembert.linearization.traced import NAMES, closure, linear
from dalembert.rank import RankPolicy, rank_policy
from dalembert.symbols import minimum
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.linearization.best import Best

# velocities, and their number times that of the degrees of freedom: at most so many make 100,000 operations of
# straight-line code, which take 10 s to compile, once, and then 0.05 to 0.08 ms where motions take 4 s and 0.2 ms
LARGE, WIDE = 52, 800


def in_motions(system: System, freedoms: int) -> bool:
    """Whether linear models with so many degrees of freedom are made motion by motion (`large`), not in one piece."""
    return system.nv > LARGE or system.nv * freedoms > WIDE


Found = tuple[Sequence[Any], Sequence[float]]  # outputs of a linear model, and the four numbers of its margin


class Remembered:
    """Linear models of one system that were asked for, and the rows of its constraints they use."""

    def __init__(self, system: System):
        self.rows: RowChoice = None  # independent ones as last chosen; None: all
        self.plans: dict[Any, LinearPlan] = {}
        self.by_names: dict[Any, LinearPlan] = {}
        self.best: Best | None = None  # the best coordinates at the last state for which they were chosen
        self.closure = (
            system.kernels.custom(("closure",), ("q", "v", "p", "t"), closure, None, ("position", "velocity"))
            if system.rows.of
            else None
        )
        self.policy = rank_policy(system)  # at the mechanism's own parameters

    def known(self, independent: Any, positions: Any, rows: Any = ...) -> LinearPlan | None:
        """The plan for coordinates that were asked for before, by the same names, on rows (default: as last chosen)."""
        if independent.__class__ is not list or (positions is not None and positions.__class__ is not list):
            return None
        try:
            return self.by_names.get((*independent, None, *(positions or ()), self.rows if rows is ... else rows))
        except TypeError:  # a coordinate that cannot be a key, such as a list
            return None

    def plan(
        self, system: System, velocities: Sequence[Coordinate], more: Sequence[Coordinate], rows: RowChoice
    ) -> LinearPlan:
        """The plan for these coordinates and rows."""
        key = tuple(c.key for c in velocities), tuple(c.key for c in more), rows
        if key not in self.plans:
            self.plans.setdefault(key, LinearPlan(system, velocities, more, rows))
        return self.plans[key]


_known: WeakKeyDictionary[System, Remembered] = WeakKeyDictionary()


def remembered(system: System) -> Remembered:
    """The memory of a system, made on first use."""
    found = _known.get(system)
    return _known.setdefault(system, Remembered(system)) if found is None else found


class LinearPlan:
    """A linear model in given coordinates on given rows, to be evaluated at any state."""

    def __init__(self, system: System, velocities: Sequence[Coordinate], more: Sequence[Coordinate], rows: RowChoice):
        q, v = (*velocities, *more), tuple(velocities)
        names = (*(c.name for c in q), *(f"{c.name} rate" for c in v))
        n, inputs = len(names), len(system.u_names)
        used = system.rows if rows is None else system.rows.only(rows)
        holonomic = int(used.holonomic.sum()) if used.of else 0
        self.velocities, self.more, self.rows, self.count = v, tuple(more), rows, len(used.of)
        self.kernel = self.large = None
        if len(v) + self.count == system.nv == len(q) + holonomic:  # as many coordinates as motions
            if in_motions(system, len(v)):
                self.large = LargeModel(system, v, more, rows)
            else:
                self.kernel = _judged_kernel(system, v, more) if rows is None else linear_kernel(system, v, more, rows)
        self.judges = self.kernel is not None and rows is None
        self.best: Best | None = None  # kept here by `Best.of`
        self.shape_of_B = n, inputs
        #: fields of `Operating` and of `LinearModel` that no state changes
        self.operating = {"names": names, "coordinates": q, "speeds": v, "rows": rows}
        self.model = {
            "state_names": names, "input_names": tuple(system.u_names), "output_names": names,
            "positions": tuple(c.name for c in q), "velocities": tuple(c.name for c in v), "step": None,
            "C": _fixed(np.eye(n)), "D": _fixed(np.zeros((n, inputs))),
            "output": _fixed(np.zeros(n)), "output_time": _fixed(np.zeros(n)),
        }  # fmt: skip

    def at(self, system: System, given: Mapping[str, Any], policy: RankPolicy) -> Found | None:
        """The outputs `traced.NAMES` for given q, v, u, p and t, and the margin as numbers.

        None where there are too few coordinates or too many, where rows are too nearly dependent, and where the
        coordinates hardly determine the motion.
        """
        if self.kernel is not None:
            found = self.kernel(*map(given.__getitem__, self.kernel.names_in))
        elif self.large is not None:
            found = self.large(given)
        else:
            return None
        m = found[-1].tolist()[:4]
        if self.count and not policy.separates(m):
            return None
        if not policy.determines(min(m[2], m[3])):
            return None
        A = found[0]
        size = np.vdot(A, A) if self.large is None else A.sum()  # of large arrays BLAS takes products in threads
        finite = isfinite(size + sum(found[RATE].tolist()))
        return (found, m) if finite else None

    def judge(self, given: Mapping[str, Any], policy: RankPolicy) -> Found | None:
        """As `at`, of all rows; None also off the manifold. The kernel sums up what the verdict needs."""
        assert self.kernel is not None
        found = self.kernel(*map(given.__getitem__, self.kernel.names_in))
        angle, length, v, q, size, gap = found[-1].tolist()
        if not gap < policy.closed or (self.count and not policy.separates((angle, length))):
            return None
        return (found, (angle, length, v, q)) if policy.determines(v if v < q else q) and isfinite(size) else None

    def condition(self, policy: RankPolicy, margin: Sequence[float]) -> float:
        """An estimate: of the constraints, or of the choice of coordinates where that is worse."""
        return max(policy.condition(margin, self.count), min(margin[2], margin[3]) ** -0.5)


RATE = NAMES.index("rate")


def linear_kernel(
    system: System,
    velocities: Sequence[Coordinate],
    more: Sequence[Coordinate] = (),
    rows: RowChoice = None,
    lanes: int = 1,
) -> Kernel:
    """The compiled linear model in these coordinates: a `Kernel` of (q, v, u, p, t) with the outputs `traced.NAMES`."""
    key = ("linear", rows, tuple(c.key for c in velocities), tuple(c.key for c in more))
    v, q = list(velocities), [*velocities, *more]

    def value(s: Trace) -> tuple[Any, ...]:
        return linear(s, q, v)

    return system.kernels.custom(key, ("q", "v", "u", "p", "t"), value, rows, NAMES, lanes=lanes)


def _judged_kernel(system: System, velocities: Sequence[Coordinate], more: Sequence[Coordinate]) -> Kernel:
    """`linear_kernel` with two more numbers in its margin: one that is finite where A and the rates are, and a gap.

    The gap is the larger one of the sums of the squares of Φ and of A v + b.
    """
    key = ("judged_linear", None, tuple(c.key for c in velocities), tuple(c.key for c in more))
    v, q = list(velocities), [*velocities, *more]

    def value(s: Trace) -> tuple[Any, ...]:
        *found, margin = linear(s, q, v)
        position, speed = closure(s)
        size = sum((x * x for x in found[0].ravel()), 0.0) + sum(found[RATE], 0.0)
        return *found, np.array([*margin, size, -minimum(-position, -speed)], dtype=object)

    return system.kernels.custom(key, ("q", "v", "u", "p", "t"), value, None, NAMES)


def _fixed(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x
