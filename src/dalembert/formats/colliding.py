"""Collision shapes of model files, kept as data with the friction that the file gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dalembert.errors import DescriptionError, ModelFileError
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element
from dalembert.mechanism.shapes import Collider, Shape
from dalembert.spatial import Transform

OFF = "contacts are not modelled until m.add_contacts makes them"


def collider(e: Element, shape: Callable[[Notes], Shape | None], notes: Notes, **law: Any) -> Collider | None:
    """The shape of an element that may touch others; None, and a note, where it is none.

    A file is not refused for it, as nothing else depends on it: shape(notes) may raise what it raises for pictures.
    """
    try:
        found = shape(Notes())
        return None if found is None else Collider(found, **law)
    except (ModelFileError, DescriptionError) as error:
        notes.add(e, f"is not kept as a shape that may touch: {error}")
        return None


def lenient(e: Element | None, attribute: str | None, notes: Notes) -> float | None:
    """A number ≥ 0 of an attribute or (None) the text; None where it is absent, and where it is bad, which is noted."""
    if e is None:
        return None
    try:
        x = e.number(attribute, None)
    except ModelFileError:
        x = -1.0
    if x is not None and x < 0.0:
        notes.add(e, "is no number of at least 0, and is not kept")
        return None
    return None if x is None else float(x)


def moved(colliders: list[Collider], T: Transform) -> list[Collider]:
    """Colliders in another frame, in which their own is at T."""
    return [replace(c, shape=c.shape.moved(T)) for c in colliders]
