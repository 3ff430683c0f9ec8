"""Local derivatives of forces and rows: as formulas of the links they touch, at the actual state of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.mechanism.constraints import Constraint, Row
from dalembert.mechanism.local import LocalState
from dalembert.mechanism.traced import Load
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import element, is_number, symbols, to_sx, zeros

if TYPE_CHECKING:
    from dalembert.system.derivatives import EquationDerivatives
    from dalembert.system.trace import Trace


@dataclass(frozen=True)
class LocalSlopes:
    """Derivatives of some expressions with every link standing alone."""

    z: np.ndarray  # with respect to (δ, η_0, η_1, …): small motions of joints and of links
    w: np.ndarray  # with respect to (v, V_0, V_1, …)
    u: np.ndarray
    t: np.ndarray


class LocalEquations:
    """The local derivatives of a trace's forces and rows, with the actual poses and twists put in.

    Of every row also its value: b, A v + b and A v̇ + γ, as columns.
    """

    def __init__(self, of: EquationDerivatives):
        s = of.s
        self.here = here = LocalState(s.d.layout, s.t[0])
        self.nv, self.size = of.nv, here.w.numel()
        self.rate, rates = symbols("w_rate", self.size)
        self.lam, lam = symbols("lam", len(of.lam))
        rows = chosen_rows(s.d.constraints, here, of.rows.all_named[: len(of.rows.of)])
        forced = len(rows)
        rows += [row for c in of.extra for row in c.rows(here)]
        A = Sparse([row.A for row in rows], self.size)
        load = Load(here)
        for force in s.d.forces:
            force.act(here, load)
        exerted = load.tau + Sparse(A.rows[:forced], self.size).transposed_times(lam)
        for k, W in load.wrenches.items():
            where = here.at.tree.links[k].v
            exerted[where] = exerted[where] + W
        accelerations, speeds = zeros(len(rows)), zeros(len(rows))
        for k, row in enumerate(rows):
            accelerations[k] = row.times(rates) + row.gamma
            speeds[k] = row.times(here.at.v) + row.b
        self._arguments = [here.z, here.w, self.rate, self.lam, s.sx["u"], s.sx["p"], s.sx["t"]]
        self._given = self._actual(of)
        self.A = self._put_in(ca.sparsify(to_sx(A.dense())))
        b = zeros(len(rows))
        b[:] = [row.b for row in rows]
        self.b, self.speed, self.acceleration = (self._put_in(to_sx(x)) for x in (b, speeds, accelerations))
        slopes = [self._slopes(to_sx(x), s) for x in (exerted, accelerations, speeds)]
        total = self._put_in(to_sx(exerted)).reshape(-1)
        n = len(s.tree)
        wrenches = {k: total[of.nv + 6 * k : of.nv + 6 * (k + 1)] for k in range(n)}
        self.wrenches = {k: W for k, W in wrenches.items() if not all_zero(W)}  # by link, constraint forces included
        self.exerted, self.accelerations, self.speeds = slopes

    def links(self, *matrices: np.ndarray) -> list[int]:
        """The links whose columns are not all zero in one of the matrices."""
        n = (self.size - self.nv) // 6
        blocks = {k: slice(self.nv + 6 * k, self.nv + 6 * (k + 1)) for k in range(n)}
        return [k for k, cols in blocks.items() if any(M.size and not all_zero(M[:, cols]) for M in matrices)]

    def _actual(self, of: EquationDerivatives) -> list[ca.SX]:
        s = of.s
        poses = [s.at.pose(i) for i in range(len(s.tree))]
        z = np.concatenate([s.q, *(np.concatenate([T.R.ravel(), T.p]) for T in poses)])
        w = np.concatenate([s.v, *(s.at.V(i) for i in range(len(s.tree)))])
        rate = np.concatenate([of.vdot, *(of.motion.V_rate[i] for i in range(len(s.tree)))])
        return [to_sx(z), to_sx(w), to_sx(rate), to_sx(of.lam), s.sx["u"], s.sx["p"], s.sx["t"]]

    def _slopes(self, f: ca.SX, s: Trace) -> LocalSlopes:
        others = (ca.jacobian(f, x) for x in (self.here.w, s.sx["u"], s.sx["t"]))
        return LocalSlopes(*(self._put_in(J) for J in (self.here.slopes(f), *others)))

    def _put_in(self, J: ca.SX) -> np.ndarray:
        """A sparse local expression at the actual state, as an object array with exact zeros."""
        out = zeros(*J.shape)
        if J.nnz():
            f = ca.Function("local", self._arguments, [J], {"allow_free": True})
            actual = f.call(self._given, True, False)[0]
            rows, columns = actual.sparsity().get_triplet()
            for r, c, x in zip(rows, columns, actual.nonzeros()):
                out[r, c] = element(x)
        return out


def chosen_rows(constraints: Sequence[Constraint], s: Any, named: Sequence[tuple[str, str]]) -> list[Row]:
    """The rows of these names, in this order."""
    known = {(c.name, row.name): row for c in constraints for row in c.rows(s)}
    return [known[name] for name in named]


def all_zero(x: np.ndarray) -> bool:
    """Whether every element is the number 0."""
    return all(is_number(e) and e == 0.0 for e in x.ravel())
