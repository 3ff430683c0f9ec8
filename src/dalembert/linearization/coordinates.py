"""The choice of coordinates for a linear model: the best one, and why another cannot be used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.analysis.manifold import Tangent
from dalembert.errors import ArgumentError
from dalembert.protocols import Parameters
from dalembert.rank import EVEN, independent, rank_policy
from dalembert.system.system import System


def best_choice(
    system: System,
    p: Parameters,
    A: np.ndarray,
    M: np.ndarray,
    rows: np.ndarray | None = None,
    first: Sequence[int] = (),
) -> list[int]:
    """Velocities of the tree that determine the others best, in the mass metric; `first` are taken anyway.

    Of several that do so equally well, as those of equal cranks, the first is taken: rounding does not choose.
    rows: which of the constraints' rows A has, (m,) bool; all by default.
    """
    K = _admissible(system, p, A, M, rows)
    return independent(K * np.sqrt(np.diag(M))[:, None], K.shape[1], first, EVEN)


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
