"""A sketch: pins and the members between them, as a value; every operation gives another sketch.

Pins are points of the x-y plane, y up, in m. Members are bars and plates by the pins they join, sliders, springs,
dampers, cylinders and motors. `sketch_linkage` makes a `da.Linkage` of a sketch, `planar` finds how it moves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError, unknown

FARTHEST = 1e4  # of a coordinate, m: a hundred of the largest machines, and far from where rounding is seen
CLOSEST = 1e-6  # m between pins of a member: a hundredth of the finest grid
MOST = 200  # pins, and members
STEPS = 200  # that can be undone
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,23}")
TAKEN = ("along", "across", "ground")  # words in names of parameters, and the name of the fixed body

Point = tuple[float, float]

#: number of pins of each kind (least, most), and its values with what they are when nothing is said
KINDS: dict[str, tuple[int, int, dict[str, float]]] = {
    "bar": (2, MOST, {}),
    "slider": (1, 3, {"angle": 0.0}),
    "spring": (2, 2, {"stiffness": 100.0}),
    "damper": (2, 2, {"damping": 10.0}),
    "cylinder": (2, 2, {}),
    "motor": (1, 1, {}),
}


@dataclass(frozen=True)
class Member:
    """A part of a sketch: its kind, the pins it joins, its values.

    A slider's first pin moves along a line: at an angle (rad) to the x axis in the ground, or along the bar that has
    its second and third pin.
    """

    kind: str
    pins: tuple[str, ...]
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Sketch:
    """Pins by name, those that are fixed to the ground, those whose path is drawn, and members by name."""

    name: str = "sketch"
    pins: Mapping[str, Point] = field(default_factory=dict)
    ground: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    members: Mapping[str, Member] = field(default_factory=dict)

    # --- pins ---------------------------------------------------------------------------------------------------

    def with_pin(self, at: Sequence[float]) -> tuple[Sketch, str]:
        """A new pin at (x, y), and its name: the first free one of A to Z, then A1, B1 and so on."""
        if len(self.pins) >= MOST:
            raise ArgumentError(f"the sketch has {MOST} pins, the most it can have.")
        taken = {*self.pins, *self.members}
        letters = (f"{chr(65 + k % 26)}{k // 26 or ''}" for k in range(27 * MOST))
        name = next(n for n in letters if n not in taken)
        return replace(self, pins={**self.pins, name: point(at, f"pin '{name}'")}), name

    def moved(self, places: Mapping[str, Any]) -> Sketch:
        """Pins put elsewhere."""
        found = {self.known(pin): point(at, f"pin '{pin}'") for pin, at in places.items()}
        out = replace(self, pins={**self.pins, **found})
        for m in self.members.values():
            if not set(m.pins).isdisjoint(found):
                out.check_apart(m)
        return out

    def grounded(self, pin: str, on: bool) -> Sketch:
        """A pin fixed to the ground, or freed."""
        pin = self.known(pin)
        if on and any(m.kind == "slider" and m.pins[0] == pin for m in self.members.values()):
            raise ArgumentError(f"pin '{pin}' has a slider, which moves; needed: another pin, or no slider.")
        return replace(self, ground=toggled(self.ground, pin, on))

    def with_trace(self, pin: str, on: bool) -> Sketch:
        """A pin whose path is drawn, or not any more."""
        return replace(self, traced=toggled(self.traced, self.known(pin), on))

    def known(self, pin: Any) -> str:
        """The name of a pin, if there is one."""
        if not isinstance(pin, str) or pin not in self.pins:
            raise unknown("pin", pin, self.pins)
        return pin

    # --- members ------------------------------------------------------------------------------------------------

    def with_member(self, kind: Any, pins: Any, values: Any = None) -> Sketch:
        """A member between pins, each by its name or as (x, y) where there is none yet."""
        kind = checks.choice(kind, KINDS, "the kind of a member")
        least, most, usual = KINDS[kind]
        if len(self.members) >= MOST:
            raise ArgumentError(f"the sketch has {MOST} members, the most it can have.")
        sketch, names = self, []
        for pin in checks.items(pins, f"the pins of a {kind}", "names or places of pins"):
            if isinstance(pin, str):
                names.append(sketch.known(pin))
            else:
                sketch, name = sketch.with_pin(pin)
                names.append(name)
        if not least <= len(names) <= most or len(set(names)) < len(names) or (kind == "slider" and len(names) == 2):
            needed = {"slider": "one, or one and two of a bar", "bar": "two or more, each once"}.get(kind, str(least))
            raise ArgumentError(f"a {kind} has the pins {names}; needed: {needed}.")
        known = {**usual, **checked_values(kind, {} if values is None else values)}
        member = Member(kind, tuple(names), known)
        sketch.check_member(member)
        name = next(n for k in range(1, 2 * MOST + 2) if (n := f"{kind}{k}") not in {*self.members, *sketch.pins})
        return replace(sketch, members={**self.members, name: member})

    def check_member(self, member: Member) -> None:
        """Raise where a member cannot be in this sketch."""
        pins = member.pins
        if member.kind == "motor" and any(m.kind == "motor" and m.pins == pins for m in self.members.values()):
            raise ArgumentError(f"pin '{pins[0]}' has a motor already.")
        if member.kind == "slider":
            if pins[0] in self.ground:
                raise ArgumentError(f"pin '{pins[0]}' is on the ground and cannot slide; needed: another pin.")
            if any(m.kind == "slider" and m.pins[0] == pins[0] for m in self.members.values()):
                raise ArgumentError(f"pin '{pins[0]}' has a slider already.")
            if len(pins) == 3 and self.bar_with(pins[1], pins[2]) is None:
                raise ArgumentError(f"no bar has the pins '{pins[1]}' and '{pins[2]}' that a slider is to move along.")
        self.check_apart(member)

    def check_apart(self, member: Member) -> None:
        """Raise where two pins of a member are at one place."""
        at = self.pins
        pairs = edges(member) if member.kind == "bar" else [member.pins[:2]] if len(member.pins) == 2 else []
        near = [(a, b) for a, b in pairs if not math.dist(at[a], at[b]) > CLOSEST]
        if near:
            raise ArgumentError(f"pins '{near[0][0]}' and '{near[0][1]}' are at one place; needed: two places.")

    def bar_with(self, a: str, b: str) -> str | None:
        """The bar or plate that has two pins."""
        found = (name for name, m in self.members.items() if m.kind == "bar" and a in m.pins and b in m.pins)
        return next(found, None)

    def with_values(self, member: Any, values: Any) -> Sketch:
        """Other values of a member."""
        if not isinstance(member, str) or member not in self.members:
            raise unknown("member", member, self.members)
        old = self.members[member]
        new = replace(old, values={**old.values, **checked_values(old.kind, values)})
        return replace(self, members={**self.members, member: new})

    def without(self, names: Iterable[Any]) -> Sketch:
        """Without pins and members; a bar or plate keeps its other pins if these are two or more."""
        gone = [checks.choice(n, [*self.pins, *self.members], "what is deleted") for n in names]
        pins = {n: at for n, at in self.pins.items() if n not in gone}
        members = {}
        for name, m in self.members.items():
            left = tuple(p for p in m.pins if p in pins)
            if name in gone or (len(left) < len(m.pins) and (m.kind != "bar" or len(left) < 2)):
                continue
            members[name] = replace(m, pins=left)
        ground, traced = (tuple(n for n in group if n in pins) for group in (self.ground, self.traced))
        out = replace(self, pins=pins, ground=ground, traced=traced, members=members)
        lost = [
            n for n, m in members.items() if m.kind == "slider" and len(m.pins) == 3 and not out.bar_with(*m.pins[1:])
        ]
        return out.without(lost) if lost else out

    def copied(self, names: Iterable[Any], by: Sequence[float]) -> Sketch:
        """With copies of pins, moved by (x, y), and of the members all whose pins are among them."""
        dx, dy = point(by, "the way of a copy")
        out, new = self, {}
        for pin in dict.fromkeys(self.known(n) for n in names):
            x, y = self.pins[pin]
            out, new[pin] = out.with_pin((x + dx, y + dy))
            for pins, mark in ((self.ground, Sketch.grounded), (self.traced, Sketch.with_trace)):
                out = mark(out, new[pin], True) if pin in pins else out
        for m in self.members.values():
            if all(pin in new for pin in m.pins):
                out = out.with_member(m.kind, [new[pin] for pin in m.pins], m.values)
        return out

    # --- as plain data ------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The sketch as plain data, for files and pages."""
        return {
            "name": self.name,
            "pins": {name: list(at) for name, at in self.pins.items()},
            "ground": list(self.ground),
            "traced": list(self.traced),
            "members": {
                name: {"kind": m.kind, "pins": list(m.pins), "values": dict(m.values)}
                for name, m in self.members.items()
            },
        }

    @classmethod
    def from_dict(cls, data: Any) -> Sketch:
        """The sketch of `to_dict`, checked as if it were drawn."""
        found = checks.mapping(data, "a sketch")
        out = cls(checks.name(found.get("name", "sketch"), "the name of a sketch")[:80])
        pins = checks.mapping(found.get("pins", {}), "pins")
        members = checks.mapping(found.get("members", {}), "members")
        if len(pins) > MOST or len(members) > MOST:
            raise ArgumentError(f"a sketch has {len(pins)} pins and {len(members)} members; needed: at most {MOST}.")
        for name in [*pins, *members]:
            if (
                not isinstance(name, str)
                or not NAME.fullmatch(name)
                or name in TAKEN
                or (name in pins and name in members)
            ):
                raise ArgumentError(
                    f"a pin or member is named {checks.shown(name)}; needed: a letter, then letters and digits, at "
                    f"most 24, each name once, and none of {', '.join(TAKEN)}."
                )
        out = replace(out, pins={name: point(at, f"pin '{name}'") for name, at in pins.items()})
        order = sorted(
            members.items(), key=lambda item: _kind(item[1]) == "slider"
        )  # bars that sliders move along first
        for name, given in order:
            m = checks.mapping(given, f"member '{name}'")
            drawn = out.with_member(m.get("kind"), m.get("pins"), m.get("values", {}))
            if len(drawn.pins) > len(out.pins):
                raise ArgumentError(f"member '{name}' has a pin without a name; needed: names of pins.")
            (new,) = set(drawn.members) - set(out.members)
            kept = {name if n == new else n: x for n, x in drawn.members.items()}
            out = replace(drawn, members=kept)
        out = replace(out, members={name: out.members[name] for name in members})
        for key, mark in (("ground", Sketch.grounded), ("traced", Sketch.with_trace)):
            for pin in checks.items(found.get(key, []), key, "a list of names"):
                out = mark(out, pin, True)
        return out


