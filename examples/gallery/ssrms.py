"""Paper 5: the SSRMS with both ends on the station, 80 s (Figs 3-6): drift left alone, and removed.

The paper prints neither loads nor steps. Here a docking pushes the station for three seconds, then its attitude control
pushes back and forth; the arm's brakes are off, and its joints reach the speed they are made for. RK4 with steps of
0.5 s. Left alone the loop drifts apart; with one filter of the velocities and two corrections of the positions after
each step it does not.
"""

from pathlib import Path
from time import perf_counter

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view import animate
from dalembert.view.plots import positive

SPAN, STEP = 80.0, 0.5


def loads(t, state):
    """Docking for 3 s from t = 5 s, and attitude control: N and N m in the station's axes."""
    docking = 9000.0 * np.sin(np.pi * (t - 5.0) / 3.0) ** 2 if 5.0 <= t <= 8.0 else 0.0
    control = 5e4 * np.sign(np.sin(2 * np.pi * t / 20.0)) if t > 10.0 else 0.0
    return {"docking force": [docking, 0.4 * docking, -0.7 * docking], "docking moment": [control, -control, control]}


def main(out: Path) -> dict[str, object]:
    system = zoo.ssrms().compile()
    start = system.state(*zoo.ssrms_start())
    options = {"u": loads, "hold": STEP, "method": "rk4", "step": STEP}
    da.simulate(system, start, 1.0, **options)  # compiles
    free = da.simulate(system, start, SPAN, stabilization="none", **options)
    began = perf_counter()
    kept = da.simulate(system, start, SPAN, stabilization=da.Projection(corrections=2), **options)
    seconds = perf_counter() - began

    figure, axes = pyplot.subplots(3, 2, figsize=(12, 9), sharex=True, layout="constrained")
    for k, (run, name) in enumerate(((free, "left alone"), (kept, "one filter, two corrections"))):
        for joint in list(system.layout.joints)[2:]:
            axes[0, k].plot(run.t, np.degrees(run[joint]), label=joint)
        axes[1, k].semilogy(run.t, positive(run.residuals))
        axes[2, k].semilogy(run.t, positive(run.speed_residuals))
        axes[0, k].set(title=f"{name}\njoint angles (degrees)")
        axes[1, k].set(title=f"Fig. {(3, 5)[k]}: violation of the positions (m)")
        axes[2, k].set(title=f"Fig. {(4, 6)[k]}: violation of the velocities (m/s)", xlabel="t (s)")
    axes[0, 1].legend(fontsize="x-small", ncols=2)
    for a in axes.ravel():
        a.grid(alpha=0.3)
    rows = table(
        "SSRMS closed on its station, 80 s",
        {
            "reached the end": kept.success,
            "steps": kept.steps,
            "time of the corrected run (s)": seconds,
            "fastest joint (rad/s)": float(np.abs(kept.v[:, 6:]).max()),
            "violation of the positions, left alone (m)": float(free.residuals.max()),
            "violation of the velocities, left alone (m/s)": float(free.speed_residuals.max()),
            "violation of the positions, corrected (m)": float(kept.residuals.max()),
            "violation of the velocities, corrected (m/s)": float(kept.speed_residuals.max()),
        },
    )
    save(figure, out / "ssrms.png")
    print(f"  animation: {animate(kept, out / 'ssrms.html', traces=['B4'], speed=5.0)}")
    return rows


if __name__ == "__main__":
    main(folder())
