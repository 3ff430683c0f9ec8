"""Motions of a mechanism as columns of a table, by name and with units."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.joints import Joint

Named = tuple[dict[str, np.ndarray], dict[str, str]]  # columns, and their units


def motion_columns(
    system: Any,
    q: np.ndarray,
    v: np.ndarray,
    u: np.ndarray | None = None,
    vdot: np.ndarray | None = None,
    multipliers: np.ndarray | None = None,
) -> Named:
    """Columns "q.A", "v.A", and where they are there "vdot.A", "u.push", "lambda.C.x", with their units.

    q, v, u, vdot, multipliers: (N, …) each.
    """
    rates = speed_units(system)
    parts = [
        ("q", q, system.q_names, position_units(system)),
        ("v", v, system.v_names, rates),
        ("vdot", vdot, system.v_names, [f"{unit}²" for unit in rates]),
        ("u", u, system.u_names, input_units(system)),
        ("lambda", multipliers, system.row_names, multiplier_units(system)),
    ]
    return joined(*(columns(prefix, x, names, units) for prefix, x, names, units in parts if x is not None))


def columns(prefix: str, x: np.ndarray, names: Any, units: Any) -> Named:
    """The columns of x, (N, n), by name with a prefix, and their units."""
    keys = [f"{prefix}.{name}" for name in names]
    return dict(zip(keys, x.T, strict=True)), dict(zip(keys, units, strict=True))


def joined(*parts: Named) -> Named:
    """Columns one behind the other."""
    values: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}
    for more_values, more_units in parts:
        values |= more_values
        units |= more_units
    return values, units


def position_units(system: Any) -> list[str]:
    """rad or m of each coordinate; the numbers of a quaternion have none."""
    return [unit for a in system.layout.joints.values() for unit in _of_joint(a.joint)]


def _of_joint(joint: Joint) -> list[str]:
    if joint.nq == joint.nv:
        return ["rad" if turns else "m" for turns in joint.angular]
    return [*("1" for _ in range(4)), *("m" for _ in range(joint.nq - 4))]  # a unit quaternion comes first


def speed_units(system: Any) -> list[str]:
    """rad/s or m/s of each velocity."""
    return ["rad/s" if turns else "m/s" for a in system.layout.joints.values() for turns in a.joint.angular]


def input_units(system: Any) -> list[str]:
    """Those of motors, actuators and servos; nothing is known of other inputs."""
    known = {f.name: f.input_units for f in system.layout.mechanism.forces.values()}
    return [unit for name, n in system.arguments.input_sizes.items() for unit in known.get(name) or [""] * n]


def multiplier_units(system: Any) -> list[str]:
    """N m of rows that hold angles, N of the others."""
    return ["N m" if turns else "N" for turns in system.rows.angular]
