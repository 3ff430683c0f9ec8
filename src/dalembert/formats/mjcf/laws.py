"""Force laws and constraints of MJCF as functions of the state, which pickle and can be read back by the writer.

`Along` is a scalar law along a length (of a tendon or a transmission): positive where it lengthens.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import casadi as ca

from dalembert.mechanism.traced import UserState

EVERYTHING = (-inf, inf)


class Length(Protocol):
    """A length that depends on the state."""

    def length(self, s: UserState) -> ca.SX:
        """Its value, m or rad."""

    def speed(self, s: UserState) -> ca.SX:
        """Its rate."""


def within(x: ca.SX, limits: tuple[float, float]) -> ca.SX:
    """x, or the nearest of the limits."""
    lower, upper = limits
    x = x if lower == -inf else ca.fmax(x, lower)
    return x if upper == inf else ca.fmin(x, upper)


def spring(x: ca.SX, coefficients: tuple[float, ...]) -> ca.SX:
    """a x + b x² + c x³."""
    return sum((c * x ** (k + 1) for k, c in enumerate(coefficients) if c), ca.SX(0))


def damper(v: ca.SX, coefficients: tuple[float, ...]) -> ca.SX:
    """a v + b v|v| + c v³: odd, so that it always brakes."""
    return sum((c * v * ca.fabs(v) ** k for k, c in enumerate(coefficients) if c), ca.SX(0))


def rotation_vector(q: ca.SX) -> ca.SX:
    """The vector of a rotation, of length up to π, from a unit quaternion (w, x, y, z)."""
    n = ca.sqrt(ca.sumsqr(q[1:4]) + 1e-300)
    w = ca.if_else(q[0] < 0, -q[0], q[0])
    angle = 2 * ca.atan2(n, w)
    return ca.if_else(q[0] < 0, -1, 1) * q[1:4] * ca.if_else(n < 1e-12, 2, angle / n)


def from_rest(q: ca.SX, rest: tuple[float, ...]) -> ca.SX:
    """The rotation vector from the quaternion `rest` to q, in the axes of q."""
    w, x, y, z = rest
    left = ca.DM([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])  # conjugate(rest) ∘ q
    return rotation_vector(left @ q)


@dataclass(frozen=True)
class HigherOrder:
    """Quadratic and cubic stiffness and damping of a slide or hinge, beyond its linear spring and damper."""

    joint: str
    rest: float
    stiffness: tuple[float, float]
    damping: tuple[float, float]

    def __call__(self, s: UserState) -> ca.SX:
        x, v = s[self.joint] - self.rest, s.rate(self.joint)
        return -spring(x, (0.0, *self.stiffness)) - damper(v, (0.0, *self.damping))


@dataclass(frozen=True)
class BallHigherOrder:
    """Quadratic and cubic stiffness and damping of a ball joint: spring in the angle from rest, damper per axis."""

    joint: str
    rest: tuple[float, ...]
    stiffness: tuple[float, float]
    damping: tuple[float, float]

    def __call__(self, s: UserState) -> ca.SX:
        x, v = from_rest(s[self.joint], self.rest), s.rate(self.joint)
        size = ca.sqrt(ca.sumsqr(x) + 1e-300)
        b, c = self.stiffness
        return -x * (b * size + c * size**2) - ca.vertcat(*(damper(v[k], (0.0, *self.damping)) for k in range(3)))


@dataclass(frozen=True)
class FreeForce:
    """Springs of a free joint, and its higher damping, on the origin of the body, in the ground's axes."""

    joint: str
    frame: str
    rest: tuple[float, ...]  # quaternion, position
    stiffness: tuple[float, ...]
    damping: tuple[float, float]

    def __call__(self, s: UserState) -> ca.SX:
        x = s.position(self.frame) - ca.DM(self.rest[4:])
        v = s.velocity(self.frame)
        return -x * _secant(x, self.stiffness) - ca.vertcat(*(damper(v[k], (0.0, *self.damping)) for k in range(3)))


@dataclass(frozen=True)
class FreeMoment(FreeForce):
    """The moments of the same, in the body's axes."""

    def __call__(self, s: UserState) -> ca.SX:
        x = from_rest(s[self.joint][:4], self.rest[:4])
        w = s.rate(self.joint)
        return -x * _secant(x, self.stiffness) - ca.vertcat(*(damper(w[k], (0.0, *self.damping)) for k in range(3)))


def _secant(x: ca.SX, k: tuple[float, ...]) -> ca.SX:
    size = ca.sqrt(ca.sumsqr(x) + 1e-300)
    return k[0] + k[1] * size + k[2] * size**2


@dataclass(frozen=True)
class TendonForce:
    """Spring and damper of a tendon, along its length; no spring force while it is between `lower` and `upper`."""

    path: Length
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    lower: float
    upper: float

    def __call__(self, s: UserState) -> ca.SX:
        f = ca.SX(0)
        if any(self.stiffness):
            x = self.path.length(s)
            if self.lower == self.upper:
                beyond = x - self.lower
            else:
                beyond = ca.if_else(x > self.upper, x - self.upper, ca.if_else(x < self.lower, x - self.lower, 0))
            f = f - spring(beyond, self.stiffness)
        if any(self.damping):
            f = f - damper(self.path.speed(s), self.damping)
        return f


@dataclass(frozen=True, eq=False)
class ActuatorForce:
    """gain · u + bias, each constant + kp length + kv speed of the transmission, gear included; in ranges."""

    path: Length
    u: ca.SX
    gain: tuple[float, float, float]
    bias: tuple[float, float, float]
    control: tuple[float, float] = EVERYTHING  # range of u
    force: tuple[float, float] = EVERYTHING  # of the whole

    def __call__(self, s: UserState) -> ca.SX:
        terms = [ca.SX(1)]
        needed = [any(g[k] for g in (self.gain, self.bias)) for k in range(3)]
        terms.append(self.path.length(s) if needed[1] else ca.SX(0))
        terms.append(self.path.speed(s) if needed[2] else ca.SX(0))
        gain, bias = (sum((c * x for c, x in zip(p, terms) if c), ca.SX(0)) for p in (self.gain, self.bias))
        return within(gain * within(self.u, self.control) + bias, self.force)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A law times a number: a joint's share, or the tension of one branch of a tendon."""

    law: Any
    factor: Any  # a number, or a list of them

    def __call__(self, s: UserState) -> ca.SX:
        return ca.DM(self.factor) * self.law(s)


@dataclass(frozen=True)
class Polynomial:
    """y − y₀ = Σ aₖ (x − x₀)ᵏ of two lengths, as Φ = 0; without x only a₀ counts."""

    y: Length
    x: Length | None
    y0: float
    x0: float
    coefficients: tuple[float, ...]

    def __call__(self, s: UserState) -> ca.SX:
        phi = self.y.length(s) - self.y0 - self.coefficients[0]
        if self.x is None:
            return phi
        d = self.x.length(s) - self.x0
        return phi - sum((a * d ** (k + 1) for k, a in enumerate(self.coefficients[1:]) if a), ca.SX(0))
