"""Coordinates that lead by name: of tree joints, of joints that close loops, or any function of the positions.

Charts and linear models take the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import ArgumentError, UnknownName, unknown
from dalembert.mechanism.constraints import Constraint, Expressions, LoopJoint, Row
from dalembert.mechanism.constraints.expression import RowDerivatives
from dalembert.mechanism.traced import TracedState, UserState
from dalembert.spatial import Transform
from dalembert.symbols import to_sx
from dalembert.system.system import System
from dalembert.system.trace import Trace

Given = str | tuple[str, Callable[[UserState], Any]]  # a coordinate as users give it


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A velocity of the tree (`index`), or a function of the positions (`row`), by name."""

    name: str
    index: int | None  # of the velocity
    row: Constraint | None = None  # one row, which does not act
    angular: bool = False  # an angle that may jump by 2π
    function: Callable[[UserState], Any] | None = None  # the user's, if it is one

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for coordinates that are traced alike."""
        return self.name, self.function

    def gap(self, system: System, s: Trace, y: ca.SX) -> ca.SX:
        """Its value at a trace, less y; of a cut joint's angle the difference within half a turn."""
        if self.row is None:
            return s.sx["q"][system.q_names.index(self.name)] - y
        gap = to_sx([self.row.rows(s.state)[0].phi]) - y
        return ca.atan2(ca.sin(gap), ca.cos(gap)) if self.angular else gap


class CutCoordinate(Constraint):
    """A coordinate of a joint that closes a loop, as a row that does not act."""

    kind = "coordinate"

    def __init__(self, loop: LoopJoint, k: int, name: str):
        self.loop, self.k, self.name = loop, k, name

    def rows(self, s: TracedState) -> list[Row]:
        r, derivatives = self.loop.relative(s), RowDerivatives(s)
        phi = to_sx([self.loop.joint.locate(Transform(r.R, r.p))[self.k]])
        return [derivatives.row(self.name, phi, derivatives.rate(phi), True, self.loop.joint.angular[self.k])]


def cut_coordinates(system: System) -> dict[str, tuple[LoopJoint, int]]:
    """(loop, index) of the coordinates of joints that close loops, by name; joints with quaternions have none."""
    out = {}
    for c in system.description.constraints:
        if isinstance(c, LoopJoint) and c.joint.nq == c.joint.nv:
            for k, suffix in enumerate(c.joint.coordinate_names):
                out[f"{c.name}.{suffix}" if suffix else c.name] = c, k
    return out


def coordinate(system: System, given: Given, where: str = "independent") -> Coordinate:
    """From the name of a tree velocity, of a cut joint's coordinate, or (name, function of the state).

    where: the argument it came from, for messages.
    """
    if not isinstance(given, str):
        name, f = name_and_function(given, where)
        if name in system.v_names:
            raise ArgumentError(f"'{name}' is a joint's own coordinate; give your function another name.")
        return Coordinate(name, None, Expressions(name, "coordinate", holonomic=[(name, f)]), function=f)
    if given in system.v_names:
        return Coordinate(given, system.v_names.index(given))
    cut = cut_coordinates(system)
    if given not in cut:
        raise unknown("coordinate", given, [*system.v_names, *cut], where)
    loop, k = cut[given]
    return Coordinate(given, None, CutCoordinate(loop, k, given), loop.joint.angular[k])


def leader(system: System, given: Any) -> Coordinate:
    """A coordinate for a chart: a velocity must have a coordinate of its own, which those of quaternions lack."""
    if isinstance(given, str) and given in system.v_names and given not in system.q_names:
        known = ", ".join([*(n for n in system.q_names if n in system.v_names), *cut_coordinates(system)][:12])
        raise UnknownName(
            f"coordinates asks for '{given}', the speed of a quaternion, which is not the rate of a coordinate; those "
            f'that can lead: {known or "none"}. coordinates="tangent" needs no names.'
        )
    return coordinate(system, given, "coordinates")


def named_list(given: Any, what: str) -> list[Any]:
    """A list of names, or of (name, function) pairs, as users give it."""
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"{what} is {checks.shown(given)}; needed: a list of names.")
    return list(given)


def name_and_function(given: Any, what: str) -> tuple[str, Callable[[UserState], Any]]:
    """A pair (name, function of the state), as users give it."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise ArgumentError(
            f"an element of {what} is {checks.shown(given)}; needed: a name, or (name, function of the state)."
        )
    name = checks.name(given[0], f"the name of a function in {what}")
    return name, checks.function(given[1], f"'{name}' in {what}")
