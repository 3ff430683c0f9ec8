"""Dry friction of joints, clutches, brakes: Coulomb's law, a higher breakaway force, Stribeck's fall from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.forces.along import Along, Term
from dalembert.mechanism.traced import Load, TracedState, UserState
from dalembert.symbols import element, element_sx


@dataclass(frozen=True)
class Friction:
    """Dry friction of a joint, N m or N.

    coulomb: the force against the motion of a joint that slides. static: the largest force that holds one that sticks
    (default: the same). stribeck: a speed (rad/s or m/s) over which the force falls from `static` to `coulomb`,
    F = coulomb + (static − coulomb) exp(−|v / stribeck|^exponent); 0: it falls at once. exponent: of Stribeck's curve.
    load: so much more for each N of the joint's own reaction force, across the axis of a slide (a coefficient of
    friction), or in all of a hinge (m: a coefficient times the radius of the pin).

    >>> import dalembert as da
    >>> m = da.Mechanism("crate", gravity=(0, 0, -10.0))
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("crate", mass=2.0), friction=da.Friction(3.0))
    >>> system = m.compile()
    >>> run = da.simulate(system, system.state(v={"x": 3.0}), 5.0)                 # stops after v²/2a = 3 m
    >>> round(float(run["x"][-1]), 9), [s.what for s in run.switches]
    (3.0, ['x sticks'])
    """

    coulomb: float = 0.0
    static: float | None = None
    stribeck: float = 0.0
    load: float = 0.0
    exponent: float = 2.0

    def __post_init__(self) -> None:
        checks.number(self.coulomb, "coulomb", least=0.0)
        checks.number(self.stribeck, "stribeck", least=0.0)
        checks.number(self.load, "load", least=0.0)
        checks.number(self.exponent, "exponent", above=0.0)
        if self.static is not None and checks.number(self.static, "static", least=0.0) < self.coulomb:
            raise ArgumentError(
                f"static is {self.static:g}, below coulomb, {self.coulomb:g}; a joint that sticks holds at least what "
                "one that slides resists with."
            )

    @property
    def breakaway(self) -> float:
        """The largest force that holds a joint without load."""
        return self.coulomb if self.static is None else self.static


class DryFriction:
    """Dry friction along ė = Σ cᵢ vᵢ, mostly one velocity of a joint: a row while it sticks, a force while it slides.

    velocity: the name of ė; terms: (joint, place of the velocity in it, coefficient). scale: the law's forces are in
    this unit, an expression of parameters; the row is in it too, so that its multiplier is compared with plain numbers.
    """

    def __init__(self, velocity: str, terms: Sequence[Term], law: Friction, scale: Any = 1.0, name: str = ""):
        self.velocity, self.terms, self.law, self.scale = velocity, tuple(terms), law, scale
        self.joint, self.index, _ = self.terms[0]
        self.name, self.force_name = f"friction of {velocity}", name or f"friction of {velocity}"

    def speed(self, s: UserState) -> ca.SX:
        """ė."""
        return sum((_sx(c) * s.rate(joint.velocities[k]) for joint, k, c in self.terms), ca.SX(0))

    def held(self) -> Expressions:
        """The row of what sticks; its multiplier is the force of friction."""
        plain = is_exact_one(self.scale)
        angular = plain and all(joint.joint.angular[k] for joint, k, _ in self.terms)
        return Expressions(
            self.name,
            "dry friction",
            pfaffian=[("stick", lambda s: _sx(self.scale) * self.speed(s))],
            angular=angular,
            own=not plain or (len(self.terms) > 1 and not angular),
        )

    def sliding(self, sign: ca.SX) -> SlidingFriction:
        """The force of what slides in the direction of a sign, ±1."""
        return SlidingFriction(self, sign)

    def sticking(self, force: ca.SX) -> SlidingFriction:
        """The force of what sticks, where it is known."""
        return SlidingFriction(self, -force, steady=True)

    @property
    def slows(self) -> bool:
        """Whether it acts on what slides."""
        return self.law.coulomb > 0.0 or (self.law.stribeck > 0.0 and self.law.breakaway > 0.0)

    def force(self, speed: Any) -> Any:
        """How large the force is at a speed, without that of the load; symbols or numbers."""
        law = self.law
        if law.stribeck == 0.0 or law.breakaway == law.coulomb:
            return law.coulomb
        return law.coulomb + (law.breakaway - law.coulomb) * ca.exp(-(ca.fabs(speed / law.stribeck) ** law.exponent))


class SlidingFriction(Along):
    """s F(ė) against ė, s the sign of the motion; steady: s."""

    kind = "dry friction"

    def __init__(self, friction: DryFriction, sign: ca.SX, steady: bool = False):
        self.friction, self.sign, self.steady = friction, sign, steady
        self.name, self.terms = friction.force_name, friction.terms

    def act(self, s: TracedState, load: Load) -> None:
        size = 1.0 if self.steady else self.friction.force(element_sx(self.rate(s)))
        self.exert(load, element(self.sign * size) * self.friction.scale)


def _sx(x: Any) -> Any:
    return getattr(x, "sx", x)


def is_exact_one(x: Any) -> bool:
    """Whether a number is 1, not an expression."""
    return isinstance(x, float) and x == 1.0
