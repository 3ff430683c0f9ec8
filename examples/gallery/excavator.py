"""An excavator draws its bucket along a straight line.

Boom, stick and bucket, three cylinders and the four-bar that turns the bucket: eleven bodies, four loops, three
degrees of freedom. `system.sweep(frames=...)` moves the tip of the teeth in a straight line at a constant angle of
the bucket: inverse kinematics along a path. `control.actuator_forces` gives the forces in the cylinders that
hold each position.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control

PINS = {
    "A": (0.0, 1.5), "B": (2.9, 4.0), "C": (5.3, 2.9), "D": (7.6, 1.2),  # foot, bend, head of the boom, stick
    "b0": (0.5, 1.2), "b1": (2.6, 3.3), "s0": (2.9, 4.3), "s1": (5.0, 3.6),  # cylinders of boom and stick
    "k0": (5.6, 3.4), "k1": (7.45, 1.95), "r": (7.2, 1.5), "c": (8.0, 1.4), "tip": (8.3, 0.1),  # bucket
}  # fmt: skip
BODIES = {"boom": "A B C b1 s0", "stick": "C D s1 k0 r", "bucket": "D c tip", "rocker": "r k1", "coupler": "k1 c"}
MASS = {"boom": 1200.0, "stick": 600.0, "bucket": 500.0, "rocker": 40.0, "coupler": 50.0}


def main(out) -> dict[str, object]:
    m = da.Linkage("excavator", PINS, "A b0", BODIES, mass=MASS)
    for name, a, b in (("boom cylinder", "b0", "b1"), ("stick cylinder", "s0", "s1"), ("bucket cylinder", "k0", "k1")):
        m.add_cylinder(name, a, b, masses=(90.0, 60.0))
    m.add_frame("teeth", m.pin("tip"))
    system = m.compile()
    start = system.pose(system.state(), "teeth")
    goals = np.tile(start, (61, 1, 1))
    goals[:, 0, 3] -= np.linspace(0.0, 3.0, 61)  # 3 m towards the cab, level, bucket not turned
    path = system.sweep(frames={"teeth": goals}, state=system.state())
    tip = path.position("teeth")
    cylinders = ["boom cylinder", "stick cylinder", "bucket cylinder"]
    resting = (path.state(k).replace(v=np.zeros(system.nv)) for k in range(len(path)))
    forces = np.array([control.actuator_forces(system, x).u for x in resting]) / 1e3
    rows = {
        "constraint rows, mobility": f"{len(system.row_names)}, {system.report(system.state()).mobility}",
        "positions reached": f"{len(path)} of {len(goals)}",
        "height of the teeth changes by (m)": float(np.ptp(tip[:, 1])),
    }
    rows |= {f"{c} moves by (m)": float(np.ptp(path[c])) for c in cylinders}
    rows |= {f"{c} pushes with, at most (kN)": float(f[np.abs(f).argmax()]) for c, f in zip(cylinders, forces.T)}
    panels = [
        Panel(
            "extension of the cylinders (m)", {c: (tip[:, 0], path[c]) for c in cylinders}, xlabel="x of the teeth (m)"
        ),
        Panel(
            "force that holds it (kN)",
            {c: (tip[:, 0], f) for c, f in zip(cylinders, forces.T)},
            xlabel="x of the teeth (m)",
        ),
    ]
    picture = Picture(system, [path.state(k) for k in (0, len(path) // 2, len(path) - 1)], [tip])
    return publish(out, "excavator", rows, [picture], panels, animated=path, traces=["teeth"])
