"""A sketch as a `da.Linkage`, and as the Python that describes it: one plan for both.

Lengths become parameters: of bars, named by their pins ("AB", or "A1_B" where a name is longer than a letter), of the
pins of a plate along and across the way between two others of it, of the ground. Every pin is placed from others by as
many of them as place it; the angles of what is free are numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dalembert.mechanism.linkage import Linkage
from dalembert.studio.planar import SketchRows
from dalembert.studio.script import quoted, shown
from dalembert.studio.sketch import Member, Sketch

FLAT = 0.02  # height of a triangle, of its longest side: below, two distances do not place its corner well
ROUND = 1e-9  # of a length: drawn on one line


@dataclass(frozen=True)
class Dimension:
    """A parameter where a number would stand."""

    name: str


@dataclass(frozen=True)
class LinkagePlan:
    """What makes a linkage: arguments of `da.Linkage`, and calls after it, (method, arguments, keywords)."""

    pins: dict[str, tuple[Any, ...]]
    parameters: dict[str, float]
    bodies: dict[str, str]
    calls: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]


@dataclass(frozen=True)
class AtPin:
    """The frame of a pin as an argument."""

    pin: str


def problem(sketch: Sketch) -> str:
    """Why a sketch is no mechanism that moves yet; "" if it is one."""
    bars = {n: m for n, m in sketch.members.items() if m.kind in ("bar", "slider", "cylinder")}
    if not bars:
        return "Join pins by a bar."
    if not sketch.ground and not any(m.kind == "slider" for m in bars.values()):
        return "Fix a pin to the ground."
    loose = _loose(sketch, bars)
    if loose:
        return f"{', '.join(loose)}: joined to nothing that is on the ground."
    for name, m in sketch.members.items():
        if m.kind in ("spring", "damper", "motor") and not all(_held(sketch, pin) for pin in m.pins):
            return f"{name}: its pins need a bar, or the ground."
        if m.kind == "motor" and len(_bodies(sketch, m.pins[0])) < 2:
            return f"{name}: its pin joins nothing; two bodies, or one and the ground, are needed."
    if SketchRows(sketch).mobility()[0] + _free_of_cylinders(sketch) < 1:
        return "Nothing can move: the mobility is 0."
    return ""


def _loose(sketch: Sketch, bars: Mapping[str, Member]) -> list[str]:
    """Members that no way over pins leads from the ground to."""
    reached = set(sketch.ground)
    reached |= {m.pins[0] for m in bars.values() if m.kind == "slider" and len(m.pins) == 1}
    while True:
        more = {pin for m in bars.values() if reached & set(m.pins) for pin in m.pins} - reached
        if not more:
            return [n for n, m in bars.items() if not reached & set(m.pins)]
        reached |= more


def _bodies(sketch: Sketch, pin: str) -> list[str]:
    """The bodies that a pin joins, the ground first."""
    those = [n for n, m in sketch.members.items() if pin in m.pins[: None if m.kind != "slider" else 1]]
    return [
        *(["ground"] if pin in sketch.ground else []),
        *(n for n in those if sketch.members[n].kind in ("bar", "slider", "cylinder")),
    ]


def _held(sketch: Sketch, pin: str) -> bool:
    return bool(_bodies(sketch, pin))


def _free_of_cylinders(sketch: Sketch) -> int:
    """Coordinates of pins that only cylinders join, which have no rows in the plane."""
    known = {p for m in sketch.members.values() if m.kind in ("bar", "slider") for p in m.pins}
    only = {p for m in sketch.members.values() if m.kind == "cylinder" for p in m.pins} - known - set(sketch.ground)
    return 2 * len(only)


# --- where pins are -----------------------------------------------------------------------------------------------


class _Places:
    """Places of the pins one after another, with parameters."""

    def __init__(self, sketch: Sketch):
        self.sketch, self.parameters = sketch, dict[str, float]()
        self.bars = [m for m in sketch.members.values() if m.kind == "bar"]
        self.done: dict[str, tuple[Any, ...]] = {}
        used = [n for n in sketch.pins if n in sketch.ground or any(n in m.pins for m in sketch.members.values())]
        for pin in sorted(used, key=lambda n: n not in sketch.ground):
            if pin in sketch.ground:
                self.done[pin] = self._polar(sketch.ground[0], pin) if pin != sketch.ground[0] else sketch.pins[pin]
        if sketch.ground and sketch.ground[0] in self.done:  # the first of them is what the others are placed from
            self.done = {sketch.ground[0]: sketch.pins[sketch.ground[0]], **self.done}
        for m in sketch.members.values():
            if m.kind == "slider" and len(m.pins) == 1:
                self.done[m.pins[0]] = sketch.pins[m.pins[0]]
        while left := [n for n in used if n not in self.done]:
            pin, where = next(self._found(left))
            self.done[pin] = where

    def _dimension(self, name: str, value: float) -> Dimension:
        self.parameters[name] = float(f"{value:.15g}")
        return Dimension(name)

    def length(self, a: str, b: str) -> Dimension:
        """The parameter of a distance."""
        a, b = sorted((a, b))
        name = f"{a}{b}" if len(a) == len(b) == 1 else f"{a}_{b}"
        return self._dimension(name, math.dist(self.sketch.pins[a], self.sketch.pins[b]))

    def _polar(self, start: str, pin: str) -> tuple[Any, ...]:
        (x, y), (u, v) = self.sketch.pins[start], self.sketch.pins[pin]
        return start, self.length(start, pin), math.atan2(v - y, u - x)

    def _found(self, left: list[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Ways to place pins, the best first."""
        for one in (self._on_plate, self._between_two, self._towards_slider, self._on_rail, self._turned):
            for pin in left:
                if where := one(pin):
                    yield pin, where
        yield left[0], self.sketch.pins[left[0]]

    def _split(self, start: str, end: str, pin: str) -> tuple[float, float]:
        """How far a pin is along and across the way from one to another, m."""
        (x, y), (u, v), (p, q) = (self.sketch.pins[n] for n in (start, end, pin))
        L = math.dist((x, y), (u, v))
        return ((u - x) * (p - x) + (v - y) * (q - y)) / L, ((u - x) * (q - y) - (v - y) * (p - x)) / L

    def _on_plate(self, pin: str) -> tuple[Any, ...] | None:
        for m in self.bars:
            known = [n for n in m.pins if n in self.done]
            if pin in m.pins and len(known) >= 2:
                a, b = known[:2]
                along, across = self._split(a, b, pin)
                if abs(across) <= ROUND * math.dist(self.sketch.pins[a], self.sketch.pins[b]):
                    return a, b, self._dimension(f"{pin}_along", along), 0.0
                return a, b, self._dimension(f"{pin}_along", along), self._dimension(f"{pin}_across", across)
        return None

    def _neighbours(self, pin: str) -> list[str]:
        """Pins that are placed, one of each bar or plate that has this one."""
        found = (next((n for n in m.pins if n in self.done), None) for m in self.bars if pin in m.pins)
        return list(dict.fromkeys(n for n in found if n is not None))

    def _between_two(self, pin: str) -> tuple[Any, ...] | None:
        for a, b in combinations(self._neighbours(pin), 2):
            across = self._split(a, b, pin)[1]
            sides = [math.dist(self.sketch.pins[m], self.sketch.pins[n]) for m, n in ((a, b), (a, pin), (b, pin))]
            if abs(across) > FLAT * max(sides):
                return a, self.length(a, pin), b, self.length(b, pin), 1 if across > 0 else -1
        return None

    def _rail(self, pin: str) -> Iterator[tuple[str, str, str]]:
        """Sliders along bars: (slider's pin, pin and other pin of the bar), for bars that have `pin`."""
        for m in self.sketch.members.values():
            if m.kind == "slider" and len(m.pins) == 3 and pin in m.pins:
                yield m.pins[0], m.pins[1], m.pins[2]

    def _towards_slider(self, pin: str) -> tuple[Any, ...] | None:
        """The end of a bar that leads from its other pin through a slider."""
        for slider, a, b in self._rail(pin):
            start = b if pin == a else a
            if pin == slider or start not in self.done or slider not in self.done:
                continue
            along, across = self._split(start, slider, pin)
            if abs(across) <= ROUND * abs(along):
                L = self.length(start, pin)
                return (start, slider, L, 0.0) if along > 0 else None
        return None

    def _on_rail(self, pin: str) -> tuple[Any, ...] | None:
        for slider, a, b in self._rail(pin):
            if pin == slider and a in self.done and b in self.done and not self._neighbours(pin):
                return a, b, *self._split(a, b, pin)
        return None

    def _turned(self, pin: str) -> tuple[Any, ...] | None:
        near = self._neighbours(pin)
        return self._polar(near[0], pin) if near else None


