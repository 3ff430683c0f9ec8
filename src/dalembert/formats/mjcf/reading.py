"""State shared by the parts of the reader: MuJoCo's model, the mechanism being built, names, frames and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any

import numpy as np

from dalembert.formats.mjcf.compiling import Compiled
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element
from dalembert.mechanism.body import Frame
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import quaternion_matrix


@dataclass(slots=True, eq=False)
class Reading:
    """A file on its way to a mechanism."""

    of: Compiled
    m: Mechanism
    notes: Notes
    merge_fixed: bool
    ranges: bool = False  # whether those of actuators are kept
    stops: bool = False  # whether joints stop at their limits
    places: list[Frame] = field(default_factory=list)  # the frame of each MuJoCo body
    joints: list[str] = field(default_factory=list)  # the name of each MuJoCo joint
    sites: list[str] = field(default_factory=list)  # the name of the frame of each site
    inputs: dict[int, str] = field(default_factory=dict)  # the input of each actuator that has one
    force_inputs: set[int] = field(default_factory=set)  # actuators whose input is their force, without gain and bias
    gravity_off: list[tuple[Frame, float]] = field(default_factory=list)  # masses that gravity does not pull

    @property
    def model(self) -> Any:
        """MuJoCo's model."""
        return self.of.model

    def element(self, kind: str, k: int) -> Element:
        """Where part k of a kind is written."""
        known = self.of.elements[kind]
        return known[k] if k < len(known) else self.of.root

    def note(self, kind: str, k: int, text: str) -> None:
        """A note on part k of a kind."""
        self.notes.add(self.element(kind, k), text)

    def label(self, kind: str, k: int, *taken: Any, default: str = "", dots: bool = True) -> str:
        """A name for part k: the file's, or the default, or the kind with MuJoCo's number; then _2, _3, … where taken.

        dots=False: joints and constraints, whose names take no dots; each becomes '_'.
        """
        written = self.of.name(kind, k)
        name = written or default or f"{kind}{k}"
        if not dots:
            name = name.replace(".", "_")
        free = unused(name, *taken)
        if written and free != written:
            self.note(
                kind, k, f"is called '{free}' here: its own name is taken, or has a dot, which names here have not"
            )
        return free


def unused(name: str, *taken: Any) -> str:
    """The name, or the first of name_2, name_3, … that is in none of the collections."""
    if not any(name in names for names in taken):
        return name
    k = 2
    while any(f"{name}_{k}" in names for names in taken):
        k += 1
    return f"{name}_{k}"


def rotation(q: Any) -> np.ndarray:
    """The rotation matrix of a quaternion (w, x, y, z); of none where its length is 0, as MuJoCo takes it."""
    w, x, y, z = (float(e) for e in q)
    length = hypot(w, x, y, z)
    unit: Any = [e / length for e in (w, x, y, z)] if length > 0.0 else (1.0, 0.0, 0.0, 0.0)
    return quaternion_matrix(unit)


def control(model: Any, k: int) -> int:
    """The place of actuator k in arrays of controls; from MuJoCo 4 on, one can have several."""
    return int(model.actuator_ctrladr[k]) if hasattr(model, "actuator_ctrladr") else k


def output(model: Any, k: int) -> int:
    """The place of actuator k in arrays of forces and gears; from MuJoCo 4 on, one can have several."""
    return int(model.actuator_outadr[k]) if hasattr(model, "actuator_outadr") else k


def _drives(model: Any, target: int, on_tendon: bool) -> list[int]:
    """The actuators of a joint or tendon that can have rotors and dampers of their own."""
    if not model.nu or not hasattr(model, "actuator_armature"):
        return []
    kind = model.actuator_trntype
    return np.flatnonzero((model.actuator_trnid[:, 0] == target) & (kind == 3 if on_tendon else kind < 2)).tolist()


def rotors(model: Any, target: int, *, on_tendon: bool = False) -> float:
    """Armature that the rotors of actuators add to a joint or tendon."""
    found = _drives(model, target, on_tendon)
    return float(sum(model.actuator_armature[a] * model.actuator_gear[output(model, a), 0] ** 2 for a in found))


def dampers(model: Any, target: int, *, on_tendon: bool = False) -> np.ndarray:
    """(3,) linear, quadratic and cubic damping that actuators add to a joint or tendon."""
    out = np.zeros(3)
    for a in _drives(model, target, on_tendon):
        out += model.actuator_gear[output(model, a), 0] ** 2 * np.array(
            [model.actuator_damping[a], *model.actuator_dampingpoly[a]]
        )
    return out
