"""The motion of one frame seen from another, and scalar functions of it with their two derivatives.

T = T_0a⁻¹ T_0b = (R, p) is the pose of frame b in frame a, V = (ω; v) its body-fixed twist (in b's axes):

    V = V_b − X V_a = J v,  X = Ad(T⁻¹)                                    (Spencer A.9: J = J_b − X J_a)
    V̇ = V̇_b − X V̇_a + ad(V) X V_a
    Ṙ = R [ω],  ṗ = R v

All of it is seen from the last link that carries both frames: what that link does enters neither T nor V nor J, so
that the rows of a loop are the same wherever the loop is mounted, and rows that hold by themselves show it.

A `Jet` is a scalar f(T) with ḟ = G V and f̈ = G V̇ + e. Sums, products and functions of jets are jets, so that every
row of every closure is written once, as a formula, and its A = G J and γ = G V̇|_{v̇=0} + e are exact, on and off the
manifold.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.constraint import Constraint, Row
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.kinematics import twist_rate
from dalembert.spatial import AdInverse, Transform, bracket, cross
from dalembert.symbols import cos, sin, sqrt, zeros


class Relative:
    """Frame b in frame a, moving."""

    def __init__(self, s: TracedState, a: Frame, b: Frame, orientation: np.ndarray | None = None):
        """`orientation` turns both frames to the axes in which a joint is simplest."""
        self.a, self.b = _turned(a, orientation), _turned(b, orientation)
        self._place_a, self._place_b = s.layout.locate(self.a), s.layout.locate(self.b)
        self._turn = s.at.tree.common(self._place_a[0], self._place_b[0])
        self._at = s.at.seen_from(self._turn)
        T = s.at.between(*self._place_a, *self._place_b)
        self.R, self.p, self.X = T.R, T.p, AdInverse(T)

    @cached_property
    def _Va(self) -> np.ndarray:
        """X V_a."""
        link, T = self._place_a
        return self.X @ (AdInverse(T) @ self._at.V(link))

    @cached_property
    def V(self) -> np.ndarray:
        """(ω; v) of b in a, in b's axes."""
        link, T = self._place_b
        return AdInverse(T) @ self._at.V(link) - self._Va

    @cached_property
    def V_rate(self) -> np.ndarray:
        """V̇ at v̇ = 0."""
        still = zeros(self._at.tree.nv)
        rate_a, rate_b = (twist_rate(self._at, still, *place) for place in (self._place_a, self._place_b))
        return rate_b - self.X @ rate_a + bracket(self.V, self._Va)

    @cached_property
    def dofs(self) -> list[int]:
        """The velocities that move b in a: those between the two and the last link that carries both."""
        tree = self._at.tree
        own = [tree.links[k].v for link, _ in (self._place_a, self._place_b) for k in tree.path(link, self._turn)]
        return [k for v in own for k in range(v.start, v.stop)]

    @cached_property
    def J(self) -> np.ndarray:
        """(6, len(dofs)): V = J v[dofs]."""
        (Ja, Jb), dofs = (self._columns(place) for place in (self._place_a, self._place_b)), self.dofs
        return np.concatenate([-(self.X @ Ja), Jb], axis=1) if dofs else zeros(6, 0)

    def _columns(self, place: tuple[int, Transform]) -> np.ndarray:
        """The columns of one frame's body Jacobian by the velocities between it and the turn, from there on."""
        at, (link, T) = self._at, place
        columns = []
        for k in reversed(at.tree.path(link, self._turn)):
            columns.append(AdInverse(T) @ at.S(k))
            T = at.T(k) @ T
        return np.concatenate([zeros(6, 0), *reversed(columns)], axis=1)

    def along(self, n: np.ndarray) -> Jet:
        """n · p: how far b's origin lies along the direction n of a."""
        Rn, (w, v) = self.R.T @ n, self._wv
        return Jet(self, n @ self.p, np.concatenate([zeros(3), Rn]), Rn @ cross(w, v))

    def cosine(self, n: np.ndarray, m: np.ndarray) -> Jet:
        """n · R m: the cosine between the direction n of a and the direction m of b."""
        Rn, (w, _) = self.R.T @ n, self._wv
        return Jet(self, Rn @ m, np.concatenate([cross(m, Rn), zeros(3)]), Rn @ cross(w, cross(w, m)))

    def exert(self, W: np.ndarray, load: Load) -> None:
        """Put the wrench W (in b's axes, at b) on b and its reaction on a: Jᵀ W in generalized forces."""
        load.wrench(self.b, W)
        load.wrench(self.a, -(self.X.T @ W))

    @property
    def _wv(self) -> tuple[np.ndarray, np.ndarray]:
        return self.V[:3], self.V[3:]


@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """f with ḟ = G V and f̈ = G V̇ + e."""

    of: Relative
    f: Any
    G: np.ndarray  # (6,)
    e: Any

    @property
    def rate(self) -> Any:
        """ḟ."""
        return self.G @ self.of.V

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.of, self.f + other, self.G, self.e)
        return Jet(self.of, self.f + other.f, self.G + other.G, self.e + other.e)

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.of, self.f * other, self.G * other, self.e * other)
        G = self.f * other.G + other.f * self.G
        return Jet(self.of, self.f * other.f, G, self.f * other.e + other.f * self.e + 2 * self.rate * other.rate)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Jet:
        return self * -1.0

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def apply(self, f: Any, d1: Any, d2: Any) -> Jet:
        """A function of this jet from its value and two derivatives there."""
        return Jet(self.of, f, d1 * self.G, d1 * self.e + d2 * self.rate * self.rate)

    def sin(self) -> Jet:
        """sin f."""
        s, c = sin(self.f), cos(self.f)
        return self.apply(s, c, -s)

    def cos(self) -> Jet:
        """cos f."""
        s, c = sin(self.f), cos(self.f)
        return self.apply(c, -s, -c)

    def sqrt(self) -> Jet:
        """√f, f > 0."""
        r = sqrt(self.f)
        return self.apply(r, 0.5 / r, -0.25 / (r * self.f))

    def row(self) -> tuple[Any, dict[int, Any], Any]:
        """Φ, the row of A by its places in v, and γ."""
        return self.f, dict(zip(self.of.dofs, self.G @ self.of.J)), self.G @ self.of.V_rate + self.e


def _turned(frame: Frame, orientation: np.ndarray | None) -> Frame:
    return frame if orientation is None else Frame(frame.body, frame.T @ Transform(orientation, zeros(3)))


class RelativeConstraint(Constraint):
    """A constraint between two frames whose rows are jets of their relative motion."""

    @abstractmethod
    def jets(self, s: TracedState) -> tuple[Relative, list[tuple[str, Jet, bool]]]:
        """The relative motion, and (name, jet, whether it is an angle) of each row."""

    def rows(self, s: TracedState) -> list[Row]:
        out = []
        for name, jet, angular in self.jets(s)[1]:
            phi, A, gamma = jet.row()
            out.append(Row(name, phi, A, 0.0, gamma, angular=angular))
        return out

    def exert(self, s: TracedState, multipliers: Mapping[str, Any], load: Load) -> None:
        """W = Gᵀλ on b."""
        relative, jets = self.jets(s)
        W = zeros(6)
        for name, jet, _ in jets:
            if name in multipliers:
                W = W + jet.G * multipliers[name]
        relative.exert(W, load)
