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


def wheels_of(given: Sequence[tuple[Any, ...]]) -> tuple[Wheel, ...]:
    """Wheels on the bodies that joints turn: (joint, radius), and how far along the axis from the joint's place.

    None where one of them is no hinge, or no number.
    """
    found = []
    for joint, radius, *far in given:
        frame = _on(joint)[0]
        if not isinstance(joint.joint, Revolute) or not is_number(radius) or not all_numbers(frame.T.p):
            return ()
        turned = frame.T @ Transform(joint.joint.orientation, np.zeros(3))
        along = turned @ Transform(np.eye(3), np.array([0.0, 0.0, *far])) if far else turned
        found.append((Frame(frame.body, along), abs(float(radius)), 2))
    return tuple(found)


def gear_wheels(
    a: Attachment, b: Attachment, carrier: Attachment | None, ratio: Any, inside: bool
) -> tuple[Wheel, ...]:
    """Pitch circles of a gear pair on one body, or on the carrier and its axis: spur, bevel, worm."""
    one, other = _on(a)[1], _on(b)[1]
    if carrier is not None and one.body is not other.body:
        one, other = (f if f.body is carrier.child.body else carrier.child for f in (one, other))
    if one.body is not other.body or not is_number(ratio):
        return ()
    if not all(isinstance(j.joint, Revolute) and all_numbers(f.T.matrix()) for j, f in ((a, one), (b, other))):
        return ()
    n, m = (f.T.R.astype(float) @ j.joint.orientation.astype(float)[:, 2] for j, f in ((a, one), (b, other)))
    way, i = (other.T.p - one.T.p).astype(float), abs(float(ratio))
    if np.linalg.norm(np.cross(n, m)) > 1e-9:
        return wheels_of([(j, *sizes) for j, sizes in zip((a, b), _crossed(n, m, way, i))])
    far, sizes = float(np.linalg.norm(way - (way @ n) * n)), i - 1.0 if inside else i + 1.0
    if far == 0.0 or sizes == 0.0 or not (float(ratio) < 0 or inside):
        return ()
    ra = far / abs(sizes)
    return wheels_of([(a, ra), (b, ra * i)])


def _crossed(n: np.ndarray, m: np.ndarray, way: np.ndarray, ratio: float) -> list[tuple[float, float]]:
    """Radii of wheels on axes n and m that are not parallel, and how far along them: bevel wheels that touch, a worm.

    way: from a place on n to one on m.
    """
    c = np.cross(n, m)
    places = [float(np.cross(way, x) @ c / (c @ c)) for x in (m, n)]  # where the axes are nearest
    apart = abs(float(way @ c)) / float(np.linalg.norm(c))
    if apart > 1e-9 * float(np.linalg.norm(way)):
        worm = 0.2 * apart, 0.8 * apart
        return list(zip(worm if ratio >= 1 else worm[::-1], places))
    out = [-1.0 if x > 0 else 1.0 for x in places]  # from the apex to the places
    angle = float(np.arccos(np.clip(out[0] * out[1] * (n @ m), -1.0, 1.0)))
    one = float(np.arctan2(np.sin(angle), ratio + np.cos(angle)))  # of the cone: sin δ_b = ratio sin δ_a
    cones = one, angle - one
    if not all(0.0 < x < np.pi / 2 for x in cones):
        return []
    length = max(abs(x) / np.cos(d) for x, d in zip(places, cones))
    if length == 0.0:
        return []
    return [(length * float(np.sin(d)), x + s * length * float(np.cos(d))) for d, x, s in zip(cones, places, out)]


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
