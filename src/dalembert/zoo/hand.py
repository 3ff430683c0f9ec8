"""A human hand: 20 degrees of freedom, 23 tendons, holding an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.inertia import cylinder, sphere
from dalembert.mechanism.joints import Free, Revolute, Spherical, Universal
from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start

#: digit: (origin of its first joint on the palm, lengths of its three segments), m
DIGITS: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "thumb": ((0.020, 0.030, -0.010), (0.045, 0.032, 0.026)),
    "index": ((0.090, 0.025, 0.0), (0.045, 0.025, 0.020)),
    "middle": ((0.095, 0.003, 0.0), (0.050, 0.030, 0.021)),
    "ring": ((0.090, -0.018, 0.0), (0.046, 0.028, 0.021)),
    "little": ((0.080, -0.037, 0.0), (0.036, 0.020, 0.019)),
}

#: tendon: (last segment it reaches, side it runs on: (towards the thumb, towards the back))
FINGER_TENDONS = {"FDP": (3, (0, -1)), "FDS": (2, (0, -1)), "ED": (3, (0, 1)), "IO": (1, (1, 0))}
THUMB_TENDONS = {
    "FPL": (3, (0, -1)), "FPB": (2, (0.5, -1)), "OP": (1, (0, -1)), "EPL": (3, (0, 1)), "EPB": (2, (0, 1)),
    "APL": (1, (1, 0.5)), "AP": (2, (-1, -0.5)),
}  # fmt: skip

#: (abduction, flexion), flexion, flexion in the grasp
GRASP: dict[str, tuple[float, float, float, float]] = {
    "thumb": (0.1, 0.2, 0.3, 0.2),
    "index": (0.10, 0.7, 0.6, 0.4),
    "middle": (0.02, 0.75, 0.6, 0.4),
    "ring": (-0.05, 0.8, 0.6, 0.4),
    "little": (-0.12, 0.9, 0.6, 0.4),
}


def _axes(along: Sequence[float], bending: Sequence[float]) -> np.ndarray:
    """A rotation with x along a digit and −z where it bends to."""
    x = np.array(along) / np.linalg.norm(along)
    z = -(np.array(bending) - np.dot(bending, x) * x)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


_THUMB = _axes(along=(0.45, 0.35, -0.8), bending=(0.6, -0.8, 0.0))  # out of the palm, bending across it


@checked
def hand(
    *,
    holding: bool = True,
    object_mass: float = 0.2,
    object_radius: float = 0.035,
    density: float = 1100.0,
    radius: float = 0.008,
    stiffness: float = 0.05,
    damping: float = 0.005,
    gravity: float = 9.81,
) -> Mechanism:
    """A hand of the size of the model in Johnson and Murphey (ACC 2010), Fig. 1: 20 joint angles, 23 tendon inputs.

    The palm is the ground: x towards the fingers, y towards the thumb, z out of the back. Each digit has a universal
    joint ("index base": abduction, then flexion), and two hinges ("index middle", "index tip"); flexion is positive.
    Inputs are the tensions (N) of the tendons, cables through points on the segments: for each finger FDP, FDS
    (flexors), ED (extensor) and IO (towards the thumb), for the thumb FPL, FPB, OP, EPL, EPB, APL, AP. No tendon drives
    one joint alone, and many oppose each other. holding=True: all five tips touch an object (free joint "object") in
    points that may not slip, three rows each: 26 velocities, eleven degrees of freedom.

    The paper names 20 and 23 and shows a picture; everything else is chosen: segment lengths near an adult's, segments
    as cylinders of `density` and `radius`, tendons that run through points at one radius from the segments' axes, weak
    springs (N m/rad) towards the grasp and dampers in all joints, an object (a ball's inertia) whose contacts are where
    the tips are in the grasp.

    object_mass in kg, object_radius and radius in m, density in kg/m³; stiffness (N m/rad) and damping (N m s/rad)
    are a joint's; gravity in m/s².

    >>> from dalembert import zoo
    >>> zoo.hand(holding=False).compile()
    <system 'hand': nq = 20, nv = 20, 23 inputs, 0 parameters>
    """
    m = Mechanism("hand", gravity=(0, 0, -gravity))
    passive = {"stiffness": stiffness, "damping": damping}
    tips: dict[str, Frame] = {}
    for digit, (origin, lengths) in DIGITS.items():
        frame = m.ground.at(*origin, rotation=_THUMB if digit == "thumb" else None)
        segments = []
        for part, length in zip(("proximal", "middle", "distal"), lengths):
            mass = density * np.pi * radius**2 * length
            solid = cylinder(mass, radius, length, "x")
            segments.append(m.add_body(f"{digit} {part}", mass=mass, com=(length / 2, 0, 0), inertia=solid))
        a, b, c = segments
        rest = GRASP[digit]
        m.add_joint(f"{digit} base", Universal("z", "y"), frame, a, rest=rest[:2], **passive)
        m.add_joint(f"{digit} middle", Revolute("y"), a.at(lengths[0]), b, rest=rest[2], **passive)
        m.add_joint(f"{digit} tip", Revolute("y"), b.at(lengths[1]), c, rest=rest[3], **passive)
        tips[digit] = m.add_frame(f"{digit} pad", c.at(lengths[2], 0, -radius))
        for tendon, (reach, side) in (THUMB_TENDONS if digit == "thumb" else FINGER_TENDONS).items():
            _tendon(m, f"{digit} {tendon}", frame, segments[:reach], lengths, np.array(side) * radius)
    if holding:
        _grasp(m, tips, object_mass, object_radius)
    return m


def _tendon(
    m: Mechanism, name: str, palm: Frame, segments: Sequence[Body], lengths: Sequence[float], side: np.ndarray
) -> None:
    """A cable from 1 cm before the digit's first joint through two points on each of its segments."""
    T = palm.T
    start = np.array(T.p, dtype=float) + np.array(T.R, dtype=float) @ [-0.01, *side]
    along = [s.at(part * length, *side) for s, length in zip(segments, lengths) for part in (0.25, 0.75)]
    m.add_cable(name, [palm.body.at(*start), *along], tension=m.add_input(name))


def _grasp(m: Mechanism, tips: dict[str, Frame], mass: float, radius: float) -> None:
    """An object in the middle of the tips, touched where they are."""
    posed = m.compile(backend="casadi")
    where = {digit: posed.pose(hand_posture(), tip)[:3, 3] for digit, tip in tips.items()}
    middle = np.mean(list(where.values()), axis=0)
    thing = m.add_body("object", mass=mass, inertia=sphere(mass, radius))
    m.add_joint("object", Free(), m.ground.at(*middle), thing)
    for digit, tip in tips.items():
        m.close_loop(f"{digit} contact", Spherical(), thing.at(*(where[digit] - middle)), tip)


def hand_posture() -> dict[str, Any]:
    """The joint angles of the grasp."""
    q: dict[str, Any] = {}
    for digit, (abduction, base, middle, tip) in GRASP.items():
        q |= {f"{digit} base": (abduction, base), f"{digit} middle": middle, f"{digit} tip": tip}
    return q


@checked
def hand_start() -> Start:
    """At rest in the grasp, the object in its place."""
    return hand_posture(), {}
