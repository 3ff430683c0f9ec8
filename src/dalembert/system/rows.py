"""The rows of all constraints of a mechanism, one under another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.lazy import cached_property
from dalembert.mechanism.constraints import MIRRORS, Constraint, Row
from dalembert.mechanism.traced import TracedState
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import is_number, zeros

RowChoice = tuple[int, ...] | None  # indices of constraint rows; None: all

#: products in S = A M⁻¹ Aᵀ for each velocity, from which equations are solved in loops over dense matrices.
#: Elimination as straight-line code (`recursions.elimination`) has an operation for every product. Counted: a Stewart
#: platform 47, a hand 32, twelve robots with loops 6 to 83, a ladder of 40 loops 6; Hoberman rings of 15, 23, 39 and
#: 59 velocities 66, 131, 324 and 686. In loops a short run took 2.2 times as long on the ring of 15, 0.9 times on that
#: of 23; larger ones were not compared, as their straight-line code takes long to compile. No plateau is shown.
DENSE = 100.0


@dataclass(frozen=True)
class RowNames:
    """The rows that constrain the motion by name and kind, and the names of those that do not."""

    of: tuple[str, ...]  # constraint of each row
    named: tuple[str, ...]  # within its constraint
    kinds: tuple[tuple[bool, bool, bool], ...]  # whether it is holonomic; its multiplier a moment; its unit the user's
    left_out: tuple[tuple[str, str], ...]  # (constraint, row) that hold whatever the mechanism does
    branch_of: tuple[str, ...]  # the constraint of each number that is positive on the branch the user means
    branch_signs: tuple[str, ...]  # what is wrong where it is negative, a key of `MIRRORS`
    coupling: float  # products in S = A M⁻¹ Aᵀ for each velocity: pairs of rows that share it

    @staticmethod
    def restored(facts: Mapping[str, Any]) -> RowNames:
        """From what `dataclasses.asdict` made of it, lists in place of tuples."""
        kinds = tuple((a, b, c) for a, b, c in facts["kinds"])
        left_out = tuple((a, b) for a, b in facts["left_out"])
        of, named, branch_of, signs = (tuple(facts[name]) for name in ("of", "named", "branch_of", "branch_signs"))
        return RowNames(of, named, kinds, left_out, branch_of, signs, facts["coupling"])

    def only(self, chosen: Sequence[int]) -> RowNames:
        """Some of the rows."""
        kept: dict[str, Any] = {x: tuple(getattr(self, x)[k] for k in chosen) for x in ("of", "named", "kinds")}
        return replace(self, **kept)

    @property
    def names(self) -> list[str]:
        """constraint.row of each row."""
        return [f"{c}.{row}" for c, row in zip(self.of, self.named)]

    @property
    def trivial(self) -> tuple[str, ...]:
        """constraint.row of the rows left out."""
        return tuple(f"{c}.{row}" for c, row in self.left_out)

    @property
    def all_named(self) -> list[tuple[str, str]]:
        """(constraint, row) of the rows and of those left out: the order of multipliers in reactions."""
        return [*zip(self.of, self.named), *self.left_out]

    @property
    def holonomic(self) -> np.ndarray:
        """(m,) bool."""
        return np.array([kind[0] for kind in self.kinds], dtype=bool)

    @property
    def angular(self) -> np.ndarray:
        """(m,) bool: the multiplier is a moment."""
        return np.array([kind[1] for kind in self.kinds], dtype=bool)

    @property
    def own(self) -> np.ndarray:
        """(m,) bool: the row is in a unit of the user's."""
        return np.array([kind[2] for kind in self.kinds], dtype=bool)

    @property
    def dense(self) -> bool:
        """Whether rows couple so many velocities that equations are solved in loops, not by straight-line code."""
        return self.coupling > DENSE


@dataclass(frozen=True)
class ConstraintRows:
    """Rows that constrain the motion, traced."""

    of: tuple[str, ...]  # constraint of each row
    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, str], ...]  # (constraint, row) that hold whatever the mechanism does
    branch: np.ndarray  # positive on the branches the user means
    branch_of: tuple[str, ...]
    branch_signs: tuple[str, ...]
    nv: int

    @cached_property
    def head(self) -> RowNames:
        """Their names and kinds."""
        kinds = tuple((bool(row.holonomic), bool(row.angular), bool(row.own)) for row in self.rows)
        named = tuple(row.name for row in self.rows)
        at = np.bincount([k for row in self.rows for k in row.A], minlength=1)  # rows that have each velocity
        coupling = float((at * (at + 1)).sum()) / (2 * max(1, self.nv))
        return RowNames(self.of, named, kinds, self.left_out, self.branch_of, self.branch_signs, coupling)

    @staticmethod
    def traced(constraints: Sequence[Constraint], s: TracedState) -> ConstraintRows:
        """Trace every constraint; a row that can never hold is refused."""
        of, rows, void, branch = [], [], [], []
        for c in constraints:
            for row in c.rows(s):
                if row.is_void and row.holonomic:
                    _check_void(c, row)
                if row.is_void:
                    void.append((c.name, row.name))
                else:
                    of.append(c.name)
                    rows.append(row)
            for what, sign in c.branch_signs(s).items():
                if is_number(sign):
                    _check_constant(c, what, sign)
                else:
                    branch.append((c.name, what, sign))
        names, signs, values = zip(*branch) if branch else ((), (), ())
        return ConstraintRows(tuple(of), tuple(rows), tuple(void), _column(values), names, signs, s.at.tree.nv)

    def only(self, chosen: Sequence[int]) -> ConstraintRows:
        """Some of the rows."""
        return replace(self, of=tuple(self.of[k] for k in chosen), rows=tuple(self.rows[k] for k in chosen))

    def only_holonomic(self) -> ConstraintRows:
        """Without the Pfaffian rows."""
        return self.only([k for k, row in enumerate(self.rows) if row.holonomic])

    @property
    def names(self) -> list[str]:
        """constraint.row of each row."""
        return self.head.names

    @property
    def all_named(self) -> list[tuple[str, str]]:
        """(constraint, row) of the rows and of those left out: the order of multipliers in reactions."""
        return self.head.all_named

    @property
    def phi(self) -> np.ndarray:
        """(m,), 0 for Pfaffian rows."""
        return _column([row.phi for row in self.rows])

    @property
    def A(self) -> np.ndarray:
        """(m, nv), zeros included."""
        return self.sparse.dense()

    @property
    def sparse(self) -> Sparse:
        """A by its nonzero elements."""
        return Sparse([row.A for row in self.rows], self.nv)

    @property
    def b(self) -> np.ndarray:
        """(m,)."""
        return _column([row.b for row in self.rows])

    @property
    def gamma(self) -> np.ndarray:
        """(m,)."""
        return _column([row.gamma for row in self.rows])


def _column(values: Sequence[Any]) -> np.ndarray:
    out = zeros(len(values))
    out[:] = values
    return out


def _check_constant(c: Constraint, what: str, sign: Any) -> None:
    if sign < 0:
        raise DescriptionError(
            f"{c.kind} '{c.name}' can only hold with {MIRRORS[what]}, whatever the mechanism does. Turn one of its two "
            "frames round, so that their axes point the same way."
        )


def _check_void(c: Constraint, row: Row) -> None:
    if is_number(row.phi) and abs(row.phi) > 1e-9:
        unit = "" if row.angular else " m"
        raise DescriptionError(
            f"{c.kind} '{c.name}' can never hold: its row '{row.name}' is {row.phi:g}{unit} whatever the mechanism "
            "does. Check the positions and axes of its two frames."
        )
