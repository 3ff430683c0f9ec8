"""A wheel without a rim walks down a slope.

Six spokes, a contact at the tip of each. It tips over the spoke it stands on, the next one hits the ground without
bouncing, the one behind leaves: the run finds out which ones bear, stick and leave. Each impact keeps the part η of
the speed, each step gains 2 m g l · 2 sin α sin γ of energy, and the two settle on a speed that has a formula.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

SPOKES, LENGTH, MASS, INERTIA, SLOPE, G = 6, 0.5, 2.0, 0.02, 0.2, 9.81


def wheel():
    m = da.Mechanism("rimless wheel", gravity=(G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    slide, lift = m.add_body("slide"), m.add_body("lift")
    hub = m.add_body("hub", mass=MASS, inertia=(INERTIA,) * 3)
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("z", da.Prismatic("z"), slide, lift)
    m.add_joint("turn", da.Revolute("y"), lift, hub)
    for k, angle in enumerate(2 * np.pi * np.arange(SPOKES) / SPOKES):
        tip = (-LENGTH * np.sin(angle), 0, -LENGTH * np.cos(angle))
        m.add_contact(f"spoke{k}", hub.at(*tip), friction=2.0)
        hub.add_shape("cylinder", (0.01, LENGTH), at=np.divide(tip, 2), rotation=da.rotation("y", angle))
    return m.compile()


def main(out, span: float = 6.0) -> dict[str, object]:
    system, alpha = wheel(), np.pi / SPOKES
    start = system.state({"z": LENGTH}, v={"turn": 2.5, "x": 2.5 * LENGTH})
    run = da.simulate(system, start, span)
    inertia = MASS * LENGTH**2 + INERTIA
    eta = (MASS * LENGTH**2 * np.cos(2 * alpha) + INERTIA) / inertia
    gained = 4 * MASS * G * LENGTH * np.sin(alpha) * np.sin(SLOPE) / inertia
    steps = [s for s in run.switches if s.kind == "hit"]
    rows = {
        "reached the end": run.success,
        "steps": len(steps),
        "speed before a step, at last (rad/s)": float(steps[-1].v_before[2]),
        "the same by the formula (rad/s)": float(np.sqrt(gained / (1 - eta**2))),
        "part of the speed kept, at last": float(steps[-1].v_after[2] / steps[-1].v_before[2]),
        "the same by the formula": float(eta),
        "lost in impacts (J)": -float(run.work["impacts"][-1]),
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [
        Panel("speed (rad/s)", {"turn": run.rate("turn")}),
        Panel("force on the ground (N)", {f"spoke {k}": run.multiplier(f"spoke{k}.gap") for k in range(SPOKES)}),
        Panel("energy (J)", {"sum": run.energy, "impacts": run.work["impacts"]}),
    ]
    return publish(out, "rimless_wheel", rows, [Picture(system, [start])], panels, run=run, animated=run)
