"""Two arms that carry one object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.mechanism.joints import Fixed, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start, bar, heading, meet, unit


@checked
def two_arms(
    *,
    span: float = 1.2,
    lengths: Sequence[float] = (0.5, 0.45, 0.1),
    masses: Sequence[float] = (2.0, 1.5, 0.5),
    width: float = 0.3,
    mass: float = 3.0,
    gravity: float = 9.81,
) -> Mechanism:
    """Two planar arms of three links on supports `span` apart, holding a bar of `width` rigidly between their hands.

    In the x-y plane, y up; three degrees of freedom, six motors "ML1" … "MR3" on joints "L1" … "R3". The bar is fixed
    to the left hand and points along x where its angle is zero; "grip" fixes its other end to the right hand: the
    multipliers of grip are the force and the moment that the right hand puts on it. All numbers are chosen.

    lengths (m) and masses (kg) are those of an arm's three links, mass is the bar's (kg); gravity acts along −y
    (m/s²).

    >>> from dalembert import zoo
    >>> system = zoo.two_arms().compile()
    >>> x = system.state(*zoo.two_arms_start(0.05, 0.6, 0.1))
    >>> system.row_names, system.nv - system.acceleration(x).rank, system.pose(x, "object")[:2, 3].round(9)
    (['grip.x', 'grip.y', 'grip.rz'], 3, array([0.05, 0.6 ]))
    """
    m = Mechanism("two arms", gravity=(0, -gravity, 0))
    hands = []
    for side, x in (("L", -span / 2), ("R", span / 2)):
        before = m.ground.at(x)
        for k, (length, weight) in enumerate(zip(lengths, masses), start=1):
            link = bar(m, f"{side} link {k}", weight, length)
            m.add_joint(f"{side}{k}", Revolute("z"), before, link)
            m.add_motor(f"M{side}{k}", f"{side}{k}")
            before = link.at(length)
        hands.append(before)
    thing = m.add_body("object", mass=mass, inertia=(0.0, mass * width**2 / 12, mass * width**2 / 12))
    m.add_joint("hold", Fixed(), hands[0].at(width / 2), thing)
    m.close_loop("grip", Fixed(), hands[1].at(rotation=rotation("z", np.pi)), thing.at(width / 2))
    return m


@checked
def two_arms_start(
    x: float = 0.0,
    y: float = 0.6,
    angle: float = 0.0,
    *,
    span: float = 1.2,
    lengths: Sequence[float] = (0.5, 0.45, 0.1),
    width: float = 0.3,
    elbows: tuple[int, int] = (1, -1),
) -> Start:
    """At rest with the object's centre at (x, y), turned by `angle`; elbows: +1 left of the arm's line, −1 right.

    span, lengths and width are those of `two_arms` (m).
    """
    q: dict[str, float] = {}
    for side, at, turn, elbow in (("L", -span / 2, 0.0, elbows[0]), ("R", span / 2, np.pi, elbows[1])):
        base = np.array([at, 0.0])
        wrist = np.array([x, y]) - (width / 2 + lengths[2]) * unit(angle + turn)
        middle = meet(base, lengths[0], wrist, lengths[1], elbow)
        one, two = heading(base, middle), heading(middle, wrist)
        q |= {f"{side}1": one, f"{side}2": two - one, f"{side}3": angle + turn - two}
    return q, {}
