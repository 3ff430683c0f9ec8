"""Angles of loops that are more than a right angle from closed: their rows alone would lead to the mirror branch.

The rows of a loop that keep axes parallel are sines, which vanish at 180° too, and from beyond 90° Newton's method goes
there. R, of one half of the cut joint in the other, is known from the rows and from the cosines of `Rows.branch`. So
are the rotation φ that closes the angles by the shortest way, and what the rows change by along it:

    dR = [φ] R,   φ = −log R,  or −θ (z × Rz)/‖z × Rz‖ where the angle about z is free.
"""

from __future__ import annotations

import numpy as np

from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.spatial import cross, matrix_quaternion, quaternion_log

ENTRIES = {"rx": (1, 2, -1.0), "ry": (0, 2, 1.0), "rz": (1, 0, 1.0)}  # row: the element of R that it is, and its sign


class Unfolding:
    """Wanted change of the rows of flipped loops, and their distance from closed."""

    def __init__(self, system: SystemLike, p: Parameters):
        self.system, self.p = system, p
        rows: dict[str, dict[str, int]] = {name: {} for name in system.rows.branch_of}
        for k, (name, whole) in enumerate(zip(system.rows.of, system.row_names)):
            row = whole.rpartition(".")[2]
            if name in rows and row in ENTRIES:
                rows[name][row] = k
        self.loops = []
        joints = {c.name: c.joint.closure for c in system.description.constraints if c.kind == "loop"}
        for name, own in rows.items():
            signs = [k for k, of in enumerate(system.rows.branch_of) if of == name]
            closure = joints.get(name, ())
            if own and {"rx", "ry"} <= set(closure) and len(signs) == (2 if "rz" in closure else 1):
                self.loops.append((own, signs))

    def __call__(self, state: StateLike, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far some rows are from 0, angles beyond a right one counted in full, and what they should change by."""
        phi = self.system.evaluate("constraints", state, p=self.p)[0]
        away, change = phi.copy(), -phi
        cosines = self.system.evaluate("branch", state, p=self.p)
        for own, signs in self.loops:
            if min(cosines[signs]) >= 0.0:
                continue
            sine = {name: sign * phi[own[name]] if name in own else 0.0 for name, (_, _, sign) in ENTRIES.items()}
            turn, R = _turn(sine, cosines[signs])
            dR = cross(turn, R)  # of every column
            total = float(np.linalg.norm(turn))
            for name, k in own.items():
                i, j, sign = ENTRIES[name]
                change[k] = sign * dR[i, j]
                away[k] = total / np.sqrt(len(own))
        return away[rows], change[rows]


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
