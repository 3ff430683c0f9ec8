"""A marionette: strings that a hand shortens, and the figure that follows.

A flat figure hangs by its shoulders on a bar and by its hands on two strings. The bar moves sideways, the strings are
reeled in and out: three kinematic inputs. Lengths of strings are coordinates of small winches; no string goes slack.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da

HIGH, WIDE = 1.0, 0.25  # m: the bar above the shoulders, half of the shoulders' width
SIDES = {"left": -1.0, "right": 1.0}


def marionette() -> da.Mechanism:
    m = da.Mechanism("marionette")
    bar = m.add_body("bar", mass=0.2, inertia=da.rod(0.2, 1.5, "x"))
    torso = m.add_body("torso", mass=1.2, com=(0, 0, -0.3), inertia=da.box(1.2, (0.3, 0.1, 0.6)))
    bar.add_shape("box", (1.5, 0.05, 0.05))
    torso.add_shape("box", (2 * WIDE, 0.1, 0.6), at=(0, 0, -0.3))
    m.add_kinematic_input("hand", m.add_joint("bar", da.Prismatic("x"), m.ground, bar))
    m.add_joint("torso", da.Planar("-y"), m.ground.at(0, 0, -HIGH), torso, damping=(0, 0, 0.02))
    for name, side in SIDES.items():
        arm = m.add_body(f"{name} arm", mass=0.25, com=(0.25 * side, 0, 0), inertia=da.rod(0.25, 0.5, "x"))
        winch = m.add_body(f"{name} winch", mass=0.02)
        winch.add_shape("sphere", 0.001)  # it stands for a length: nothing to see
        m.add_joint(f"{name} arm", da.Revolute("-y"), torso.at(WIDE * side, 0, 0), arm, damping=0.01)
        m.add_kinematic_input(f"{name} reel", m.add_joint(f"{name} winch", da.Prismatic("x"), bar, winch))
        m.add_rod(f"{name} shoulder", bar.at(WIDE * side, 0, 0), torso.at(WIDE * side, 0, 0), length=HIGH)
        ends = {"hand": arm.at(0.5 * side, 0, 0), "hook": bar.at(0.75 * side, 0, 0)}
        hand, hook = (m.add_frame(f"{name} {end}", frame) for end, frame in ends.items())
        string = lambda s, a=hand, b=hook, n=name: ca.norm_2(s.position(a) - s.position(b)) - s[f"{n} winch"]  # noqa: E731
        m.add_constraint(f"{name} string", holonomic=string)
    return m


def main(out) -> dict[str, object]:
    system, T = marionette().compile(), 6.0
    waving = lambda t, k: HIGH - 0.1 * ca.sin(ca.pi * t / T) ** 2 * (1 + k * ca.cos(5 * t))  # noqa: E731
    reels = {f"{n} reel": lambda t, k=k: waving(t, k) for n, k in SIDES.items()}
    leading = da.control.lead(system, {"hand": da.control.quintic(0.0, 0.6, 0.7 * T), **reels})
    start = system.assemble(*leading.at(), guess={"left winch": HIGH, "right winch": HIGH})
    run = da.simulate(system, start, T, u=leading)
    off = np.abs(np.stack([run[n] for n in leading.coordinates], axis=1) - leading.motion.sampled(run.t)[0]).max()
    tension = {n: -run.multiplier(f"{n} string") for n in SIDES}
    rest = da.linearize(system, system.assemble({"bar": 0.0, "left winch": HIGH, "right winch": HIGH}))
    rows = {
        "degrees of freedom, of which led": f"{system.report(start).mobility}, {len(system.led)}",
        "bar and strings off their motions, at most (m)": float(off),
        "frequency of the free swing (Hz)": max(mode.frequency for mode in rest.modes),
        "least tension of the hands' strings (N)": float(min(map(np.min, tension.values()))),
        "  at rest, weight of an arm / 2 (N)": float(tension["left"][0]),
        "energy balance off by (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [Panel("strings of the hands (m)", {n: run[f"{n} winch"] for n in SIDES}), Panel("tension (N)", tension)]
    strings = [np.array([run(2.6).position(f"{n} {end}") for end in ("hand", "hook")]) for n in SIDES]
    return publish(out, "marionette", rows, [Picture(system, [run(2.6)], strings)], panels, run=run, animated=run)
