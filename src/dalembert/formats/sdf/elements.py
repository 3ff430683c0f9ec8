"""Small questions about elements of SDF: numbers, flags and poses in children, and what is left over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.formats.links import IDENTITY, pose
from dalembert.formats.notes import Notes
from dalembert.formats.xml import Element, shown
from dalembert.spatial import Transform, quaternion_matrix

#: why an element has no meaning here; others are said to be unknown
REASONS = {
    "actor": "actors are not modelled",
    "atmosphere": "the atmosphere is not modelled",
    "audio_sink": "sound is not modelled",
    "audio_source": "sound is not modelled",
    "battery": "batteries are not modelled",
    "collision": "contacts are not modelled",
    "enable_wind": "wind is not modelled",
    "fluid_added_mass": "fluids are not modelled",
    "gripper": "grippers are not modelled",
    "gui": "the view of a simulator has no meaning here",
    "joint_state": "states of a simulator are not read",
    "light": "lights are not shown",
    "magnetic_field": "magnetic fields are not modelled",
    "material": "materials are kept as a colour only",
    "particle_emitter": "particles are not modelled",
    "physics": "settings of a physics engine have no meaning here",
    "plugin": "plugins are not run",
    "population": "populations are not read",
    "projector": "projectors are not modelled",
    "road": "roads are not modelled",
    "scene": "the look of a scene has no meaning here",
    "sensor": "sensors are not modelled",
    "spherical_coordinates": "places on the Earth have no meaning here",
    "state": "states of a simulator are not read",
    "velocity_decay": "the decay of velocities is not modelled",
    "wind": "wind is not modelled",
}


def note_rest(element: Element, known: Iterable[str], notes: Notes) -> None:
    """Say of each child of an element that is not among the known ones why it is not read."""
    known = set(known)
    for child in element.children:
        if child.tag not in known:
            notes.add(child, REASONS.get(child.tag, "is not known here and is left out"))


def number(element: Element, tag: str, default: float, *, finite: bool = True) -> float:
    """The number in a child, or the default."""
    child = element.only(tag)
    return default if child is None else child.number(None, default, finite=finite)


def text(element: Element, tag: str) -> str:
    """The text of a child, which must be there and not empty."""
    child = element.child(tag)
    if not child.text:
        raise child.error(f"of {element} is empty; needed: a name.")
    return child.text


def flag(element: Element, tag: str, default: bool = False) -> bool:
    """Whether a child says true or 1; the default where it is absent."""
    child = element.only(tag)
    if child is None or not child.text:
        return default
    word = child.text.lower()
    if word not in ("true", "false", "1", "0"):
        raise child.error(f"is {shown(child.text)}; needed: true or false.")
    return word in ("true", "1")


def pose_of(element: Element) -> tuple[Transform, str]:
    """The pose in an element, and the name it is relative to ('' where none is given)."""
    p = element.only("pose")
    if p is None:
        return IDENTITY, ""
    return placed(p), relative_to(p)


def relative_to(p: Element) -> str:
    """The name that a <pose> is relative to, '' where none is given; `frame` before version 1.7."""
    return p.get("relative_to") or p.get("frame") or ""


def placed(p: Element) -> Transform:
    """The pose that a <pose> holds: x y z roll pitch yaw, or x y z and a quaternion x y z w."""
    kind = p.choice("rotation_format", ("euler_rpy", "quat_xyzw"), "euler_rpy")
    degrees = p.choice("degrees", ("true", "false", "1", "0"), "false") in ("true", "1")
    if kind == "quat_xyzw":
        x = p.numbers(None, 7, default=(0, 0, 0, 0, 0, 0, 1))
        size = float(np.linalg.norm(x[3:]))
        if not 0.5 < size < 2.0:
            raise p.error(f"has a quaternion of length {size:.3g}; needed: 1, as x y z w.")
        return Transform(quaternion_matrix(x[[6, 3, 4, 5]] / size), x[:3])
    x = p.numbers(None, 6, default=(0, 0, 0, 0, 0, 0))
    return pose(x[:3], np.radians(x[3:]) if degrees else x[3:])


def known_names(names: Iterable[Any], wanted: str) -> str:
    """'known: a, b, …', with the nearest one named."""
    from difflib import get_close_matches

    some = [str(n) for _, n in zip(range(1000), names)]
    near = get_close_matches(wanted, some, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"known: {', '.join(some[:12]) or 'none'}{', …' if len(some) > 12 else ''}.{hint}"
