"""Joints as hinges, slides, balls and free joints of MJCF."""

from __future__ import annotations

import numpy as np

from dalembert.formats.mjcf.document import Document, XmlNode
from dalembert.formats.mjcf.laws import BallHigherOrder, FreeForce, HigherOrder
from dalembert.mechanism.contacts import Friction
from dalembert.mechanism.forces import JointForce
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.spatial import Transform

#: kind of a joint: for each coordinate, hinge or slide and the joint's own axis
AXES = {
    "revolute": (("hinge", 2),),
    "prismatic": (("slide", 2),),
    "cylindrical": (("hinge", 2), ("slide", 2)),
    "universal": (("hinge", 0), ("hinge", 1)),
    "planar": (("slide", 0), ("slide", 1), ("hinge", 2)),
    "screw": (("hinge", 2), ("slide", 2)),
}


def write_joint(d: Document, node: XmlNode, a: Attachment, place: Transform) -> None:
    """The joint as elements of MJCF; place: its frame in the written body."""
    kind = a.joint.kind
    if kind == "fixed":
        return
    if kind == "free":
        _free(d, node, a)
        return
    stiffness, damping, armature = d.number(a.stiffness), d.number(a.damping), d.number(a.armature)
    dry = [f for f in a.friction if f is not None]
    if any(f != Friction(f.coulomb) for f in dry) or (dry and kind == "spherical"):
        d.note(f"joint '{a.name}'", "has dry friction that MJCF, which has Coulomb's on axes, cannot say in full")
    if a.stops is not None:
        d.note(f"joint '{a.name}'", "has stops; MJCF makes soft ones of its limits")
    higher = _higher(d, a)
    if kind == "spherical":
        name = d.coordinates[a.name] = d.name("joint", a.name)
        node.add(
            "joint",
            name=name,
            type_="ball",
            pos=place.p,
            stiffness=[stiffness[0], *higher[0]] if stiffness[0] or any(higher[0]) else None,
            damping=[damping[0], *higher[1]] if damping[0] or any(higher[1]) else None,
            armature=armature[0] or None,
        )
        if stiffness[0] and not np.array_equal(d.number(a.rest), [1.0, 0.0, 0.0, 0.0]):
            d.note(f"joint '{a.name}'", "the spring of a ball joint rests at the reference position in MJCF")
        if len(set(stiffness)) > 1 or len(set(damping)) > 1:
            d.note(f"joint '{a.name}'", "has one stiffness and damping for all axes in MJCF: those of the first")
        return
    R = place.R @ d.number(a.joint.orientation)
    names = [*a.coordinates, *([f"{a.name}_advance"] if kind == "screw" else [])]
    rest = d.number(a.rest)
    for n, (type_, axis) in enumerate(AXES[kind]):
        own = d.name("joint", names[n].replace(".", "_"))
        if own != names[n]:
            d.note(f"coordinate '{names[n]}'", f"is written as joint '{own}'")
        d.coordinates[names[n]] = own
        dof = n < len(a.coordinates)
        limits = a.limits[n] if dof else np.array([-np.inf, np.inf])
        k = stiffness[n] if dof else 0.0
        node.add(
            "joint",
            name=own,
            type_=type_,
            pos=place.p,
            axis=R[:, axis],
            stiffness=[k, *higher[0]] if k or any(higher[0]) else None,
            springref=higher[2] if any(higher[0]) else rest[n] if k else None,
            damping=[damping[n], *higher[1]] if dof and (damping[n] or any(higher[1])) else None,
            armature=armature[n] if dof and armature[n] else None,
            frictionloss=law.coulomb if dof and (law := a.friction[n]) is not None else None,
            range=limits if np.all(np.isfinite(limits)) else None,
        )
        if np.any(np.isfinite(limits)) and not np.all(np.isfinite(limits)):
            d.note(f"joint '{a.name}'", "has a limit on one side only, which MJCF does not have")
    if kind == "screw":
        pitch = float(d.number([a.joint.pitch])[0])  # type: ignore[attr-defined]
        d.note(f"joint '{a.name}'", "a screw is written as a hinge and a slide that an equality ties")
        tied = (d.coordinates[f"{a.name}_advance"], d.coordinates[a.name])
        equality = d.section("equality")
        equality.add(
            "joint", name=d.name("equality", a.name), joint1=tied[0], joint2=tied[1], polycoef=[0, pitch, 0, 0, 0]
        )


def _free(d: Document, node: XmlNode, a: Attachment) -> None:
    name = d.coordinates[a.name] = d.name("joint", a.name)
    damping, spring, parent = d.number(a.damping), _free_spring(d, a), d.numeric(a.parent.T)
    joint = node.add("joint", name=name, type_="free", damping=damping[0] if damping[0] else None)
    plain = np.array_equal(parent.R, np.eye(3)) and not np.any(parent.p)
    if a.parent.body is not d.m.ground:
        d.note(
            f"joint '{a.name}'",
            f"a free joint is one with the world in MJCF: its coordinates change, and nothing acts back on body "
            f"'{a.parent.body.name}'",
        )
    elif not plain:
        d.note(f"joint '{a.name}'", "a free joint starts from the world's frame in MJCF: its coordinates change")
    elif spring is not None:  # it rests in the reference position, which is where the body is written
        d.references[a.name] = spring.rest
        node.attributes |= XmlNode("", pos=spring.rest[4:], quat=spring.rest[:4]).attributes
        joint.attributes |= XmlNode("", stiffness=spring.stiffness, damping=[damping[0], *spring.damping]).attributes
    if len(set(damping)) > 1 or np.any(d.number(a.stiffness)):
        d.note(f"joint '{a.name}'", "springs, and damping that differs, of a free joint are not written")


def _free_spring(d: Document, a: Attachment) -> FreeForce | None:
    """The spring that the reader made of a free joint's, if it has one."""
    child, laws = d.numeric(a.child.T), [getattr(force, "force", None) for force in d.m.forces.values()]
    if np.any(child.p) or not np.array_equal(child.R, np.eye(3)):
        return None
    return next((law for law in laws if isinstance(law, FreeForce) and law.joint == a.name), None)


def _higher(d: Document, a: Attachment) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Quadratic and cubic stiffness and damping, and the rest, that the reader put beside a joint."""
    for force in d.m.forces.values():
        if (
            isinstance(force, JointForce)
            and force.joint is a
            and isinstance(force.value, (HigherOrder, BallHigherOrder))
        ):
            rest = force.value.rest
            return force.value.stiffness, force.value.damping, rest if isinstance(rest, float) else 0.0
    return (0.0, 0.0), (0.0, 0.0), 0.0
