"""The planar parallel robot with three legs of three revolute joints."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.inertia import disc_inertia
from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, bar, heading, meet, unit

_LEGS = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)  # directions of the supports and of the platform's pins


@checked
def planar_3rrr(
    *,
    base: float = 0.5,
    platform: float = 0.15,
    proximal: float = 0.3,
    distal: float = 0.3,
    masses: tuple[float, float, float] = (0.6, 0.4, 1.0),
    gravity: float = 0.0,
) -> Mechanism:
    """3-RRR: supports on a circle of radius `base`, pins of the platform on one of radius `platform`, 120° apart.

    In the x-y plane; three degrees of freedom. Leg k has joints Ak (motor "Mk"), Bk and Ck. The platform hangs on leg
    1; C2 and C3 close the loops. Its own frame points along x where its angle is zero. Masses: proximal and distal link
    (uniform bars), platform (a disc). A horizontal robot: no gravity; `gravity` acts along −y. All numbers are chosen.

    proximal and distal are the lengths of a leg's links (m), masses in kg in the order of the text, gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.planar_3rrr().compile()
    >>> x = system.state(*zoo.planar_3rrr_start(0.02, -0.03, 0.1))
    >>> system.pose(x, "platform")[:2, 3].round(9), system.nv - system.acceleration(x).rank
    (array([ 0.02, -0.03]), 3)
    """
    m = Mechanism("3-RRR", gravity=(0, -gravity, 0))
    plate = m.add_body("platform", mass=masses[2], inertia=disc_inertia(masses[2], platform))
    for k, leg in enumerate(_LEGS, start=1):
        upper, lower = bar(m, f"proximal {k}", masses[0], proximal), bar(m, f"distal {k}", masses[1], distal)
        pin = plate.at(*(platform * unit(leg)))
        m.add_joint(f"A{k}", Revolute("z"), m.ground.at(*(base * unit(leg))), upper)
        m.add_joint(f"B{k}", Revolute("z"), upper.at(proximal), lower)
        if k == 1:
            m.add_joint("C1", Revolute("z"), lower.at(distal), pin)
        else:
            m.close_loop(f"C{k}", Revolute("z"), lower.at(distal), pin)
        m.add_motor(f"M{k}", f"A{k}")
    return m


@checked
def planar_3rrr_start(
    x: float = 0.0,
    y: float = 0.0,
    angle: float = 0.0,
    *,
    base: float = 0.5,
    platform: float = 0.15,
    proximal: float = 0.3,
    distal: float = 0.3,
    elbows: tuple[int, int, int] = (1, 1, 1),
) -> Start:
    """At rest with the platform's centre at (x, y), turned by `angle`; elbows: +1 left of the leg's line, −1 right.

    base, platform, proximal and distal are those of `planar_3rrr` (m).
    """
    q: dict[str, float] = {}
    for k, (leg, side) in enumerate(zip(_LEGS, elbows), start=1):
        A, C = base * unit(leg), np.array([x, y]) + platform * unit(leg + angle)
        B = meet(A, proximal, C, distal, side)
        q |= {f"A{k}": heading(A, B), f"B{k}": heading(B, C) - heading(A, B)}
    return q | {"C1": angle - q["A1"] - q["B1"]}, {}
