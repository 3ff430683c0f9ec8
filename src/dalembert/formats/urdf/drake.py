"""Constraints of Drake's extension of URDF: balls, and distances that are rods or springs."""

from __future__ import annotations

from math import inf

import numpy as np

from dalembert.formats.graph import Edge, pose
from dalembert.formats.urdf.robot import Robot
from dalembert.formats.xml import Element
from dalembert.mechanism.joints import Spherical
from dalembert.mechanism.mechanism import Mechanism


def read_constraints(root: Element, robot: Robot) -> None:
    """Add the constraints of Drake's tags to a robot."""
    for kind in ("ball", "distance"):
        for k, e in enumerate(root.findall(f"drake:{kind}_constraint"), start=1):
            tag = f"drake:{kind}_constraint"
            a, b = (robot.link(e.child(f"{tag}_body_{x}").required("name"), e) for x in "AB")
            if a == b:
                raise e.error(f"joins link '{a}' to itself; needed: two links.")
            p = e.child(f"{tag}_p_AP").numbers("value", 3)
            other = e.only(f"{tag}_p_BQ")
            if other is None:  # where P is as drawn
                T = robot.neutral(b).inverse() @ robot.neutral(a)
                q = T.R @ p + T.p
            else:
                q = other.numbers("value", 3)
            name = (e.name or f"{kind}_{k}").replace(".", "_")
            if kind == "ball":
                robot.close(Edge(name, e, Spherical(), a, b, pose(p), pose(q), cut=True))
            else:
                _distance(e, robot, name, a, p, b, q)


def _distance(e: Element, robot: Robot, name: str, a: str, p: np.ndarray, b: str, q: np.ndarray) -> None:
    """A rod where the stiffness is infinite (as it is by default), else a spring."""
    length = e.child("drake:distance_constraint_distance").number("value")
    stiff, damp = (e.only(f"drake:distance_constraint_{x}") for x in ("stiffness", "damping"))
    k = stiff.number("value", finite=False) if stiff is not None else inf
    c = damp.number("value") if damp is not None else 0.0
    if length <= 0.0 or k < 0.0 or c < 0.0:
        raise e.error(
            f"has distance {length:g}, stiffness {k:g}, damping {c:g}; needed: a distance above 0, no negative."
        )
    if k == inf and c:
        robot.notes.add(e, "the damping of a stiff distance says nothing")
    ends = robot.mark(a, f"{name}_A", pose(p)), robot.mark(b, f"{name}_B", pose(q))

    def add(m: Mechanism) -> None:
        one, other = (end(m) for end in ends)
        if k == inf:
            m.add_rod(robot.fresh(name, {*m.constraints, *m.joints}, e), one, other, length=length)
        else:
            new = robot.fresh(name, m.forces, e)
            m.add_spring(new, one, other, stiffness=k, damping=c, rest_length=length)

    robot.later.append(add)
