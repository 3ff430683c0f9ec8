"""A hand takes its index finger off a ball and puts it down 14 mm farther, in one run under one law.

The palm is up. Tendons only pull, tips only push, and each within its friction cone: while the index finger is in the
air the other four hold the ball. `active` tells the law which contacts there are, and it keeps its structure.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish
from scipy.optimize import brentq

import dalembert as da
from dalembert import control, zoo

OFF, ON, LIFT, SPREAD, ROUGH, TICK = 0.2, 0.7, 0.25, -0.15, 0.6, 0.01  # s, s, rad, rad, -, s
INDEX, HELD = [f"index {j}" for j in ("base.first", "base.second", "middle", "tip")], ("index contact", "index again")


def touching(state, size):
    """The finger spread, and bent so that its tip touches the ball: a state, and the direction from the ball."""

    def bent(angle):
        return state.replace({"index base.first": SPREAD, "index base.second": state["index base.second"] + angle})

    def apart(s):
        return s.position("index pad") - s.position("object")

    there = bent(brentq(lambda angle: np.linalg.norm(apart(bent(angle))) - size, -0.3, 0.3))
    return there, apart(there) / size


def along(z):
    """A rotation whose third axis is z."""
    x = np.cross(z, (0.3, 0.5, 0.8))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def main(out, span: float = 0.9) -> dict[str, object]:
    m, ball, tip = zoo.hand(gravity=-9.81), 0.035, 0.008
    x = m.compile().state(*zoo.hand_start())
    there, n = touching(x, ball + tip)
    back, pad, turned = there.pose("index pad")[:3, :3].T, m.frames["index pad"], along(n)
    spot = pad.body.at(*(pad.T.p - tip * back @ n), rotation=back @ turned)
    m.close_loop("index again", da.Spherical(), m.bodies["object"].at(*(ball * n), rotation=turned), spot)
    system, (a, b) = m.compile(), (np.array([s[name] for name in INDEX]) for s in (x, there))

    def path(t):
        spans = ((OFF, OFF + 0.2), (OFF + 0.1, ON - 0.1), (ON - 0.2, ON))
        parts = (ca.fmin(ca.fmax((t - i) / (j - i), 0), 1) for i, j in spans)
        up, over, down = (s**3 * (10 - 15 * s + 6 * s**2) for s in parts)
        return ca.vertcat(x.position("object"), a + (b - a) * over - LIFT * np.eye(4)[1] * (up - down))

    task = control.position("object") + control.coordinates(*INDEX)
    cones = [control.Cone(f"{c}.z", [f"{c}.x", f"{c}.y"], ROUGH) for c in system.layout.mechanism.constraints]
    law = control.motion_control(
        system, task, control.Trajectory(path), rate=25.0, free_damping=25.0, cones=cones,
        limits=dict.fromkeys(system.u_names, (0.0, 60.0)),
        active=lambda t, s: dict(zip(HELD, (t < OFF, t >= ON))),
    )  # fmt: skip
    steps = [da.Switch(open=HELD[0], at=OFF), da.Switch(close=HELD[1], at=ON, reach=1e-3)]
    run = da.simulate(system.without(HELD[1]), x.q, span, u=law, hold=TICK, switches=steps)
    push = {c.name: run.multiplier(c.name) for c in system.description.constraints}
    slope = [np.hypot(f[:, 0], f[:, 1])[f[:, 2] > 0.05] / f[f[:, 2] > 0.05, 2] for f in push.values()]
    moved = 1e3 * np.linalg.norm(run.position("object") - x.position("object"), axis=1)
    gap = 1e3 * (np.linalg.norm(run.position("index pad") - run.position("object"), axis=1) - ball - tip)
    rows = {
        "reached the end": run.success,
        "changes": ", ".join(s.what for s in run.switches),
        "the index finger was off by (mm)": float(gap.max()),
        "its place on the ball is farther by (mm)": float(1e3 * np.linalg.norm(there.position(pad) - x.position(pad))),
        "the ball moved by, at most (mm)": float(moved.max()),
        "least and largest tension (N)": f"{run.u.min():.2g}, {run.u.max():.4g}",
        "least push of a tip (N)": float(min(f[np.abs(run.t - ON) > 1e-9, 2].min() for f in push.values())),
        "friction / push, at most": float(max(s.max(initial=0.0) for s in slope)),
    }
    panels = [
        Panel("index finger off the ball (mm)", {"gap": gap}),
        Panel("push of the tips (N)", {name: f[:, 2] for name, f in push.items()}),
        Panel("tensions (N)", {name: run.u[:, k] for k, name in enumerate(system.u_names)}),
    ]
    picture = Picture(run.system, [run(min(0.5 * (OFF + ON), span))])
    return publish(out, "regrasp", rows, [picture], panels, run=run, animated=run, traces=["index pad"], speed=0.2)
