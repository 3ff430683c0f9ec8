"""The exact Jacobian of a large mechanism for implicit methods: no straight-line code of all its elements."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.compiler import Kernel
from dalembert.integrators.large_slope import LargeSlope
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.recursions.pairs import Pairs
from dalembert.recursions.tree_slope import TreeSlope
from dalembert.symbols import element, symbols, to_sx
from dalembert.system.equation_rows import EquationRows
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace


def make_large_slope(system: System, rows: RowChoice, p: np.ndarray) -> Bound:
    """∂(q̇, v̇)/∂(q, v) of (q, v, u, p, t) as a native function: by rows of `EquationRows`, or by columns of a tree."""
    sizes = {"q": system.nq, "v": system.nv, "u": len(system.u_names), "p": len(p), "t": 1}
    places: dict[str, np.ndarray] = {}
    rates = system.kernels.custom(("rate_elements",), ("q", "v"), lambda s: _elements(s, places), None, ("elements",))
    if not places:  # the kernel was known: its places are found again
        _elements(Trace(system.description), places)
    given = sum(sizes.values())
    shared: dict[str, Any] = {
        "nq": system.nq, "nv": system.nv, "rates": Bound.of(rates, {}), "upper": len(places["upper"]),
        "lower": len(places["lower"]), "upper_places": places["upper"], "lower_places": places["lower"],
    }  # fmt: skip
    shared["given"], tree = given, not system.rows.of and not system.description.prescribed
    struct = _by_columns(system, sizes, shared) if tree else _by_rows(system, rows, sizes, shared)
    x, y = np.zeros(given), np.zeros((system.nq + system.nv) ** 2)
    x[given - 1 - len(p) : -1] = p
    return Bound.around(address("tree_jacobian" if tree else "large_jacobian"), x, y, struct, given - 1)


def _by_rows(system: System, rows: RowChoice, sizes: dict[str, int], shared: dict[str, Any]) -> LargeSlope:
    equations = EquationRows(system, rows)
    kernel = equations.kernel
    return LargeSlope.sized(
        **shared, m=equations.m, columns=equations.width + 1,
        unknowns=equations.unknowns.start, lanes=kernel.lanes, rows=Bound.of(kernel, {}),
        moved=_places(kernel, sizes), vdot=kernel.slices["a"].start,
        multipliers=kernel.slices["lam"].start if equations.m else 0, weights=kernel.slices["weights"].start,
    )  # fmt: skip


def _by_columns(system: System, sizes: dict[str, int], shared: dict[str, Any]) -> TreeSlope:
    ode, columns = Bound.of(system.kernel("ode"), {}), Bound.of(system.kernel("long_chain_columns"), {})
    n, at, parts = system.nv, 0, []
    for shape in ((9, n), (9, n), (9, n), (6, n), (6, n), (6, n), (n, 18)):
        parts.append(columns.y[at : at + shape[0] * shape[1]].reshape(shape))
        at += parts[-1].size
    return TreeSlope.sized(
        **shared, ode=ode, columns=columns, ode_places=_places(ode.owner, sizes),
        column_places=_places(columns.owner, sizes), vdot=columns.slices["a"].start,
        forced=at if system.description.forces else -1, tree=Pairs(system.layout.tree).around(*parts),
    )  # fmt: skip


def _places(kernel: Kernel, sizes: dict[str, int]) -> np.ndarray:
    """The place of each number of (q, v, u, p, t) in the inputs of a kernel, or −1."""
    out = []
    for name, size in sizes.items():
        place = kernel.slices.get(name)
        out += [-1] * size if place is None else list(range(place.start, place.stop))
    return np.array(out, dtype=np.int64)


def _elements(s: Trace, places: dict[str, np.ndarray]) -> np.ndarray:
    """The elements of ∂q̇/∂(q, v) and of ∂δ/∂q that are not zero, in a row; `places`: row and column of each."""
    rates = to_sx(s.per_joint(lambda j, q, v: j.rates(s.q[q], s.v[v])))
    after, q1 = symbols("after", s.tree.nq)
    turned = ca.jacobian(to_sx(s.per_joint(lambda j, q, v: j.minus(q1[q], s.q[q]))), after)
    parts = {
        "upper": ca.jacobian(rates, ca.vertcat(s.sx["q"], s.sx["v"])),
        "lower": ca.substitute(turned, after, s.sx["q"]),
    }
    for name, part in parts.items():
        places[name] = np.array(part.sparsity().get_triplet(), dtype=np.int64).reshape(2, -1).T.copy()
    return np.array([element(x) for part in parts.values() for x in part.nonzeros()], dtype=object)
