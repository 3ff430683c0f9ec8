"""One tracing of a mechanism: symbols for its arguments, and what the recursions make of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import Constraint
from dalembert.mechanism.forces import Force
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions import kinematics
from dalembert.recursions.newton_euler import newton_euler
from dalembert.symbols import symbols, zeros
from dalembert.system.prescribed import Led, led_velocities
from dalembert.system.rows import ConstraintRows
from dalembert.system.sharing import Shared
from dalembert.system.sliding import Loaded, Sliding, add_sliding


@dataclass(frozen=True)
class Description:
    """The data of a mechanism that the functions need, as it was when compiled."""

    layout: TreeLayout
    whole: TreeLayout  # the same with a link for every body, fixed ones included
    gravity: np.ndarray
    forces: tuple[Force, ...]
    constraints: tuple[Constraint, ...]
    inputs: Mapping[str, ca.SX]
    parameters: Mapping[str, ca.SX]
    sliding: tuple[Sliding, ...] = ()  # contacts, where a phase of a run has some
    loaded: tuple[Loaded, ...] = ()  # joints whose friction grows with their reaction, the same
    shared: tuple[Shared, ...] = ()  # contacts, where some of them are redundant

    @cached_property
    def prescribed(self) -> dict[str, int]:
        """The place in v of the coordinate that each kinematic input prescribes, by the input's name."""
        return led_velocities(self.layout, self.forces)


class Trace:
    """One tracing: fresh symbols for the arguments, and what the recursions make of them, each made when asked for."""

    base: Trace | None = None  # another tracing, with the same symbols, that has made some of it already

    def __init__(self, description: Description, chosen: tuple[int, ...] | None = None):
        """`chosen`: the rows of the constraints to use, where not all."""
        self.d, self.chosen = description, chosen
        tree = description.layout.tree
        self.tree = tree
        self.sx: dict[str, ca.SX] = {
            "u": ca.vertcat(*description.inputs.values()),
            "p": ca.vertcat(*description.parameters.values()),
        }
        for name, n in {"q": tree.nq, "v": tree.nv, "a": tree.nv, "tau": tree.nv, "t": 1}.items():
            self.sx[name], x = symbols(name, n)
            setattr(self, name, x)
        self.sx["dq"], self.dq = symbols("dq", tree.nv)
        self.sx["lam"] = ca.SX(0, 1)
        self.sx["q1"], self.q1 = symbols("q1", tree.nq)
        self.sx["place"], self.place = symbols("place", 12)  # of a frame in its body: rotation, position

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    t: np.ndarray

    def again(self, chosen: tuple[int, ...] | None) -> Trace:
        """A tracing with the same symbols, and more of its own, that uses what this one makes."""
        s = object.__new__(Trace)
        s.base, s.d, s.tree, s.chosen, s.sx = self, self.d, self.tree, chosen, dict(self.sx)
        for name in ("q", "v", "a", "tau", "t", "dq", "q1", "place"):
            setattr(s, name, getattr(self, name))
        return s

    @cached_property
    def at(self) -> Any:
        """The tree at (q, v)."""
        return self.tree.moving(self.q, self.v) if self.base is None else self.base.at

    @cached_property
    def state(self) -> TracedState:
        """The state as forces see it."""
        return TracedState(self.d.layout, self.at, self.t[0]) if self.base is None else self.base.state

    @cached_property
    def load(self) -> Load:
        """Load of the described forces; friction that depends on what presses needs rows that are independent."""
        if self.base is not None and not self._has_own_load:
            return self.base.load
        load = Load.of(self.d.forces, self.state)
        if self.d.sliding or self.d.loaded:
            add_sliding(self, self.d.sliding, self.d.loaded, load)
        return load

    @property
    def _has_own_load(self) -> bool:
        """Whether forces depend on which rows are chosen."""
        return self.chosen is not None and bool(self.d.sliding or self.d.loaded)

    @cached_property
    def rows(self) -> ConstraintRows:
        """Rows of the described constraints, without trivial rows."""
        rows = ConstraintRows.traced(self.d.constraints, self.state) if self.base is None else self.base.rows
        return rows if self.chosen is None else rows.only(self.chosen)

    @cached_property
    def led(self) -> Led:
        """The coordinates that kinematic inputs lead."""
        return Led(self)

    @cached_property
    def force(self) -> np.ndarray:
        """f = Q − h."""
        if self.base is not None and not self._has_own_load:
            return self.base.force
        return self.load.tau - newton_euler(self.at, zeros(self.tree.nv), self.d.gravity, self.load.wrenches)

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers, one for each row and for each row left out."""
        self.sx["lam"], x = symbols("lam", len(self.rows.all_named))
        return x

    def multipliers_of(self, constraint: str) -> dict[str, Any]:
        """Multipliers of a constraint by row."""
        return {row: self.lam[k] for k, (of, row) in enumerate(self.rows.all_named) if of == constraint}

    def per_joint(self, call: Callable[[Any, slice, slice], Any]) -> np.ndarray:
        """Concatenated values of a function of each joint."""
        return np.concatenate([zeros(0), *(call(k.joint, k.q, k.v) for k in self.tree.links)])

    def frame(self, frame: Frame, axes: str) -> tuple[Any, Any, Any]:
        """Link, offset and rotation to the wanted axes (None for the frame's own)."""
        link, offset = self.d.layout.locate(frame)
        R = kinematics.pose(self.at, link, offset).R if axes == "world" else None
        return link, offset, R


KEPT, LARGE = 3, 128  # tracings that a thread keeps for the next function; velocities above which it keeps one alone
_kept = threading.local()


def recent_trace(description: Description, rows: tuple[int, ...] | None = None) -> Trace:
    """A tracing that shares symbols, and all that was made then, with the last ones of its description."""
    bases = vars(_kept).setdefault("bases", [])
    base = next((s for s in bases if s.d is description), None)
    if base is None:
        base = Trace(description)
        bases.insert(0, base)
        del bases[1 if any(s.tree.nv > LARGE for s in bases) else KEPT :]
    return base.again(rows)


def forget_trace(description: Description) -> None:
    """Let go of the tracings of a description: those of large mechanisms take a megabyte for three velocities."""
    bases = vars(_kept).get("bases", [])
    bases[:] = [s for s in bases if s.d is not description]
