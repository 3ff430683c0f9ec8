"""A Stewart platform catches a ball and rolls it to its middle.

A ball of 5 kg falls from 0.6 m above a platform of 20 kg, off its centre. Each of six motors holds the length of its
leg as a spring and a damper would. From 0.6 s on the lengths are those of a slope against the place and the speed of
the ball, such that a ball that rolls, ẍ = −5/7 g · slope, comes to the middle as e^(−ωt) (1 + ωt) does. Six closed
loops, impacts, friction that sticks and a ball that rolls are one run by time stepping.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

BALL, SIZE, DROP, G, PLACE = 5.0, 0.08, 0.6, 9.81, np.array([0.20, 0.10])  # kg, m, m, m/s², m
STIFF, DAMP, RATE, CAUGHT = 5e4, 1500.0, 1.5, 0.6  # of a leg, N/m, N s/m; 1/s; s
LEGS = [(R[:, 2], top) for _, top, _, R in zoo.StewartGeometry().legs()]  # direction, place on the platform
LIGHT = {"mass": 20.0, "inertia": (5.0, 5.0, 10.0), "gravity": G}


def machine():
    m = zoo.stewart(**LIGHT)
    ball = m.add_body("ball", mass=BALL, inertia=da.sphere_inertia(BALL, SIZE))
    ball.add_shape("sphere", SIZE, colour=(0.9, 0.4, 0.1, 1))
    m.add_joint("ball", da.Free(), m.ground, ball)
    m.add_contact("plate", ball, radius=SIZE, on="platform", friction=0.5, restitution=0.3)
    return m.compile()


def main(out, span: float = 5.0) -> dict[str, object]:
    system, (home, _) = machine(), zoo.stewart_start()
    level = da.equilibrium(zoo.stewart(**LIGHT).compile(), home, solve_for="u").u

    def law(t, s):
        at, speed = s.position("ball"), s.velocity("ball")
        slope = ca.if_else(t > CAUGHT, 7 / (5 * G) * (RATE**2 * at[:2] + 2 * RATE * speed[:2]), 0)
        wanted = [n[2] * ca.dot(ca.DM(top[:2]), slope) for n, top in LEGS]
        return [u - STIFF * (s[f"P{k}"] - w) - DAMP * s.rate(f"P{k}") for k, (u, w) in enumerate(zip(level, wanted), 1)]

    start = system.state(dict(home) | {"ball": [1, 0, 0, 0, *PLACE, 2.0 + SIZE + DROP]})
    run = da.simulate(system, start, span, u=da.expression(law), method="moreau", step=5e-4)
    force, place = run.multiplier("plate")[:, 0], run.position("ball")[:, :2]
    after = RATE * (run.t - CAUGHT).clip(0)
    theory = np.outer(np.exp(-after) * (1 + after), PLACE)
    rows = {
        "reached the end": run.success,
        "first hit at, and by √(2 h/g) (s)": f"{run.t[np.argmax(force > 0)]:.4f}, {np.sqrt(2 * DROP / G):.4f}",
        "off the motion that was asked for, at most (m)": float(np.abs(place - theory).max()),
        "from the middle at the end (m)": float(np.hypot(*place[-1])),
        "sag × stiffness of the legs / weight": float(
            (2 - run["platform.z"][-1]) * STIFF * sum(n[2] ** 2 for n, _ in LEGS) / (BALL * G)
        ),
        "loops closed to (m)": float(np.abs(run.residuals).max()),
    }
    curves = {"x": place[:, 0], "y": place[:, 1], "x wanted": theory[:, 0]}
    panels = [Panel("ball (m)", curves), Panel("sag of the platform (m)", {"": 2 - run["platform.z"]})]
    pictures = [Picture(system, [run(t) for t in (0.0, 0.6, span)], [run.position("ball")])]
    return publish(out, "catching", rows, pictures, panels, animated=run, run=run)
