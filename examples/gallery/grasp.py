"""Two arms grasp a box, carry it between their hands and set it down, in one run under one law.

Hybrid control leads both hands; `active` tells it when they hold the box. One of the four motors is to spare: it sets
the force inside the box, (λ_right − λ_left)/2. The hands only push, and with friction of 0.5 they must not slip: while
the box is set in motion upwards or lowered to a stop, that takes more than the wanted 10.5 N: the law gives more.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control

SIDES, GRASP, RELEASE, WANTED, ROUGH, LOW = {"left": -1, "right": 1}, 0.8, 2.9, 10.5, 0.5, 0.4483  # s, N, m
PINS = {"A": (-0.6, 0), "B": (-0.83, 0.44), "C": (0.6, 0), "D": (0.5, 0.5), "left": (-0.38, LOW), "right": (0.08, LOW)}
LINKS = {"upper left": "A B", "lower left": "B left", "upper right": "C D", "lower right": "D right"}


def path(t):
    """Places (m) of the left hand, x and y, and of the right hand."""
    spans = ((0, GRASP), (0.7, 1.6), (1, 2.4), (1.8, 2.7), (RELEASE, 3.5))
    parts = (ca.fmin(ca.fmax((t - a) / (b - a), 0), 1) for a, b in spans)
    near, up, across, down, away = (s**3 * (10 - 15 * s + 6 * s**2) for s in parts)
    x, y, half = -0.15 + 0.3 * across, LOW + 0.15 * up - 0.148 * down, 0.23 + 0.08 * (away - near)
    return [x - half, y, x + half, y]


def main(out) -> dict[str, object]:
    m, way = da.Linkage("two arms and a box", PINS, "A C", LINKS, mass=1.0), control.Trajectory(path)
    table = m.ground.at(0, 0.35, rotation=da.rotation("x", -np.pi / 2))
    box = m.add_body("box", 1.0, inertia=da.box_inertia(1.0, (0.3, 0.2, 0.1)))
    m.add_joint("box", da.Planar(), m.ground.at(-0.15, 0.45), box)
    for pin in "ABCD":
        m.add_motor(f"motor {pin}", pin)
    for side, k in SIDES.items():
        m.add_contact(f"{side} foot", box.at(0.15 * k, -0.1), on=table, friction=0.5)
        m.close_loop(side, da.Revolute("z"), box.at(0.15 * k), m.add_frame(f"{side} hand", m.pin(side)))
    system, task = m.compile(), control.position("left hand", "xy") + control.position("right hand", "xy")
    inside = {"squeeze": control.combination({"right.x": 0.5, "left.x": -0.5})}
    cones = [control.Cone({f"{side}.x": k}, [f"{side}.y"], ROUGH) for side, k in SIDES.items()]
    options = {"cones": cones, "active": lambda t, s: dict.fromkeys(SIDES, GRASP <= t < RELEASE)}
    law = control.hybrid_control(system, task, way, {"squeeze": WANTED}, rate=20.0, measures=inside, **options)
    grips = [da.Switch(close=[*SIDES], at=GRASP, reach=1e-4), da.Switch(open=[*SIDES], at=RELEASE)]
    run = da.simulate(system.without(*SIDES), {}, 3.6, u=law, period=0.002, switches=grips)
    held, (ddx, ddy, _, _) = (run.t > GRASP) & (run.t < RELEASE), np.transpose([way(t)[2] for t in run.t])
    push, rub = ({s: k * run.multiplier(f"{s}.{row}") for s, k in SIDES.items()} for row in "xy")
    squeeze, least = (push["left"] + push["right"]) / 2, held * (np.abs(ddx) + (9.81 + ddy) / ROUGH) / 2
    off = np.abs(squeeze - np.maximum(WANTED, least))[held & (run.t > 1.2)]  # by then the jolt has died out
    rows = {
        "least and largest force inside the box (N)": f"{squeeze[held].min():.3f}, {squeeze.max():.3f}",
        "  off its closed form from 1.2 s on, at most (N)": float(off.max()),
        "least push of a hand (N)": float(min(f[held].min() for f in push.values())),
        "friction / push, at most": float(max(np.abs(rub[s][held] / push[s][held]).max() for s in SIDES)),
    }
    panels = [Panel("force inside the box (N)", {"found": squeeze, "least without slip": least})]
    panels += [Panel("load on the table (N)", {s: run.multiplier(f"{s} foot")[:, 0] for s in SIDES})]
    picture = Picture(run.system, [run(t) for t in (0, 1.7, 3.6)], [run.position("box")])
    return publish(out, "grasp", rows, [picture], panels, run=run, animated=run, traces=["box"])
