"""Links of a URDF: inertia, and shapes for display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.formats.colliding import OFF, collider, lenient
from dalembert.formats.graph import IDENTITY, FileLink, pose
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform, quaternion_matrix

Colour = tuple[float, float, float, float]
Materials = dict[str, Colour | None]


def origin(element: Element, tag: str = "origin") -> Transform:
    """The place that a child (by default <origin xyz rpy/>) of an element gives, or none: where the element is."""
    e = element.only(tag)
    return IDENTITY if e is None else placed(e)


def placed(e: Element) -> Transform:
    """The place of the attributes xyz (m) and rpy (rad, fixed axes) or quat_xyzw of an element."""
    xyz = e.numbers("xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" in e.attrib:
        if "rpy" in e.attrib:
            raise e.error("has both rpy and quat_xyzw; needed: one of them.")
        q = e.numbers("quat_xyzw", 4)[[3, 0, 1, 2]]
        length = float(np.linalg.norm(q))
        if not 0.99 < length < 1.01:
            raise e.error(f"has a quaternion of length {length:.4g}; needed: 1.")
        return Transform(quaternion_matrix(q / length).astype(float), xyz)
    return pose(xyz, e.numbers("rpy", 3, (0.0, 0.0, 0.0)))


def materials(root: Element) -> Materials:
    """Colours by name: those of the robot, and those that links define for others to use."""
    found: Materials = {e.name: None for e in root.findall("material")}
    own = [e for link in root.findall("link") for v in link.findall("visual") for e in v.findall("material")]
    for e in [*root.findall("material"), *own]:
        colour = _colour(e)
        if e.name and colour is not None:
            found[e.name] = found.get(e.name) or colour
    return found


def read_link(e: Element, known: Materials, notes: Notes, friction: Mapping[str, float] | None = None) -> FileLink:
    """A link with its inertia (about the centre of mass, in the link's axes) and shapes.

    friction: of links by name, which stands elsewhere in the file.
    """
    link = FileLink(e.required("name"), e)
    inertial = e.only("inertial")
    if inertial is not None:
        _inertial(inertial, link, notes)
    visuals, collisions = e.findall("visual"), e.findall("collision")
    shown = [_shape(x, known, notes) for x in visuals or collisions]
    link.shapes += [shape for shape in shown if shape is not None]
    mu = lenient(contact.find("lateral_friction"), "value", notes) if (contact := e.find("contact")) else None
    for c in collisions:
        notes.add(c, f"{OFF}; its shape is {'not drawn, the link has visual ones' if visuals else 'kept for display'}")
        own = _friction(c, notes)
        law = next((x for x in (own, mu, (friction or {}).get(link.name)) if x is not None), None)
        found = collider(c, lambda silent, c=c: _shape(c, known, silent), notes, friction=law)  # type: ignore[misc]
        link.colliders += [found] if found is not None else []
    return link


def gazebo_friction(root: Element, notes: Notes) -> dict[str, float]:
    """Coefficients of links that <gazebo reference="…"><mu1> gives."""
    found = {g.get("reference", "") or "": lenient(g.find("mu1"), None, notes) for g in root.findall("gazebo")}
    return {name: mu for name, mu in found.items() if mu is not None}


def _friction(collision: Element, notes: Notes) -> float | None:
    """The coefficient that a collision has of its own: of Drake, or in the old form of URDF."""
    drake = collision.find("drake:proximity_properties")
    own = None if drake is None else lenient(drake.find("drake:mu_dynamic"), "value", notes)
    return own if own is not None else lenient(collision.find("contact_coefficients"), "mu", notes)


def _inertial(e: Element, link: FileLink, notes: Notes) -> None:
    T, inertia = origin(e), e.only("inertia")
    link.mass, link.com = e.child("mass").number("value"), T.p
    if link.mass < 0.0:
        raise e.child("mass").error(f"has the value {link.mass:g} (kg); needed: a mass that is not negative.")
    if inertia is None:
        notes.add(e, "has no <inertia>; the mass is a point")
        return
    xx, yy, zz = (inertia.number(k) for k in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(k, 0.0) for k in ("ixy", "ixz", "iyz"))
    J = T.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ T.R.T
    link.inertia = (J + J.T) / 2
    if link.mass == 0.0 and link.com.any():
        link.com = np.zeros(3)  # the centre of no mass is nowhere


def _shape(e: Element, known: Materials, notes: Notes) -> Shape | None:
    """The shape of a visual or a collision; None, and a note, where there is none."""
    geometry = e.child("geometry")
    if not geometry.children:
        notes.add(e, "has an empty <geometry>; there is nothing to show")
        return None
    g = geometry.children[0]
    kind = g.tag.removeprefix("drake:")
    file, scale = None, np.ones(3)
    if kind == "box":
        size = g.numbers("size", 3)
    elif kind == "sphere":
        size = g.numbers("radius", 1)
    elif kind in ("cylinder", "capsule"):
        size = np.array([g.number("radius"), g.number("length")])
    elif kind == "ellipsoid":
        size = np.array([g.number(k) for k in "abc"])
    elif kind == "mesh":
        size, file, scale = np.zeros(0), g.required("filename"), g.numbers("scale", None, (1.0, 1.0, 1.0))
        scale = np.repeat(scale, 3) if len(scale) == 1 else scale
        if len(scale) != 3:
            raise g.error(f"has {len(scale)} numbers in its attribute 'scale'; needed: 3 numbers.")
        notes.add(g, f"the mesh '{file[:200]}' is kept by name, for display only; it is not opened")
    else:
        return None  # noted by `survey`
    factors: Any = tuple(scale.tolist())
    try:
        return Shape(kind, tuple(size.tolist()), origin(e), _named_colour(e, known, notes), file, factors, e.name)
    except DescriptionError as error:
        raise g.error(f"is no shape: {error}") from None


def _named_colour(e: Element, known: Materials, notes: Notes) -> Colour | None:
    m = e.only("material")
    if m is None:
        return None
    colour = _colour(m)
    if colour is None and m.name and m.name not in known:
        notes.add(m, "no material of this name has a colour")
    return colour if colour is not None else known.get(m.name)


def _colour(material: Element) -> Colour | None:
    e = material.only("color")
    if e is None:
        return None
    rgba = e.numbers("rgba", None)
    if len(rgba) == 3:
        rgba = np.append(rgba, 1.0)
    if len(rgba) != 4 or rgba.min() < 0.0 or rgba.max() > 1.0:
        raise e.error(f"has rgba {rgba.tolist()}; needed: four numbers from 0 to 1.")
    return tuple(rgba.tolist())
