"""Jansen's leg: a walking linkage of eleven bars.

One turn of the crank moves the foot along a closed path with a flat part, on which the machine walks. The lengths are
those that Theo Jansen published (his "holy numbers", in cm). `system.sweep` turns the crank once and gives
positions, velocities and the torque at a constant speed, without a simulation. The pins are drawn by intersecting
circles, which is also the closed form that the sweep is compared with.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert.zoo.planar import meet, unit

CM = [38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0]
A, B, C, D, E, F, G, H, I, J, K, L, M = np.array(CM) / 100
BODIES = {
    "crank": "O X", "upper": "X Y", "lower": "X W", "top": "Z Y V", "rod": "Z W", "link": "V U", "shin": "U W foot",
}  # fmt: skip


def pins(angle: float) -> dict[str, np.ndarray]:
    """All pins for a crank angle; Z is fixed at the origin, the crank turns about O."""
    Z, O = np.zeros(2), np.array([A, L])
    X = O + M * unit(angle)
    Y, W = meet(Z, B, X, J, 1), meet(Z, C, X, K, -1)
    V = meet(Z, D, Y, E, 1)
    U = meet(V, F, W, G, -1)
    return {"Z": Z, "O": O, "X": X, "Y": Y, "V": V, "W": W, "U": U, "foot": meet(U, H, W, I, -1)}


def main(out) -> dict[str, object]:
    system = da.Linkage("Jansen leg", pins(0.0), "O Z", BODIES, mass=0.5).compile()
    angles = np.linspace(0, 2 * np.pi, 181)
    turn = system.sweep({"O": angles}, system.state(), speed=2 * np.pi)
    foot, exact = turn.position("foot")[:, :2], np.array([pins(a)["foot"] for a in angles])
    torque = turn.driving_force("O")
    low = foot[:, 1] < foot[:, 1].min() + 0.1 * np.ptp(foot[:, 1])
    rows = {
        "distance of the foot from the closed form (m)": float(np.abs(foot - exact).max()),
        "length of a step, in the lowest tenth of the path (m)": float(np.ptp(foot[low, 0])),
        "part of a turn spent there": float(low.mean()),
        "largest torque on the crank at one turn a second (N m)": float(np.abs(torque).max()),
    }
    picture = Picture(system, [turn.state(k) for k in (30, 60, 90, 120, 0)], [turn.position("foot")])
    panels = [
        Panel("path of the foot (m)", {"": (foot[:, 0], foot[:, 1])}, xlabel="x (m)"),
        Panel("torque on the crank (N m)", {"": (np.degrees(angles), torque)}, xlabel="crank (degrees)"),
    ]
    return publish(out, "jansen", rows, [picture], panels, animated=turn, traces=["foot"])
