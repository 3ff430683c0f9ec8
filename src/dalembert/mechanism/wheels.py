"""Wheels of gears and belts, for pictures: where they are and how large, from the joints they turn in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import Expressions
from dalembert.mechanism.joints import Revolute
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers, is_number

Wheel = tuple[Frame, float, int]  # the frame at its centre, its radius, the axis about which it turns


def wheels_of(given: Sequence[tuple[Attachment, Any]]) -> tuple[Wheel, ...]:
    """Wheels of radii on the bodies that joints turn; none where one of them is no hinge, or no number."""
    found = []
    for joint, radius in given:
        frame = _on(joint)[0]
        if not isinstance(joint.joint, Revolute) or not is_number(radius) or not all_numbers(frame.T.p):
            return ()
        turned = Frame(frame.body, frame.T @ Transform(joint.joint.orientation, np.zeros(3)))
        found.append((turned, abs(float(radius)), 2))
    return tuple(found)


def gear_wheels(
    a: Attachment, b: Attachment, carrier: Attachment | None, ratio: Any, inside: bool
) -> tuple[Wheel, ...]:
    """Pitch circles of a gear pair, which touch: of parallel axes on one body, or on the carrier and its axis."""
    one, other = _on(a)[1], _on(b)[1]
    if carrier is not None and one.body is not other.body:
        one, other = (f if f.body is carrier.child.body else carrier.child for f in (one, other))
    if one.body is not other.body or not is_number(ratio) or not (float(ratio) < 0 or inside):
        return ()
    if not all(isinstance(j.joint, Revolute) and all_numbers(f.T.matrix()) for j, f in ((a, one), (b, other))):
        return ()
    n, m = (f.T.R.astype(float) @ j.joint.orientation.astype(float)[:, 2] for j, f in ((a, one), (b, other)))
    way, i = (other.T.p - one.T.p).astype(float), abs(float(ratio))
    far, sizes = float(np.linalg.norm(way - (way @ n) * n)), i - 1.0 if inside else i + 1.0
    if abs(n @ m) < 1 - 1e-9 or far == 0.0 or sizes == 0.0:
        return ()
    ra = far / abs(sizes)
    return wheels_of([(a, ra), (b, ra * i)])


def picture(elements: dict[str, Any], name: str, wheels: Sequence[Any], path: Sequence[Any] = ()) -> None:
    """Give a coupling, a constraint or a force, the wheels of its picture and what a belt runs around."""
    element, known = elements[name], (tuple(wheels), tuple(path))
    if not wheels:
        return
    if isinstance(element, Expressions) and element.recipe is not None:
        make, given = element.recipe
        elements[name] = make(*given[:4], *known)
    else:
        element.wheels, element.path = known


def _on(joint: Attachment) -> tuple[Frame, Frame]:
    """The frames of a joint on the body that turns and on the one that carries it."""
    sides = joint.child, joint.parent
    return sides if sides[0].body.name != "ground" else sides[::-1]
