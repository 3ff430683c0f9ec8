"""Closed states on mirror branches: rows vanish there, but an axis is reversed, or a thread is half a turn off."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError
from dalembert.mechanism.constraints import MIRRORS
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import rank_policy


def reversed_axes(system: SystemLike, signs: Iterable[float], on: np.ndarray | None = None) -> dict[str, str]:
    """Active constraints (default all) with a negative cosine of `Rows.branch`, by name, and what is wrong there."""
    active = {name for name, a in zip(system.rows.of, on) if a} if on is not None else set(system.rows.branch_of)
    wrong = zip(system.rows.branch_of, system.rows.branch_signs, signs)
    return {name: MIRRORS[what] for name, what, sign in wrong if sign < 0 and name in active}


def mirrored(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray | None = None) -> dict[str, str]:
    """Active constraints (default all) on a mirror branch, by name: what is wrong, as an axis that is reversed."""
    return reversed_axes(system, system.evaluate("branch", state, p=p), on) if system.rows.branch_of else {}


def refuse_mirrored(system: SystemLike, state: StateLike, p: Parameters) -> None:
    """Refuse a state in which a constraint holds on a mirror branch."""
    for name, wrong in mirrored(system, state, p).items():
        raise ArgumentError(
            f"the state is not on the constraints: '{name}' of '{system.name}' holds on its mirror branch ({wrong}). "
            "Find one that is with system.assemble(...), from a guess near the branch you mean."
        )


def openness(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray | None = None) -> float:
    """The largest residual of active constraints (default all), rad or lengths of the mechanism; ∞ on a mirror branch.

    A state is closed where this is at most `POLICY.open`.
    """
    gaps = np.abs(system.residuals(state, p=p) / rank_policy(system, p).units)
    largest = float((gaps if on is None else gaps[on]).max(initial=0.0))
    return np.inf if largest <= POLICY.open and mirrored(system, state, p, on) else largest