def plan(sketch: Sketch) -> LinkagePlan:
    """What makes the linkage of a sketch."""
    places = _Places(sketch)
    bodies = {n: " ".join(m.pins) for n, m in sketch.members.items() if m.kind == "bar"}
    order = ("slider", "cylinder", "spring", "damper", "motor")
    calls = [
        call
        for kind in order
        for name, m in sketch.members.items()
        if m.kind == kind
        for call in _calls(sketch, name, m)
    ]
    return LinkagePlan(places.done, places.parameters, bodies, tuple(calls))


def _calls(sketch: Sketch, name: str, m: Member) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    if m.kind == "slider" and len(m.pins) == 1:
        yield "add_slider", (name, m.pins[0], (math.cos(m.values["angle"]), math.sin(m.values["angle"]))), {}
    elif m.kind == "slider":
        yield "add_slider", (name, m.pins[0], " ".join(m.pins[1:])), {"on": sketch.bar_with(*m.pins[1:])}
    elif m.kind == "cylinder":
        yield "add_cylinder", (name, *m.pins), {}
    elif m.kind == "spring":
        rest = float(f"{math.dist(*(sketch.pins[p] for p in m.pins)):.12g}")
        keywords = {"stiffness": m.values["stiffness"], "rest_length": rest}
        yield "add_spring", (name, *map(AtPin, m.pins)), keywords
    elif m.kind == "damper":
        yield "add_damper", (name, *map(AtPin, m.pins)), {"damping": m.values["damping"]}
    else:
        yield "add_motor", (name, m.pins[0]), {}


