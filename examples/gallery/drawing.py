"""Planar linkages from a drawing: give the pins, then the bodies by the pins they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import dalembert as da


class Drawing:
    """A mechanism in the x-y plane, y up, whose coordinates are all zero in the drawn position.

    pins: {name: (x, y)} in m. ground: names of the fixed pins. bodies: {name: pins it joins}, as one string each. A
    body hangs on the first of its pins that the ground or an earlier body has; that joint has the body's name. Its
    other pins that are there already close loops, called "pin body". The mass of a body (kg, one for all or by name)
    is spread evenly over its pins.
    """

    def __init__(
        self, name: str, pins: Mapping[str, Sequence[float]], ground: str, bodies: Mapping[str, str],
        mass: float | Mapping[str, float] = 1.0,
    ):  # fmt: skip
        self.m = da.Mechanism(name, gravity=(0, -9.81, 0))
        self.pins = {pin: np.array([x, y, 0.0]) for pin, (x, y) in pins.items()}
        self.on = {pin: self.m.ground.at(*self.pins[pin]) for pin in ground.split()}  # pin: frame that others hang on
        for body, its in bodies.items():
            self._add(body, its.split(), mass[body] if isinstance(mass, Mapping) else mass)

    def _add(self, name: str, pins: list[str], mass: float) -> None:
        pins = sorted(pins, key=lambda pin: pin not in self.on)  # those that are there come first
        at = {pin: self.pins[pin] - self.pins[pins[0]] for pin in pins}
        com = np.mean(list(at.values()), axis=0)
        moment = mass * np.mean([(x - com) @ (x - com) for x in at.values()])
        made = self.m.add_body(name, mass=mass, com=com, inertia=(moment / 2, moment / 2, moment))
        for pin, x in at.items():
            if pin == pins[0]:
                self.m.add_joint(name, da.Revolute("z"), self.on[pin], made)
            elif pin in self.on:
                self.m.close_loop(f"{pin} {name}", da.Revolute("z"), self.on[pin], made.at(*x))
            else:
                self.on[pin] = made.at(*x)

    def cylinder(self, name: str, a: str, b: str, masses: Sequence[float] = (20.0, 10.0)) -> None:
        """A hydraulic cylinder from pin a to pin b; its extension (m) and its pushing force (N) are called name."""
        way = self.pins[b] - self.pins[a]
        length, R = float(np.linalg.norm(way)), da.rotation("z", float(np.arctan2(way[1], way[0])))
        tube, rod = (
            self.m.add_body(f"{name} {part}", mass=mass, com=(x * length, 0, 0), inertia=da.rod(mass, 0.6 * length))
            for part, mass, x in zip(("tube", "rod"), masses, (0.3, -0.3))
        )
        self.m.add_joint(f"{name} foot", da.Revolute("z"), self.on[a].at(rotation=R), tube)
        self.m.add_joint(name, da.Prismatic("x"), tube.at(length), rod)
        self.m.close_loop(f"{name} eye", da.Revolute("z"), rod, self.on[b])
        self.m.add_motor(name, name)

    def box(self, name: str, at: Sequence[float], sides: Sequence[float], mass: float, friction: float) -> da.Body:
        """A box with sides (x, y, z) and its centre at (x, y), m, that stands on a table by two contacts, as drawn."""
        x, y = at
        made = self.m.add_body(name, mass=mass, inertia=da.box(mass, sides))
        made.add_shape("box", sides)
        self.m.add_joint(name, da.Planar(), self.m.ground.at(x, y), made)
        table = self.m.ground.at(0, y - sides[1] / 2, rotation=da.rotation("x", -np.pi / 2))
        for side, k in (("left", -0.5), ("right", 0.5)):
            corner = made.at(k * sides[0], -sides[1] / 2)
            self.m.add_contact(f"{side} foot", corner, on=table, friction=friction)
        return made
