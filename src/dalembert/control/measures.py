"""Measures of constraint forces: combinations of multipliers, and forces of loops along chosen axes, S(q) λ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import choice, mapping, name, number, shown, vector
from dalembert.control.task import FrameGiven
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import explained
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.symbols import array, zeros
from dalembert.system.system import System
from dalembert.system.trace import Trace

UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Measure:
    """A combination of constraint forces that a controller sets or bounds; measures add, subtract and scale.

    Made by `combination` and `force_along`. rows: (row, factor) of multipliers. wrenches: (loop, kind, axis, axes,
    factor) of forces or moments along an axis (3,).

    >>> from dalembert import control
    >>> squeeze = 0.5 * (control.combination({"right.x": 1.0}) - control.combination({"left.x": 1.0}))
    >>> squeeze.rows
    (('right.x', 0.5), ('left.x', -0.5))
    """

    rows: tuple[tuple[str, float], ...] = ()
    wrenches: tuple[tuple[str, str, tuple[float, float, float], FrameGiven, float], ...] = ()

    def __add__(self, other: Measure) -> Measure:
        if not isinstance(other, Measure):
            raise ArgumentError(f"a measure is added to {shown(other)}; needed: another measure.")
        return Measure(self.rows + other.rows, self.wrenches + other.wrenches)

    def __mul__(self, factor: float) -> Measure:
        factor = number(factor, "the factor of a measure")
        return Measure(
            tuple((row, factor * x) for row, x in self.rows),
            tuple((*w[:4], factor * w[4]) for w in self.wrenches),
        )

    __rmul__ = __mul__

    def __neg__(self) -> Measure:
        return -1.0 * self

    def __sub__(self, other: Measure) -> Measure:
        return self + (-1.0 * other if isinstance(other, Measure) else other)

    def __post_init__(self) -> None:
        ok = isinstance(self.rows, tuple) and all(isinstance(r, tuple) and len(r) == 2 for r in self.rows)
        many = isinstance(self.wrenches, tuple) and all(isinstance(w, tuple) and len(w) == 5 for w in self.wrenches)
        if not (ok and many):
            raise ArgumentError(
                "a measure is made by control.combination({row: factor}) or control.force_along(loop, axis)."
            )
        for row, factor in self.rows:
            number(factor, f"the factor of '{name(row, 'the name of a row')}'")
        for loop, kind, axis, _, factor in self.wrenches:
            name(loop, "loop")
            choice(kind, ("force", "moment"), "kind")
            vector(axis, 3, "axis")
            number(factor, f"the factor of '{loop}'")


def _traced(measure: Measure, s: Trace) -> np.ndarray:
    """(m,) the factors of the multipliers in a measure."""
    names = s.rows.names
    out = zeros(len(names))
    for row, factor in measure.rows:
        out[names.index(row)] = out[names.index(row)] + factor
    loops = {c.name: c for c in s.d.constraints if isinstance(c, LoopJoint)}
    for loop, kind, axis, axes, factor in measure.wrenches:
        c = loops[loop]
        R = array(s.state.user().rotation(c.b)) @ c.joint.orientation
        along = np.array(axis) if axes == "ground" else array(s.state.user().rotation(axes)) @ np.array(axis)
        for row, jet, _ in c.jets(s.state)[1]:
            if f"{loop}.{row}" in names:
                k = names.index(f"{loop}.{row}")
                part = jet.G[3:] if kind == "force" else jet.G[:3]
                out[k] = out[k] + factor * (along @ (R @ part))
    return out


def _check(measure: Measure, system: System, what: str) -> None:
    """Refuse rows and loops that the mechanism does not have."""
    for row, _ in measure.rows:
        if row not in system.row_names:
            raise unknown("row", row, system.row_names, what)
    loops = [c.name for c in system.description.constraints if isinstance(c, LoopJoint)]
    for loop, *_, axes, _ in measure.wrenches:
        if loop not in loops:
            raise unknown("loop", loop, loops, what)
        if not isinstance(axes, (str, Frame, Body)):
            raise ArgumentError(f"frame is {shown(axes)} in {what}; needed: 'ground', a body, a frame or a name.")
        if axes != "ground":
            system.layout.frame(axes)


def combination(rows: Mapping[str, float]) -> Measure:
    """A combination of multipliers, Σ factor × λ of a row.

    rows: {"constraint.row": factor}; {"right.x": 0.5, "left.x": -0.5} is the mean squeeze of two hands.
    """
    given = mapping(rows, "rows")
    return Measure(tuple((name(r, "the name of a row"), number(x, f"the factor of '{r}'")) for r, x in given.items()))


@explained
def force_along(loop: str, axis: str | ArrayLike, *, frame: FrameGiven = "ground", kind: str = "force") -> Measure:
    """The force (N) or moment (N m) of a loop's joint on its frame b, along an axis.

    loop: the name that `close_loop(name, joint, a, b)` was given. axis: "x", "y", "z" or (3,), of which the direction
    counts. frame: the frame it is fixed in, a Frame, a Body or the name of one; "ground" for world axes. kind: "force"
    or "moment", about frame b's origin.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.two_arms().compile()
    >>> x = system.state(*zoo.two_arms_start(0.0, 0.6))
    >>> held = control.position("object", "xy") + control.orientation("object", "z")
    >>> still = control.quintic([0.0, 0.6, 0.0], [0.0, 0.6, 0.0], 1.0)
    >>> measures = {"push": control.force_along("grip", "x")}
    >>> law = control.hybrid_control(system, held, still, {"push": -25.0}, measures=measures)
    >>> round(law.explain(0.0, x).measures["push"], 9)
    -25.0
    """
    kind = choice(kind, ("force", "moment"), "kind")
    if isinstance(axis, str):
        direction = np.array(UNIT[choice(axis, tuple(UNIT), "axis")])
    else:
        direction = vector(axis, 3, "axis")
        if not np.linalg.norm(direction) > 0.0:
            raise ArgumentError(f"axis is {shown(axis)}; needed: a direction, not zero.")
        direction = direction / np.linalg.norm(direction)
    x, y, z = direction.tolist()
    return Measure((), ((name(loop, "loop"), kind, (x, y, z), frame, 1.0),))


def checked_measures(system: System, measures: Any) -> dict[str, Measure]:
    """Measures by name, or an error that says which is wrong."""
    found = dict(mapping({} if measures is None else measures, "measures"))
    for key, measure in found.items():
        if name(key, "the name of a measure") in system.row_names:
            raise ArgumentError(f"measure '{key}' has the name of a row; give it another.")
        if not isinstance(measure, Measure):
            raise ArgumentError(
                f"measure '{key}' is {shown(measure)}; needed: control.combination({{row: factor}}) or "
                "control.force_along(loop, axis)."
            )
        _check(measure, system, f"measure '{key}'")
    return found


def traced_measures(s: Trace, measures: Iterable[Measure]) -> np.ndarray:
    """S, (measures, m)."""
    rows = [_traced(m, s) for m in measures]
    return np.array(rows, dtype=object).reshape(len(rows), len(s.rows.names))
