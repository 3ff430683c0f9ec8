"""A particle in a plane, kept at a distance from a point."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Prismatic
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, normal, unit


def _particle(name: str, mass: float, radius: float, gravity: float) -> Mechanism:
    m = Mechanism(name, gravity=(0, -gravity, 0))
    carriage = m.add_body("carriage")
    particle = m.add_body("particle", mass=mass)
    m.add_joint("x", Prismatic("x"), m.ground, carriage)
    m.add_joint("y", Prismatic("y"), carriage, particle)
    m.add_rod("rod", m.ground, particle, length=radius)
    return m


@checked
def cartesian_pendulum(*, mass: float = 1.0, length: float = 1.0, gravity: float = 9.81) -> Mechanism:
    """The pendulum in Cartesian coordinates of Spencer (2004), section 2.3.

    A particle slides along x and, on a massless carriage, along y (up). Φ = ‖(x, y)‖ − length; the paper's g is
    x² + y² − 1, with the same zeros. The paper gives the length only; mass and gravity are chosen.

    >>> from dalembert import zoo
    >>> system = zoo.cartesian_pendulum().compile()
    >>> system.acceleration({"x": 0.6, "y": -0.8}).multipliers.round(9)      # −m g cos 37°: the rod pulls
    array([-7.848])
    """
    return _particle("cartesian pendulum", mass, length, gravity)


@checked
def particle_on_circle(*, mass: float = 1.0, radius: float = 1.0, gravity: float = 0.0) -> Mechanism:
    """The particle on a circle of Aghili, section 5.4, with the force on it as inputs "fx" and "fy".

    Coordinates x and y are the paper's q₁ and q₂. It has no gravity and no numbers; those here are chosen.

    >>> from dalembert import zoo
    >>> m = zoo.particle_on_circle(mass=2.0, radius=0.5)
    >>> q, v = zoo.particle_start(0.3, speed=4.0, radius=0.5)
    >>> system = m.compile()
    >>> system.acceleration(system.state(q, v)).multipliers.round(9)         # −m ρ θ̇²
    array([-16.])
    """
    m = _particle("particle on a circle", mass, radius, gravity)
    m.add_motor("fx", "x")
    m.add_motor("fy", "y")
    return m


@checked
def particle_start(angle: float = -np.pi / 3, speed: float = 0.0, *, radius: float = 1.0) -> Start:
    """On the circle at `angle` from x towards y, turning at `speed` rad/s.

    radius is that of the circle, or the pendulum's length (m).
    """
    (x, y), (vx, vy) = radius * unit(angle), radius * speed * normal(angle)
    return {"x": x, "y": y}, {"x": vx, "y": vy}
