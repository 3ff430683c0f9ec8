"""Velocities that a motion can have: the second-order condition of the constraints.

Where rows of A depend on each other, W A = 0, the condition A v + b = 0 admits more velocities than motions have. A
motion also has A v̇ + γ = 0, so that

    W γ(q, v) = 0                                                                                        (1)

whatever its v̇ is. Rows that are redundant for good satisfy (1) by themselves; in a singular position (1) is the tangent
cone of the constraints. With v = v₀ + K y it is quadratic in y,

    g(y) = g₀ + G y + yᵀ F y = 0,                                                                        (2)

and the y next to the origin comes from Newton's method, y ← J⁺ (J y − g): K is orthonormal in the mass metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.analysis.manifold import Tangent
from dalembert.analysis.tangent_cone import second_order_terms
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

MISSED = 1e-7  # of the terms of (1): by how much they may fail to cancel
ROUNDING = 1e-10  # of velocities that were projected
STARTS = 16  # of Newton's method, the first next to what is given
ROUNDS = 60
SAME = 1e-4  # between directions
SHARE = 1e-3  # of the largest: entries of a dependency or a direction that are told


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Equations (1) of the active rows at a configuration, in usual lengths of the rows."""

    system: SystemLike
    state: StateLike
    p: Parameters
    on: np.ndarray  # (m,) bool
    here: Tangent  # of the active rows
    speed: float  # rad/s, or lengths of the mechanism per s, that velocities come from: they are not known better

    @property
    def W(self) -> np.ndarray:
        """(k, active rows) dependencies between the scaled rows."""
        return self.here.revealed.dependencies

    def terms(self, v: np.ndarray) -> np.ndarray:
        """(active rows,) γ of a velocity, scaled."""
        gamma = self.system.evaluate("gamma", self.state.replace(v=v), p=self.p)[self.on]
        return np.asarray(gamma / self.here.scale)

    def holds(self, v: np.ndarray) -> bool:
        """Whether a motion can have this velocity."""
        policy, gamma = rank_policy(self.system, self.p), self.terms(v)
        own = float(np.abs(v / np.where(angular_velocities(self.system), 1.0, policy.length)).max(initial=0.0))
        size = float((policy.units[self.on] / self.here.scale).max(initial=0.0))
        known = MISSED * (size * own**2 + np.abs(gamma).max(initial=0.0))
        unknown = size * ROUNDING * self.speed * (own + ROUNDING * self.speed)  # of γ, quadratic in v
        return bool(np.abs(self.W @ gamma).max(initial=0.0) <= known + unknown)

    def nearest(self, v: np.ndarray, K: np.ndarray) -> np.ndarray | None:
        """The velocity v + K y that satisfies (1), next to v in the mass metric; None where none is found.

        K: (nv, n) motions that are free, orthonormal in the mass metric.
        """
        if self.holds(v):
            return v
        if not K.shape[1]:
            return None
        found = [y for y in self._solutions(v, K) if self.holds(v + K @ y)]
        length = float(np.linalg.norm(self.here.R @ v))
        moving = [y for y in found if np.linalg.norm(self.here.R @ (v + K @ y)) > 1e-3 * length]
        return v + K @ min(moving or found, key=np.linalg.norm) if found else None

    def directions(self, v: np.ndarray) -> list[np.ndarray]:
        """Velocities, (nv,) with the largest entry 1, that motions through here have: a few, from seeded starts."""
        K, found = self.here.admissible, list[np.ndarray]()
        for y in self._solutions(v, K, at_length=True):
            w = v + K @ y
            k = int(np.flatnonzero(np.abs(w) > (1 - SAME) * np.abs(w).max())[0])
            if np.abs(w[k]) > 1e-3 * np.abs(v).max(initial=0.0) and self.holds(w):
                w = w / w[k]
                if all(np.abs(w - o).max() > SAME for o in found):
                    found.append(w)
        return found

    def _solutions(self, v: np.ndarray, K: np.ndarray, at_length: bool = False) -> list[np.ndarray]:
        """Solutions y of (2) from seeded starts; at_length: with ‖v + K y‖ = ‖v‖, so that none is at rest.

        Where (2) has as many equations as unknowns, or more, Newton's method alone ends in the apex of their cone.
        """
        W = np.zeros((len(self.W), len(self.on)))
        W[:, self.on] = self.W / self.here.scale
        size = max(float(np.linalg.norm(self.here.R @ v)), 1e-300)  # steps as long as v
        constant, linear, forms = second_order_terms(self.system, self.state, self.p, W, v, K, size)
        rng, length = np.random.default_rng(0), float(np.linalg.norm(self.here.R @ v))
        if at_length:
            weight = float(np.abs(forms).max(initial=0.0)) or 1.0
            along = 2.0 * (self.here.R @ K).T @ (self.here.R @ v)
            constant, linear = np.append(constant, 0.0), np.vstack([linear, weight * along])
            forms = np.concatenate([forms, weight * np.eye(K.shape[1])[None]])
        out = []
        for start in range(STARTS):
            y: np.ndarray = np.multiply(length if start else 0.0, rng.normal(size=K.shape[1]))
            for _ in range(ROUNDS):
                slope = linear + 2.0 * forms @ y
                g = constant + linear @ y + (forms @ y) @ y
                new = np.linalg.lstsq(slope, slope @ y - g, rcond=1e-9)[0]
                step, y = np.linalg.norm(new - y), new
                if not np.isfinite(step) or step <= 1e-14 * max(length, float(np.linalg.norm(y))):
                    break
            if np.isfinite(y).all():
                out.append(y)
        return out

    # --- sentences ----------------------------------------------------------------------------------------------

    def refusal(self, v: np.ndarray, held: Sequence[str]) -> str:
        """Why no motion has a velocity like v with what is held, and which velocities motions have."""
        missed = self.W @ self.terms(v)
        shares = np.abs(self.W.T @ missed)
        rows = np.flatnonzero(self.on)[shares > SHARE * shares.max(initial=0.0)]
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(self.system.rows.of[k] for k in rows))
        kept = f" with {' and '.join(held)} held" if held else ""
        if not self.directions_exist:
            return (
                f"no motion of '{self.system.name}' goes on from here{kept}: {names} ask for different accelerations. "
                "Take one of them out or change it."
            )
        told = [self._named(w) for w in self.directions(v)[:4]]
        found = f"Motions through here go along {' or '.join(told)}" if told else "No motion leads away from here"
        return (
            f"no motion of '{self.system.name}' has this velocity{kept}: the position is singular, and to second order "
            f"{names} would open by it. {found}; hold others."
        )

    @property
    def directions_exist(self) -> bool:
        """Whether velocities are left to choose."""
        return self.here.admissible.shape[1] > 0

    def _named(self, w: np.ndarray) -> str:
        names = self.system.v_names
        return "(" + ", ".join(f"{name}: {x:.4g}" for name, x in zip(names, w) if abs(x) > SHARE) + ")"
