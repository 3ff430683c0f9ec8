"""A five-bar whose loop opens and is latched again, in one run under one law.

Hybrid control leads the tips of two arms with four motors. While a pin joins the tips two motors are to spare: they set
the force in the pin, 4 N. At 1 s the pin is drawn and the same law leads the tips apart, each for itself, and back;
within two millimetres of each other the latch falls in: a plastic impact, by the orthogonal projection of the velocity
in the mass metric. The run tells the law which constraints hold; the law's structure stays as it is.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control

NEAR, DRAWN, WANTED, END, MEET = 2e-3, 1.0, 4.0, 4.0, (0.5, 1.05)  # m, s, N, s, m
PINS = {"A": (0, 0), "B": (-0.1019, 0.6925), "left": MEET, "C": (1, 0), "D": (1.1019, 0.6925), "right": MEET}
LINKS = {"upper left": "A B", "lower left": "B left", "upper right": "C D", "lower right": "D right"}


def path(t):
    """Places (m) of the left tip, x and y, and of the right tip: a loop together, but for a way apart and back."""
    s = ca.fmin(ca.fmax((t - DRAWN) / 1.5, 0), 1)
    turn, away = 2 * ca.pi * t / END - ca.sin(2 * ca.pi * t / END), 0.1 * (4 * s * (1 - s)) ** 3
    x, y = 0.5 + 0.15 * ca.sin(turn), 0.95 + 0.1 * ca.cos(turn)
    return [x - away, y, x + away, y]


def main(out) -> dict[str, object]:
    m, way, sides = da.Linkage("five-bar", PINS, "A C", LINKS, mass=1.0), control.Trajectory(path), ("left", "right")
    for pin in "ABCD":
        m.add_motor(f"motor {pin}", pin)
    m.close_loop("pin", da.Revolute("z"), *(m.add_frame(f"{s} tip", m.pin(s)) for s in sides))
    system, task = m.compile(), control.position("left tip", "xy") + control.position("right tip", "xy")
    law = control.hybrid_control(system, task, way, {"pin.x": WANTED, "pin.y": 0.0}, rate=20.0)
    apart = da.expression(lambda t, s: ca.norm_2(s.position("left tip") - s.position("right tip")) - NEAR)
    latch = da.Switch(close="pin", when=da.Event(apart, direction=-1), reach=1.1 * NEAR)
    run = da.simulate(system, {}, END, u=law, period=0.002, switches=[da.Switch(open="pin", at=DRAWN), latch])
    left, right = (run.position(f"{side} tip")[:, :2] for side in sides)
    off = np.linalg.norm(np.hstack([left, right]) - [way(t)[0] for t in run.t], axis=1)
    shut, force = run.switches[1], {row: run.multiplier(f"pin.{row}") for row in "xy"}
    holds = np.abs(run.t - DRAWN - 1) > 1
    rows = {
        "reached the end": run.success,
        "latched at (s)": shut.t,
        "lost in the latch (J)": shut.lost,
        "the same from the velocities (J)": 0.5 * float(shut.jump @ system.mass_matrix(run(shut.t)) @ shut.jump),
        "the tips were apart by (m)": float(np.linalg.norm(left - right, axis=1).max()),
        "off the path at most (m)": float(off.max()),
        "force in the pin off 4 N at most (N)": float(np.hypot(force["x"] - WANTED, force["y"])[holds].max()),
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    x = {"left": left[:, 0], "right": right[:, 0]}
    panels = [Panel("tips, x (m)", x), Panel("force in the pin (N)", force),
              Panel("motors (N m)", dict(zip(system.u_names, run.u.T)))]  # fmt: skip
    picture = Picture(system, [run(0), run(1.75)], [run.position(f"{side} tip") for side in sides])
    return publish(out, "five_bar_latch", rows, [picture], panels, run=run, animated=run)
