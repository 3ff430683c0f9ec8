"""A clutch slips, grips, and slips again when the motor asks for too much.

A flywheel drives a load through dry friction of 30 N m, 45 N m while it grips. It slips until both turn at the same
speed, at a time and with a loss known in closed form; then they turn together, until the load needs more than friction
can give.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

FLYWHEEL, LOAD, SLIPS, GRIPS, FAST = 0.8, 0.5, 30.0, 45.0, 60.0


def drive():
    m = da.Mechanism("clutch", gravity=(0, 0, 0))
    one = m.add_body("flywheel", mass=10.0, inertia=(1.0, 1.0, FLYWHEEL))
    other = m.add_body("load", mass=8.0, inertia=(1.0, 1.0, LOAD))
    one.add_shape("cylinder", (0.3, 0.05))
    other.add_shape("cylinder", (0.25, 0.1), at=(0, 0, 0.1))
    m.add_joint("engine", da.Revolute("z"), m.ground, one)
    m.add_joint("clutch", da.Revolute("z"), one, other, friction=da.Friction(SLIPS, static=GRIPS))
    m.add_motor("motor", "engine")
    return m.compile()


def main(out, span: float = 3.0) -> dict[str, object]:
    system = drive()
    start = system.state(v={"engine": FAST, "clutch": -FAST})  # the load at rest
    ramp = da.expression(lambda t, s: 60.0 * t)
    run = da.simulate(system, start, span, u=ramp)
    grips, slips = run.switches[0].t, run.switches[1].t
    both = FLYWHEEL * LOAD / (FLYWHEEL + LOAD)
    # the motor speeds the flywheel up while it slips: FAST + 30 t²/I − T t (1/I₁ + 1/I₂) = 0
    exact = np.roots([30.0 / FLYWHEEL, -SLIPS / both, FAST]).min()
    rows = {
        "reached the end": run.success,
        "grips at, and by the formula (s)": f"{grips:.9f}, {exact:.9f}",
        "slips at, and by the formula (s)": f"{slips:.9f}, {GRIPS * (FLYWHEEL + LOAD) / LOAD / 60.0:.9f}",
        "changes": ", ".join(s.what for s in run.switches),
        "heat (J)": float(run.dissipated[-1]),
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    load = run.rate("engine") + run.rate("clutch")
    panels = [
        Panel("speed (rad/s)", {"flywheel": run.rate("engine"), "load": load}),
        Panel("friction that grips (N m)", {"needed": run.multiplier("friction of clutch")}),
        Panel("heat (J)", {"dissipated": run.dissipated}),
    ]
    return publish(out, "clutch", rows, [Picture(system, [start])], panels, run=run, animated=run)
