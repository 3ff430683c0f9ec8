"""The space station's arm with both ends on the station.

The example of Kövecses and Piedboeuf, Figs 3-6: thirteen velocities, three loop constraints, 80 s. The paper prints
neither loads nor steps. Here a docking pushes the station for three seconds, then its attitude control pushes back
and forth; the arm's brakes are off, and its joints reach the speed they are made for. RK4 with steps of 0.5 s. Left
alone the loop drifts apart; with one filter of the velocities and two corrections of the positions after each step it
does not.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

SPAN, STEP = 80.0, 0.5


def loads(t, state):
    """Docking for 3 s from t = 5 s, and attitude control: N and N m in the station's axes."""
    docking = 9000.0 * np.sin(np.pi * (t - 5.0) / 3.0) ** 2 if 5.0 <= t <= 8.0 else 0.0
    control = 5e4 * np.sign(np.sin(2 * np.pi * t / 20.0)) if t > 10.0 else 0.0
    return {"docking force": [docking, 0.4 * docking, -0.7 * docking], "docking moment": [control, -control, control]}


def main(out) -> dict[str, object]:
    system = zoo.ssrms().compile()
    start = system.state(*zoo.ssrms_start())
    options = {"u": loads, "period": STEP, "method": "rk4", "step": STEP}
    free = da.simulate(system, start, SPAN, stabilization="none", **options)
    kept = da.simulate(system, start, SPAN, stabilization=da.Projection(corrections=2), **options)
    rows = {
        "reached the end": kept.success,
        "steps": kept.steps,
        "fastest joint (rad/s)": float(np.abs(kept.v[:, 6:]).max()),
        "violation of the positions, left alone (m)": float(free.residuals.max()),
        "violation of the velocities, left alone (m/s)": float(free.speed_residuals.max()),
        "violation of the positions, corrected (m)": float(kept.residuals.max()),
        "violation of the velocities, corrected (m/s)": float(kept.speed_residuals.max()),
    }
    panels = []
    for k, (run, name) in enumerate(((free, "left alone"), (kept, "one filter, two corrections"))):
        angles = {joint: np.degrees(run[joint]) for joint in list(system.layout.joints)[2:]}
        panels += [
            Panel(f"{name}\njoint angles (degrees)", angles),
            Panel(f"Fig. {(3, 5)[k]}: violation of the positions (m)", {"": run.residuals}, log=True),
            Panel(f"Fig. {(4, 6)[k]}: violation of the velocities (m/s)", {"": run.speed_residuals}, log=True),
        ]
    how = {"animated": kept, "traces": ["B4"], "speed": 5.0, "cover": Picture(system, [kept.state(0), kept.state()])}
    return publish(out, "ssrms", rows, [], panels, run=kept, columns=2, width=11.0, **how)
