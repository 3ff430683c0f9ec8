"""A car on two axles that do not slip sideways.

Four velocities, two rows that cannot be integrated: the car reaches every position, but not along every path. With
the steering held the rear axle follows a circle of radius wheelbase / tan δ, which a driver of the steering joint
shows exactly; then the steering swings and the car weaves.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

STEER, SPEED = 0.4, 5.0  # rad, m/s


def driven(steering):
    """The car with its steering angle as a function of time, and its state at the start."""
    m = zoo.car()
    m.add_driver("hands", "steer", steering)
    system = m.compile()
    return system, system.assemble({"float": [0, 0, 0]}, v={"float.x": SPEED})


def main(out) -> dict[str, object]:
    held, x = driven(lambda t: STEER)
    run = da.simulate(held, x, 8.0)
    radius = 2.5 / np.tan(STEER)
    off = np.hypot(run["float.x"], run["float.y"] - radius) - radius
    weaving, y = driven(lambda t: 0.5 * ca.sin(1.5 * t))
    weave = da.simulate(weaving, y, 8.0)
    rows = {
        "velocities, rows, mobility": f"{held.nv}, {len(held.row_names)}, {held.report(x).mobility}",
        "radius of the circle, wheelbase / tan δ (m)": radius,
        "distance of the rear axle from it (m)": float(np.abs(off).max()),
        "axles slip by (m/s)": float(weave.speed_residuals.max()),
        "energy error (J), of (J)": f"{np.abs(weave.energy_error).max():.1e}, {weave.energy[0]:.0f}",
    }
    tracks = {"held": (run["float.x"], run["float.y"]), "weaving": (weave["float.x"], weave["float.y"])}
    panels = [
        Panel("track of the rear axle: y (m)", tracks, xlabel="x (m)"),
        Panel("weaving: steering and heading (rad)", {"steer": weave["steer"], "heading": weave["float.angle"]}),
    ]
    shown = [weave(t) for t in np.linspace(0.0, 3.3, 67)]
    picture = Picture(weaving, shown[::22], [np.array([y.position("chassis") for y in shown])])
    return publish(out, "car", rows, [picture], panels, run=weave, animated=weave, traces=["chassis"])