def linkage(sketch: Sketch, made: LinkagePlan | None = None) -> Linkage:
    """The mechanism of a sketch; made: its plan, where it is not that of `plan`."""
    made = plan(sketch) if made is None else made

    def where(place: tuple[Any, ...]) -> Any:
        if not any(isinstance(x, Dimension) for x in place):
            return place
        return lambda p: tuple(p[x.name] if isinstance(x, Dimension) else x for x in place)

    pins = {pin: where(place) for pin, place in made.pins.items()}
    m = Linkage(sketch.name, pins, sketch.ground, made.bodies, parameters=made.parameters)
    for method, arguments, keywords in made.calls:
        getattr(m, method)(*(m.pin(x.pin) if isinstance(x, AtPin) else x for x in arguments), **keywords)
    return m


# --- as Python ----------------------------------------------------------------------------------------------------


def python(sketch: Sketch) -> str:
    """The Python that makes the same mechanism, `system`."""
    made = plan(sketch)
    lines = [f"m = da.Linkage({quoted(sketch.name)}, {{"]
    for pin, place in made.pins.items():
        lambda_ = "lambda p: " if any(isinstance(x, Dimension) for x in place) else ""
        lines.append(f"    {quoted(pin)}: {lambda_}({', '.join(_text(x) for x in place)}),")
    values = ", ".join(f"{quoted(n)}: {shown(x)}" for n, x in made.parameters.items())
    bodies = ", ".join(f"{quoted(n)}: {quoted(pins)}" for n, pins in made.bodies.items())
    lines.append(f"}}, ground={quoted(' '.join(sketch.ground))}, bodies={{{bodies}}},")
    lines.append(f"    parameters={{{values}}})")
    for method, arguments, keywords in made.calls:
        text = [*map(_text, arguments), *(f"{k}={_text(x)}" for k, x in keywords.items())]
        lines.append(f"m.{method}({', '.join(text)})")
    return "\n".join([*lines, "system = m.compile()"])


def _text(x: Any) -> str:
    if isinstance(x, Dimension):
        return f"p[{quoted(x.name)}]"
    if isinstance(x, AtPin):
        return f"m.pin({quoted(x.pin)})"
    if isinstance(x, tuple):
        return f"({', '.join(map(_text, x))})"
    return quoted(x) if isinstance(x, str) else shown(x)
