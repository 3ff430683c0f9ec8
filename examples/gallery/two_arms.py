"""Two arms carry a bar and squeeze it.

Six motors for three degrees of freedom: the other three set the forces inside the loop. Hybrid control moves the bar
along a path and presses it with 30 N, each with an error equation of its own. Halfway the wanted force changes to 60
N.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo


def main(out) -> dict[str, object]:
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.0, 0.6))
    task = control.position("object", "xy") + control.Task({"angle": lambda s: s["L1"] + s["L2"] + s["L3"]})
    points = [[0.0, 0.6, 0.0], [0.15, 0.7, 0.3], [-0.15, 0.75, -0.2], [0.0, 0.6, 0.0]]
    path = control.waypoints([0, 1, 2, 3], points)

    def squeeze(t):
        return -30.0 if t < 1.5 else -60.0

    law = control.hybrid_control(system, task, path, {"grip.x": squeeze}, rate=20.0)
    run = da.simulate(system, x, 3.0, u=law, period=0.002, t_eval=np.linspace(0, 3, 301))
    force, wanted = run.multiplier("grip.x"), np.array([squeeze(t) for t in run.t])
    steady = np.abs(run.t - 1.5) > 0.01
    at = run.position("object")
    error = np.array([law.error(t, run.state(k))[0] for k, t in enumerate(run.t)])
    rows = {
        "motors, freedoms": f"{len(system.u_names)}, {system.report(x).mobility}",
        "largest error of the path (m, rad)": float(np.abs(error).max()),
        "largest error of the squeeze (N)": float(np.abs(force - wanted)[steady][1:].max()),
        "largest torque (N m)": float(np.abs(run.u).max()),
    }
    panels = [
        Panel("bar: x, y − 0.6 (m)", {"x": at[:, 0], "y − 0.6": at[:, 1] - 0.6}),
        Panel("force of the right hand along the bar (N)", {"found": force, "wanted": wanted}),
        Panel("torques (N m)", {name: run.u[:, k] for k, name in enumerate(system.u_names)}),
    ]
    picture = Picture(system, [run.state(k) for k in (100, 200, 0)], [at])
    return publish(out, "two_arms", rows, [picture], panels, run=run, animated=run, traces=["object"])
