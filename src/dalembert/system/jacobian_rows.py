"""Jacobians of any size by reverse sweeps: rows g(w) = ∂(wᵀe)/∂y for weights w, and their change along directions.

A row costs about three times the operations of e itself, and its change along a direction of y six times, however many
derivatives there are: code grows as N for a chain of N links, and the whole Jacobian takes time as N².
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.symbols import array, to_sx

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.system.rows import RowChoice
    from dalembert.system.system import System
    from dalembert.system.trace import Trace

LANES = 8  # rows computed at once


class JacobianRows:
    """Some equations e(y) of a system; y begins with q, derivatives by which are along tangent vectors, q ⊕ δ.

    A kind of equations names itself (`name`), what its kernels take besides the weights (`arguments`) and which of
    these y is made of (`by`), and traces g in `_sloped`.
    """

    name: str
    arguments: tuple[str, ...]
    by: tuple[str, ...]

    def __init__(self, system: System, rows: RowChoice, sizes: Mapping[str, int], count: int, key: tuple = ()):
        """`sizes`: of the parts of y, nv for q. `count`: how many equations there are. `key`: what else they are of."""
        self.system, self.rows, self.key, self.count = system, rows, key, count
        self.lanes = LANES if system.backend == "native" else 1
        ends = np.cumsum([sizes[name] for name in self.by]).tolist()
        self.columns = {name: slice(end - sizes[name], end) for name, end in zip(self.by, ends)}
        self.width = ends[-1]

    @cached_property
    def kernel(self) -> Kernel:
        """(arguments, weights) → g and wᵀe."""
        arguments = (*self.arguments, "weights")
        return self._kernel("rows", arguments, self._gradient)

    @cached_property
    def _changes(self) -> Kernel:
        return self._kernel("changes", (*self.arguments, "weights", "along"), self._changed)

    def _kernel(self, what: str, arguments: tuple[str, ...], value: Any) -> Kernel:
        key = (f"{self.name}_{what}", *self.key)
        return self.system.kernels.custom(key, arguments, value, self.rows, (what,), self.lanes)

    def jacobian(self, known: Mapping[str, Any], weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives of e by y, (count, columns), or of wᵀe for each row w of weights; and e, or wᵀe, itself.

        known: the arguments by name, one for all rows or one for each.
        """
        given = {**known, "weights": np.eye(self.count) if weights is None else weights}
        found = self.kernel.batch(*(given[name] for name in self.kernel.names_in))
        return found[:, :-1], found[:, -1]

    def change(self, known: Mapping[str, Any], along: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """The change of `jacobian` along a direction of y, (columns,), or one direction for each row."""
        W = np.eye(self.count) if weights is None else weights
        given = {**known, "weights": W, "along": along}
        return self._changes.batch(*(given[name] for name in self._changes.names_in))

    # --- traced -------------------------------------------------------------------------------------------------

    def _sloped(self, s: Trace) -> tuple[ca.SX, ca.SX, ca.SX]:
        """g, N of q̇ = N v, and wᵀe; `s.sx` gets the symbols of arguments and weights."""
        raise NotImplementedError

    def _along_tangents(self, s: Trace, gradient: ca.SX) -> tuple[ca.SX, ca.SX]:
        """g from the gradient by the numbers of y, and N."""
        N, nq = tangent_map(s), s.tree.nq
        by_q, rest = ca.vertsplit(ca.densify(gradient), [0, nq, gradient.numel()])
        return ca.vertcat(N.T @ by_q, rest), N

    def _symbols(self, s: Trace) -> ca.SX:
        """The numbers of y."""
        return ca.vertcat(*(s.sx[name] for name in self.by))

    def _gradient(self, s: Trace) -> np.ndarray:
        g, _, weighted = self._sloped(s)
        return array(ca.densify(ca.vertcat(g, weighted))).reshape(-1)

    def _changed(self, s: Trace) -> np.ndarray:
        g, N, _ = self._sloped(s)
        s.sx["along"] = d = ca.SX.sym("along", self.width)
        n = s.tree.nv
        slope = ca.jtimes(g, self._symbols(s), ca.vertcat(N @ d[:n], d[n:]))
        return array(ca.densify(slope)).reshape(-1)


def tangent_map(s: Trace) -> ca.SX:
    """N(q) of q̇ = N v, (nq, nv), sparse."""
    N = ca.SX(s.tree.nq, s.tree.nv)
    for link in s.tree.links:
        one = np.eye(link.joint.nv).astype(object)
        if link.joint.nv:
            N[link.q, link.v] = to_sx(np.column_stack([link.joint.rates(s.q[link.q], e) for e in one]))
    return ca.sparsify(N)
