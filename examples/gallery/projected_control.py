"""Projected inverse-dynamics control of a slider-crank, after Aghili.

The equal slider-crank of section 8, driven as in section 7: with motors in both joints, the control asks for the
smallest torques (one more than there are freedoms); with joint 2 passive, for those that the one motor can give; as
hybrid control, for a force on the guide besides. The error obeys ë + 2ω ė + ω² e = 0 in all three, which is drawn
from its closed form.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

RATE, WANTED = 6.0, -15.0  # 1/s; N on the guide


def main(out, span: float = 3.0) -> dict[str, object]:
    m = zoo.equal_slider_crank()
    for k in (1, 2):
        if f"tau{k}" not in m.inputs:
            m.add_motor(f"tau{k}", f"q{k}")
    system = m.compile()
    row = system.row_names[0]
    x = system.state(*zoo.equal_slider_crank_start(0.5))
    task = control.coordinates("q1")
    swing = control.Trajectory(lambda t: [0.2 + 0.5 * ca.sin(2.5 * t)], ["q1"])
    laws = {
        "both motors": control.motion_control(system, task, swing, rate=RATE),
        "joint 2 passive": control.motion_control(system, task, swing, rate=RATE, actuated=["tau1"]),
        "hybrid": control.hybrid_control(system, task, swing, {row: WANTED}, rate=RATE),
    }
    runs = {
        name: da.simulate(system, x, span, u=law, period=0.001, t_eval=np.linspace(0, span, 151))
        for name, law in laws.items()
    }
    t = np.linspace(0, span, 151)
    e0, de0 = (float(z[0]) for z in laws["both motors"].error(0.0, x))
    exact = np.exp(-RATE * t) * (e0 + (de0 + RATE * e0) * t)
    errors = {n: np.array([laws[n].error(r.t[k], r.state(k))[0][0] for k in range(151)]) for n, r in runs.items()}
    size = {n: np.linalg.norm(r.u, axis=1) for n, r in runs.items()}
    force = {n: r.multiplier(row) for n, r in runs.items()}
    rows = {f"error against its closed form, {n} (rad)": float(np.abs(e - exact).max()) for n, e in errors.items()}
    rows |= {f"mean size of the torques, {n} (N m)": float(s.mean()) for n, s in size.items()}
    rows["force on the guide, hybrid, off by (N)"] = float(np.abs(force["hybrid"][1:] - WANTED).max())
    panels = [
        Panel(
            "error of q₁ (rad)", {"closed form": (t, exact)} | {f".{n}": (t[::10], e[::10]) for n, e in errors.items()}
        ),
        Panel("size of the torques (N m)", {n: (t, s) for n, s in size.items()}),
        Panel("multiplier of the guide (N)", {n: (t, f) for n, f in force.items()}),
    ]
    pictures = [Picture(system, [runs["hybrid"].state(k) for k in (30, 100, 0)])]
    return publish(out, "projected_control", rows, pictures, panels, animated=runs["hybrid"])
