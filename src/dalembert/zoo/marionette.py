"""A marionette: a flat figure on strings that a hand carries and reels; after the puppets of Johnson and Murphey."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.inertia import box_inertia, rod_inertia
from dalembert.mechanism.joints import Planar, Prismatic, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start

SIDES = {"left": -1.0, "right": 1.0}
SHOULDER, ARM = 0.25, 0.5  # m: half of the shoulders' width, length of an arm


@checked
def marionette(*, height: float = 1.0, damping: float = 0.01, gravity: float = 9.81) -> Mechanism:
    """A torso with two arms in the x-z plane, z up, hanging from a bar by four strings, 8 coordinates.

    The bar slides along x (joint "bar"). Two strings of length `height` (m) hold the shoulders ("left shoulder", "right
    shoulder"); two that are reeled hold the hands ("left string", "right string"). A reeled string is as long as the
    coordinate of its winch ("left winch") says; winches have a small mass and no size. There are three kinematic
    inputs, in m/s²: "hand" leads the bar, "left reel" and "right reel" lead the lengths. Of four degrees of freedom the
    swing alone is free. Strings are two-sided constraints: one whose multiplier is positive would push.

    "torso" has x, y (its height) and the angle of the middle between the shoulders; "left arm" and "right arm" turn
    about −y, 0 where they are stretched sideways. damping of the arms in N m s/rad, gravity in m/s².

    >>> from dalembert import zoo
    >>> zoo.marionette().compile()
    <system 'marionette': nq = 8, nv = 8, 3 inputs, 0 parameters>
    """
    m = Mechanism("marionette", gravity=(0, 0, -gravity))
    bar = m.add_body("bar", mass=0.2, inertia=rod_inertia(0.2, 1.5, "x"))
    torso = m.add_body("torso", mass=1.2, com=(0, 0, -0.3), inertia=box_inertia(1.2, (0.3, 0.1, 0.6)))
    bar.add_shape("box", (1.5, 0.05, 0.05))
    torso.add_shape("box", (2 * SHOULDER, 0.1, 0.6), at=(0, 0, -0.3))
    m.add_kinematic_input("hand", m.add_joint("bar", Prismatic("x"), m.ground, bar))
    m.add_joint("torso", Planar("-y"), m.ground.at(0, 0, -height), torso, damping=(0, 0, 2 * damping))
    for name, side in SIDES.items():
        arm = m.add_body(f"{name} arm", mass=0.25, com=(0.5 * ARM * side, 0, 0), inertia=rod_inertia(0.25, ARM, "x"))
        winch = m.add_body(f"{name} winch", mass=0.02)
        winch.add_shape("sphere", 1e-5, at=(-height, 0, 0))  # it stands for a length: nothing to see, inside the bar
        m.add_joint(f"{name} arm", Revolute("-y"), torso.at(SHOULDER * side, 0, 0), arm, damping=damping)
        m.add_kinematic_input(f"{name} reel", m.add_joint(f"{name} winch", Prismatic("x"), bar, winch))
        m.add_rod(f"{name} shoulder", bar.at(SHOULDER * side, 0, 0), torso.at(SHOULDER * side, 0, 0), length=height)
        hand = m.add_frame(f"{name} hand", arm.at(ARM * side, 0, 0))
        hook = m.add_frame(f"{name} hook", bar.at((SHOULDER + ARM) * side, 0, 0))
        m.add_constraint(f"{name} string", holonomic=_string(hand, hook, f"{name} winch"))
    return m


def _string(hand: Frame, hook: Frame, winch: str) -> Any:
    """The distance of two frames less the length that a winch has let out."""
    return lambda s: ca.norm_2(s.position(hand) - s.position(hook)) - s[winch]


@checked
def marionette_start(*, height: float = 1.0) -> Start:
    """Hanging at rest with arms stretched sideways; height (m) is that of `marionette`."""
    return {"left winch": height, "right winch": height}, {}
