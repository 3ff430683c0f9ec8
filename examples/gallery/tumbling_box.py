"""A box tumbles to rest.

Thrown with a spin, it hits the floor with its eight corners, rolls over its edges and comes to rest on a face: by time
stepping, which finds the impulses of all corners of a step at once. What it loses is what contacts and friction took.
How four corners at rest share the weight is not determinate; the forces are those nearest to the step before.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

SIDES, MASS, FRICTION, G = np.array([0.3, 0.2, 0.12]), 2.0, 0.4, 9.81  # m, kg, -, m/s²


def thrown():
    m = da.Mechanism("box", gravity=(0, 0, -G))
    box = m.add_body("box", mass=MASS, inertia=da.box_inertia(MASS, SIDES))
    box.add_shape("box", SIDES)
    m.add_joint("free", da.Free(), m.ground, box)
    for k in range(8):
        corner = SIDES * [(k >> i & 1) - 0.5 for i in range(3)]
        m.add_contact(f"corner {k}", box.at(*corner), friction=FRICTION, restitution=0.2)
    return m.compile()


def main(out, span: float = 3.0) -> dict[str, object]:
    system = thrown()
    speeds = {"free.vx": 2.0, "free.vz": 1.0, "free.wx": 3.0, "free.wy": 9.0, "free.wz": -2.0}
    start = system.state({"free": [0.8, 0.4, 0.1, 0.4, 0, 0, 0.6]}, v=speeds)
    run = da.simulate(system, start, span, method="moreau", step=2.5e-4)
    force = np.array([run.multiplier(f"corner {k}.gap") for k in range(8)])
    rows = {
        "reached the end": run.success,
        "speed at the end (m/s, rad/s)": float(np.abs(run.v[-1]).max()),
        "height of its middle at the end (m)": float(run["free.z"][-1]),
        "  half of a side (m)": float(min(SIDES / 2, key=lambda h: abs(h - run["free.z"][-1]))),
        "corners on the floor at the end": int((run.gaps[-1] < 1e-9).sum()),
        "what they carry / weight": float(force[:, -1].sum() / (MASS * G)),
        "lost by contacts and friction (J)": -float(run.work["contacts"][-1]),
        "  loss of energy (J)": float(run.energy[0] - run.energy[-1]),
        "largest rise of the energy in a step (J)": float(np.diff(run.energy).max()),
        "corners in the floor, at most (m)": float(run.penetration.max()),
    }
    panels = [
        Panel("height of the middle (m)", {"": run["free.z"]}),
        Panel("energy (J)", {"": run.energy}),
        Panel("corners on the floor", {"": (run.gaps < 1e-6).sum(axis=1)}),
    ]
    shown = [run(t) for t in (0.0, 0.3, 0.55, 0.8, span)]
    return publish(out, "tumbling_box", rows, [Picture(system, shown, [run.q[:, 4:7]])], panels, run=run, animated=run)
