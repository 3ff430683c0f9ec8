"""A hand takes its index finger off a ball and puts it down 14 mm farther, in one run under one law.

The palm is up. Tendons only pull, tips only push, and each within its friction cone: while the index finger is in the
air the other four hold the ball. `active` tells the law which contacts there are, and it keeps its structure.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert import control, zoo

OFF, ON, LIFT, SPREAD, BALL, TIP = 0.2, 0.7, 0.25, -0.15, 0.035, 0.008  # s, s, rad, rad, m, m
INDEX, HELD = [f"index {j}" for j in ("base.first", "base.second", "middle", "tip")], ("index contact", "index again")


def main(out, span: float = 0.9) -> dict[str, object]:
    m = zoo.hand(gravity=-9.81)
    x = m.compile().state(*zoo.hand_start())
    pad, home = m.frames["index pad"], x.position("object")

    def spread(bent):
        there = x.replace({INDEX[0]: SPREAD, INDEX[1]: x[INDEX[1]] + bent})
        return there, there.position("index pad") - home

    there, away = spread(brentq(lambda bent: np.linalg.norm(spread(bent)[1]) - BALL - TIP, -0.3, 0.3))
    n, back = away / (BALL + TIP), there.pose("index pad")[:3, :3].T
    turned = Rotation.align_vectors([n], [[0, 0, 1]])[0].as_matrix()  # z along the normal
    spot = pad.body.at(*(pad.T.p - TIP * back @ n), rotation=back @ turned)
    m.close_loop(HELD[1], da.Spherical(), m.bodies["object"].at(*(BALL * n), rotation=turned), spot)
    system, (a, b) = m.compile(), (np.array([s[name] for name in INDEX]) for s in (x, there))
    spans = ((OFF, OFF + 0.2), (OFF + 0.1, ON - 0.1), (ON - 0.2, ON))

    def path(t):
        parts = (ca.fmin(ca.fmax((t - i) / (j - i), 0), 1) for i, j in spans)
        up, over, down = (s**3 * (10 - 15 * s + 6 * s**2) for s in parts)
        return ca.vertcat(home, a + (b - a) * over - LIFT * np.eye(4)[1] * (up - down))

    task, contacts = control.position("object") + control.coordinates(*INDEX), [*system.layout.mechanism.constraints]
    law = control.motion_control(
        system, task, control.Trajectory(path), rate=25.0, free_damping=25.0,
        cones=[control.Cone(f"{c}.z", [f"{c}.x", f"{c}.y"], 0.6) for c in contacts],
        limits=dict.fromkeys(system.u_names, (0, 60)), active=lambda t, s: dict(zip(HELD, (t < OFF, t >= ON))),
    )  # fmt: skip
    how = {"period": 0.01, "switches": [da.Switch(open=HELD[0], at=OFF), da.Switch(close=HELD[1], at=ON, reach=1e-3)]}
    run = da.simulate(system.without(HELD[1]), x.q, span, u=law, **how)
    push, pull = {c: run.multiplier(c)[:, 2] for c in contacts}, dict(zip(system.u_names, run.u.T))
    gap = 1e3 * (np.linalg.norm(run.position("index pad") - run.position("object"), axis=1) - BALL - TIP)
    rows = {
        "the index finger was off by (mm)": float(gap.max()),
        "the ball moved by, at most (mm)": float(1e3 * np.abs(run.position("object") - home).max()),
        "least and largest tension (N)": f"{run.u.min():.2g}, {run.u.max():.4g}",
        "least push of a tip (N)": min(f[abs(run.t - ON) > 1e-9].min() for f in push.values())}  # fmt: skip
    curves = {"index finger off the ball (mm)": {"gap": gap}, "push of the tips (N)": push, "tensions (N)": pull}
    picture, panels = Picture(run.system, [run(min(0.45, span))]), [Panel(*curve) for curve in curves.items()]
    return publish(out, "regrasp", rows, [picture], panels, run=run, animated=run)
