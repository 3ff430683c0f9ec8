"""Drivers: a coordinate, or a point, follows a function of time (rheonomic constraints)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.traced import UserState


def coordinate_driver(name: str, coordinate: str, motion: Callable[[ca.SX], Any], angular: bool) -> Expressions:
    """q = f(t); the multiplier is the force that drives it."""
    return Expressions(
        name,
        "driver",
        holonomic=[("drive", lambda s: s[coordinate] - motion(s.t))],
        angular=angular,
        text=f"driver of {coordinate}",
    )


def point_driver(name: str, frame: Frame, motion: Callable[[ca.SX], Any]) -> Expressions:
    """The origin of a frame is at f(t), three functions, in the ground's axes."""

    def component(k: int) -> Callable[[Any], Any]:
        return lambda s: s.position(frame)[k] - ca.vertcat(*_three(motion(s.t)))[k]

    def forces(s: UserState, lam: Mapping[str, ca.SX]) -> list[tuple[Frame, ca.SX, ca.SX]]:
        return [(frame, ca.vertcat(lam["x"], lam["y"], lam["z"]), s.position(frame))]

    rows = [(letter, component(k)) for k, letter in enumerate("xyz")]
    text = f"driver of a point of {frame.body.name}"
    return Expressions(name, "driver", holonomic=rows, forces=forces, text=text)


def _three(value: Any) -> list[Any]:
    return [value[k] for k in range(3)]
