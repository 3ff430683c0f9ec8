"""Planar linkages as engineers sketch them: pins, then bars and plates by the pins they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.inertia import cylinder_inertia, planar_inertia
from dalembert.mechanism.joints import Prismatic
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.points import three
from dalembert.mechanism.values import plain
from dalembert.symbols import array, cos, is_number, sin, sqrt

DENSITY = 1.0  # kg/m of bars without a mass


class Linkage(Mechanism):
    """A mechanism in the x-y plane, y up, from a sketch; all coordinates are zero as it is drawn.

    pins: {name: where it is}, in m:
      (x, y);
      (pin, distance, angle): from another pin, at an angle (rad) to the x axis;
      (pin, pin, along, across): from the first, so far towards the second, and so far to the left of this way;
      (pin, distance, pin, distance, side): at two distances from two others, to the left of the way from the first to
      the second for side > 0, else to the right.
    parameters: {name: value}; a pin may be a function of their symbols, `lambda p: ("A", p["crank"], 0.6)`.
    ground: names of the fixed pins. bodies: {name: the pins it joins}, each one string or a list. A body of two pins is
    a uniform bar; one of more weighs as the bars of its outline, in the order given. density: kg/m. mass: kg of all
    bodies, or {body: kg}, in place of the density. gravity: (x, y) or (x, y, z), m/s².

    Each pin is a revolute joint of its name; the second joint of a pin where three bodies meet is "pin body". A pin
    that one body has alone is a frame. The result is a `Mechanism`, to which anything can be added; a body's frame is
    at its first pin, with the ground's axes.

    >>> import dalembert as da
    >>> pins = {"A": (0, 0), "D": (0.55, 0), "B": ("A", 0.2, 0.6), "C": ("B", 0.6, "D", 0.4, 1), "P": ("B", 0.5, 1.2)}
    >>> m = da.Linkage("four-bar", pins, "A D", {"crank": "A B", "coupler": "B C P", "rocker": "C D"})
    >>> system = m.compile()
    >>> system.report(system.state()).mobility
    1
    """

    own_parts = ("holders", "density")

    def __init__(
        self,
        name: str = "linkage",
        pins: Mapping[str, Any] | None = None,
        ground: str | Sequence[str] = "",
        bodies: Mapping[str, str | Sequence[str]] | None = None,
        *,
        density: Any = DENSITY,
        mass: Any = None,
        parameters: Mapping[str, Any] | None = None,
        gravity: Sequence[Any] = (0.0, -9.81, 0.0),
    ):
        super().__init__(name, gravity)
        self.holders: dict[str, list[str]] = {}  # of each pin, the bodies that have it
        self.density = density
        known = {} if parameters is None else checks.mapping(parameters, "parameters", error=DescriptionError)
        symbols = {key: self.add_parameter(key, value) for key, value in known.items()}
        given = {} if pins is None else checks.mapping(pins, "pins", error=DescriptionError)
        for pin, where in given.items():
            self.add_pin(pin, where(symbols) if callable(where) else where)
        for pin in self._pins(ground, "the ground"):
            self.holders[pin].append(self.ground.name)
        weights = mass if isinstance(mass, Mapping) else {}
        for body, its in ({} if bodies is None else checks.mapping(bodies, "bodies", error=DescriptionError)).items():
            self.add_bar(body, its, mass=weights.get(body) if isinstance(mass, Mapping) else mass)
        for pin, those in self.holders.items():
            if len(those) == 1 and those[0] != self.ground.name and pin not in self.bodies:
                self.add_frame(pin, self.pin(pin))

    @property
    def gravity(self) -> np.ndarray:
        """(3,) acceleration of free fall, m/s²; may be set, also by parameters: (x, y) or (x, y, z)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = self.parameters.checked(three(value, "gravity"), (3,), "gravity")

    # --- pins ---------------------------------------------------------------------------------------------------

    def add_pin(self, name: str, where: Any) -> np.ndarray:
        """A pin, as in `Linkage`; returns its place (3,)."""
        what = f"pin '{checks.name(name, 'the name of a pin', error=DescriptionError)}'"
        self.add_points({name: plain(self._where(where, what))})
        self.holders[name] = []
        return self.points[name]

    def _where(self, where: Any, what: str) -> np.ndarray:
        needed = "(x, y), (pin, distance, angle), (pin, pin, along, across), or (pin, distance, pin, distance, side)"
        where = checks.items(where, what, needed, error=DescriptionError)
        if len(where) not in (2, 3, 4, 5):
            raise DescriptionError(f"{what} is {checks.shown(where)}; needed: {needed}.")
        if len(where) == 2:
            return self._point(where, what)
        if len(where) == 3:
            start, (r, angle) = self._point(where[0], what), self.parameters.checked(where[1:], (2,), what)
            return start + array([r * cos(angle), r * sin(angle), 0.0])
        if len(where) == 4:
            start, way = self._point(where[0], what), self._point(where[1], what) - self._point(where[0], what)
            along, across = self.parameters.checked(where[2:], (2,), what)
            if not np.any(self.parameters.number(way, what)):
                raise DescriptionError(f"{what} lies towards a pin at the same place; needed: two pins apart.")
            return start + (along * way + across * array([-way[1], way[0], 0.0])) / sqrt(way @ way)
        a, b = self._point(where[0], what), self._point(where[2], what)
        ra, rb, side = self.parameters.checked([where[1], where[3], where[4]], (3,), what)
        return self._meet(a, ra, b, rb, side, what)

    def _meet(self, a: np.ndarray, ra: Any, b: np.ndarray, rb: Any, side: Any, what: str) -> np.ndarray:
        """The point at the distances ra from a and rb from b; to the left of a → b for side > 0."""
        way = b - a
        square = way @ way
        along = (square + ra * ra - rb * rb) / (2 * square)
        height = ra * ra / square - along * along
        x, y, distance = self.parameters.number(array([ra, rb, sqrt(square)]), what)
        if float(self.parameters.number(array([height]), what)[0]) < 0.0:
            raise DescriptionError(
                f"{what} is to be {x:g} m and {y:g} m from two pins that are {distance:g} m apart; needed: a distance "
                f"between {abs(x - y):g} and {x + y:g} m."
            )
        sign = 1.0 if is_number(side) and side > 0 else -1.0
        across = array([-way[1], way[0], 0.0])
        return a + along * way + sign * sqrt(height) * across

    def pin(self, name: str) -> Frame:
        """The frame of a pin, on the first body that has it."""
        (pin,) = self._pins([name], "pin")
        if not self.holders[pin]:
            raise DescriptionError(f"no body has pin '{pin}'; add one by add_bar, or make it a pin of the ground.")
        return self.bodies[self.holders[pin][0]].at(pin)

    def _pins(self, pins: str | Sequence[str], of: str) -> list[str]:
        found = pins.split() if isinstance(pins, str) else checks.items(pins, f"the pins of {of}", "names of pins")
        for pin in found:
            if not isinstance(pin, str) or pin not in self.holders:
                raise unknown("pin", pin, self.holders, of)
        return found

    # --- parts --------------------------------------------------------------------------------------------------

    def add_bar(self, name: str, pins: str | Sequence[str], *, mass: Any = None, density: Any = None) -> Body:
        """A bar or plate by the pins it joins, which are joints with the bodies that are there.

        pins: one string or a list. mass (kg), or density (kg/m) of the bars of its outline: default the linkage's.
        """
        its = self._pins(pins, f"body '{name}'")
        if len(its) < 2 or len(set(its)) < len(its):
            raise DescriptionError(f"body '{name}' has the pins {its}; needed: two or more, each once.")
        m, com, moment = self._weight(its, mass, self.density if density is None else density, f"body '{name}'")
        body = self.add_body(name, m, list(com), planar_inertia(moment), at=its[0])
        self._join(body, its)
        return body

    def _weight(self, pins: list[str], mass: Any, density: Any, what: str) -> tuple[Any, np.ndarray, Any]:
        """Mass, centre of mass from the first pin, and moment about it of the uniform bars of an outline."""
        at = [self.points[pin] - self.points[pins[0]] for pin in pins]
        ends = list(zip(at, [*at[1:], at[0]])) if len(at) > 2 else [(at[0], at[1])]
        lengths = [sqrt((b - a) @ (b - a)) for a, b in ends]
        total = sum(lengths[1:], lengths[0])
        com = sum(((a + b) * (L / (2 * total)) for (a, b), L in zip(ends, lengths)), array(np.zeros(3)))
        second = 0.0  # moment per kg/m about the centre of mass
        for (a, b), L in zip(ends, lengths):
            arm = (a + b) * 0.5 - com
            second = second + L * (L * L / 12 + arm @ arm)
        if mass is not None:
            m = self.parameters.scalar(mass, f"the mass of {what}", least=0.0)
            return m, com, m / total * second
        rho = self.parameters.scalar(density, f"the density of {what}", least=0.0)
        return rho * total, com, rho * second

    def _join(self, body: Body, pins: Sequence[str]) -> None:
        for pin in pins:
            those = self.holders[pin]
            if those:
                joint = pin if pin not in self.joints else f"{pin} {body.name}"
                self.add_joint(joint, "revolute", self.bodies[those[0]], body, at=pin)
            those.append(body.name)

    def add_slider(
        self, name: str, pin: str, direction: Any = (1.0, 0.0), *, on: Any = None, mass: Any = 1.0, **options: Any
    ) -> Body:
        """A block at a pin that slides along a direction, (x, y) or two pins, of the ground or of body `on`.

        The prismatic joint has the block's name and zero as drawn; options are those of `add_joint`. mass in kg.
        """
        (its,) = self._pins([pin], f"slider '{name}'")
        ends = direction.split() if isinstance(direction, str) else direction
        if isinstance(ends, (list, tuple)) and len(ends) == 2 and all(isinstance(p, str) for p in ends):
            a, b = self._pins(ends, f"slider '{name}'")
            way = self.points[b] - self.points[a]
        else:
            way = self._point(direction, f"the direction of slider '{name}'")
        m = self.parameters.scalar(mass, f"the mass of slider '{name}'", least=0.0)
        block = self.add_body(name, m, inertia=planar_inertia(m * 1e-4), at=its)  # as one of 2 cm
        self._slide(name, self.ground if on is None else on, block, its, way, options)
        self._join(block, [its])
        return block

    def _slide(self, name: str, a: Any, b: Any, pin: str, way: np.ndarray, options: Mapping[str, Any]) -> None:
        """A prismatic joint along a direction in the plane: x of frames turned about z, so that it stays planar."""
        length = sqrt(way @ way)
        if not np.any(self.parameters.number(way, f"the direction of '{name}'")):
            raise DescriptionError(f"the direction of '{name}' is (0, 0); needed: one, as (1, 0), or two pins apart.")
        c, s = way[0] / length, way[1] / length
        R = array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        sides = (self._frame(x, f"'{name}'").body.at(pin, rotation=R) for x in (a, b))
        self.add_joint(name, Prismatic("x"), *sides, **options)

    def add_wheel(self, name: str, pin: str, *, radius: Any, mass: Any = None, width: Any = 0.02) -> Body:
        """A disc about a pin, of a radius and width (m) and a mass (kg, default: of 1000 kg/m³)."""
        (its,) = self._pins([pin], f"wheel '{name}'")
        r, b = (self.parameters.scalar(x, f"a size of wheel '{name}'", least=0.0) for x in (radius, width))
        m = r * r * b * (1000 * np.pi) if mass is None else self.parameters.scalar(mass, f"the mass of wheel '{name}'")
        wheel = self.add_body(name, m, inertia=cylinder_inertia(m, r, b), at=its)
        wheel.add_shape("wheel", (r, b))
        self._join(wheel, [its])
        return wheel

    def add_cylinder(self, name: str, a: str, b: str, *, masses: Sequence[Any] = (1.0, 1.0), **options: Any) -> Any:
        """A hydraulic cylinder from pin a to pin b; returns the symbol of its input, the pushing force (N).

        Its extension (m, zero as drawn) and its input have its name. masses: kg of tube and rod, bars of 0.6 of its
        length. options: those of `add_joint` for the extension, such as limits and stops.
        """
        ends = self._pins([a, b], f"cylinder '{name}'")
        weights = checks.items(masses, f"masses of cylinder '{name}'", "two, of tube and rod", error=DescriptionError)
        if len(weights) != 2:
            raise DescriptionError(f"cylinder '{name}' has {len(weights)} masses; needed: two, of tube and rod.")
        way = self.points[b] - self.points[a]
        square = way @ way
        for part, pin, mass, sign in zip(("tube", "rod"), ends, weights, (1.0, -1.0)):
            m = self.parameters.scalar(mass, f"the mass of the {part} of cylinder '{name}'", least=0.0)
            moment = planar_inertia(m * square * (0.36 / 12))
            self._join(self.add_body(f"{name} {part}", m, plain(way * (0.3 * sign)), moment, at=pin), [pin])
        self._slide(name, f"{name} tube", f"{name} rod", b, way, options)
        return self.add_motor(name, name)
