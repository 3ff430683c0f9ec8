"""A human does a pull-up: an optimal motion of Johnson and Murphey's figure, with and without feedback.

The hands hold a bar, which closes a loop through both arms; nine motors move eight degrees of freedom. The torso is to
rise by 0.3 m and to come down again while the legs spread, with little effort: `control.optimal_motion` finds the
torques from the exact derivatives of the variational steps, and the gains that correct a start with a swing.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

from dalembert import control, zoo

RISE, SPREAD, BEND, SPAN = 0.3, 0.8, 0.4, 2.4  # m, rad of the hips, rad of the elbows at first, s
SIDES = {"left": -1.0, "right": 1.0}


def main(out, steps: int = 96) -> dict[str, object]:
    system = zoo.planar_human().compile()
    start = system.state(*zoo.planar_human_start(BEND))
    low = start["torso.y"]
    way = lambda t: ca.sin(np.pi * t / SPAN) ** 2  # noqa: E731

    def off(s):
        """How far a state is from the motion that is wanted."""
        legs = sum((s[f"{n} hip"] - side * SPREAD * way(s.t)) ** 2 + s[f"{n} knee"] ** 2 for n, side in SIDES.items())
        rise = s["torso.y"] - low - RISE * way(s.t)
        return 20 * rise**2 + s["torso.x"] ** 2 + s["torso.angle"] ** 2 + s["neck"] ** 2 + legs

    cost = lambda s, u: 100 * off(s) + 1e-4 * sum(u[n] ** 2 for n in system.u_names)  # noqa: E731
    end = lambda s: 100 * off(s) + sum(s.rate(n) ** 2 for n in system.v_names)  # noqa: E731
    hold = np.tile(control.actuator_forces(system, start).u, (steps, 1))
    motion = control.optimal_motion(system, start, SPAN, cost, end, steps=steps, method="ilqr", guess=hold)
    run, other = motion.simulate(), motion.simulate(method="dopri5", feedback=True)
    swinging = system.project(start.replace(v={"torso.x": 0.2, "left hip": 0.5}))
    free, kept = (motion.simulate(feedback=f, start=swinging) for f in (False, True))
    high, heights = int(np.argmax(run["torso.y"])), lambda x: x["torso.y"] - low
    rows = {
        "motion": motion.message,
        "rise of the torso (m)": float(heights(run).max()),
        "its run": run.message,
        "  off the motion, same steps, at most (rad, m)": float(np.abs(run.q - motion.q).max()),
        "  by dopri5 with feedback, at the end (rad, m)": float(np.abs(other.q[-1] - motion.q[-1]).max()),
        "started with a swing, angle of the torso left at the end (rad)": float(abs(free["torso.angle"][-1])),
        "  with feedback (rad)": float(abs(kept["torso.angle"][-1])),
        "difference between both sides, at most (rad)": float(np.abs(run["left elbow"] + run["right elbow"]).max()),
        "largest torque (N m)": float(np.abs(motion.u).max()),
    }
    torque = {n: run.u[:, system.u_names.index(f"right {n} motor")] for n in ("shoulder", "elbow", "hip", "knee")}
    panels = [
        Panel("rise of the torso (m)", {"optimal": heights(run), "wanted": RISE * np.sin(np.pi * run.t / SPAN) ** 2}),
        Panel("torques of the right side (N m)", torque),
        Panel("torso, started with a swing (rad)", {"inputs alone": (free.t, free["torso.angle"]),
                                                    "with feedback": (kept.t, kept["torso.angle"])}),
    ]  # fmt: skip
    picture = Picture(system, [run.state(0), run.state(high // 2), run.state(high)])
    return publish(out, "pull_up", rows, [picture], panels, run=run, animated=run)
