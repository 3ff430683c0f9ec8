"""Drivers: a coordinate, or a point, follows a function of time (rheonomic constraints)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.expression import Expressions, by_recipe
from dalembert.mechanism.traced import UserState
from dalembert.mechanism.values import shaped
from dalembert.symbols import is_number, to_sx


@by_recipe
def coordinate_driver(name: str, coordinate: str, motion: Callable[[ca.SX], Any], angular: bool) -> Expressions:
    """q = f(t); the multiplier is the force that drives it."""
    return Expressions(
        name,
        "driver",
        holonomic=[("drive", lambda s: s[coordinate] - components(motion, s.t, 1, name)[0])],
        angular=angular,
        text=f"driver of {coordinate}",
    )


@by_recipe
def point_driver(name: str, frame: Frame, motion: Callable[[ca.SX], Any]) -> Expressions:
    """The origin of a frame is at f(t), three functions, in the ground's axes."""

    def component(k: int) -> Callable[[Any], Any]:
        return lambda s: s.position(frame)[k] - components(motion, s.t, 3, name)[k]

    def forces(s: UserState, lam: Mapping[str, ca.SX]) -> list[tuple[Frame, ca.SX, ca.SX]]:
        return [(frame, ca.vertcat(lam["x"], lam["y"], lam["z"]), s.position(frame))]

    rows = [(letter, component(k)) for k, letter in enumerate("xyz")]
    text = f"driver of a point of {frame.body.name}"
    return Expressions(name, "driver", holonomic=rows, forces=forces, text=text)


def components(motion: Callable[[ca.SX], Any], t: ca.SX, n: int, name: str) -> ca.SX:
    """The n values of a motion at t; of a trajectory with rates, the values."""
    traced = getattr(motion, "function", None)
    value = traced.call([t])[0] if isinstance(traced, ca.Function) else motion(t)
    x = shaped(value, (n,), f"the motion of driver '{name}'")
    if not all(e == e for e in x if is_number(e)):
        raise DescriptionError(
            f"the motion of driver '{name}' gives NaN; was a CasADi symbol turned into a float? Use CasADi's functions "
            "(casadi.sin) in place of Python's."
        )
    return to_sx(x)
