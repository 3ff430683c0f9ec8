"""Friction in proportion to what presses: forces that depend on multipliers, which they change themselves.

A contact i that slides presses with λ_i and is held back by μ_i λ_i along T_i, the generalized force of a unit force
against the sliding. Multipliers are affine in applied forces, so all the λ_i follow from one small system:

    λ = λ⁰ + Σ_j μ_j λ_j ℓ_j,   ℓ_j = ∂λ/∂f T_j                                                            (1)

with λ⁰ those without friction, shared as in `sharing` where contacts are redundant. Where its matrix is singular no
forces balance (Painlevé). A joint whose friction grows with its own reaction R, x = F + c ‖R‖,
has R = a − b s y, s the sign of its motion: a quadratic equation,

    (1 − c² b·b) y² + 2 c² s a·b y − c² a·a = 0,   y = x − F, a = R at y = 0                                 (2)

and for several joints one after another, until they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.mechanism.contacts import DryFriction, OneSided
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.elimination import Elimination, mass_factor
from dalembert.recursions.newton_euler import link_wrenches, newton_euler
from dalembert.symbols import array, positive_part, sqrt, zeros
from dalembert.system.sharing import Sharing, exert, solved

if TYPE_CHECKING:
    from dalembert.system.trace import Trace

SWEEPS = 12  # over joints whose reactions depend on each other's friction


@dataclass(frozen=True, eq=False)
class Sliding:
    """A contact that slides, and the unit vector in which it does, a function of the state by names of its slips."""

    contact: OneSided
    direction: Any


@dataclass(frozen=True, eq=False)
class Loaded:
    """A joint that slides, in the direction of a sign, with friction that grows with its reaction."""

    friction: DryFriction
    sign: ca.SX


def add_sliding(s: Trace, sliding: Sequence[Sliding], loaded: Sequence[Loaded], load: Load) -> None:
    """Add friction that depends on what presses to a load of all other forces."""
    solve = Pressing(s, sliding)
    f = load.tau - newton_euler(s.at, zeros(s.tree.nv), s.d.gravity, load.wrenches)
    if loaded:
        more = _loaded(s, solve, loaded, f)
        load.tau[:] = load.tau + more
        f = f + more
    load.tau[:] = load.tau + solve.friction(f)


class Pressing:
    """v̇, λ and the friction of contacts that slide, for any applied forces: affine in them, by (1)."""

    def __init__(self, s: Trace, sliding: Sequence[Sliding]):
        rows = s.rows
        self.gamma, self.factor = rows.gamma, Elimination(mass_factor(s.at), rows.A)
        self.sharing, still = Sharing(s, self.factor), zeros(len(rows.of))
        known = {*rows.names, *self.sharing.shared}
        bearing = [x for x in sliding if f"{x.contact.name}.gap" in known]
        self.at = [f"{x.contact.name}.gap" for x in bearing]
        self.against = [-x.contact.friction * _along(s, x) for x in bearing]
        self.change = [self._pressed(T, still) for T in self.against]

    def _pressed(self, f: np.ndarray, gamma: np.ndarray) -> list[Any]:
        """Normal forces of what slides under applied forces."""
        shared = self.sharing.spread(self.factor.solve(f, gamma)[1])
        return [shared[name] for name in self.at]

    def friction(self, f: np.ndarray) -> np.ndarray:
        """(nv,) of all contacts that slide."""
        out, n = zeros(len(f)), len(self.at)
        if not n:
            return out
        free = np.array(self._pressed(f, self.gamma), dtype=object)
        for T, pressed in zip(self.against, solved(self._matrix(), free)):
            out = out + T * pressed
        return out

    def _matrix(self) -> np.ndarray:
        """1 − ∂λ/∂λ of (1)."""
        n = len(self.at)
        return np.array(
            [[(1.0 if i == j else 0.0) - self.change[j][i] for j in range(n)] for i in range(n)], dtype=object
        )

    def determinant(self) -> Any:
        """Of the matrix of (1): positive without friction, zero where no forces balance or more than one set does."""
        K, out = self._matrix(), 1.0
        for k in range(len(K)):
            out = out * K[k, k]
            for i in range(k + 1, len(K)):
                K[i, k:] = K[i, k:] - K[i, k] / K[k, k] * K[k, k:]
        return out

    def motion(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ."""
        return self.factor.solve(f + self.friction(f), self.gamma)


def _loaded(s: Trace, solve: Pressing, loaded: Sequence[Loaded], f: np.ndarray) -> np.ndarray:
    """(nv,) what the reactions of joints add to their friction."""
    places = [s.d.layout.v_slice(x.friction.joint.name).start + x.friction.index for x in loaded]
    units = []
    for place in places:
        unit = zeros(len(f))
        unit[place] = 1.0
        units.append(unit)
    rest = [reaction(s, x.friction, *solve.motion(f)) for x in loaded]
    slopes = [
        [reaction(s, x.friction, *solve.motion(f + unit)) - r for x, r in zip(loaded, rest)] for unit in units
    ]  # [j][i]: of reaction i by force j
    signs = [array(x.sign).ravel()[0] for x in loaded]
    sizes: list[Any] = [0.0] * len(loaded)  # y = x − F; F is in f already
    for _ in range(SWEEPS if len(loaded) > 1 else 1):
        for i, x in enumerate(loaded):
            c2 = x.friction.law.load**2
            others = (-(signs[j] * sizes[j]) * slopes[j][i] for j in range(len(loaded)) if j != i)
            a, b = sum(others, rest[i]), slopes[i][i]  # R at x = F, and by force
            bb, ab, aa = b @ b, a @ b, a @ a
            A, B = 1.0 - c2 * bb, c2 * signs[i] * ab  # (2)
            sizes[i] = (sqrt(positive_part(B * B + A * (c2 * aa))) - B) / A
    out = zeros(len(f))
    for place, sign, size in zip(places, signs, sizes):
        out[place] = out[place] - sign * size
    return out


def reaction(s: Trace, friction: DryFriction, vdot: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """The force that presses a joint, N, in its own axes: across the axis of a slide, all of it in a hinge."""
    whole = s.d.whole
    at = whole.tree.moving(s.q, s.v)
    state = TracedState(whole, at, s.t[0])
    load = Load.of(s.d.forces, state)
    exert(s, state, [*lam, *(0.0 for _ in s.rows.left_out)], load)
    F = link_wrenches(at, vdot, s.d.gravity, load.wrenches)[list(whole.joints).index(friction.joint.name)]
    return F[3:] if friction.joint.joint.angular[friction.index] else F[3:5]


def _along(s: Trace, x: Sliding) -> np.ndarray:
    """(nv,) generalized force of a unit force in the direction of sliding."""
    user, d = s.state.user(), RowDerivatives(s.state)
    slips, direction, out = x.contact.slips(user), x.direction(user), zeros(s.tree.nv)
    for name, part in direction.items():
        A = d.row(name, slips[name] * 0.0, slips[name], False, False).dense(s.tree.nv)
        out = out + A * array(part).ravel()[0]
    return out
