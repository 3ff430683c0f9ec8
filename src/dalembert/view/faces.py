"""Faces of solids: convex polygons, outwards, for pictures by Matplotlib and files of triangles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.view.scene import DrawnSolid

Faces = list[np.ndarray]  # arrays (m, k, 3): m polygons of k corners, counterclockwise seen from outside

ROUND, STACKS = 32, 6


def faces(solid: DrawnSolid, round_: int = ROUND) -> Faces:
    """The faces of a solid in its own frame; together they are closed (but for a plane). round_: sides of circles."""
    s = [float(x) for x in solid.size]
    if solid.kind == "mesh":
        if solid.vertices is None or solid.faces is None:
            return []
        return [np.asarray(solid.vertices, dtype=float)[np.asarray(solid.faces, dtype=int)]]
    if solid.kind == "plate":
        assert solid.outline is not None
        return prism(np.asarray(solid.outline, dtype=float), s[0])
    return MAKERS[solid.kind](s, round_) if solid.kind in MAKERS else []


def triangles(found: Faces) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (3 n, 3) and normals (3 n, 3) of the faces, cut into triangles; those without area are left out."""
    cut = [f[:, [0, k, k + 1]] for f in found for k in range(1, f.shape[1] - 1)]
    corners = np.concatenate(cut) if cut else np.zeros((0, 3, 3))
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normals, axis=1)
    kept = size > 1e-12 * float(size.max(initial=0.0))
    normals = normals[kept] / size[kept, None]
    return corners[kept].reshape(-1, 3), np.repeat(normals, 3, axis=0)


def box(x: float, y: float, z: float) -> Faces:
    """A box of full edges."""
    return prism(np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) / 2, z)


def prism(outline: np.ndarray, thickness: float) -> Faces:
    """A convex outline (n, 2), counterclockwise, as thick along z as that."""
    n, h = len(outline), thickness / 2
    top, bottom = np.column_stack([outline, np.full(n, h)]), np.column_stack([outline, np.full(n, -h)])
    after = np.roll(np.arange(n), -1)
    sides = np.stack([bottom, bottom[after], top[after], top], axis=1)
    return [top[None], bottom[None, ::-1], sides]


def lathe(profile: Any, round_: int) -> Faces:
    """The solid that a profile (n, 2) of radius and height, upwards on the outside, makes about z."""
    profile = np.asarray(profile, dtype=float)
    turn = np.linspace(0, 2 * np.pi, round_, endpoint=False)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    rings = [np.column_stack([r * circle, np.full(round_, z)]) for r, z in profile]
    after = np.roll(np.arange(round_), -1)
    out: Faces = [np.stack([a, a[after], b[after], b], axis=1) for a, b in pairwise(rings)]
    closed = np.array_equal(profile[0], profile[-1])
    if profile[0, 0] > 0 and not closed:
        out.append(rings[0][None, ::-1])
    if profile[-1, 0] > 0 and not closed:
        out.append(rings[-1][None])
    return out


def _arc(radius: float, low: float, high: float, z: float) -> list[tuple[float, float]]:
    turn = np.linspace(low, high, STACKS)
    r = np.where(np.abs(np.abs(turn) - np.pi / 2) < 1e-12, 0.0, radius * np.cos(turn))
    return list(zip(r.tolist(), (z + radius * np.sin(turn)).tolist()))


def capsule(radius: float, length: float, round_: int, middle: float = 0.0) -> Faces:
    """A round bar with round ends; its sides are cut into pieces, which sort well by depth."""
    h = length / 2
    pieces = np.linspace(-h, h, 8)[1:-1]
    profile = _arc(radius, -np.pi / 2, 0, -h) + [(radius, x) for x in pieces] + _arc(radius, 0, np.pi / 2, h)
    return lathe([(r, z + middle) for r, z in profile], round_)


def sphere(radius: float, round_: int) -> Faces:
    """A ball."""
    return lathe(_arc(radius, -np.pi / 2, 0, 0) + _arc(radius, 0, np.pi / 2, 0)[1:], round_)


def cylinder(radius: float, length: float, round_: int) -> Faces:
    """A round bar with flat ends."""
    count = 2 if length < 4 * radius else 8
    return lathe([(radius, z) for z in np.linspace(-length / 2, length / 2, count)], round_)


def wheel(radius: float, width: float, round_: int) -> Faces:
    """Rim, hub and five spokes."""
    rim, hub, w = 0.14 * radius, 0.16 * radius, width / 2
    n = 2 * round_
    inner = radius - rim
    out = lathe([(inner, w), (inner, -w), (radius, -w), (radius, w), (inner, w)], n)
    out += cylinder(hub, 1.3 * width, round_)
    length = inner - 0.5 * hub
    for k in range(5):
        a = 2 * np.pi * k / 5
        R = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
        middle = np.array([(inner + 0.5 * hub) / 2, 0, 0])
        out += [(f + middle) @ R.T for f in box(length, 0.09 * radius, 0.6 * width)]
    return out


def arrow(radius: float, length: float, round_: int) -> Faces:
    """A shaft from the origin along z, with a cone at its end."""
    head = min(0.4 * length, 5 * radius)
    neck = length - head
    return lathe([(radius, 0.0), (radius, neck), (2.4 * radius, neck), (0.0, length)], round_)


def plane(s: list[float]) -> Faces:
    """A rectangle; an endless plane is not drawn."""
    if not s:
        return []
    x, y = s[0] / 2, s[1] / 2
    return [np.array([[[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]]])]


MAKERS: dict[str, Any] = {
    "box": lambda s, n: box(*s),
    "sphere": lambda s, n: sphere(s[0], n),
    "ellipsoid": lambda s, n: [f * np.array(s) for f in sphere(1.0, n)],
    "cylinder": lambda s, n: cylinder(s[0], s[1], n),
    "capsule": lambda s, n: capsule(s[0], s[1], n),
    "rod": lambda s, n: capsule(s[0], s[1], n, s[1] / 2),
    "wheel": lambda s, n: wheel(s[0], s[1], n),
    "arrow": lambda s, n: arrow(s[0], s[1], n),
    "plane": lambda s, n: plane(s),
}
