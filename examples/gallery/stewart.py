"""A Stewart platform shakes its load along a spatial path.

Six legs, each a tube and a rod, move the platform in all six directions: 24 velocities, 18 constraint rows. Motion
control by projected inverse dynamics follows the pose and asks for the smallest leg forces. The leg lengths are
compared with the closed form, the distance between the joints.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo


def main(out, span: float = 4.0) -> dict[str, object]:
    system = zoo.stewart().compile()
    task = control.position("platform") + control.orientation("platform")
    w = 2 * np.pi * 0.5
    path = control.Trajectory(
        lambda t: [
            0.3 * ca.sin(w * t),
            0.3 * (1 - ca.cos(w * t)),
            2.0 + 0.15 * ca.sin(2 * w * t),
            0.15 * ca.sin(w * t),
            0,
            0,
        ]
    )
    law = control.motion_control(system, task, path, rate=25.0)
    start = system.state(*zoo.stewart_start())
    rate = path(0.0)[1]
    x = system.assemble(dict(zip(system.q_names, start.q)), v={"platform": [*rate[3:], *rate[:3]]}, guess=start)
    run = da.simulate(system, x, span, u=law, period=0.002, t_eval=np.linspace(0, span, 161))
    pose = run.pose("platform")
    lengths = []
    for base, top, home, _ in zoo.StewartGeometry().legs():
        lengths.append(np.linalg.norm(pose[:, :3, :3] @ top + pose[:, :3, 3] - base, axis=1) - home)
    error = np.array([law.error(t, run.state(k))[0] for k, t in enumerate(run.t)])
    legs = np.array([run[f"P{k}"] for k in range(1, 7)])
    rows = {
        "velocities, constraint rows, mobility": f"{system.nv}, {len(system.row_names)}, {system.report(x).mobility}",
        "legs against the closed form (m)": float(np.abs(legs - lengths).max()),
        "largest error of the position (m)": float(np.abs(error[:, :3]).max()),
        "largest force in a leg (N)": float(np.abs(run.u).max()),
        "loops open by (m)": float(run.residuals.max()),
    }
    panels = [
        Panel("position of the platform (m)", dict(zip(("x", "y", "z − 2 m"), (pose[:, :3, 3] - (0, 0, 2)).T))),
        Panel("extension of the legs (m)", {f"P{k + 1}": legs[k] for k in range(6)}),
        Panel("force in the legs (N)", {f"F{k + 1}": run.u[:, k] for k in range(6)}),
    ]
    picture = Picture(system, [run.state(k) for k in (20, 60, 0)], [pose[:, :3, 3]])
    return publish(out, "stewart", rows, [picture], panels, run=run, animated=run, traces=["platform"])
