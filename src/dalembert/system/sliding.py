"""Friction of contacts that slide: forces in proportion to multipliers, which they change themselves.

A contact i that slides presses with λ_i and is held back by μ_i λ_i along T_i, the generalized force of a unit force
against the sliding. Multipliers are affine in applied forces, so all the λ_i follow from one small system:

    λ = λ⁰ + Σ_j μ_j λ_j ℓ_j,   ℓ_j = ∂λ/∂f T_j                                                            (1)

with λ⁰ those without friction. Where its matrix is singular no forces balance (Painlevé).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.mechanism.contacts import OneSided
from dalembert.mechanism.traced import Load
from dalembert.recursions.elimination import Elimination, mass_factor
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import array, zeros

if TYPE_CHECKING:
    from dalembert.system.functions import Trace


@dataclass(frozen=True, eq=False)
class Sliding:
    """A contact that slides, and the unit vector in which it does, a function of the state by names of its slips."""

    contact: OneSided
    direction: Any


def add_sliding(s: Trace, sliding: Sequence[Sliding], load: Load) -> None:
    """Add the friction of contacts that slide to a load of all other forces."""
    rows = s.rows
    bearing = [x for x in sliding if x.contact.name in rows.of]
    if not bearing:
        return
    at = [rows.of.index(x.contact.name) for x in bearing]
    against = [-x.contact.friction * _along(s, x) for x in bearing]
    f = load.tau - newton_euler(s.at, zeros(s.tree.nv), s.d.gravity, load.wrenches)
    factor = Elimination(mass_factor(s.at), rows.A)
    free = factor.solve(f, rows.gamma)[1][at]
    change = [factor.solve(T, zeros(len(rows.of)))[1][at] for T in against]
    K = np.array([[(1.0 if i == j else 0.0) - change[j][i] for j in range(len(at))] for i in range(len(at))])
    for T, pressed in zip(against, _solved(K.astype(object), free)):
        load.tau[:] = load.tau + T * pressed


def _along(s: Trace, x: Sliding) -> np.ndarray:
    """(nv,) generalized force of a unit force in the direction of sliding."""
    user, d = s.state.user(), RowDerivatives(s.state)
    slips, direction, out = x.contact.slips(user), x.direction(user), zeros(s.tree.nv)
    for name, part in direction.items():
        A = d.row(name, slips[name] * 0.0, slips[name], False, False).A
        out = out + A * array(part).ravel()[0]
    return out


def _solved(K: np.ndarray, right: np.ndarray) -> list[Any]:
    """K⁻¹ right by elimination in order: the diagonal of K leads, but for paradoxes."""
    n, x = len(right), list(right)
    for k in range(n):
        for i in range(k + 1, n):
            factor = K[i, k] / K[k, k]
            K[i, k:] = K[i, k:] - factor * K[k, k:]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        x[k] = (x[k] - sum((K[k, j] * x[j] for j in range(k + 1, n)), 0.0)) / K[k, k]
    return x
