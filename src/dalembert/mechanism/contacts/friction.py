"""Dry friction in joints: Coulomb's law, with a higher breakaway force and Stribeck's fall from it, if asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState
from dalembert.symbols import array, zeros


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
    """The friction of one velocity of a joint: a row while it sticks, a force while it slides."""

    def __init__(self, joint: Attachment, index: int, law: Friction):
        self.joint, self.index, self.law = joint, index, law
        self.velocity = joint.velocities[index]
        self.name = f"friction of {self.velocity}"

    def held(self) -> Expressions:
        """The row of a joint that sticks; its multiplier is the force of friction."""
        return Expressions(
            self.name,
            "dry friction",
            pfaffian=[("stick", lambda s: s.rate(self.velocity))],
            angular=self.joint.joint.angular[self.index],
        )

    def sliding(self, sign: ca.SX) -> SlidingJoint:
        """The force of a joint that slides in the direction of a sign, ±1."""
        return SlidingJoint(self, sign)

    def sticking(self, force: ca.SX) -> SlidingJoint:
        """The force of a joint that sticks, where it is known."""
        return SlidingJoint(self, -force, steady=True)

    @property
    def slows(self) -> bool:
        """Whether it acts on a joint that slides."""
        return self.law.coulomb > 0.0 or (self.law.stribeck > 0.0 and self.law.breakaway > 0.0)

    def force(self, speed: Any) -> Any:
        """How large the force is at a speed, without that of the load; symbols or numbers."""
        law = self.law
        if law.stribeck == 0.0 or law.breakaway == law.coulomb:
            return law.coulomb
        return law.coulomb + (law.breakaway - law.coulomb) * ca.exp(-(ca.fabs(speed / law.stribeck) ** law.exponent))


class SlidingJoint(Force):
    """−s F(v) along one velocity of a joint, s the sign of the motion; steady: −s."""

    kind = "dry friction"

    def __init__(self, friction: DryFriction, sign: ca.SX, steady: bool = False):
        self.friction, self.sign, self.name, self.steady = friction, sign, friction.name, steady

    def act(self, s: TracedState, load: Load) -> None:
        joint, k = self.friction.joint, self.friction.index
        tau = zeros(joint.joint.nv)
        speed = s.user().rate(self.friction.velocity)
        tau[k] = array(ca.SX(-self.sign * (1.0 if self.steady else self.friction.force(speed)))).ravel()[0]
        load.joint(joint.name, tau)
