"""A delta robot: three motors on the frame move a platform that never turns.

Each arm carries two parallel rods. With ball joints at their ends they hold the platform level: six rods, six rows,
three degrees of freedom. The angles of the motors on a circle of the platform are compared with the closed form, the
meeting of a circle (the elbow) with a sphere (about the platform's joint).
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control

BASE, PLATFORM, ARM, ROD, HALF = 0.20, 0.06, 0.25, 0.60, 0.04  # m; rods of a pair are 2 HALF apart
W = 2 * np.pi  # rad/s: a turn of the circle in a second
TURNS = [da.rotation("z", 2 * np.pi / 3 * k) for k in range(3)]


def delta() -> da.Mechanism:
    m = da.Mechanism("delta robot")
    plate = m.add_body("platform", mass=0.5, inertia=da.disc_inertia(0.5, PLATFORM))
    m.add_joint("platform", da.Free(), m.ground, plate)
    for k, R in enumerate(TURNS, start=1):
        arm = m.add_body(f"arm {k}", mass=0.4, com=(ARM / 2, 0, 0), inertia=da.rod_inertia(0.4, ARM))
        m.add_joint(f"A{k}", da.Revolute("y"), m.ground.at(*(R @ (BASE, 0, 0)), rotation=R), arm)  # positive: down
        m.add_motor(f"M{k}", f"A{k}")
        for side in (-HALF, HALF):
            ball = plate.at(*(R @ (PLATFORM, side, 0)))
            m.add_rod(f"rod {k}{'ab'[side > 0]}", arm.at(ARM, side, 0), ball, length=ROD)
    return m


def motor_angle(k: int, x: np.ndarray) -> float:
    u, y, z = TURNS[k].T @ x + (PLATFORM - BASE, 0, 0)  # the platform's joint from the motor's axis
    g = (u**2 + y**2 + z**2 + ARM**2 - ROD**2) / (2 * ARM)
    return float(np.arctan2(-z, u) - np.arccos(g / np.hypot(u, z)))


def main(out) -> dict[str, object]:
    system = delta().compile()
    x = system.assemble(frames={"platform": (0.15, 0, -0.55)}, guess={"platform": [1, 0, 0, 0, 0, 0, -0.55]})
    circle = control.Trajectory(lambda t: [0.15 * ca.cos(W * t), 0.15 * ca.sin(W * t), -0.55])
    law = control.motion_control(system, control.position("platform"), circle, rate=60.0)
    x = x.replace(v=system.assemble(dict(zip(system.q_names, x.q)), v={"platform.vy": 0.15 * W}).v)
    run = da.simulate(system, x, 2.0, u=law, period=0.001, t_eval=np.linspace(0, 2, 201))
    at = run.position("platform")
    angles = np.array([run[f"A{k}"] for k in (1, 2, 3)])
    exact = np.array([[motor_angle(k, p) for k in range(3)] for p in at])
    rows = {
        "mobility": system.report(x).mobility,
        "turn of the platform (rad)": float(np.abs(run.rotation("platform") - np.eye(3)).max()),
        "motors against the closed form (rad)": float(np.abs(angles - exact.T).max()),
        "distance from the circle (m)": float(np.abs(np.hypot(at[:, 0], at[:, 1]) - 0.15).max()),
    }
    curves = {"motors (rad)": angles, "torques (N m)": run.u.T}
    panels = [Panel(title, {f"{k + 1}": y[k] for k in range(3)}) for title, y in curves.items()]
    picture = Picture(system, [run.state(k) for k in (33, 66, 100)], [at])
    return publish(out, "delta", rows, [picture], panels, run=run, animated=run, traces=["platform"])
