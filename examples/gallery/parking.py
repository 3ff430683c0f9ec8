"""A car parks sideways, by planned motion.

A car cannot move sideways, but it can end up there. `control.plan_motion` finds the drive and the steering that bring
it 2.5 m to the left, at rest and with the same heading, with the least effort within limits on the force and on the
steering angle. The proof is a simulation of the planned inputs in open loop.
"""

import numpy as np
from common import Panel, Picture, publish

from dalembert import control, zoo

SPAN, ASIDE = 8.0, 2.5  # s, m
LIMITS = {"drive": 4000.0, "steering": 40.0}  # N, N m


def main(out, intervals: int = 40) -> dict[str, object]:
    system = zoo.car().compile()
    start = system.state()
    goal = {"float.x": 0.0, "float.y": ASIDE, "float.angle": 0.0, "steer": 0.0}
    guess = control.straight_motion(system, start, {"float.x": 6.0}, SPAN, intervals=intervals)
    keep = {"limits": LIMITS, "scales": LIMITS, "positions": {"steer": 0.6}}
    plan = control.plan_motion(system, start, goal, SPAN, intervals=intervals, guess=guess, **keep)
    run = plan.simulate()
    end = run.state(-1)
    rows = {
        "plan": plan.message,
        "misses its place, simulated in open loop, by (m)": float(np.hypot(end["float.x"], end["float.y"] - ASIDE)),
        "misses its heading by (rad)": float(abs(end["float.angle"])),
        "largest steering angle (rad)": float(np.abs(run["steer"]).max()),
        "largest speed (m/s)": float(np.abs(run.velocity("chassis")).max()),
        "changes of direction": int((np.diff(np.sign(run.rate("float.x")[5:-5])) != 0).sum()),
        "axles slip by (m/s)": float(run.speed_residuals.max()),
    }
    panels = [
        Panel("track of the rear axle: y (m)", {"": (run["float.x"], run["float.y"])}, xlabel="x (m)"),
        Panel("heading and steering (rad)", {"heading": run["float.angle"], "steering": run["steer"]}),
        Panel("drive (kN)", {"": run.u[:, 0] / 1e3}),
    ]
    picture = Picture(system, [run.state(k) for k in np.linspace(0, len(run.t) - 1, 9).astype(int)])
    return publish(out, "parking", rows, [picture], panels, run=run, animated=run, traces=["chassis"])
