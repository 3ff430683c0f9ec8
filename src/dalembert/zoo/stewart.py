"""The Stewart-Gough platform."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.inertia import cylinder_inertia
from dalembert.mechanism.joints import Free, Prismatic, Spherical, Universal
from dalembert.mechanism.joints.joint import orient_z
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.values import as_matrix, check_rotation
from dalembert.zoo.door import checked
from dalembert.zoo.planar import Start


@dataclass(frozen=True)
class StewartGeometry:
    """Radii (m) and half angles (degrees) of the pairs of points on base and platform, and the height at home (m)."""

    base_radius: float = 3.0
    base_spread: float = 2.5
    platform_radius: float = 1.0
    platform_spread: float = 50.0
    height: float = 2.0

    def __post_init__(self) -> None:
        for field in fields(self):
            least = -360.0 if field.name.endswith("spread") else 1e-9
            checks.number(getattr(self, field.name), f"{field.name} of StewartGeometry", least=least, most=1e9)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """(6, 3) each: ends of the legs on the base and on the platform, in its own frame."""
        thirds = np.repeat(120.0 * np.arange(3), 2)

        def ring(radius: float, spread: float) -> np.ndarray:
            angles = np.radians(thirds + np.tile([-spread, spread], 3))
            return radius * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(6)])

        return ring(self.base_radius, self.base_spread), ring(self.platform_radius, self.platform_spread)

    def legs(self) -> list[tuple[np.ndarray, np.ndarray, float, np.ndarray]]:
        """Base point, platform point and length at home of each leg, and a rotation whose z is along it at home."""
        base, top = self.points()
        along = top - base + np.array([0, 0, self.height])
        turned = [orient_z(leg, "a leg").astype(float) for leg in along]
        return list(zip(base, top, np.linalg.norm(along, axis=1).tolist(), turned))


DEFAULT = StewartGeometry()


def _check_geometry(geometry: StewartGeometry) -> None:
    if not isinstance(geometry, StewartGeometry):
        raise ArgumentError(f"geometry is {checks.shown(geometry)}; needed: a StewartGeometry.")


@checked
def stewart(
    *,
    geometry: StewartGeometry = DEFAULT,
    mass: float = 100.0,
    inertia: ArrayLike = (25.0, 25.0, 50.0),
    leg_mass: float = 1.0,
    massless: bool = False,
    gravity: float = 9.81,
) -> Mechanism:
    """A platform on six legs: 24 velocities, 18 rows, six degrees of freedom; or, massless, a free body pushed by six.

    Base points on a circle of 3 m at 120° i ∓ 2.5°, platform points on one of 1 m at 120° i ∓ 50°, z up. The platform
    floats on joint "platform" (position and quaternion). Leg k is a tube on a universal joint "Uk" at the base and a
    rod that slides out by "Pk" from its length at home (platform level, 2 m up); its ball joint "Sk" closes a loop. All
    Uk and Pk are zero at home. Inputs F1 … F6 push (N) along the legs. massless=True leaves the legs out and lets the
    same inputs act between the same points.

    Geometry and platform have the usual textbook size; no published forces were found for it. Chosen: the legs, each
    half of leg_mass in the tube and half in the rod, uniform, 5 cm thick, each 6/10 of the home length.

    geometry holds radii, angles and height; mass (kg) and inertia (kg m², about its centre) are the platform's,
    leg_mass is a leg's (kg); gravity in m/s².

    >>> from dalembert import zoo
    >>> system = zoo.stewart(massless=True).compile()
    >>> x = system.state(*zoo.stewart_start(massless=True))
    >>> bool(abs(system.forward_dynamics(x, u=[257.8232059158] * 6)).max() < 1e-9)
    True
    """
    _check_geometry(geometry)
    m = Mechanism("Stewart platform", gravity=(0, 0, -gravity))
    plate = m.add_body("platform", mass=mass, inertia=inertia)
    m.add_joint("platform", Free(), m.ground, plate)
    for k, (base, top, length, R) in enumerate(geometry.legs(), start=1):
        if massless:
            m.add_cable(f"leg {k}", [m.ground.at(*base), plate.at(*top)], tension=-m.add_input(f"F{k}"))
            continue
        part, half = 0.6 * length, leg_mass / 2
        tube = m.add_body(f"tube {k}", mass=half, com=(0, 0, part / 2), inertia=cylinder_inertia(half, 0.05, part))
        rod = m.add_body(f"rod {k}", mass=half, com=(0, 0, -part / 2), inertia=cylinder_inertia(half, 0.05, part))
        m.add_joint(f"U{k}", Universal("x", "y"), m.ground.at(*base, rotation=R), tube)
        m.add_joint(f"P{k}", Prismatic("z"), tube.at(0, 0, length), rod)
        m.close_loop(f"S{k}", Spherical(), rod, plate.at(*top))
        m.add_motor(f"F{k}", f"P{k}")
    return m


@checked
def stewart_start(
    position: ArrayLike | None = None,
    rotation: Any = None,
    *,
    geometry: StewartGeometry = DEFAULT,
    massless: bool = False,
) -> Start:
    """At rest with the platform in a pose (default: home).

    Uk follows from the leg's direction, (sin q₂, −sin q₁ cos q₂, cos q₁ cos q₂) in its own axes at home.

    position (m) and rotation (a matrix or a SciPy Rotation) are those of the platform; geometry and massless are
    those of `stewart`.
    """
    _check_geometry(geometry)
    pose = np.eye(4)
    if rotation is not None:
        pose[:3, :3] = checks.array(as_matrix(rotation), (3, 3), "rotation of stewart_start")
        check_rotation(pose[:3, :3], "rotation of stewart_start", ArgumentError)
    home = (0, 0, geometry.height)
    pose[:3, 3] = home if position is None else checks.vector(position, 3, "position of stewart_start")
    q: dict[str, Any] = {"platform": pose}
    if massless:
        return q, {}
    for k, (base, top, length, R) in enumerate(geometry.legs(), start=1):
        leg = R.T @ (pose[:3, :3] @ top + pose[:3, 3] - base)
        now = float(np.linalg.norm(leg))
        d = leg / now
        q |= {f"U{k}": [np.arctan2(-d[1], d[2]), np.arcsin(d[0])], f"P{k}": now - length}
    return q, {}
