"""A thin disc rolling on a plane."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.inertia import disc_inertia
from dalembert.mechanism.joints import Free
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@checked
def rolling_disc(*, mass: float = 2.0, radius: float = 0.4, gravity: float = 9.81) -> Mechanism:
    """A thin uniform disc that rolls without slip on the plane z = 0, z up; its axle is y of its frame.

    Six velocities, one holonomic row (contact) and two of rolling: three velocities remain. `exact.disc_spin` gives
    the spin of a steady turn, `exact.disc_growth` its stability when upright. Numbers are chosen.

    mass in kg, radius in m, gravity in m/s².

    >>> from dalembert import zoo
    >>> spin = zoo.exact.disc_spin(lean=0.3, yaw_rate=1.7, radius=0.4)
    >>> system = zoo.rolling_disc().compile()
    >>> x = system.state(*zoo.rolling_disc_start(lean=0.3, yaw_rate=1.7, spin=spin))
    >>> bool(abs(system.speed_residuals(x)).max() < 1e-12)
    True
    """
    m = Mechanism("rolling disc", gravity=(0, 0, -gravity))
    body = m.add_body("disc", mass=mass, inertia=disc_inertia(mass, radius, axis="y"))
    m.add_joint("float", Free(), m.ground, body)
    m.add_rolling("ground contact", body, radius=radius, axis="y")
    return m


@checked
def rolling_disc_start(
    *,
    lean: float = 0.0,
    yaw: float = 0.0,
    lean_rate: float = 0.0,
    yaw_rate: float = 0.0,
    spin: float = 2.0,
    radius: float = 0.4,
) -> Start:
    """R = Rz(yaw) Rx(lean), the centre above the origin; spin about the axle, so that spin > 0 rolls along +x of R.

    ω = yaw_rate z + lean_rate Rz x + spin R y, and the contact, −radius R z from the centre, is at rest.
    """
    Rz = rotation("z", yaw)
    R = Rz @ rotation("x", lean)
    omega = np.array([0, 0, yaw_rate]) + lean_rate * Rz[:, 0] + spin * R[:, 1]
    pose = np.eye(4)
    pose[:3, :3], pose[2, 3] = R, radius * np.cos(lean)
    return {"float": pose}, {"float": np.concatenate([R.T @ omega, R.T @ np.cross(omega, radius * R[:, 2])])}
