"""Mass, centre and inertia of solids from their shape and density; several add up. Sizes may be parameters.

Moments are about the centre of mass. Prisms: Green's theorem over the outline; meshes: the divergence theorem, a
tetrahedron from the origin to each face (Eberly, Polyhedral Mass Properties).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.shapes import Shape
from dalembert.mechanism.values import as_matrix, check_rotation, described, plain, shaped
from dalembert.spatial import congruence
from dalembert.symbols import array, eye, is_number, zeros


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """Mass (kg), centre of mass (3,) and inertia (3, 3) about it; `one + other` is both together.

    `Mechanism.add_body` takes it in place of a mass.
    """

    mass: Any
    com: np.ndarray
    inertia: np.ndarray
    shapes: tuple[Shape, ...] = ()  # for pictures

    def __add__(self, other: Solid) -> Solid:
        if not isinstance(other, Solid):
            return NotImplemented
        m = self.mass + other.mass
        com = (self.com * self.mass + other.com * other.mass) / m
        J = zeros(3, 3)
        for part in (self, other):
            J = J + part.inertia + _point_inertia(part.mass, part.com - com)
        return Solid(m, plain(com), plain(J), (*self.shapes, *other.shapes))

    def __repr__(self) -> str:
        mass = f"{self.mass:g}" if is_number(self.mass) else str(self.mass.sx)
        return f"<solid of {mass} kg>"


def _point_inertia(m: Any, r: np.ndarray) -> np.ndarray:
    return (eye(3) * (r @ r) - np.outer(r, r)) * m


def solid(
    kind: str,
    size: Any,
    *,
    density: Any,
    at: Sequence[Any] = (0.0, 0.0, 0.0),
    rotation: Any = None,
    colour: Sequence[float] | None = None,
) -> Solid:
    """A solid by its shape and density (kg/m³), for `add_body(solid=)`; several add up: `solid(...) + solid(...)`.

    kind and size (m): "box" (three edges), "sphere" (radius), "ellipsoid" (three half axes), "cylinder" and "capsule"
    (radius, length along z, a capsule's without its caps), "tube" (outer and inner radius, length along z), "cone"
    (radius of the base, which is at the origin, and height along z), "prism" (a list of corners (x, y), and the
    thickness along z, half of it on each side), "mesh" (vertices (n, 3) and faces (m, 3) of a closed surface, or an
    object that has both, as those of trimesh). at (m) and rotation (a 3×3 matrix or a SciPy Rotation) place it in the
    body. Numbers may be expressions of parameters, but for those of meshes; a negative density makes a hole. colour as
    in `Shape`. Tubes are drawn as cylinders; cones, prisms and meshes are not drawn.

    >>> import dalembert as da
    >>> steel = 7850.0
    >>> disc = da.solid("cylinder", (0.10, 0.02), density=steel)
    >>> bore = da.solid("cylinder", (0.02, 0.02), density=-steel)
    >>> round((disc + bore).mass, 6), round(da.solid("tube", (0.10, 0.02, 0.02), density=steel).mass, 6)
    (4.735008, 4.735008)
    """
    checks.choice(kind, list(_KINDS), "the kind of a solid", error=DescriptionError)
    rho = shaped(density, (), f"the density of a {kind}")[()]
    volume, centre, J = _KINDS[kind](size)  # J about the centre, per density
    if is_number(volume) and not volume > 0.0:
        raise DescriptionError(f"a {kind} of size {checks.shown(size)} has the volume {volume:g}; needed: above 0.")
    R = np.eye(3) if rotation is None else checks.array(as_matrix(rotation), (3, 3), f"the rotation of a {kind}")
    check_rotation(R, f"the rotation of a {kind}")
    p = shaped(at, (3,), f"the position of a {kind}")
    hole = is_number(rho) and rho < 0.0
    drawn = () if hole or kind not in _PICTURES else (Shape(*_PICTURES[kind](size), (R, at), colour),)  # type: ignore[arg-type]
    Q = array(R)
    return Solid(rho * volume, plain(Q @ centre + p), plain(congruence(Q, J) * rho), drawn)


def _sizes(size: Any, n: int, kind: str) -> list[Any]:
    """n lengths, none negative where they are numbers."""
    x = np.atleast_1d(described(size, f"the size of a {kind}"))
    if x.shape != (n,):
        raise DescriptionError(f"the size of a {kind} has shape {x.shape}; needed: {n} number(s).")
    for length in x:
        if is_number(length):
            checks.number(length, f"a length of a {kind}", least=0.0, error=DescriptionError)
    return x.tolist()


Integrals = tuple[Any, np.ndarray, np.ndarray]  # volume, centre, moments about it for a density of 1


def _diagonal(volume: Any, moments: Sequence[Any], z: Any = 0.0) -> Integrals:
    J = zeros(3, 3)
    for k in range(3):
        J[k, k] = moments[k] * volume
    return volume, array([0.0, 0.0, z]), J


def _box(size: Any) -> Integrals:
    x, y, z = _sizes(size, 3, "box")
    return _diagonal(x * y * z, [(y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12])


def _ellipsoid(size: Any) -> Integrals:
    a, b, c = _sizes(size, 3, "ellipsoid")
    return _diagonal(a * b * c * (4 * np.pi / 3), [(b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5])


def _sphere(size: Any) -> Integrals:
    (r,) = _sizes(size, 1, "sphere")
    return _ellipsoid([r, r, r])


def _tube(size: Any) -> Integrals:
    R, r, L = _sizes(size, 3, "tube")
    square = R * R + r * r
    across = (3 * square + L * L) / 12
    return _diagonal((R * R - r * r) * L * np.pi, [across, across, square / 2])


def _cylinder(size: Any) -> Integrals:
    r, L = _sizes(size, 2, "cylinder")
    return _tube([r, 0.0, L])


def _cone(size: Any) -> Integrals:
    r, h = _sizes(size, 2, "cone")
    across = r * r * 0.15 + h * h * 0.0375
    return _diagonal(r * r * h * (np.pi / 3), [across, across, r * r * 0.3], h / 4)


def _capsule(size: Any) -> Integrals:
    """A cylinder and two half balls, whose centres are 3r/8 beyond its ends."""
    r, L = _sizes(size, 2, "capsule")
    tube, half = r * r * L * np.pi, r * r * r * (2 * np.pi / 3)
    about = tube * (r * r / 2) + half * (r * r * 0.8)
    across = tube * (L * L / 12 + r * r / 4) + half * (r * r * 0.8 + L * L / 2 + L * r * 0.75)
    J = zeros(3, 3)
    J[0, 0], J[1, 1], J[2, 2] = across, across, about
    return tube + 2 * half, zeros(3), J


def _prism(size: Any) -> Integrals:
    """∫ over an outline of 1, x, y, x², xy, y², edge by edge, (x, y) → (u, v) with c = x v − u y."""
    try:
        outline, thickness = size
        corners = [list(described(c, "a corner of a prism")) for c in outline]
    except (TypeError, ValueError):
        corners = []
    if len(corners) < 3 or any(len(c) != 2 for c in corners):
        raise DescriptionError("the size of a prism is no list of three or more corners (x, y) and a thickness.")
    (b,) = _sizes(thickness, 1, "prism")
    A, x, y, xx, xy, yy = (0.0,) * 6
    for (p, q), (u, v) in zip(corners, [*corners[1:], corners[0]]):
        c = p * v - u * q
        A, x, y = A + c / 2, x + c * (p + u) / 6, y + c * (q + v) / 6
        xx, yy = xx + c * (p * p + p * u + u * u) / 12, yy + c * (q * q + q * v + v * v) / 12
        xy = xy + c * (2 * p * q + p * v + u * q + 2 * u * v) / 24
    sign = -1.0 if is_number(A) and A < 0.0 else 1.0  # clockwise
    A, x, y, xx, xy, yy = (s * sign for s in (A, x, y, xx, xy, yy))
    xx, xy, yy = xx - x * x / A, xy - x * y / A, yy - y * y / A  # about the centre
    J = zeros(3, 3)
    J[0, 0], J[1, 1], J[2, 2] = b * yy + A * b * b * b / 12, b * xx + A * b * b * b / 12, b * (xx + yy)
    J[0, 1] = J[1, 0] = -(b * xy)
    return A * b, array([x / A, y / A, 0.0]), J


def _mesh(size: Any) -> Integrals:
    found = (size.vertices, size.faces) if hasattr(size, "vertices") and hasattr(size, "faces") else size
    try:
        vertices, faces = (np.asarray(x) for x in found)
        corners = vertices.astype(float)[faces.astype(int)]
        edges = [tuple(e) for f in faces.astype(int) for e in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))]
    except (TypeError, ValueError, IndexError):
        raise DescriptionError("the size of a mesh is not vertices (n, 3) and triangles (m, 3).") from None
    if corners.ndim != 3 or corners.shape[1:] != (3, 3) or not np.isfinite(corners).all():
        raise DescriptionError(f"a mesh has corners of shape {corners.shape}; needed: finite (m, 3, 3), of triangles.")
    open_ = sum((b, a) not in known for known in [set(edges)] for a, b in edges)
    if open_ or len(set(edges)) < len(edges):
        raise DescriptionError(
            f"a mesh is not closed: {open_} of its {len(edges)} edges have no neighbour that runs the other way. Close "
            "its holes, merge equal vertices and turn all faces outward."
        )
    middle = corners.reshape(-1, 3).mean(axis=0)
    a, b, c = (corners[:, k] - middle for k in range(3))
    v = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6
    V = float(v.sum())
    if V < 0.0:
        raise DescriptionError("a mesh has a negative volume: its faces look inward. Exchange two corners of each.")
    s = a + b + c
    first = (v[:, None] * s).sum(axis=0) / 4
    second = np.einsum("n,nij->ij", v / 20, sum(x[:, :, None] * x[:, None, :] for x in (a, b, c, s)))
    x = first / V
    C = second - V * np.outer(x, x)
    return V, array(x + middle), array(np.trace(C) * np.eye(3) - C)


def _same(kind: str, size: Any) -> tuple[str, Any]:
    return kind, size


_KINDS: dict[str, Callable[[Any], Integrals]] = {
    "box": _box, "sphere": _sphere, "ellipsoid": _ellipsoid, "cylinder": _cylinder, "capsule": _capsule, "tube": _tube,
    "cone": _cone, "prism": _prism, "mesh": _mesh,
}  # fmt: skip
_PICTURES: dict[str, Callable[[Any], tuple[str, Any]]] = {
    **{kind: partial(_same, kind) for kind in ("box", "sphere", "ellipsoid", "cylinder", "capsule")},
    "tube": lambda size: ("cylinder", (size[0], size[2])),
}
