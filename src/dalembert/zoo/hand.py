"""A human hand: 20 degrees of freedom, 23 tendons, holding a ball."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ArgumentError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.inertia import cylinder_inertia, sphere_inertia
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

#: tendon: (last segment it reaches, where it runs: (towards the thumb, towards the back), in radii of the segment)
FINGER_TENDONS = {"FDP": (3, (0, -1)), "FDS": (2, (0, -1)), "ED": (3, (-0.5, 1)), "IO": (1, (1, -0.4))}
THUMB_TENDONS = {
    "FPL": (3, (0, -1)), "FPB": (2, (0, -1)), "OP": (1, (0, -1)), "EPL": (3, (0, 1)), "EPB": (2, (0, 1)),
    "APL": (1, (1, 0.5)), "AP": (2, (-1, -0.5)),
}  # fmt: skip

#: range of motion: abduction, and flexion of the three joints, rad
RANGE = {
    "finger": ((-0.35, 0.35), (-0.3, 1.6), (0.0, 1.8), (0.0, 1.4)),
    "thumb": ((-0.5, 0.5), (-0.3, 1.0), (0.0, 1.2), (0.0, 1.4)),
}

#: abduction in the grasp, and how flexion is shared by the joints of a digit that closes
SPREAD = {"thumb": 0.0, "index": 0.0, "middle": 0.0, "ring": 0.0, "little": 0.05}
CURL = {"finger": (1.0, 0.9, 0.6), "thumb": (0.8, 0.8, 0.5)}
BALL = (0.115, 0.0, -0.055)  # centre of the ball, m


def _axes(along: ArrayLike, bending: ArrayLike) -> np.ndarray:
    """A rotation with x along a digit and −z where it bends to."""
    x, z = np.array(along, dtype=float), -np.array(bending, dtype=float)
    x /= np.linalg.norm(x)
    z -= (z @ x) * x
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


_ALONG_X = _axes((0, 0, -1), (-1, 0, 0))  # z along a segment
_THUMB = _axes(along=(0.45, 0.35, -0.8), bending=(0.6, -0.8, 0.0))  # out of the palm, bending across it


@checked
def hand(
    *,
    holding: bool = True,
    friction: float | None = None,
    object_mass: float = 0.2,
    object_radius: float = 0.035,
    density: float = 1100.0,
    radius: float = 0.008,
    stiffness: float = 0.05,
    damping: float = 0.0005,
    gravity: float = 9.81,
) -> Mechanism:
    """A hand of the size of the model in Johnson and Murphey (ACC 2010), Fig. 1: 20 joint angles, 23 tendon inputs.

    The palm is the ground: x towards the fingers, y towards the thumb, z out of the back. Each digit has a universal
    joint ("index base": abduction, then flexion), and two hinges ("index middle", "index tip"); flexion is positive.
    Inputs are the tensions (N) of the tendons, which only pull, over pulleys on the joints: for each finger FDP, FDS
    (flexors), ED (extensor, away from the thumb) and IO (towards it), for the thumb FPL, FPB, OP, EPL, EPB, APL, AP.
    Their lever arms, the places of `FINGER_TENDONS` and `THUMB_TENDONS` times `radius`, are the same through the range
    of motion (the joints' limits). No tendon drives one joint alone, and many oppose each other. A finger has four
    tendons for four joints, where five are the least that could drive it both ways everywhere: it is under-actuated, as
    the paper says of its model.

    holding=True: the tips hold a ball (free joint "object"), each a sphere of `radius` that touches it. friction None:
    in points fixed to both, as ball joints ("index contact", the row z along the normal): 26 velocities, eleven
    degrees of freedom. friction a number: contacts with that coefficient, which roll, slide and leave; they act
    in `da.simulate`.

    The paper names 20 and 23 and shows a picture; everything else is chosen: segment lengths near an adult's, segments
    as cylinders of `density` and `radius`, weak springs (N m/rad) towards the grasp and dampers in all joints.

    object_mass in kg, object_radius and radius in m, density in kg/m³; stiffness (N m/rad) and damping (N m s/rad)
    are a joint's; gravity in m/s².

    >>> from dalembert import zoo
    >>> zoo.hand(holding=False).compile()
    <system 'hand': nq = 20, nv = 20, 23 inputs, 0 parameters>
    """
    m = Mechanism("hand", gravity=(0, 0, -gravity))
    passive: dict[str, Any] = {"stiffness": stiffness, "damping": damping}
    grasp = hand_posture(object_radius, radius)
    tips: dict[str, Frame] = {}
    for digit, (origin, lengths) in DIGITS.items():
        frame = m.ground.at(*origin, rotation=_THUMB if digit == "thumb" else None)
        segments = []
        for part, length in zip(("proximal", "middle", "distal"), lengths):
            mass = density * np.pi * radius**2 * length
            solid = cylinder_inertia(mass, radius, length, "x")
            segments.append(m.add_body(f"{digit} {part}", mass=mass, com=(length / 2, 0, 0), inertia=solid))
            segments[-1].add_shape("capsule", (radius, length), at=(length / 2, 0, 0), rotation=_ALONG_X)
        a, b, c = segments
        spread, *flexions = RANGE["thumb" if digit == "thumb" else "finger"]
        joints = (("base", Universal("z", "y"), frame, a, (spread, flexions[0])),
                  ("middle", Revolute("y"), a.at(lengths[0]), b, flexions[1]),
                  ("tip", Revolute("y"), b.at(lengths[1]), c, flexions[2]))  # fmt: skip
        for name, joint, parent, child, limits in joints:
            key = f"{digit} {name}"
            m.add_joint(key, joint, parent, child, rest=grasp[key], limits=limits, **passive)
        tips[digit] = m.add_frame(f"{digit} pad", c.at(lengths[2]))
        _tendons(m, digit, radius)
    if holding:
        _hold(m, tips, grasp, object_mass, object_radius, radius, friction)
    return m


def _tendons(m: Mechanism, digit: str, radius: float) -> None:
    """Inputs of the tendons of a digit and their forces on its joints, over pulleys of their place in radii."""
    pulls = {}
    for tendon, (reach, (y, z)) in (THUMB_TENDONS if digit == "thumb" else FINGER_TENDONS).items():
        name = f"{digit} {tendon}"
        pulls[name] = (m.add_input(name), reach, y * radius, -z * radius)
    for k, joint in enumerate(("base", "middle", "tip")):
        bending = sum(arm * u for u, reach, _, arm in pulls.values() if reach > k)
        spreading = sum(arm * u for u, _, arm, _ in pulls.values())
        m.add_joint_force(
            f"{digit} {joint} tendons", f"{digit} {joint}", ca.vertcat(spreading, bending) if k == 0 else bending
        )


def _hold(
    m: Mechanism,
    tips: dict[str, Frame],
    grasp: dict[str, Any],
    mass: float,
    size: float,
    radius: float,
    mu: float | None,
) -> None:
    """The ball, and what holds it."""
    posed, ball = m.compile(backend="casadi"), np.array(BALL)
    thing = m.add_body("object", mass=mass, inertia=sphere_inertia(mass, size))
    thing.add_shape("sphere", size)
    m.add_joint("object", Free(), m.ground.at(*BALL), thing)
    for digit, tip in tips.items():
        there = posed.pose(grasp, tip)
        n = (there[:3, 3] - ball) / np.linalg.norm(there[:3, 3] - ball)
        turned = _axes(np.cross(n, (0.3, 0.5, 0.8)), -n)  # its z towards the tip
        if mu is None:
            touched = np.array(tip.T.p, dtype=float) - radius * there[:3, :3].T @ n
            pad = tip.body.at(*touched, rotation=there[:3, :3].T @ turned)
            m.close_loop(f"{digit} contact", Spherical(), thing.at(*(size * n), rotation=turned), pad)
        else:
            on = thing.at(0, 0, 0, rotation=turned)
            m.add_contact(f"{digit} contact", tip, radius=radius, on=on, on_radius=size, friction=mu)


def _tip(digit: str, closed: float) -> np.ndarray:
    """Centre of a digit's tip, closed so far."""
    origin, lengths = DIGITS[digit]
    place, bent = np.zeros(3), np.cumsum(closed * np.array(CURL["thumb" if digit == "thumb" else "finger"]))
    for length, angle in zip(lengths, bent):
        place += length * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    c, s = np.cos(SPREAD[digit]), np.sin(SPREAD[digit])
    place = np.array([c * place[0] - s * place[1], s * place[0] + c * place[1], place[2]])
    return np.array(origin) + (_THUMB @ place if digit == "thumb" else place)


def hand_posture(object_radius: float = 0.035, radius: float = 0.008) -> dict[str, Any]:
    """The joint angles in which every tip, a sphere of `radius`, touches a ball of `object_radius` (m)."""
    q: dict[str, Any] = {}
    for digit in DIGITS:

        def gap(closed: float, digit: str = digit) -> float:
            return float(np.linalg.norm(_tip(digit, closed) - BALL)) - object_radius - radius

        tries = np.linspace(0.0, 1.2, 121)
        first = next((k for k in range(1, len(tries)) if gap(tries[k]) <= 0.0 < gap(tries[k - 1])), None)
        if first is None:
            raise ArgumentError(
                f"object_radius is {object_radius:g} and radius {radius:g}: the {digit} does not close on such a ball; "
                "needed: about 0.03 to 0.045 m with tips of 0.008 m."
            )
        low, high = tries[first - 1], tries[first]
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if gap(middle) > 0.0 else (low, middle)
        base, second, third = (high * share for share in CURL["thumb" if digit == "thumb" else "finger"])
        q |= {f"{digit} base": (SPREAD[digit], base), f"{digit} middle": second, f"{digit} tip": third}
    return q


@checked
def hand_start(object_radius: float = 0.035, radius: float = 0.008) -> Start:
    """At rest in the grasp, the ball in its place; object_radius and radius (m) are those of `hand`."""
    return hand_posture(object_radius, radius), {}
