"""The coordinates a linear model is written in: of tree joints, of cut joints, or any function of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.manifold import Tangent
from dalembert.charts import cut_coordinates
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.constraints import Constraint, Expressions, Loop, Row
from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.mechanism.traced import TracedState, UserState
from dalembert.protocols import Parameters
from dalembert.rank import independent, rank_policy
from dalembert.spatial import Transform
from dalembert.symbols import to_sx
from dalembert.system.system import System

Given = str | tuple[str, Callable[[UserState], Any]]  # a coordinate as users give it


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A velocity of the tree (`index`), or a function of the positions (`row`), by name."""

    name: str
    index: int | None  # of the velocity
    row: Constraint | None = None  # one row, which does not act
    angular: bool = False  # an angle that may jump by 2π
    function: Callable[[UserState], Any] | None = None  # the user's, if it is one

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for coordinates that are traced alike."""
        return self.name, self.function


class CutCoordinate(Constraint):
    """A coordinate of a joint that closes a loop, as a row that does not act."""

    kind = "coordinate"

    def __init__(self, loop: Loop, k: int, name: str):
        self.loop, self.k, self.name = loop, k, name

    def rows(self, s: TracedState) -> list[Row]:
        r, derivatives = self.loop.relative(s), RowDerivatives(s)
        phi = to_sx([self.loop.joint.locate(Transform(r.R, r.p))[self.k]])
        return [derivatives.row(self.name, phi, derivatives.rate(phi), True, self.loop.joint.angular[self.k])]


def named_list(given: Any, what: str) -> list[Any]:
    """A list of names, or of (name, function) pairs, as users give it."""
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"{what} is {checks.shown(given)}; needed: a list of names.")
    return list(given)


def name_and_function(given: Any, what: str) -> tuple[str, Callable[[UserState], Any]]:
    """A pair (name, function of the state), as users give it."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise ArgumentError(
            f"an element of {what} is {checks.shown(given)}; needed: a name, or (name, function of the state)."
        )
    name = checks.name(given[0], f"the name of a function in {what}")
    return name, checks.function(given[1], f"'{name}' in {what}")


def coordinate(system: System, given: Given) -> Coordinate:
    """From the name of a tree velocity, of a cut joint's coordinate, or (name, function of the state)."""
    if not isinstance(given, str):
        name, f = name_and_function(given, "independent")
        if name in system.v_names:
            raise ArgumentError(f"'{name}' is a joint's own coordinate; give your function another name.")
        return Coordinate(name, None, Expressions(name, "coordinate", holonomic=[(name, f)]), function=f)
    if given in system.v_names:
        return Coordinate(given, system.v_names.index(given))
    cut = cut_coordinates(system)
    if given not in cut:
        raise unknown("coordinate", given, [*system.v_names, *cut], "independent")
    loop, k = cut[given]
    return Coordinate(given, None, CutCoordinate(loop, k, given), loop.joint.angular[k])


def best_choice(
    system: System,
    p: Parameters,
    A: np.ndarray,
    M: np.ndarray,
    rows: np.ndarray | None = None,
    first: Sequence[int] = (),
) -> list[int]:
    """Velocities of the tree that determine the others best, in the mass metric; `first` are taken anyway.

    rows: which of the constraints' rows A has, (m,) bool; all by default.
    """
    K = _admissible(system, p, A, M, rows)
    return independent(K * np.sqrt(np.diag(M))[:, None], K.shape[1], first)


def _admissible(system: System, p: Parameters, A: np.ndarray, M: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """(nv, dof) motions that rows A allow, orthonormal in the mass metric."""
    policy = rank_policy(system, p)
    return Tangent.of(A, M, policy, policy.sizes if rows is None else policy.sizes[rows]).admissible


def refusal(
    system: System,
    p: Parameters,
    names: Sequence[str],
    chosen: np.ndarray,
    A: np.ndarray,
    M: np.ndarray,
    rows: np.ndarray | None = None,
) -> ArgumentError:
    """Why a choice of coordinates cannot be used, and which could; `chosen` are its rows C, (coordinates, nv)."""
    policy, K = rank_policy(system, p), _admissible(system, p, A, M, rows)
    dof = K.shape[1]
    better = ", ".join(repr(system.v_names[k]) for k in best_choice(system, p, A, M, rows))
    if len(names) != dof:
        return ArgumentError(
            f"independent has {len(names)} coordinates ({', '.join(names) or 'none'}); '{system.name}' has {dof} "
            f"degrees of freedom here. The best choice among the joints of the tree is [{better}]."
        )
    moves = chosen @ K / np.sqrt(np.einsum("ij,ji->i", chosen, np.linalg.solve(M, chosen.T)))[:, None]
    still = [name for name, row in zip(names, moves) if np.linalg.norm(row) <= policy.tolerance]
    weakest = policy.reveal(moves).U[:, -1]
    tied = [name for name, absent in zip(names, policy.absent(0.01 * weakest)) if not absent]
    if still:
        why = f"the constraints hold {', '.join(still)} still here"
    else:
        why = f"the constraints tie {', '.join(tied)} together here"
    return ArgumentError(
        f"[{', '.join(map(repr, names))}] cannot be the independent coordinates of '{system.name}' in this position: "
        f"{why}, so another motion is left undetermined. The best choice among the joints of the tree is [{better}]."
    )
