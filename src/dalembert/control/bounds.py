"""Bounds of multipliers: lower ≤ λ ≤ upper by row, and friction cones ‖λ_t‖ ≤ μ λ_n.

A cone with one tangent is two half-planes. One with two tangents is the intersection of its tangent planes

    μ λ_n − d·λ_t ≥ 0,  ‖d‖ = 1,

of which four are there from the beginning; `Reactions.cut` adds the one that a given λ breaks most, until none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import mapping, number, shown
from dalembert.errors import ArgumentError, unknown
from dalembert.statics.limits import Bounds

#: a multiplier as users give it: the name of its row, or {row: factor} for a combination
CombinationGiven = str | Mapping[str, float]

BROKEN = 1e-6  # of its terms: by how much a bound may be missed


@dataclass(frozen=True)
class Cone:
    """A friction cone ‖λ_t‖ ≤ friction × λ_n, λ_n ≥ 0, for `inverse_dynamics` and the controllers.

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
class Reactions:
    """lower ≤ C λ ≤ upper: bounds of rows of λ, and planes of cones."""

    C: np.ndarray  # (k, m)
    bounds: Bounds  # (k,)
    cones: tuple[tuple[str, float, np.ndarray], ...]  # name, μ and (1 + tangents, m): normal and tangents, of each cone

    @staticmethod
    def of(rows: Sequence[str], reactions: Mapping[str, Any] | None, cones: Iterable[Cone] | None) -> Reactions:
        """Bounds of rows by name, and cones."""
        if not (reactions is None or isinstance(reactions, Mapping)):
            raise ArgumentError(f"reactions is {shown(reactions)}; needed: bounds by row, {{'loop.row': bound}}.")
        each = Bounds.of(rows, reactions, "row")
        given = np.isfinite(each.lower) | np.isfinite(each.upper)
        names = [name for name, k in zip(rows, given) if k]
        out = Reactions(np.eye(len(rows))[given], Bounds(tuple(names), each.lower[given], each.upper[given]), ())
        if cones is None:
            return out
        if not isinstance(cones, (list, tuple)) or not all(isinstance(c, Cone) for c in cones):
            raise ArgumentError(f"cones is {shown(cones)}; needed: a list of control.Cone.")
        known = tuple(
            (c.name, float(c.friction), np.array([combination(x, rows, c.name) for x in (c.normal, *c.tangents)]))
            for c in cones
        )
        for name, mu, axes in known:
            out = out._with(name, axes[:1])
            for t in axes[1:]:
                out = out._with(name, np.array([mu * axes[0] - t, mu * axes[0] + t]))
        return Reactions(out.C, out.bounds, known)

    def _with(self, name: str, planes: np.ndarray) -> Reactions:
        """Further planes c·λ ≥ 0 of a cone."""
        b, k = self.bounds, len(planes)
        more = Bounds((*b.names, *[name] * k), np.append(b.lower, np.zeros(k)), np.append(b.upper, np.full(k, np.inf)))
        return Reactions(np.vstack([self.C, planes]), more, self.cones)

    def missed(self, multipliers: np.ndarray, slack: float = 1e-9, usual: float = 0.0) -> dict[str, float]:
        """By how much bounds are missed, by name: of a row, or the largest of a cone's planes.

        slack: of their terms, and a hundredth of it of the largest multiplier or of a usual one: what does not count.
        """
        b, y, terms = self.bounds, self.C @ multipliers, np.abs(self.C) @ np.abs(multipliers)
        least = 1e-2 * slack * np.abs(multipliers).max(initial=usual)
        room = slack * terms + least
        out: dict[str, float] = {}
        for name, x, free in zip(b.names, np.maximum(b.lower - y, y - b.upper), room):
            if x > free:
                out[name] = max(out.get(name, 0.0), float(x))
        for name, mu, axes in self.cones:
            normal, *along = axes @ multipliers
            x = float(np.linalg.norm(along) - mu * max(normal, 0.0))
            if x > slack * np.linalg.norm(along) + least:
                out[name] = max(out.get(name, 0.0), x)
        return out

    def on(self, active: np.ndarray) -> Reactions:
        """Without the bounds and cones of rows that are switched off; active: (m,), 0 where a row is."""
        if active.all():
            return self
        b, kept = self.bounds, ~(self.C[:, active == 0] != 0).any(axis=1)
        cones = tuple(c for c in self.cones if not c[2][:, active == 0].any())
        gone = {c[0] for c in self.cones} - {c[0] for c in cones}
        kept &= np.array([name not in gone for name in b.names], dtype=bool)
        names = tuple(name for name, k in zip(b.names, kept) if k)
        return Reactions(self.C[kept], Bounds(names, b.lower[kept], b.upper[kept]), cones)

    def cut(self, multipliers: np.ndarray) -> Reactions | None:
        """With the tangent planes of cones that these multipliers break, or None where these are all there."""
        out, size = self, np.abs(multipliers).max(initial=0.0)
        for name, mu, axes in self.cones:
            normal, *along = axes @ multipliers
            length = float(np.linalg.norm(along))
            if len(along) == 2 and normal > 0.0 and length > mu * normal + 1e-9 * (length + 1e-3 * size):
                plane = mu * axes[0] - np.array(along) / length @ axes[1:]
                if (np.abs(out.C - plane).max(axis=1) > 1e-7 * np.abs(plane).max()).all():
                    out = out._with(name, plane[None])
        return None if out is self else out


def combination(given: CombinationGiven, rows: Sequence[str], where: str) -> np.ndarray:
    """(m,) factors of a combination of multipliers."""
    out = np.zeros(len(rows))
    for name, factor in ({given: 1.0} if isinstance(given, str) else mapping(given, where)).items():
        if not isinstance(name, str) or name not in rows:
            raise unknown("row", name, rows, where)
        out[list(rows).index(name)] = number(factor, f"the factor of '{name}'")
    return out