@dataclass(frozen=True)
class SketchHistory:
    """A sketch with those before it and those that were undone."""

    now: Sketch = field(default_factory=Sketch)
    before: tuple[Sketch, ...] = ()
    after: tuple[Sketch, ...] = ()

    def then(self, sketch: Sketch) -> SketchHistory:
        """With one step more."""
        return self if sketch == self.now else SketchHistory(sketch, (*self.before, self.now)[-STEPS:])

    def undo(self) -> SketchHistory:
        """One step back, if there is one."""
        if not self.before:
            return self
        return SketchHistory(self.before[-1], self.before[:-1], (self.now, *self.after))

    def redo(self) -> SketchHistory:
        """The step that was undone last."""
        if not self.after:
            return self
        return SketchHistory(self.after[0], (*self.before, self.now), self.after[1:])


def point(at: Any, what: str) -> Point:
    """(x, y) in m, finite and not too far away."""
    x, y = checks.vector(at, 2, what).tolist()
    if max(abs(x), abs(y)) > FARTHEST:
        raise ArgumentError(f"{what} is at ({x:g}, {y:g}); needed: at most {FARTHEST:g} m from the origin.")
    return x, y


def checked_values(kind: str, values: Any) -> dict[str, float]:
    """Values of a member of a kind."""
    out = {}
    for key, value in checks.mapping(values, f"the values of a {kind}").items():
        if key not in KINDS[kind][2]:
            raise unknown("value", key, KINDS[kind][2], f"a {kind}")
        out[key] = checks.number(value, f"{key} of a {kind}", least=None if key == "angle" else 0.0)
    return out


