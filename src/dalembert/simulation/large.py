"""The exact Jacobian of a large mechanism for implicit methods: no straight-line code of all its elements."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.integrators.large_slope import LargeSlope
from dalembert.native.bound import Bound
from dalembert.native.library import address
from dalembert.symbols import element, symbols, to_sx
from dalembert.system.equation_rows import EquationRows
from dalembert.system.rows import RowChoice
from dalembert.system.system import System
from dalembert.system.trace import Trace


def make_large_slope(system: System, rows: RowChoice, p: np.ndarray) -> Bound:
    """∂(q̇, v̇)/∂(q, v) of (q, v, u, p, t) as a native function, by rows of `EquationRows`."""
    equations = EquationRows(system, rows)
    kernel, sizes = equations.kernel, {"q": system.nq, "v": system.nv, "u": len(system.u_names), "p": len(p), "t": 1}
    moved = []
    for name, size in sizes.items():
        place = kernel.slices.get(name)
        moved += [-1] * size if place is None else list(range(place.start, place.stop))
    places: dict[str, np.ndarray] = {}
    rates = system.custom_kernel(("rate_elements",), ("q", "v"), lambda s: _elements(s, places), None, ("elements",))
    if not places:  # the kernel was known: its places are found again
        _elements(Trace(system.description), places)
    struct = LargeSlope.sized(
        nq=system.nq, nv=system.nv, m=equations.m, given=len(moved), columns=equations.width + 1,
        unknowns=equations.unknowns.start, lanes=kernel.lanes, rows=Bound.of(kernel, {}),
        moved=np.array(moved, dtype=np.int64), vdot=kernel.slices["a"].start,
        multipliers=kernel.slices["lam"].start if equations.m else 0, weights=kernel.slices["weights"].start,
        rates=Bound.of(rates, {}), upper=len(places["upper"]), lower=len(places["lower"]),
        upper_places=places["upper"], lower_places=places["lower"],
    )  # fmt: skip
    x, y = np.zeros(len(moved)), np.zeros((system.nq + system.nv) ** 2)
    x[len(moved) - 1 - len(p) : -1] = p
    return Bound.around(address("large_jacobian"), x, y, struct, len(moved) - 1)


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
