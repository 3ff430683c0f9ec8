"""A 3-RRR platform is asked beyond its workspace: it follows the edge and joins the path where it comes back.

The path is a loop of 0.35 m, a third of it out of reach. The law keeps a little inside the edge, where a leg is
straight and the motors could no longer move the platform, and slides along it. `limit_rate` has it brake gently.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

LIMIT, SIZE = 20.0, 0.35


def path(t, period):
    """A loop that begins and ends in the middle, at rest."""
    angle = 2 * ca.pi * t / period
    r = SIZE * 0.5 * (1 - ca.cos(angle))
    return ca.vertcat(r * ca.cos(angle), r * ca.sin(angle), 0.0)


def stretch(run):
    """(N, 3) distance of the pins of each leg over its length, 1 where it is stretched."""
    return np.stack([np.abs(np.cos(run[f"B{k}"] / 2)) for k in (1, 2, 3)], axis=1)


def main(out, span: float = 4.0) -> dict[str, object]:
    system = zoo.planar_3rrr().compile()
    start = system.state(*zoo.planar_3rrr_start())
    task = control.position("platform", "xy") + control.orientation("platform", "z")
    goal = control.Trajectory(lambda t: path(t, 4.0))
    law = control.motion_control(system, task, goal, rate=30.0, out_of_reach="approach", limit_rate=10.0, limits=LIMIT)
    run = da.simulate(system, start, span, u=law, period=0.02)
    asked = np.array([goal(t)[0][:2] for t in run.t])
    off = np.linalg.norm(run.position("platform")[:, :2] - asked, axis=1)
    rows = {
        "reached the end": run.success,
        "farthest from the path (m)": float(off.max()),
        "at the end (m)": float(off[-1]),
        "most stretched leg (1: straight)": float(stretch(run).max()),
        "largest torque (N m)": float(np.abs(run.u).max()),
    }
    x, y = run.position("platform")[:, :2].T
    panels = [
        Panel("platform and path, y over x (m)", {"platform": (x, y), "path": tuple(asked.T)}, xlabel="x (m)"),
        Panel("legs, 1: straight", {f"leg {k + 1}": s for k, s in enumerate(stretch(run).T)}),
        Panel("torque (N m)", {n: run.u[:, k] for k, n in enumerate(system.u_names)}),
    ]
    return publish(out, "beyond_workspace", rows, [Picture(system, [start, run(0.5 * span)])], panels, run=run)
