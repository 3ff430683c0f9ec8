"""Joints with numbers in the places of parameters, for files and pictures that know no parameters."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.joints.joint import AxisJoint, Joint
from dalembert.mechanism.joints.screw import Screw
from dalembert.mechanism.joints.universal import Universal
from dalembert.symbols import all_numbers

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism


def with_numbers(joint: Joint, number: Callable[[np.ndarray], np.ndarray]) -> Joint:
    """A joint with its axes at `number` of them."""
    if isinstance(joint, Universal):
        return type(joint)(*(number(n) for n in joint.given))
    assert isinstance(joint, AxisJoint)
    pitch: dict[str, Any] = {"pitch": joint.pitch} if isinstance(joint, Screw) else {}
    return type(joint)(number(joint.given), **pitch)


def axes_at_defaults(m: Mechanism) -> Mechanism:
    """The mechanism with the axes of its joints at the default parameters; itself where they have none in them."""

    def traced(joint: Joint) -> bool:
        return not all_numbers(joint.orientation)

    def number(x: np.ndarray) -> np.ndarray:
        return m.parameters.number(x, "an axis")

    joints = {n: a for n, a in m.joints.items() if traced(a.joint)}
    loops = {n: c for n, c in m.constraints.items() if isinstance(c, LoopJoint) and traced(c.joint)}
    if not joints and not loops:
        return m
    out = m.snapshot()
    for name, a in joints.items():
        out.joints[name] = replace(a, joint=with_numbers(a.joint, number))
    for name, c in loops.items():
        loop = out.constraints[name] = copy(c)
        loop.joint = with_numbers(c.joint, number)
    return out
