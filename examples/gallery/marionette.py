"""A marionette: strings that a hand shortens, and the figure that follows.

A flat figure hangs by its shoulders on a bar and by its hands on two strings. The bar moves sideways, the strings are
reeled in and out: three kinematic inputs. Lengths of strings are coordinates of small winches; no string goes slack.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

LENGTH = 1.0  # m, of all strings at rest
SIDES = {"left": -1.0, "right": 1.0}


def main(out) -> dict[str, object]:
    system, T = zoo.marionette().compile(), 6.0
    waving = lambda t, k: LENGTH - 0.1 * ca.sin(ca.pi * t / T) ** 2 * (1 + k * ca.cos(5 * t))  # noqa: E731
    reels = {f"{n} reel": lambda t, k=k: waving(t, k) for n, k in SIDES.items()}
    leading = control.lead(system, {"hand": control.quintic(0.0, 0.6, 0.7 * T), **reels})
    rest = system.state(*zoo.marionette_start())
    start = system.assemble(*leading.at(), guess=rest)
    run = da.simulate(system, start, T, u=leading)
    off = np.abs(np.stack([run[n] for n in leading.coordinates], axis=1) - leading.motion.sampled(run.t)[0]).max()
    tension = {n: -run.multiplier(f"{n} string") for n in SIDES}
    rows = {
        "degrees of freedom, of which led": f"{system.report(start).mobility}, {len(system.description.prescribed)}",
        "bar and strings off their motions, at most (m)": float(off),
        "frequency of the free swing (Hz)": max(mode.frequency for mode in da.linearize(system, rest).modes),
        "least tension of the hands' strings (N)": float(min(map(np.min, tension.values()))),
        "  at rest, weight of an arm / 2 (N)": float(tension["left"][0]),
        "energy balance off by (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [Panel("strings of the hands (m)", {n: run[f"{n} winch"] for n in SIDES}), Panel("tension (N)", tension)]
    strings = [np.array([run(2.6).position(f"{n} {end}") for end in ("hand", "hook")]) for n in SIDES]
    return publish(out, "marionette", rows, [Picture(system, [run(2.6)], strings)], panels, run=run, animated=run)
