"""The Space Station Remote Manipulator System (Canadarm2) on a free-floating station."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import Fixed, Free, Revolute, Spherical
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import rotation
from dalembert.zoo.door import Triple, checked
from dalembert.zoo.planar import Start

#: joint: (origin in the link before, axis)
JOINTS: dict[str, tuple[tuple[float, float, float], str]] = {
    "shoulder roll": ((0, 0, 0), "z"),
    "shoulder yaw": ((0.25082, 0, -0.175), "x"),
    "shoulder pitch": ((0.175, 0, -0.25082), "z"),
    "elbow pitch": ((7.61164, 0, -0.6), "z"),
    "wrist pitch": ((-7.61164, 0, -0.35), "-z"),
    "wrist yaw": ((-0.175, 0, -0.25082), "x"),
    "wrist roll": ((-0.25082, 0, -0.175), "z"),
}

#: link: (mass, centre of mass, rotation of the inertia's axes as (axis, angle), principal moments about that centre)
LINKS: dict[str, tuple[float, tuple[float, float, float], tuple[str, float], tuple[float, float, float]]] = {
    "B1": (105.98, (0.25082, 0, -0.175), ("y", -1.5708), (12.19, 12.19, 3.061)),
    "B2": (105.98, (0.175, 0, -0.25082), ("z", 0.0), (12.19, 12.13, 3.061)),
    "B3": (314.88, (4.0, 0, -0.175), ("x", 3.14), (15.41, 2094.71, 2103.19)),
    "B4": (279.2, (-3.6, 0, -0.175), ("z", 0.0), (9.522, 1966.28, 1966.28)),
    "B5": (105.98, (0, 0, 0), ("x", 1.5708), (8.305, 3.061, 8.0386)),
    "B6": (105.98, (0, 0, 0), ("y", -1.5708), (12.13, 12.13, 3.061)),
    "effector": (243.66, (0, 0, -0.5), ("y", 1.5708), (9.336, 44.41, 44.41)),
}
BASE_MASS, BASE_COM, BASE_INERTIA = 243.66, (0, 0, 0.5), (44.413, 44.413, 9.336)

STATION_MASS, STATION_COM = 400000.0, (-3.0, -1.5, 4.0)
STATION_INERTIA = ((1.02e8, -6.96e6, -5.48e6), (-6.96e6, 9.1e7, 5.9e5), (-5.48e6, 5.9e5, 1.64e8))

#: the closed position of the paper, degrees
CLOSED = (-26.4, -42.2, -18.6, -93.4, -97.1, 19.1, 52.5)


@checked
def ssrms(*, floating: bool = True, closed: bool = True, base: Triple = (0.0, 0.0, 0.0)) -> Mechanism:
    """The SSRMS example of Kövecses and Piedboeuf (2003): a 7-joint arm with both ends on the station.

    The base end is fixed to the station, the other sits in an interface that leaves it free to rotate: a ball joint,
    three rows; 13 velocities, ten degrees of freedom, no gravity. Joints by their names; "float" is the station's (its
    structural frame, whose origin is not the centre of mass). Inputs: a torque for each joint ("shoulder roll", …) and
    "docking force" and "docking moment" on the station in its own axes. floating=False puts the arm on the ground;
    closed=False leaves the tip free.

    Sources: link geometry and masses from the Canadarm2 model of Space ROS (after Nguyen and Hughes 1994), rounded
    angles included; station from NASA's JEOD verification runs. They are public figures, not verified ones. Chosen: the
    arm's foot at the station's origin (`base`), the tip 1 m along the last link, and the interface where the tip is at
    the paper's joint angles, so that these close the loop exactly. The paper's load history is not printed.

    >>> from dalembert import zoo
    >>> system = zoo.ssrms().compile(backend="casadi")
    >>> x = system.state(*zoo.ssrms_start())
    >>> system.nv - system.acceleration(x).rank, bool(abs(system.residuals(x)).max() < 1e-9)
    (10, True)
    """
    m = Mechanism("SSRMS", gravity=(0, 0, 0))
    foot = m.ground.at(*base)
    if floating:
        foot = _station(m, base)
    before = foot
    for (joint, (origin, axis)), (link, (mass, com, (turn, angle), moments)) in zip(JOINTS.items(), LINKS.items()):
        axes = rotation(turn, angle)
        body = m.add_body(link, mass=mass, com=com, inertia=moments, inertia_axes=axes)
        place = before.body.at(*(np.array(before.T.p, dtype=float) + origin))
        limits = (-4.71239, 4.71239)
        m.add_joint(joint, Revolute(axis), place, body, limits=limits)
        m.add_motor(joint, joint)
        before = body.frame
    tip = m.add_frame("tip", before.body.at(0, 0, -1.0))
    if closed:
        p = m.compile(backend="casadi").pose(ssrms_start()[0], tip)[:3, 3]
        m.close_loop("interface", Spherical(), foot.body.at(*p), tip)
    return m


def _station(m: Mechanism, base: Triple) -> Frame:
    station = m.add_body("station", mass=STATION_MASS, com=STATION_COM, inertia=STATION_INERTIA)
    effector = m.add_body("base effector", mass=BASE_MASS, com=BASE_COM, inertia=BASE_INERTIA)
    m.add_joint("float", Free(), m.ground, station)
    m.add_joint("latch", Fixed(), station.at(*base), effector)
    force, moment = m.add_input("docking force", 3), m.add_input("docking moment", 3)
    m.add_wrench("docking", station, force=force, moment=moment, axes="body")
    return station.at(*base)


@checked
def ssrms_start() -> Start:
    """At rest with the paper's joint angles; the station at the origin of the ground."""
    return dict(zip(JOINTS, np.radians(CLOSED).tolist())), {}
