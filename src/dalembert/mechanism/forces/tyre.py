"""Tyres on a road: a vertical spring, and horizontal forces of the slip, linear or by the Magic Formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.relative import Relative
from dalembert.mechanism.curves import Curve
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.traced import Load, TracedState
from dalembert.spatial import cross
from dalembert.symbols import array, atan, element, element_sx, lesser, positive_part, sin, sqrt, where_less

STILL = 1e-18  # of slip², added under the root: 1e-9 of slip is far below what any tyre resolves


class Tyre(Force):
    """A wheel of radius r about `axis` of its frame, on the surface z = h(x) of frame `on`, touched below its centre.

    With the centre at (x, y, z), moving at v and turning at ω, all in the axes of `on`, m = (−h′, 0, 1) and
    δ = r + h(x) − z, the normal force N = max(0, k δ + d δ̇) acts along m at the centre, the gradient of ½ k δ², and the
    load is F_z = N |m|. e_x = d × n of the axle d and the normal n is forward, e_y = n × e_x. The velocity w of the
    rubber at the distance ρ to the road makes the slips

        κ = −w·e_x/V,  α = −atan(w·e_y/V),  V² = (v·e_x)² + slow²                                                  (1)

    and the forces F_x = f_x(s) κ/s and F_y = f_y(s) α/s there, s² = κ² + α², which are the curves of pure slip where
    one of them is 0: f(s) = F_z D sin(C atan(B s − E (B s − atan B s))) (Bakker, Nyborg and Pacejka, SAE 870421), or
    K s.
    """

    kind = "tyre"

    def __init__(
        self, name: str, wheel: Frame, on: Frame, radius: Any, axis: int, stiffness: Any, damping: Any,
        longitudinal: tuple[Any, ...], lateral: tuple[Any, ...], *, road: Curve | None, slow: Any,
    ):  # fmt: skip
        """longitudinal, lateral: (B, C, D, E), (K,), or () for none."""
        self.name, self.wheel, self.on, self.radius, self.axis = name, wheel, on, radius, axis
        self.stiffness, self.damping, self.longitudinal, self.lateral = stiffness, damping, longitudinal, lateral
        self.road, self.slow = road, slow

    def _at(self, s: TracedState) -> tuple[Relative, Any, Any, Any, Any]:
        """The relative motion, h, h′, δ, and k δ + d δ̇."""
        r = s.at.once(("relative", self), lambda: Relative(s, self.on, self.wheel))
        h = rise = 0.0
        if self.road is not None:
            x = element_sx(r.p[0])
            h, rise = element(self.road(x)), element(self.road.slope(x))
        v = r.R @ r.V[3:]
        depth = self.radius + h - r.p[2]
        return r, h, rise, depth, self.stiffness * depth + self.damping * (rise * v[0] - v[2])

    def act(self, s: TracedState, load: Load) -> None:
        r, h, rise, depth, pressed = self._at(s)
        N = where_less(depth, 0.0, lambda: 0.0, lambda: positive_part(pressed))
        m = array([-rise, 0.0, 1.0])
        steep = sqrt(1.0 + rise * rise)
        n = m / steep
        forward = _unit(cross(r.R[:, self.axis], n))
        aside = cross(n, forward)
        arm = -((r.p[2] - h) / steep) * n
        v, spin = r.R @ r.V[3:], r.R @ r.V[:3]
        w = v + cross(spin, arm)
        along = v @ forward
        V = sqrt(along * along + self.slow * self.slow)
        kappa, alpha = -(w @ forward) / V, -atan((w @ aside) / V)  # (1)
        slip = sqrt(kappa * kappa + alpha * alpha + STILL)
        drag = forward * (magic(self.longitudinal, slip, N * steep) / slip * kappa)
        drag = drag + aside * (magic(self.lateral, slip, N * steep) / slip * alpha)
        r.exert(np.concatenate([r.R.T @ cross(arm, drag), r.R.T @ (N * m + drag)]), load)

    @property
    def bends(self) -> bool:
        return True

    def kinks(self, s: TracedState) -> list[Any]:
        r, _, _, depth, pressed = self._at(s)
        return [lesser(depth, pressed / self.stiffness), *(r.p[0] - b for b in (self.road.breaks if self.road else ()))]

    def energy(self, s: TracedState) -> Any:
        depth = positive_part(self._at(s)[3])
        return 0.5 * self.stiffness * depth * depth

    @property
    def wheels(self) -> list[tuple[Frame, Any, int]]:
        """(frame, radius, axis), for pictures."""
        return [(self.wheel, self.radius, self.axis)]


def magic(law: tuple[Any, ...], slip: Any, load: Any) -> Any:
    """f(s)."""
    if not law:
        return 0.0
    if len(law) == 1:
        return where_less(-load, 0.0, lambda: law[0] * slip, lambda: 0.0)
    B, C, D, E = law
    x = B * slip
    return load * D * sin(C * atan(x - E * (x - atan(x))))


def _unit(x: np.ndarray) -> np.ndarray:
    return x / sqrt(x @ x)
