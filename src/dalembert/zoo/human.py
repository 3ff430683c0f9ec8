"""A human in a plane, as a tree of frames: Johnson and Murphey, Fig. 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.inertia import rod_inertia, sphere_inertia
from dalembert.mechanism.joints import Planar, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start

SIDES = {"left": -1.0, "right": 1.0}
#: segment: (part of the body's mass, length as a part of the height)
SEGMENTS = {
    "torso": (0.497, 0.288), "head": (0.081, 0.13), "upper arm": (0.028, 0.186), "forearm": (0.022, 0.2),
    "thigh": (0.100, 0.245), "shin": (0.061, 0.246),
}  # fmt: skip
SHOULDER, HIP = 0.129, 0.0955  # half widths, parts of the height


@checked
def planar_human(
    *, holding: bool = True, mass: float = 70.0, height: float = 1.75, damping: float = 1.0, gravity: float = 9.81
) -> Mechanism:
    """A human seen from the front, in the x-z plane, z up: torso, head, arms and legs of two segments, 12 coordinates.

    The torso's joint "torso" has x, y (its height) and the angle of the middle between the hips; "neck", "left
    shoulder", "left elbow", "left hip", "left knee" and those of the right side turn about −y, from x to z; all angles
    are relative, 0 where arms and legs hang straight down. Each of the nine has a motor of its name ("neck motor"), in
    N m. holding=True: the hands, above the shoulders, hold a bar at z = 0: two pins ("left hand", "right hand"), eight
    degrees of freedom, nine motors. holding=False: it floats, and the motors cannot move its centre of mass.

    The paper shows the tree and gives no numbers: parts of mass and height near the usual tables of body segments,
    segments as rods, hands and feet as parts of the segments before them. mass in kg, height in m, damping of the nine
    joints in N m s/rad, gravity in m/s².

    >>> from dalembert import zoo
    >>> zoo.planar_human().compile()
    <system 'planar human': nq = 12, nv = 12, 9 inputs, 0 parameters>
    """
    m = Mechanism("planar human", gravity=(0, 0, -gravity))
    size = {name: (part * mass, length * height) for name, (part, length) in SEGMENTS.items()}
    weight, trunk = size["torso"]
    torso = m.add_body("torso", mass=weight, com=(0, 0, trunk / 2), inertia=rod_inertia(weight, trunk, "z"))
    m.add_joint("torso", Planar("-y"), m.ground, torso)
    weight, length = size["head"]
    head = m.add_body("head", mass=weight, com=(0, 0, length), inertia=sphere_inertia(weight, length / 2))
    m.add_joint("neck", Revolute("-y"), torso.at(0, 0, trunk), head, damping=damping)
    m.add_motor("neck motor", "neck")
    for name, side in SIDES.items():
        limbs = (
            ("upper arm", "forearm", "shoulder", "elbow", torso.at(side * SHOULDER * height, 0, trunk)),
            ("thigh", "shin", "hip", "knee", torso.at(side * HIP * height, 0, 0)),
        )
        for first, second, *joints, before in limbs:
            for part, joint in zip((first, second), joints):
                weight, length = size[part]
                limb = m.add_body(
                    f"{name} {part}", mass=weight, com=(0, 0, -length / 2), inertia=rod_inertia(weight, length, "z")
                )
                m.add_joint(f"{name} {joint}", Revolute("-y"), before, limb, damping=damping)
                m.add_motor(f"{name} {joint} motor", f"{name} {joint}")
                before = limb.at(0, 0, -length)
            end = m.add_frame(f"{name} {'hand' if first == 'upper arm' else 'foot'}", before)
            if holding and first == "upper arm":
                m.close_loop(f"{name} hand", Revolute("-y"), end, m.ground.at(side * SHOULDER * height, 0, 0))
    return m


@checked
def planar_human_start(bend: float = 0.0, *, height: float = 1.75) -> Start:
    """Hanging from the bar at rest, arms upwards, both elbows bent outwards by `bend` (rad).

    height (m) is that of `planar_human`. With stretched arms (bend = 0) the torso cannot rise at first.
    """
    trunk, upper, fore = (SEGMENTS[name][1] * height for name in ("torso", "upper arm", "forearm"))
    reach = np.sqrt(upper**2 + fore**2 + 2 * upper * fore * np.cos(bend))
    lean = np.arcsin(fore * np.sin(bend) / reach)
    q: dict[str, Any] = {"torso": (0.0, float(-trunk - reach), 0.0)}
    for name, side in SIDES.items():
        q |= {f"{name} shoulder": float(side * (np.pi - lean)), f"{name} elbow": side * bend}
    return q, {}
