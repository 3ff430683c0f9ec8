"""Rigid bodies of a stage: mass properties given or of collision shapes, and these shapes as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.formats.links import FileLink
from dalembert.formats.notes import Notes
from dalembert.formats.usd.stage import UsdStage
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform

DENSITY = 1000.0  # kg/m³ where nothing says otherwise
MASSLESS = "dalembert:massless"  # of bodies that carry others and have no mass
ABSENT = -np.inf  # a centre of mass that is not given
TURNS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}  # of an axis z to the axis that is named


@dataclass(frozen=True, slots=True)
class CollisionSolid:
    """A collision shape: its volume, and moments over its mass about its centre, which is at T of the body."""

    prim: Any
    shape: Shape
    T: Transform
    volume: float
    moments: np.ndarray


def link_of(stage: UsdStage, prim: Any, name: str, shapes: list[Any], notes: Notes) -> FileLink:
    """A rigid body; shapes: prims of its collision shapes."""
    here, scale = stage.place(prim)
    link = FileLink(name, stage.origin(prim), pose=here)
    solids = [s for s in (_solid(stage, x, here, notes) for x in shapes) if s is not None]
    link.shapes = [s.shape for s in solids]
    if stage.value(prim, MASSLESS, False) is True:
        return link
    com, J, mass = _of_shapes(stage, prim, solids)
    given = stage.number(prim, "physics:mass", 0.0) * stage.mass
    at = stage.numbers(prim, "physics:centerOfMass", [ABSENT] * 3)
    diagonal = stage.numbers(prim, "physics:diagonalInertia", [0.0] * 3) * stage.mass * stage.length**2
    if given < 0.0 or (diagonal < 0.0).any() or not np.isfinite([given, *diagonal]).all():
        raise link.origin.error("has a mass or a moment of inertia that is negative or not finite.")
    if given == 0.0 and mass == 0.0:
        raise link.origin.error(
            "has neither a mass (MassAPI) nor a collision shape whose volume is known. Give it physics:mass."
        )
    if given > 0.0 and mass > 0.0:
        J = J * (given / mass)
    link.mass = given or mass
    link.com = at * scale if np.isfinite(at).all() else com
    if diagonal.any():
        R = stage.rotation(prim, "physics:principalAxes")
        J = R @ np.diag(diagonal) @ R.T
    elif not solids:
        notes.add(link.origin, "has a mass and neither moments of inertia nor shapes that give them: a point")
    elif np.isfinite(at).all():
        r = link.com - com
        J = J + link.mass * (r @ r * np.eye(3) - np.outer(r, r))
    link.inertia = (J + J.T) / 2
    return link


def _of_shapes(stage: UsdStage, prim: Any, solids: list[CollisionSolid]) -> tuple[np.ndarray, np.ndarray, float]:
    """Centre of mass, inertia about it and mass of collision shapes, by their own masses or densities."""
    own = stage.number(prim, "physics:density", 0.0)
    unit = stage.mass / stage.length**3
    masses = []
    for s in solids:
        density = stage.number(s.prim, "physics:density", 0.0) or own
        given = stage.number(s.prim, "physics:mass", 0.0) * stage.mass
        masses.append(given or s.volume * (density * unit if density > 0.0 else DENSITY))
    total = sum(masses)
    if not total > 0.0:
        return np.zeros(3), np.zeros((3, 3)), 0.0
    com = sum((m * s.T.p for m, s in zip(masses, solids)), np.zeros(3)) / total
    J = np.zeros((3, 3))
    for m, s in zip(masses, solids):
        r = s.T.p - com
        J += s.T.R @ np.diag(m * s.moments) @ s.T.R.T + m * (r @ r * np.eye(3) - np.outer(r, r))
    return com, J, total


def _solid(stage: UsdStage, prim: Any, body: Transform, notes: Notes) -> CollisionSolid | None:
    """A collision shape in the frame of its body; None where it is no solid that is known."""
    T, factors = stage.place(prim)
    kind, name = str(prim.GetTypeName()), str(prim.GetName())
    at, scale = body.inverse() @ T, np.abs(factors)
    axis = str(stage.value(prim, "axis", "Z"))
    if kind == "Cube":
        a = stage.number(prim, "size", 2.0) * scale
        return CollisionSolid(prim, Shape("box", tuple(a), at, name=name), at, float(a.prod()), _across(a**2 / 12))
    if kind == "Sphere":
        r = stage.number(prim, "radius", 1.0) * scale
        if np.ptp(r) > 1e-6 * r.max():
            shape = Shape("ellipsoid", tuple(r), at, name=name)
        else:
            shape = Shape("sphere", (float(r[0]),), at, name=name)
        return CollisionSolid(prim, shape, at, float(4 / 3 * np.pi * r.prod()), _across(r**2 / 5))
    if kind in ("Cylinder", "Capsule") and axis in TURNS:
        k = "XYZ".index(axis)
        others = [scale[i] for i in range(3) if i != k]
        r = stage.number(prim, "radius", 1.0 if kind == "Cylinder" else 0.5) * others[0]
        h = stage.number(prim, "height", 2.0 if kind == "Cylinder" else 1.0) * scale[k]
        if abs(others[0] - others[1]) > 1e-6 * max(others):
            notes.add(stage.origin(prim), "is scaled unequally across its axis; the first factor is taken")
        turned = Transform(at.R @ TURNS[axis], at.p)
        volume, moments = _round(float(r), float(h), kind == "Capsule")
        return CollisionSolid(
            prim, Shape(kind.lower(), (float(r), float(h)), turned, name=name), turned, volume, moments
        )
    text = f"is a collision shape of type {kind or 'none'}, which gives neither picture nor mass"
    notes.add(stage.origin(prim), text)
    return None


def _across(squares: np.ndarray) -> np.ndarray:
    """Moments over the mass, of the mean squares along the axes."""
    return np.array([squares.sum() - x for x in squares])


def _round(r: float, h: float, capped: bool) -> tuple[float, np.ndarray]:
    """Volume and moments over the mass of a cylinder along z, with half balls at its ends if it is capped."""
    middle = np.pi * r**2 * h
    along, across = 0.5 * r**2 * middle, (r**2 / 4 + h**2 / 12) * middle
    if not capped:
        return middle, np.array([across, across, along]) / middle if middle else np.zeros(3)
    ball = 4 / 3 * np.pi * r**3
    along += 0.4 * r**2 * ball
    across += (0.4 * r**2 + h**2 / 4 + 3 / 8 * r * h) * ball
    volume = middle + ball
    return volume, np.array([across, across, along]) / volume if volume else np.zeros(3)
