"""The five-bar linkage with a singular position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start

#: distance of supports at which the five-bar has no singular position; peers are compared on it
PEER_SPAN = 2.5


@checked
def five_bar(
    *,
    span: float = 1.0,
    lengths: Sequence[float] = (1.0, 1.5, 1.5, 1.0),
    masses: Sequence[float] = (2.0, 3.0, 3.0, 2.0),
    inertias: Sequence[float] = (1.0, 2.0, 2.0, 1.0),
    gravity: float = 9.81,
) -> Mechanism:
    """The five-bar of Spencer (2004), Table 3.1: four links in the x-y plane, y up, two degrees of freedom.

    The links hang in a chain on joints A (at the origin), B, C, D; "E" holds the last one's end at (span, 0). A is an
    angle from x, the others are relative. The table leaves open, and the published return time of 2.82 s decides: the
    supports are 1 m apart, centres of mass at mid-link, inertias about them, g = 9.81. Inputs: torques "left"
    and "right" of the ground on the first and the last link.

    span and lengths in m, masses in kg, inertias in kg m², link by link; gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.five_bar().compile()
    >>> system.acceleration(zoo.five_bar_start(0.0)[0]).rank, system.acceleration(zoo.five_bar_start(0.5)[0]).rank
    (1, 2)
    """
    m = Mechanism("five-bar", gravity=(0, -gravity, 0))
    before = m.ground.at()
    for k, joint in enumerate("ABCD"):
        com = (lengths[k] / 2, 0, 0)
        link = m.add_body(f"link {k + 1}", mass=masses[k], com=com, inertia=(0, inertias[k], inertias[k]))
        m.add_joint(joint, Revolute("z"), before, link)
        before = link.at(lengths[k])
    m.close_loop("E", Revolute("z"), before, m.ground.at(span))
    m.add_motor("left", "A")
    m.add_wrench("right", link, moment=(0, 0, m.add_input("right")))
    return m


@checked
def five_bar_start(
    a: float = -np.pi / 3,
    speed: float = 0.0,
    *,
    span: float = 1.0,
    lengths: Sequence[float] = (1.0, 1.5, 1.5, 1.0),
    branch: int = +1,
) -> Start:
    """A symmetric position: the links point to π + a, b, −b, π − a, and a changes at `speed`.

    For the default lengths branch +1 is the smooth one through the singular position a = 0, sin(b/2) = −√(2/3)
    sin(a/2): the middle pin is above for a < 0 and below for 0 < a < 2π. Branch −1 is its mirror. The default a is the
    start of the paper's example 2, a = 0 that of example 1; a = −π, branch = −1, span = PEER_SPAN is the one peers are
    compared on.

    span and lengths are those of `five_bar` (m).
    """
    L1, L2 = lengths[:2]
    cos_b = (span + 2 * L1 * np.cos(a)) / (2 * L2)
    b = -branch * np.copysign(np.arccos(np.clip(cos_b, -1, 1)), np.sin(a / 2))
    if np.sin(b) == 0.0:
        b_rate = -branch * np.sqrt(L1 / L2) * np.cos(a / 2) * speed
    else:
        b_rate = speed * L1 * np.sin(a) / (L2 * np.sin(b))
    q = np.diff([0.0, np.pi + a, b, -b, np.pi - a])
    v = np.diff([0.0, speed, b_rate, -b_rate, -speed])
    return dict(zip("ABCD", q.tolist())), dict(zip("ABCD", v.tolist()))
