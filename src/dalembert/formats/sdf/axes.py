"""Axes of joints: their direction, and what acts along them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dalembert.formats.notes import Notes
from dalembert.formats.sdf.elements import flag, note_rest, number
from dalembert.formats.sdf.frames import Frames
from dalembert.formats.sdf.models import ScopedElement
from dalembert.formats.xml import Element
from dalembert.spatial import Transform


@dataclass(slots=True)
class Axis:
    """An axis of a joint (in the joint's frame) and what acts along it."""

    direction: np.ndarray
    limits: tuple[float, float] = (-inf, inf)
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    friction: float = 0.0
    initial: float = 0.0
    mimic: Element | None = None


def axis_of(found: ScopedElement, tag: str, T: Transform, frames: Frames, notes: Notes) -> Axis:
    """The axis of a joint whose frame is at T of the world."""
    e = found.element.only(tag)
    if e is None:
        notes.add(found.element, f"has no <{tag}>; SDF means its z axis")
        return Axis(np.array([0.0, 0.0, 1.0]))
    note_rest(e, ("xyz", "limit", "dynamics", "use_parent_model_frame", "initial_position", "mimic"), notes)
    xyz = e.only("xyz")
    n = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.numbers(None, 3, default=(0, 0, 1))
    inside = "" if xyz is None else xyz.get("expressed_in") or ""
    if found.scope.version < (1, 7):
        old = flag(e, "use_parent_model_frame", found.scope.version < (1, 5))
        inside = "__model__" if old and not inside else inside
    elif e.find("use_parent_model_frame"):
        notes.add(e.child("use_parent_model_frame"), "has no meaning since version 1.7; use expressed_in")
    if inside:
        n = T.R.T @ frames.pose(frames.find(found.scope, inside, xyz or e)).R @ n
    size = float(np.linalg.norm(n))
    if not size > 1e-12:
        raise (xyz or e).error(f"of {found.element} is a vector of length {size:g}; needed: a direction.")
    axis = Axis(n / size, initial=number(e, "initial_position", 0.0), mimic=e.only("mimic"))
    _limits(axis, e.only("limit"), notes)
    _dynamics(axis, e.only("dynamics"), notes)
    return axis


def _limits(axis: Axis, e: Element | None, notes: Notes) -> None:
    if e is None:
        return
    low, high = number(e, "lower", -inf, finite=False), number(e, "upper", inf, finite=False)
    low, high = (x if abs(x) < 1e16 else np.copysign(inf, x) for x in (low, high))
    if low > high:
        notes.add(e, f"the lower limit, {low:g}, exceeds the upper one, {high:g}; both are left out")
    else:
        axis.limits = low, high
    if low == high:
        notes.add(e, "its limits meet, which holds it in a simulator; here limits are data, and it moves")
    strong = [k for k in ("effort", "velocity") if 0 <= number(e, k, inf, finite=False) < 1e16]
    if strong:
        notes.add(e, f"limits of {' and '.join(strong)} are not modelled")
    note_rest(e, ("lower", "upper", "effort", "velocity"), notes)


def _dynamics(axis: Axis, e: Element | None, notes: Notes) -> None:
    if e is None:
        return
    axis.damping, axis.stiffness = number(e, "damping", 0.0), number(e, "spring_stiffness", 0.0)
    axis.rest = number(e, "spring_reference", 0.0)
    axis.friction = number(e, "friction", 0.0)
    if axis.friction < 0.0:
        notes.add(e.child("friction"), "negative friction is left out")
        axis.friction = 0.0
    note_rest(e, ("damping", "spring_stiffness", "spring_reference", "friction"), notes)
