"""Bounds that controllers keep: of multipliers and measures, friction cones ‖λ_t‖ ≤ μ λ_n, and of motions.

`control.native.bounded` keeps them; here they are checked, named and looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import mapping, number, shown
from dalembert.errors import ArgumentError, unknown
from dalembert.statics.limits import Bounds
from dalembert.system.system import System

#: a multiplier as users give it: the name of its row, or {row: factor} for a combination
CombinationGiven = str | Mapping[str, float]

BROKEN = 1e-6  # of its terms: by how much a bound may be missed


@dataclass(frozen=True)
class Cone:
    """A friction cone ‖λ_t‖ ≤ friction × λ_n, λ_n ≥ 0, for `actuator_forces` and the controllers.

    normal: a row ("constraint.row") whose multiplier is the normal force, positive where the contact presses, or
    {row: factor}, such as {"grip.x": -1.0} where it is negative then. tangents: one or two rows or combinations, across
    the normal and each other. friction: the coefficient μ, at least 0.

    >>> from dalembert import control
    >>> control.Cone({"grip.x": -1.0}, ["grip.y"], 0.4).friction
    0.4
    """

    normal: CombinationGiven
    tangents: Sequence[CombinationGiven]
    friction: float

    def __post_init__(self) -> None:
        number(self.friction, "the friction of a cone", least=0.0)
        if not isinstance(self.tangents, (list, tuple)) or len(self.tangents) not in (1, 2):
            raise ArgumentError(
                f"the tangents of a cone are {shown(self.tangents)}; needed: a list of one or two rows."
            )

    @property
    def name(self) -> str:
        """The cone in messages, by its normal."""
        return f"cone of {self.normal if isinstance(self.normal, str) else ', '.join(self.normal)}"


@dataclass(frozen=True, eq=False)
class ReactionBounds:
    """lower ≤ C λ⁺ ≤ upper and friction cones, λ⁺ the multipliers followed by the measures."""

    C: np.ndarray  # (nc, m + nm)
    bounds: Bounds  # (nc,)
    cones: tuple[tuple[str, float, np.ndarray], ...]  # name, μ and (1 + tangents, m + nm): normal and tangents

    @staticmethod
    def of(names: Sequence[str], reactions: Mapping[str, Any] | None, cones: Iterable[Cone] | None) -> ReactionBounds:
        """Bounds of rows and measures by name, and cones."""
        if not (reactions is None or isinstance(reactions, Mapping)):
            raise ArgumentError(f"reactions is {shown(reactions)}; needed: bounds by row, {{'loop.row': bound}}.")
        each = Bounds.of(names, reactions, "row")
        given = np.isfinite(each.lower) | np.isfinite(each.upper)
        kept = tuple(name for name, k in zip(names, given) if k)
        if not (cones is None or (isinstance(cones, (list, tuple)) and all(isinstance(c, Cone) for c in cones))):
            raise ArgumentError(f"cones is {shown(cones)}; needed: a list of control.Cone.")
        known = tuple(
            (c.name, float(c.friction), np.array([combination(x, names, c.name) for x in (c.normal, *c.tangents)]))
            for c in cones or ()
        )
        return ReactionBounds(np.eye(len(names))[given], Bounds(kept, each.lower[given], each.upper[given]), known)

    def arrays(self) -> dict[str, np.ndarray]:
        """The bounds as arrays of an `Allocation`."""
        axes = np.zeros((3 * len(self.cones), self.C.shape[1]))
        for k, (_, _, given) in enumerate(self.cones):
            axes[3 * k : 3 * k + len(given)] = given
        return {
            "C": np.ascontiguousarray(self.C),
            "c_lower": self.bounds.lower.copy(),
            "c_upper": self.bounds.upper.copy(),
            "cones": axes,
            "friction": np.array([mu for _, mu, _ in self.cones], dtype=float),
            "tangents": np.array([len(axes) - 1 for _, _, axes in self.cones], dtype=np.int64),
        }

    def missed(self, forces: np.ndarray, on: np.ndarray, slack: float, usual: float) -> dict[str, float]:
        """By how much bounds are missed, by name.

        forces: λ⁺, (m + nm). on: (m + nm,) whether each is one of constraints that are on. slack: of their terms, and
        a hundredth of it of the largest multiplier or of a usual one: what does not count.
        """
        least = 1e-2 * slack * np.abs(forces).max(initial=usual)
        out: dict[str, float] = {}
        b, y = self.bounds, self.C @ forces
        off = np.maximum(b.lower - y, y - b.upper)
        for name, row, x, terms in zip(b.names, self.C, off, np.abs(self.C) @ np.abs(forces)):
            if on[row != 0].all() and x > slack * terms + least:
                out[name] = float(x)
        for name, mu, axes in self.cones:
            normal, *along = axes @ forces
            x = float(np.linalg.norm(along) - mu * max(normal, 0.0))
            x = max(x, -float(normal))
            if on[(axes != 0).any(axis=0)].all() and x > slack * np.linalg.norm(along) + least:
                out[name] = x
        return out


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Bounds of positions, speeds and accelerations of single velocities."""

    names: tuple[str, ...]  # (nf,) of velocities
    freedom: np.ndarray  # (nf,) their numbers
    place: np.ndarray  # (nf,) numbers of their coordinates
    values: np.ndarray  # (nf, 6) lower and upper of position, speed, acceleration

    @staticmethod
    def of(system: System, positions: Any, speeds: Any, accelerations: Any) -> MotionBounds:
        """positions: True for the limits of the joints, or bounds by coordinate; the others by velocity, or one."""
        layout = system.layout
        by_q = layout.scalar_rates
        if positions is True:
            found = {
                q: pair
                for a in layout.joints.values()
                for q, pair in zip(a.coordinates, a.limits)
                if q in by_q and np.isfinite(pair).any()
            }
            if not found:
                raise ArgumentError(
                    f"positions is True, and no joint of '{system.name}' has limits; give them by name, "
                    "positions={'A': (-1.0, 1.0)}."
                )
            positions = {q: tuple(pair) for q, pair in found.items()}
        all_v = list(layout.v_names)
        where = Bounds.of(list(by_q), None if positions is None else mapping(positions, "positions"), "coordinate")
        fast, hard = (Bounds.of(all_v, x, "velocity") for x in (speeds, accelerations))
        values = np.tile([-np.inf, np.inf], (len(all_v), 3))
        for q, low, high in zip(where.names, where.lower, where.upper):
            values[all_v.index(by_q[q]), :2] = low, high
        values[:, 2:4], values[:, 4:] = np.stack([fast.lower, fast.upper], 1), np.stack([hard.lower, hard.upper], 1)
        kept = np.flatnonzero(np.isfinite(values).any(axis=1))
        names = tuple(all_v[k] for k in kept)
        q_of = {v: q for q, v in by_q.items()}
        place = np.array([layout.q_names.index(q_of[n]) if n in q_of else 0 for n in names], dtype=np.int64)
        return MotionBounds(names, kept.astype(np.int64), place, np.ascontiguousarray(values[kept]))

    def allowed(self, k: int, q: float, v: float, rate: float) -> list[tuple[float, str]]:
        """v̇ of the k-th one at most and at least, by cause: (value, words) of the tightest from below and above."""
        x = self.values[k]
        low = [(-2 * rate * v - rate**2 * (q - x[0]), f"{self.names[k]} ≥ {x[0]:g}"),
               (-rate * (v - x[2]), f"speed of {self.names[k]} ≥ {x[2]:g}"),
               (x[4], f"acceleration of {self.names[k]} ≥ {x[4]:g}")]  # fmt: skip
        high = [(-2 * rate * v - rate**2 * (q - x[1]), f"{self.names[k]} ≤ {x[1]:g}"),
                (-rate * (v - x[3]), f"speed of {self.names[k]} ≤ {x[3]:g}"),
                (x[5], f"acceleration of {self.names[k]} ≤ {x[5]:g}")]  # fmt: skip
        return [max(low), min(high)]


def combination(given: CombinationGiven, rows: Sequence[str], where: str) -> np.ndarray:
    """(m,) factors of a combination of multipliers."""
    out = np.zeros(len(rows))
    for name, factor in ({given: 1.0} if isinstance(given, str) else mapping(given, where)).items():
        if not isinstance(name, str) or name not in rows:
            raise unknown("row", name, rows, where)
        out[list(rows).index(name)] = number(factor, f"the factor of '{name}'")
    return out