def edges(member: Member) -> list[tuple[str, str]]:
    """Pairs of pins whose distance a bar or plate keeps: each of a plate's pins with its first two."""
    if member.kind != "bar":
        return []
    first, second, *others = member.pins
    return [(first, second), *(pair for pin in others for pair in ((first, pin), (second, pin)))]


def toggled(group: tuple[str, ...], name: str, on: bool) -> tuple[str, ...]:
    """A group with a name in it, or without it."""
    rest = tuple(n for n in group if n != name)
    return (*rest, name) if on and name not in group else group if on else rest


def _kind(given: Any) -> Any:
    return given.get("kind") if isinstance(given, Mapping) else None


def snapped(
    sketch: Sketch, at: Sequence[float], radius: float, grid: float, without: Sequence[str] = ()
) -> Point | str:
    """Where a press is meant: the pin within a radius (m), else horizontals and verticals of pins, else the grid.

    without: pins that do not count, as those that are dragged.
    """
    x, y = point(at, "a press")
    others = {n: p for n, p in sketch.pins.items() if n not in without}
    near = min(others, key=lambda n: math.dist(others[n], (x, y)), default=None)
    if near is not None and math.dist(others[near], (x, y)) <= radius:
        return near
    return tuple(_level(c, [p[k] for p in others.values()], radius, grid) for k, c in enumerate((x, y)))  # type: ignore[return-value]


def _level(c: float, levels: Sequence[float], radius: float, grid: float) -> float:
    nearest: Callable[[float], float] = lambda level: abs(level - c)  # noqa: E731
    best = min(levels, key=nearest, default=math.inf)
    if abs(best - c) <= 0.5 * radius:
        return best
    line = round(c / grid) * grid if grid > 0 else c
    return float(f"{line:.12g}") if abs(line - c) <= radius else c
