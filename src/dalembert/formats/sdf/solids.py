"""Links of SDF: inertia as given or of shapes with a density, and shapes for pictures."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.formats.colliding import OFF, collider, lenient
from dalembert.formats.links import IDENTITY, FileLink
from dalembert.formats.notes import Notes
from dalembert.formats.sdf.elements import flag, note_rest, number, placed, relative_to
from dalembert.formats.sdf.frames import Frames
from dalembert.formats.sdf.models import ScopedElement
from dalembert.formats.xml import Element
from dalembert.mechanism.joints.joint import orient_z
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform

ALL_BITS = 65535  # of a collision that says none
DENSITY = 1000.0  # kg/m³, the default of SDF
_IN_LINK = ["pose", "inertial", "visual", "collision", "gravity", "self_collide", "kinematic", "must_be_base_link"]


def link_of(found: ScopedElement, frames: Frames, notes: Notes, self_collide: bool = False) -> FileLink:
    """The link that an element describes, at its place in the world; self_collide: of its model."""
    e, T = found.element, frames.pose(found.key)
    mass, com, J = _inertia(found, frames, notes)
    link = FileLink(found.key, e, mass, com, J, T, weightless=not flag(e, "gravity", True))
    visuals, collisions = e.findall("visual"), e.findall("collision")
    for one in visuals or collisions:
        shape = _shape(one, _place(one, found, frames), notes)
        link.shapes += [shape] if shape else []
    for one in collisions:
        notes.add(one, OFF + ("" if visuals else "; the shape is kept for pictures"))

        def made(silent: Notes, one: Element = one) -> Shape | None:
            return _shape(one, _place(one, found, frames), silent)

        apart = () if self_collide or flag(e, "self_collide") else (found.scope.model,)
        kept = collider(one, made, notes, apart=apart, **_surface(one, notes))
        link.colliders += [kept] if kept is not None else []
    if flag(e, "kinematic"):
        notes.add(e.child("kinematic"), "a kinematic link moves here as its mass and joints let it")
    note_rest(e, _IN_LINK, notes)
    return link


def _surface(collision: Element, notes: Notes) -> dict[str, Any]:
    """Friction, restitution and bits of a collision, with the defaults of SDF."""

    def within(*path: str) -> Element | None:
        x: Element | None = collision.find("surface")
        for tag in path:
            x = None if x is None else x.find(tag)
        return x

    mu = lenient(within("friction", "ode", "mu"), None, notes)
    e = lenient(within("bounce", "restitution_coefficient"), None, notes)
    bits = {key: within("contact", f"{key}_bitmask") for key in ("category", "collide")}
    group, against = (None if x is None or not x.text.isdigit() else int(x.text) for x in bits.values())
    against = ALL_BITS if against is None else against
    return {
        "friction": 1.0 if mu is None else mu,
        "restitution": 0.0 if e is None else min(e, 1.0),
        "group": against if group is None else group,
        "against": against,
    }


def _place(e: Element, found: ScopedElement, frames: Frames) -> Transform:
    """Pose of a visual or a collision in its link."""
    p = e.only("pose")
    if p is None:
        return IDENTITY
    if not (name := relative_to(p)):
        return placed(p)
    return frames.pose(found.key).inverse() @ frames.pose(frames.find(found.scope, name, p)) @ placed(p)


# --- inertia --------------------------------------------------------------------------------------------------------


def _inertia(found: ScopedElement, frames: Frames, notes: Notes) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia about it in the link's axes."""
    e, inertial = found.element, found.element.only("inertial")
    if inertial is None:
        if not found.static:
            notes.add(e, "has no <inertial>; SDF means 1 kg at its origin, with moments of 1 kg m²")
        return 1.0, np.zeros(3), np.eye(3)
    if inertial.get("auto") in ("true", "1"):
        return _of_shapes(found, inertial, frames, notes)
    note_rest(inertial, ("pose", "mass", "inertia", "density"), notes)
    mass = number(inertial, "mass", 1.0)
    T = placed(p) if (p := inertial.only("pose")) is not None else IDENTITY
    J = np.eye(3)
    if (given := inertial.only("inertia")) is not None:
        x = {k: number(given, k, float(k in ("ixx", "iyy", "izz"))) for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")}
        J = np.array(
            [
                [x["ixx"], x["ixy"], x["ixz"]],
                [x["ixy"], x["iyy"], x["iyz"]],
                [x["ixz"], x["iyz"], x["izz"]],
            ]
        )
        note_rest(given, x, notes)
    J = T.R @ J @ T.R.T if T.R is not IDENTITY.R else J
    return mass, T.p, (J + J.T) / 2


def _of_shapes(
    found: ScopedElement, inertial: Element, frames: Frames, notes: Notes
) -> tuple[float, np.ndarray, np.ndarray]:
    """Inertia of the collision shapes with their densities, scaled to the mass where one is given."""
    density = number(inertial, "density", DENSITY)
    parts = []
    for c in found.element.findall("collision"):
        shape = _shape(c, _place(c, found, frames), notes)
        known = None if shape is None else _solid(shape)
        if shape is None or known is None:
            notes.add(c, "a shape of this kind does not count for the inertia of its link")
            continue
        m = number(c, "density", density) * known[0]
        parts.append((m, shape.pose.p, m * shape.pose.R @ np.diag(known[1]) @ shape.pose.R.T))
    mass = sum(m for m, _, _ in parts)
    if not mass > 0.0:
        raise inertial.error("asks for the inertia of collision shapes, and none of them has a volume that is known.")
    com = sum((m * p for m, p, _ in parts), np.zeros(3)) / mass
    J = np.zeros((3, 3))
    for m, p, own in parts:
        r = p - com
        J += own + m * (r @ r * np.eye(3) - np.outer(r, r))
    scale = number(inertial, "mass", mass) / mass
    return mass * scale, com, (J + J.T) / 2 * scale


def _solid(shape: Shape) -> tuple[float, np.ndarray] | None:
    """Volume and principal moments per mass of a shape about its centre; None of planes and meshes."""
    s = np.array(shape.size)
    if shape.kind == "box":
        return float(np.prod(s)), (s @ s - s**2) / 12
    if shape.kind == "ellipsoid":
        return 4 / 3 * pi * float(np.prod(s)), (s @ s - s**2) / 5
    if shape.kind == "sphere":
        return 4 / 3 * pi * float(s[0]) ** 3, np.full(3, 0.4 * s[0] ** 2)
    if shape.kind == "cylinder":
        r, l = s
        across = (3 * r**2 + l**2) / 12
        return pi * r**2 * l, np.array([across, across, r**2 / 2])
    if shape.kind == "capsule":
        r, l = s
        tube, ball = pi * r**2 * l, 4 / 3 * pi * r**3
        along = tube * r**2 / 2 + ball * 0.4 * r**2
        across = tube * (3 * r**2 + l**2) / 12 + ball * (0.4 * r**2 + l**2 / 4 + 3 / 8 * r * l)
        return tube + ball, np.array([across, across, along]) / (tube + ball)
    return None


# --- shapes ---------------------------------------------------------------------------------------------------------


def _shape(e: Element, T: Transform, notes: Notes) -> Shape | None:
    """The shape of a visual or collision at T of its link; None, and a note, where its kind is not known."""
    geometry = e.only("geometry")
    kinds = [] if geometry is None else [c for c in geometry.children if c.tag != "empty"]
    if not kinds:
        return None
    g = kinds[0]
    size: tuple[float, ...] = ()
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    file, kind = None, g.tag
    if kind == "box":
        size = _numbers(g, "size", 3, (1.0, 1.0, 1.0))
    elif kind == "sphere":
        size = _numbers(g, "radius", 1, (1.0,))
    elif kind in ("cylinder", "capsule"):
        default = 1.0 if kind == "cylinder" else 0.5
        size = _numbers(g, "radius", 1, (default,)) + _numbers(g, "length", 1, (1.0,))
    elif kind == "ellipsoid":
        size = _numbers(g, "radii", 3, (1.0, 1.0, 1.0))
    elif kind == "plane":
        size, normal = _numbers(g, "size", 2, (1.0, 1.0)), np.array(_numbers(g, "normal", 3, (0.0, 0.0, 1.0)))
        if not np.linalg.norm(normal) > 0.0:
            raise g.error("has a normal of length 0.")
        T = T @ Transform(orient_z(normal, "the normal of a plane").astype(float), np.zeros(3))
    elif kind == "mesh":
        uri = g.find("uri")
        file = uri.text if uri is not None and uri.text else "mesh"
        scale = _numbers(g, "scale", 3, scale)
        notes.add(e, "the mesh is kept by its name, for pictures")
    else:
        notes.add(g, "a shape of this kind is not shown")
        return None
    try:
        return Shape(kind, size, T, _colour(e, notes), file, scale, e.name)  # type: ignore[arg-type]
    except DescriptionError as error:
        raise g.error(f"is no shape: {error}") from None


def _numbers(e: Element, tag: str, n: int, default: tuple[float, ...]) -> tuple[float, ...]:
    child = e.only(tag)
    return default if child is None else tuple(child.numbers(None, n, default).tolist())


def _colour(e: Element, notes: Notes) -> tuple[float, ...] | None:
    material = e.only("material")
    if material is None:
        return None
    given = material.find("diffuse") or material.find("ambient")
    if given is None:
        notes.add(material, "has no colour of its own, and no script is read")
        return None
    x = np.clip(given.numbers(None), 0.0, 1.0).tolist()
    return (*x, *[1.0] * 4)[:4] if len(x) >= 3 else None
