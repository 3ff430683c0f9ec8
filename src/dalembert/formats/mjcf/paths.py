"""Lengths that forces act along: of fixed tendons (sums of coordinates), spatial tendons, slider-cranks.

A path has a length L and shares: how a unit of force along it acts on joints and frames, ∂L/∂q in pieces. Its rate is
the power of those shares, L̇ = Σ share · velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

from dalembert.formats.mjcf.wrapping import Wrap
from dalembert.mechanism.traced import UserState


@dataclass(frozen=True)
class JointPath:
    """L = Σ c q."""

    terms: tuple[tuple[str, float], ...]  # joint, coefficient

    def length(self, s: UserState) -> ca.SX:
        return sum((c * s[joint] for joint, c in self.terms), ca.SX(0))

    def speed(self, s: UserState) -> ca.SX:
        return sum((c * s.rate(joint) for joint, c in self.terms), ca.SX(0))


Shares = dict[str, tuple[ca.SX, ca.SX]]  # frame: (force at its origin, moment), in the ground's axes


class FramePath:
    """A path whose shares are forces and moments on frames."""

    @property
    def frames(self) -> list[str]:
        """The frames of the shares."""
        raise NotImplementedError

    def length(self, s: UserState) -> ca.SX:
        """L."""
        raise NotImplementedError

    def shares(self, s: UserState) -> Shares:
        """Force on each frame per unit of force along the path."""
        raise NotImplementedError

    def speed(self, s: UserState) -> ca.SX:
        """L̇ = Σ F·v + M·ω."""
        out = ca.SX(0)
        for frame, (force, moment) in self.shares(s).items():
            omega = s.rotation(frame) @ s.twist(frame)[:3]
            out = out + ca.dot(force, s.velocity(frame)) + ca.dot(moment, omega)
        return out


@dataclass(frozen=True)
class TendonBranch:
    """Part of a spatial tendon between pulleys: its length counts 1/divisor."""

    divisor: float
    points: tuple[str | Wrap, ...]  # frames, and between two frames at most one wrap

    @property
    def straight(self) -> bool:
        """Whether it only runs through points."""
        return all(isinstance(p, str) for p in self.points)


@dataclass(frozen=True)
class SpatialPath(FramePath):
    """L = Σ (lengths of the branches) / divisor."""

    branches: tuple[TendonBranch, ...]

    @property
    def frames(self) -> list[str]:
        names = [p if isinstance(p, str) else p.frame for branch in self.branches for p in branch.points]
        return list(dict.fromkeys(names))

    def length(self, s: UserState) -> ca.SX:
        return s.once(("length", self), lambda: self._length(s))

    def shares(self, s: UserState) -> Shares:
        return s.once(("shares", self), lambda: self._shares(s))

    def _length(self, s: UserState) -> ca.SX:
        total = ca.SX(0)
        for branch in self.branches:
            for a, wrap, b in _pieces(branch):
                x0, x1 = s.position(a), s.position(b)
                length = _norm(x1 - x0)
                if wrap is not None:
                    touches, w0, w1, arc = _around(s, a, wrap, b)
                    length = ca.if_else(touches, _norm(w0 - x0) + arc + _norm(x1 - w1), length)
                total = total + length / branch.divisor
        return total

    def _shares(self, s: UserState) -> Shares:
        out: Shares = {}

        def put(frame: str, force: ca.SX, point: ca.SX) -> None:
            F, M = out.get(frame, (ca.SX.zeros(3), ca.SX.zeros(3)))
            out[frame] = F + force, M + ca.cross(point - s.position(frame), force)

        for branch in self.branches:
            for a, wrap, b in _pieces(branch):
                x0, x1 = s.position(a), s.position(b)
                n0 = n1 = _direction(x1 - x0)
                if wrap is not None:
                    touches, w0, w1, _ = _around(s, a, wrap, b)
                    n0 = ca.if_else(touches, _direction(w0 - x0), n0)
                    n1 = ca.if_else(touches, _direction(x1 - w1), n1)
                    put(wrap.frame, ca.if_else(touches, n0, 0) / branch.divisor, ca.if_else(touches, w0, x0))
                    put(wrap.frame, -ca.if_else(touches, n1, 0) / branch.divisor, ca.if_else(touches, w1, x1))
                put(a, -n0 / branch.divisor, x0)
                put(b, n1 / branch.divisor, x1)
        return out


@dataclass(frozen=True)
class SliderCrank(FramePath):
    """The position of a slider along z of its frame, driven by a rod of length r from the frame of a crank pin.

    With d from slider to pin and a the slider's axis: L = d·a − √((d·a)² + r² − d·d); where the rod is too short, d·a.
    """

    crank: str
    slider: str
    rod: float

    @property
    def frames(self) -> list[str]:
        return [self.crank, self.slider]

    def _parts(self, s: UserState) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        d = s.position(self.crank) - s.position(self.slider)
        a = s.rotation(self.slider)[:, 2]
        along = ca.dot(d, a)
        under = along**2 + self.rod**2 - ca.sumsqr(d)
        return d, a, along, under

    def length(self, s: UserState) -> ca.SX:
        _, _, along, under = self._parts(s)
        return along - ca.if_else(under > 0, ca.sqrt(ca.fmax(under, 0)), 0)

    def shares(self, s: UserState) -> Shares:
        d, a, along, under = self._parts(s)
        inverse = ca.if_else(under > 0, 1 / ca.sqrt(ca.fmax(under, 1e-300)), 0)
        by_d = a - (along * a - d) * inverse
        by_a = d * (1 - along * inverse)
        return {self.crank: (by_d, ca.SX.zeros(3)), self.slider: (-by_d, ca.cross(a, by_a))}


def _around(s: UserState, a: str, wrap: Wrap, b: str) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    return s.once(("around", a, wrap, b), lambda: wrap.around(s, s.position(a), s.position(b)))


def _pieces(branch: TendonBranch) -> list[tuple[str, Wrap | None, str]]:
    """(point, wrap between or None, point) along a branch."""
    out: list[tuple[str, Wrap | None, str]] = []
    frames = [(k, p) for k, p in enumerate(branch.points) if isinstance(p, str)]
    for (i, a), (k, b) in pairwise(frames):
        between = branch.points[i + 1] if k == i + 2 else None
        out.append((a, between if isinstance(between, Wrap) else None, b))
    return out


def _norm(x: ca.SX) -> ca.SX:
    return ca.sqrt(ca.sumsqr(x))


def _direction(x: ca.SX) -> ca.SX:
    return x / ca.sqrt(ca.sumsqr(x) + 1e-300)
