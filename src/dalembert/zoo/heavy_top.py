"""The symmetric top on a fixed point."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Spherical
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def heavy_top(
    *,
    mass: float = 0.6,
    height: float = 0.05,
    transverse: float = 0.0005,
    axial: float = 0.001,
    gravity: float = 9.81,
) -> Mechanism:
    """A top whose tip is held at the origin by the ball joint "tip"; z is up and, in the body, its axis.

    The centre of mass is at `height` on the axis; `transverse` and `axial` are moments about it. The defaults
    have I₁ = 0.002, I₃ = 0.001 kg m² about the tip and m g l = 0.2943 N m, for which the two steady precessions
    (`exact.precession_rates`) are known; how they split into mass and height is chosen.

    mass in kg, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.heavy_top().compile()
    >>> slow = min(zoo.exact.precession_rates(I1=0.002, I3=0.001, mgl=0.2943, tilt=np.radians(30), spin=120))
    >>> round(float(slow), 9)
    2.546066147
    """
    m = Mechanism("heavy top", gravity=(0, 0, -gravity))
    top = m.add_body("top", mass=mass, com=(0, 0, height), inertia=(transverse, transverse, axial))
    m.add_joint("tip", Spherical(), m.ground, top)
    return m


@checked
def heavy_top_start(tilt: float = np.radians(30), spin: float = 120.0, precession: float = 0.0) -> Start:
    """The axis tilted towards −y and turning about z at `precession`; `spin` is all of ω along the axis.

    tilt is the angle of the axis from z (rad), spin and precession in rad/s.
    """
    R = rotation("x", tilt)
    up = R.T @ [0, 0, 1]
    return {"tip": R}, {"tip": precession * up + (spin - precession * up[2]) * np.array([0, 0, 1])}
