"""The delta robot of Clavel: a platform that translates on three arms with parallelograms."""

from __future__ import annotations

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.mechanism.joints import Free, Revolute
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start

_LEGS = -np.pi / 2 + 2 * np.pi / 3 * np.arange(3)  # directions of the arms, seen from above


@checked
def delta(
    *,
    base: float = 0.567,
    platform: float = 0.076,
    arm: float = 0.524,
    forearm: float = 1.244,
    width: float = 0.131,
    masses: tuple[float, float, float] = (0.5, 0.3, 1.0),
    gravity: float = 9.81,
) -> Mechanism:
    """The delta robot with the dimensions that Williams (2016) gives for the ABB FlexPicker IRB 360-1/1600; z up.

    base and platform are the sides of two equilateral triangles: arms turn about the middles of the sides of the first
    and lead to the corners of the second. Arm k turns down by "Ak" (motor "Mk"); two rods, `width` apart, lead from its
    end to the platform, which floats on joint "platform". Six rods leave it three degrees of freedom: it translates.

    arm, forearm and width are lengths (m). masses: an arm (a uniform bar), both rods of a forearm together, the
    platform; half of the rods' mass goes with the arm's end, half with the platform, and the rods are massless,
    which is chosen, as the masses are. gravity (m/s²) acts along −z.

    >>> from dalembert import zoo
    >>> system = zoo.delta().compile()
    >>> q, _ = zoo.delta_start((0.3, 0.5, -1.1))
    >>> [round(float(np.degrees(q[f"A{k}"])), 1) for k in (1, 2, 3)]                    # as published
    [47.5, -11.6, 21.4]
    >>> x = system.state(q)
    >>> system.nv - system.acceleration(x).rank
    3
    """
    m = Mechanism("delta", gravity=(0, 0, -gravity))
    half = masses[1] / 2
    plate = m.add_body(
        "platform", mass=masses[2] + 3 * half, inertia=cylinder_inertia(masses[2] + 3 * half, platform, 0.02)
    )
    m.add_joint("platform", Free(), m.ground, plate)
    inside, corner = base / (2 * np.sqrt(3)), platform / np.sqrt(3)
    for k, leg in enumerate(_LEGS, start=1):
        out = np.array([np.cos(leg), np.sin(leg), 0.0])
        bar = cylinder_inertia(masses[0], 0.02, arm, axis="x")
        mass, com = masses[0] + half, arm * (masses[0] / 2 + half) / (masses[0] + half)
        mid, end = masses[0] * (arm / 2 - com) ** 2, half * (arm - com) ** 2
        link = m.add_body(f"arm {k}", mass=mass, com=(com, 0, 0), inertia=bar + np.diag([0, mid + end, mid + end]))
        m.add_joint(f"A{k}", Revolute("y"), m.ground.at(*(inside * out), rotation=rotation("z", leg)), link)
        m.add_motor(f"M{k}", f"A{k}")
        across = np.array([-out[1], out[0], 0.0])
        for side, name in ((-0.5, "a"), (0.5, "b")):
            pin = corner * out + side * width * across
            m.add_rod(f"rod {k}{name}", link.at(arm, side * width, 0), plate.at(*pin), length=forearm)
    return m


@checked
def delta_start(
    position: tuple[float, float, float] = (0.0, 0.0, -0.9),
    *,
    base: float = 0.567,
    platform: float = 0.076,
    arm: float = 0.524,
    forearm: float = 1.244,
    elbows: tuple[int, int, int] = (1, 1, 1),
) -> Start:
    """At rest with the platform's centre at a position (m): the inverse kinematics in closed form.

    In the plane of arm k, with (x, y, z) the vector from its axis to where its forearm would end if the arm had no
    length, x outward: 2 arm (x cos A − z sin A) = x² + y² + z² + arm² − forearm². elbows: +1 outward, −1 inward. base,
    platform, arm and forearm are those of `delta`.
    """
    inside, corner = base / (2 * np.sqrt(3)), platform / np.sqrt(3)
    q: dict[str, object] = {"platform": [1.0, 0.0, 0.0, 0.0, *position]}
    for k, (leg, elbow) in enumerate(zip(_LEGS, elbows), start=1):
        c, s = np.cos(leg), np.sin(leg)
        x = c * position[0] + s * position[1] + corner - inside
        y, z = -s * position[0] + c * position[1], position[2]
        far, right = np.hypot(x, z), (x * x + y * y + z * z + arm * arm - forearm * forearm) / (2 * arm)
        if abs(right) > far:
            raise ArgumentError(f"arm {k} of the delta robot does not reach {tuple(position)}; take a position nearer.")
        turn = np.arctan2(-z, x) - elbow * np.arccos(right / far)
        q[f"A{k}"] = float((turn + np.pi) % (2 * np.pi) - np.pi)
    return q, {}
