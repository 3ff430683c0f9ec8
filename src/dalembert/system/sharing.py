"""How redundant contacts share what presses them: as equal springs would, in the limit of great stiffness.

Rows of contacts that depend on others, A_d = C A_a + …, are no constraints of a phase, but they bear. Of all forces
that make the same motion those are taken with Σ c λ² least, c the compliance of a row; rows that are no contacts are
rigid. With λ⁰ the multipliers of the rows A_a alone:

    c_d λ_d = C c_a λ_a,   λ_a + Cᵀ λ_d = λ⁰                                                                  (1)

A contact that touches without bearing has a row A_i = C_i A_a + … too. Its spring is pressed as far as those of the
others press it, C_i c_a λ_a: where that becomes positive, it bears.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanism.constraints import Constraint
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.elimination import Elimination, mass_factor
from dalembert.symbols import zeros

if TYPE_CHECKING:
    from dalembert.system.trace import Trace


@dataclass(frozen=True, eq=False)
class Shared:
    """A contact that touches, with all its rows, of which some depend on those of others."""

    contact: Constraint
    dependent: tuple[str, ...]  # rows that are none of the system's
    compliance: float
    bears: bool = True


class Sharing:
    """Multipliers of all rows of contacts, from those of the rows of a system."""

    def __init__(self, s: Trace, factor: Elimination | None = None):
        """factor: of the rows of s, if there is one already."""
        rows, still = s.rows, zeros(len(s.rows.of))
        self.names = rows.names
        soft = {x.contact.name: x.compliance for x in s.d.shared}
        self.at = [k for k, of in enumerate(rows.of) if of in soft]  # a
        self.given = [soft[rows.of[k]] for k in self.at]
        self.shared: dict[str, tuple[float, list[Any]]] = {}  # compliance and C of each row d
        self.waiting: dict[str, list[Any]] = {}  # C of each contact that does not bear
        if not self.at:
            return
        factor = Elimination(mass_factor(s.at), rows.A) if factor is None else factor
        for x in s.d.shared:
            for row in x.contact.rows(s.state):
                if x.bears and row.name not in x.dependent:
                    continue
                C = -factor.solve(row.dense(s.tree.nv), still)[1][self.at]
                if x.bears:
                    self.shared[f"{x.contact.name}.{row.name}"] = x.compliance, list(C)
                elif row.name == "gap":
                    self.waiting[x.contact.name] = list(C)

    def spread(self, lam: np.ndarray) -> dict[str, Any]:
        """By row of the system or of a contact that bears: (1) for multipliers lam of the system's rows."""
        out = dict(zip(self.names, lam))
        if not self.shared:
            return out
        rows = [[c * ca for c, ca in zip(C, self.given)] for _, C in self.shared.values()]  # C c_a
        K = np.array(
            [
                [
                    sum((x * y for x, y in zip(row, C)), cd if i == j else 0.0)
                    for j, (cd, C) in enumerate(self.shared.values())
                ]
                for i, row in enumerate(rows)
            ],
            dtype=object,
        )  # c_d + C c_a Cᵀ
        given = [lam[k] for k in self.at]
        found = solved(K, np.array([sum((x * y for x, y in zip(row, given)), 0.0) for row in rows], dtype=object))
        for (name, (_, C)), x in zip(self.shared.items(), found):
            out[name] = x
            for k, c in zip(self.at, C):
                out[self.names[k]] = out[self.names[k]] - c * x
        return out

    def pressing(self, forces: Mapping[str, Any], contact: str) -> Any:
        """How far a contact that does not bear would be pressed, times the stiffness, by the forces of `spread`."""
        C = self.waiting.get(contact, [])
        return sum((c * ca * forces[self.names[k]] for c, ca, k in zip(C, self.given, self.at)), 0.0)


def exert(s: Trace, state: TracedState, lam: Any, load: Load) -> None:
    """Put the forces of all rows on a load, those of contacts as these share them; lam: as `Rows.all_named`."""
    shared = [x for x in s.d.shared if x.bears]
    for c in s.d.constraints:
        if not any(x.contact.name == c.name for x in shared):
            c.exert(state, {row: lam[k] for k, (of, row) in enumerate(s.rows.all_named) if of == c.name}, load)
    forces = Sharing(s).spread(np.array(lam[: len(s.rows.of)], dtype=object)) if shared else {}
    for x in shared:
        own = {name.rpartition(".")[2]: f for name, f in forces.items() if name.rpartition(".")[0] == x.contact.name}
        x.contact.exert(state, own, load)


def solved(K: np.ndarray, right: np.ndarray) -> list[Any]:
    """K⁻¹ right by elimination in order, for matrices whose diagonal leads."""
    n, x = len(right), list(right)
    for k in range(n):
        for i in range(k + 1, n):
            factor = K[i, k] / K[k, k]
            K[i, k:] = K[i, k:] - factor * K[k, k:]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - sum((K[k, j] * x[j] for j in range(k + 1, n)), 0.0)) / K[k, k]
    return x
