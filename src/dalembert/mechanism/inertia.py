"""Inertias of simple solids about their centre of mass, (3, 3); any argument may be a parameter.

>>> sphere_inertia(mass=2.0, radius=0.5)
array([[0.2, 0. , 0. ],
       [0. , 0.2, 0. ],
       [0. , 0. , 0.2]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.values import Defaults, described, plain, shaped
from dalembert.symbols import is_number, zeros


def _size(value: Any, what: str) -> Any:
    """A mass or length of a solid, a float or a Scalar: not negative where it is a number."""
    x = shaped(value, (), what)[()]
    return checks.number(x, what, least=0.0, error=DescriptionError) if is_number(x) else x


def _axial(along: Any, across: Any, axis: str) -> Any:
    checks.choice(axis, "xyz", "the axis of a solid", error=DescriptionError)
    J = zeros(3, 3)
    for k, letter in enumerate("xyz"):
        J[k, k] = along if letter == axis else across
    return plain(J)


def point_inertia() -> np.ndarray:
    """A point mass: no inertia about itself."""
    return np.zeros((3, 3))


def rod_inertia(mass: Any, length: Any, axis: str = "x") -> Any:
    """A thin rod along an axis: m l²/12 across, nothing along.

    mass in kg, length in m; axis is "x", "y" or "z".
    """
    m, l = _size(mass, "the mass of a rod"), _size(length, "the length of a rod")
    return _axial(0.0, m * l * l / 12, axis)


def box_inertia(mass: Any, sides: Sequence[Any]) -> Any:
    """A solid box with the side lengths (x, y, z).

    mass in kg, sides in m.
    """
    m = _size(mass, "the mass of a box")
    x, y, z = (_size(s, "a side of a box") * _size(s, "a side of a box") for s in shaped(sides, (3,), "sides of a box"))
    J = zeros(3, 3)
    J[0, 0], J[1, 1], J[2, 2] = m * (y + z) / 12, m * (x + z) / 12, m * (x + y) / 12
    return plain(J)


def cylinder_inertia(mass: Any, radius: Any, length: Any, axis: str = "z") -> Any:
    """A solid cylinder about an axis.

    mass in kg, radius and length in m; axis is "x", "y" or "z".
    """
    m, r, l = (
        _size(x, f"the {n} of a cylinder") for n, x in {"mass": mass, "radius": radius, "length": length}.items()
    )
    return _axial(m * r * r / 2, m * (3 * r * r + l * l) / 12, axis)


def disc_inertia(mass: Any, radius: Any, axis: str = "z") -> Any:
    """A thin disc normal to an axis.

    mass in kg, radius in m; axis is "x", "y" or "z".
    """
    return cylinder_inertia(mass, radius, 0.0, axis)


def sphere_inertia(mass: Any, radius: Any) -> Any:
    """A solid ball.

    mass in kg, radius in m.
    """
    m, r = _size(mass, "the mass of a sphere"), _size(radius, "the radius of a sphere")
    J = m * r * r * 0.4
    return _axial(J, J, "z")


def planar_inertia(moment: Any, axis: str = "z") -> Any:
    """The inertia of a body that turns about one axis only: `moment` about it, half of it about the others.

    moment in kg m²; axis is "x", "y" or "z", the normal of the plane of motion. It is that of a lamina in the plane.

    >>> planar_inertia(0.2)
    array([[0.1, 0. , 0. ],
           [0. , 0.1, 0. ],
           [0. , 0. , 0.2]])
    """
    J = _size(moment, "the moment of a planar body")
    return _axial(J, J / 2, axis)


def inertia_matrix(value: Any, what: str, defaults: Defaults, physical: bool = True) -> np.ndarray:
    """A checked symmetric (3, 3) inertia from a matrix or three principal moments."""
    x = described(value, what, "three principal moments or a 3×3 matrix")
    if x.shape == (3,):
        J = zeros(3, 3)
        for k in range(3):
            J[k, k] = x[k]
        x = J
    J = defaults.checked(x, (3, 3), what)
    check_inertia(defaults.number(J, what), what, physical)
    return J


def check_inertia(J: np.ndarray, what: str, physical: bool) -> None:
    """Refuse what no mass distribution has: asymmetry, negative moments, a moment above the sum of the others."""
    size, off, (a, b, c) = principal_moments(J)
    if off > 1e-9 * size:
        raise DescriptionError(f"{what} is not symmetric: {J.tolist()}; needed: J = Jᵀ.")
    if a < -1e-9 * size:
        raise DescriptionError(f"{what} is {_shown(J)}: a principal moment is negative ({a:g}).")
    if physical and is_unphysical(a, b, c):
        raise DescriptionError(
            f"{what} is {_shown(J)}: the largest principal moment ({c:g}) exceeds the sum of the others ({a + b:g}), "
            "so no mass distribution has it. Check the axes and that it is taken at the centre of mass; published data "
            "that are so can be used as they are with physical=False."
        )


def principal_moments(J: np.ndarray) -> tuple[float, float, list[float]]:
    """The largest element of a (3, 3) matrix of floats, its largest asymmetry, and its principal moments, ascending."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rows = J.tolist()
    size = max(abs(x) for row in rows for x in row)
    off = max(abs(xy - yx), abs(xz - zx), abs(yz - zy))
    if xy == xz == yz == 0.0:
        return size, off, sorted((xx, yy, zz))
    return size, off, np.linalg.eigvalsh((J + J.T) / 2).tolist()


def is_unphysical(a: float, b: float, c: float) -> bool:
    """Whether no mass distribution has these moments, ascending: the largest exceeds the sum of the others."""
    return c > (a + b) * (1 + 1e-9) + 1e-12 * c


def _shown(J: np.ndarray) -> str:
    diagonal = not np.any(J - np.diag(np.diag(J)))
    return f"diag({', '.join(f'{x:g}' for x in np.diag(J))})" if diagonal else str(J.tolist())
