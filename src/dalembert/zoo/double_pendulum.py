"""The double pendulum whose end is tied to an anchor."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def constrained_double_pendulum(
    *, mass: float = 1.0, length: float = 1.0, anchor: float = 2.0, tether: float = 1.0, gravity: float = 9.8
) -> Mechanism:
    """The constrained double pendulum of Johnson and Murphey (ACC 2010), section IV.

    Two equal links in the x-y plane, y up, with point masses at their ends. theta1 is measured from the downward
    vertical, theta2 from link 1. The second mass keeps the distance `tether` from (anchor, 0). Input "u": torque on
    theta1. The printed A and B are those of u = 0 (not the stated 2 N m), at v₂ = −2.00116; the printed constraint is
    the squared distance, which has the same linearization where A v = 0.

    mass (kg) and length (m) are a link's; anchor and tether in m, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.constrained_double_pendulum().compile()
    >>> x = system.state(*zoo.constrained_double_pendulum_start())
    >>> system.acceleration(x, u={"u": 2.0}).vdot.round(6)
    array([ 2.154701, -3.154701])
    """
    m = Mechanism("constrained double pendulum", gravity=(0, -gravity, 0))
    upper, lower = (m.add_body(name, mass=mass, com=(0, -length, 0)) for name in ("upper", "lower"))
    m.add_joint("theta1", Revolute("z"), m.ground, upper)
    m.add_joint("theta2", Revolute("z"), upper.at(0, -length), lower)
    m.add_rod("tether", m.ground.at(anchor), m.add_frame("end", lower.at(0, -length)), length=tether)
    m.add_motor("u", "theta1")
    return m


@checked
def constrained_double_pendulum_start(speed: float = 1.0) -> Start:
    """The pose of the paper's figure, exactly: θ = (π/6, π/3), velocities (1, −2) × speed; default lengths."""
    return {"theta1": np.pi / 6, "theta2": np.pi / 3}, {"theta1": speed, "theta2": -2 * speed}
