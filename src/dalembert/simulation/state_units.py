"""Units of the numbers of a state, and what the numbers are: plain rates, parts of quaternions."""

from __future__ import annotations

import numpy as np

from dalembert.mechanism.joints import Joint
from dalembert.rank import row_units
from dalembert.system.system import System


def gap_unit(system: System, p: np.ndarray | None = None) -> float:
    """The unit that residuals of all rows are measured by: 1 rad, the mechanism's length, or a row's own, the least."""
    length, rows = system.layout.length, system.rows
    least = min(1.0, length) if rows.angular.any() else length
    return min(least, float(row_units(system, p)[rows.own].min())) if rows.own.any() else least


def state_units(system: System, n: int, length: float) -> np.ndarray:
    """(n,) units of the numbers in x: the mechanism's length for slides, 1 for angles, quaternions and the rest.

    Those of the coordinates and velocities of a chart are its own.
    """
    layout, out = system.layout, np.ones(n)
    for name, a in layout.joints.items():
        unit = np.where(a.joint.angular, 1.0, length)
        out[system.nq : system.nq + system.nv][layout.v_slice(name)] = unit
        width = a.joint.nq - a.joint.nv  # a quaternion has one number more than its velocities
        out[: system.nq][layout.q_slice(name)] = np.concatenate([np.ones(width), unit])
    return out


def plain_rates(system: System) -> np.ndarray:
    """(nq,) the velocity that is the rate of a coordinate, or −1."""
    layout = system.layout
    out = np.full(system.nq, -1)
    for name, a in layout.joints.items():
        if type(a.joint).rates is Joint.rates:
            out[layout.q_slice(name)] = np.arange(system.nv)[layout.v_slice(name)]
    return out


def quaternion_places(system: System) -> np.ndarray:
    """Where in q quaternions begin: with the first number of a joint that has one."""
    layout = system.layout
    turning = (name for name, a in layout.joints.items() if type(a.joint).unit is not Joint.unit)
    return np.array([layout.q_slice(name).start for name in turning], dtype=np.int64)
