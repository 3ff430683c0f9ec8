"""A quadruped on five-bar legs trots, straight and then in a curve.

The robot of the case before. A periodic gait says where each foot is to be: two at a time, crosswise, go back along
an arc on the ground while the others swing forward; the angles of servos follow in closed form. Nothing is fed back but
the angles of the hips: the robot does not know its speed, nor where it heads. It lags behind the gait, as its servos
yield, and turns where the steps of one side are shorter.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish
from legged import FEET, STAND, STEP, evidence, hips, robot, tilt

import dalembert as da

PERIOD, REACH, LIFT, TURNS, SHORTER = 0.3, 0.25, 0.03, 3.0, 0.3  # s, rad, m, s, part of a step


def gait(t, s):
    """Angles of the servos."""
    wanted, grows = {"push": ca.DM.zeros(3)}, ca.fmin(t / PERIOD, 1.0)  # the first steps are smaller
    for leg, begins in (("FL", 0.0), ("HR", 0.0), ("FR", 0.5), ("HL", 0.5)):
        phase = 2 * ca.fmod(t / PERIOD + begins, 1.0)  # below 1 on the ground, then in the air
        reach = grows * REACH * (1 + ca.if_else(t > TURNS, SHORTER, 0.0) * (-1 if leg[1] == "L" else 1))
        swing = ca.if_else(phase < 1, reach * (1 - 2 * phase), -reach * ca.cos(np.pi * (phase - 1)))
        lift = ca.if_else(phase < 1, 0.0, grows * LIFT * ca.sin(np.pi * (phase - 1)) ** 2)
        wanted |= hips(leg, swing, STAND - lift)
    return wanted


def main(out, span: float = 7.0) -> dict[str, object]:
    system, rest, weight = robot()
    run = da.simulate(system, rest, span, u=da.expression(gait), **STEP)
    push = np.array([run.multiplier(f"{f}.gap") for f in FEET])
    one, two = np.searchsorted(run.t, [TURNS - 4 * PERIOD, TURNS])
    x, y = run["trunk.x"], run["trunk.y"]
    yaw = np.unwrap(2 * np.arctan2(run["trunk.qz"], run["trunk.qw"]))
    rows = {
        "reached the end": run.success,
        "speed, straight (m/s)": float(np.hypot(x[two] - x[one], y[two] - y[one]) / (run.t[two] - run.t[one])),
        "  of the gait (m/s)": 4 * REACH * STAND / PERIOD,
        "it turns by (rad/s)": float((yaw[-1] - yaw[two]) / max(run.t[-1] - TURNS, 1e-9)),
        "largest tilt (deg)": float(tilt(run).max()),
        "mean force on the feet / weight": float(push[:, one + 1 : two + 1].sum() * 1e-3 / (4 * PERIOD * weight)),
        **evidence([run]),
    }
    part = slice(two - 600, two)
    speed = {way: (run.t, run.rate(f"trunk.v{axis}")) for way, axis in (("along", "x"), ("across", "y"))}
    panels = [
        Panel("speed of the trunk (m/s)", speed),
        Panel("two strides: force on the feet (N)", {f: (run.t[part], push[k, part]) for k, f in enumerate(FEET)}),
        Panel("path of the trunk", {"path": (x, y)}, xlabel="x (m)"),
    ]
    shown = [run.state(int(k)) for k in np.searchsorted(run.t, [0.0, 1.5, 2.975])]
    return publish(out, "trot", rows, [Picture(system, shown, [run.q[:two, 4:7]])], panels, animated=run)
