"""A marionette is carried over 0.6 m in the time of one swing, waves on the way, and hangs still at the end.

`control.optimal_motion` finds the accelerations of the bar and of the reels, all three kinematic inputs. A smooth
motion of the bar over the same way leaves the figure swinging. No string goes slack.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

FAR, SPAN, STEPS, LENGTH = 0.6, 2.0, 80, 1.0  # m, s, steps, m of all strings at rest
WAVES = {"left": 1, "right": 2}


def swing(x) -> float:
    """How far the figure would swing under a bar that stands still (m)."""
    return float(np.hypot(x["torso.x"] - x["bar"], x.rate("torso.x") / np.sqrt(9.81 / LENGTH)))


def main(out) -> dict[str, object]:
    system = zoo.marionette().compile()
    rest = system.state(*zoo.marionette_start())
    level = {n: float(rest.position(f"{n} hand")[2]) for n in WAVES}
    wanted = lambda n, t: level[n] + 0.15 * ca.sin(WAVES[n] * np.pi * t / SPAN) ** 2  # noqa: E731

    def cost(s, u):
        hands = sum((s.position(f"{n} hand")[2] - wanted(n, s.t)) ** 2 for n in WAVES)
        return 20 * hands + 10 * s["torso.angle"] ** 2 + 1e-3 * sum(u[n] ** 2 for n in system.u_names)

    def end(s):
        off = (s["torso.x"] - FAR) ** 2 + (s["bar"] - FAR) ** 2 + sum((s[f"{n} winch"] - LENGTH) ** 2 for n in WAVES)
        return 500 * off + 100 * sum(s.rate(n) ** 2 for n in system.v_names)

    motion = control.optimal_motion(system, rest, SPAN, cost, end, steps=STEPS)
    run = motion.simulate()
    alone = {"hand": control.quintic(0.0, FAR, SPAN), "left reel": LENGTH, "right reel": LENGTH}
    smooth = da.simulate(system, rest, SPAN, u=control.lead(system, alone))
    tension = {n: -run.multiplier(f"{n} string") for n in WAVES}
    rows = {
        "optimal motion": motion.message,
        "simulated back, off by (m, rad)": float(np.abs(run.q - motion.q).max()),
        "swing left at the end (m)": swing(run.state(-1)),
        "  by a smooth motion of the bar (m)": swing(smooth.state(-1)),
        "least tension of the hands' strings (N)": float(min(map(np.min, tension.values()))),
    }
    behind = {"optimal": run["torso.x"] - run["bar"], "smooth": (smooth.t, smooth["torso.x"] - smooth["bar"])}
    hands = {n: run[f"{n} winch"] for n in WAVES}
    panels = [Panel("torso − bar (m)", behind), Panel("strings of the hands (m)", hands), Panel("tension (N)", tension)]
    x = run(0.25 * SPAN)
    strings = [np.array([x.position(f"{n} {end}") for end in ("hand", "hook")]) for n in WAVES]
    return publish(out, "marionette_carried", rows, [Picture(system, [x], strings)], panels, run=run, animated=run)
