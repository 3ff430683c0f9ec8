"""Angles of loops that are more than a right angle from closed: their rows alone would lead to the mirror branch.

The rows of a loop that keep axes parallel are sines, which vanish at 180° too, and from beyond 90° Newton's method goes
there. R, of one half of the cut joint in the other, is known from the rows and from the cosines of `Rows.branch`. So
are the rotation φ that closes the angles by the shortest way, and what the rows change by along it:

    dR = [φ] R,   φ = −log R,  or −θ (z × Rz)/‖z × Rz‖ where the angle about z is free.

The row of a thread is h sin α, α the angle off the thread: it vanishes half a turn off too. With |h| cos α from
`Rows.branch`, α is known, and what the row changes by along −α.
"""

from __future__ import annotations

import numpy as np

from dalembert.protocols import SystemLike
from dalembert.spatial import cross, matrix_quaternion, quaternion_log

ENTRIES = {"rx": (1, 2, -1.0), "ry": (0, 2, 1.0), "rz": (1, 0, 1.0)}  # row: the element of R that it is, and its sign


class ReversedAxes:
    """Wanted change of the rows of reversed loops, and their distance from closed."""

    def __init__(self, system: SystemLike):
        own: dict[str, dict[str, int]] = {name: {} for name in system.rows.branch_of}
        for k, (name, whole) in enumerate(zip(system.rows.of, system.row_names)):
            if name in own:
                own[name][whole.rpartition(".")[2]] = k
        signs: dict[str, dict[str, int]] = {name: {} for name in own}
        for k, (name, what) in enumerate(zip(system.rows.branch_of, system.rows.branch_signs)):
            signs[name][what] = k
        self.loops, self.threads = [], []
        for c in system.description.constraints:
            if c.name not in own or c.kind != "loop":
                continue
            angles = {row: k for row, k in own[c.name].items() if row in ENTRIES}
            axes = [signs[c.name].get(what, -1) for what in ("z", "x")[: 2 if "rz" in c.joint.closure else 1]]
            if angles and {"rx", "ry"} <= set(c.joint.closure) and max(axes) >= 0:
                self.loops.append((angles, axes))
            if "thread" in signs[c.name]:
                self.threads.append((own[c.name]["thread"], signs[c.name]["thread"]))

    def __call__(self, phi: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far rows Φ (m,) are from 0, angles beyond a right one counted in full, and what they should change by.

        signs: the cosines of `Rows.branch`.
        """
        away, change = phi.copy(), -phi
        branch = [*signs, 1.0]  # the last: of axes that are never reversed
        for k, i in self.threads:
            if branch[i] < 0.0:
                angle = np.arctan2(phi[k], branch[i])
                change[k], away[k] = -branch[i] * angle, np.hypot(phi[k], branch[i]) * abs(angle)
        for own, axes in self.loops:
            cosines = np.array([branch[i] for i in axes])
            if min(cosines) >= 0.0:
                continue
            sine = {name: sign * phi[own[name]] if name in own else 0.0 for name, (_, _, sign) in ENTRIES.items()}
            turn, R = _turn(sine, cosines)
            dR = cross(turn, R)  # of every column
            total = float(np.linalg.norm(turn))
            for name, k in own.items():
                i, j, sign = ENTRIES[name]
                change[k] = sign * dR[i, j]
                away[k] = total / np.sqrt(len(own))
        return away, change


def _turn(sine: dict[str, float], cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(3,) the rotation that closes the angles, in the axes of the first half, and R as far as it is known."""
    z = np.array([sine["ry"], sine["rx"], cosines[0]])
    z /= np.linalg.norm(z)
    if len(cosines) == 1:
        axis = np.array([-z[1], z[0], 0.0])  # z × Rz
        size = float(np.linalg.norm(axis))
        axis = axis / size if size > 1e-9 else np.array([1.0, 0.0, 0.0])  # either way is as long
        return -np.arctan2(size, z[2]) * axis, np.column_stack([np.zeros(3), np.zeros(3), z])
    third = -(cosines[1] * z[0] + sine["rz"] * z[1]) / z[2] if abs(z[2]) > 1e-6 else 0.0
    x = np.array([cosines[1], sine["rz"], third])
    x -= (x @ z) * z
    x /= max(float(np.linalg.norm(x)), 1e-300)
    R = np.column_stack([x, cross(z, x), z])
    return -np.asarray(quaternion_log(matrix_quaternion(R)), dtype=float), R
