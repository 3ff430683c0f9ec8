"""A paddle juggles a ball by the mirror law of Buehler, Koditschek and Kindlmann, with stops and impacts.

The paddle moves as a mirror image of the ball, −κ times its height, κ being larger while the ball has too little
energy. A hit of restitution e returns the ball's speed where (1 + e)(1 + κ) M/(M + m) = 2, so that the height settles
from any start. At 5 s the law lets go: the paddle falls on its stop, and the ball bounces until it lies on it.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da

G, E, HIGH, GAIN, LETS_GO, STOP, RATE = 9.81, 0.7, 0.5, 0.05, 5.0, -0.2, 40.0  # m/s², -, m, s²/m², s, m, 1/s
PADDLE, BALL, SIZE = 5.0, 0.1, 0.03  # kg, kg, m
MIRROR = 2 * (PADDLE + BALL) / (PADDLE * (1 + E)) - 1


def toy():
    m = da.Mechanism("juggler", gravity=(0, 0, -G))
    paddle, ball = m.add_body("paddle", mass=PADDLE), m.add_body("ball", mass=BALL)
    paddle.add_shape("box", (0.3, 0.2, 0.02), at=(0, 0, -0.01))
    ball.add_shape("sphere", SIZE)
    m.add_joint("p", da.Prismatic("z"), m.ground, paddle, limits=(STOP, 0.3), stops=da.Stops(restitution=0.3))
    m.add_joint("b", da.Prismatic("z"), m.ground.at(0, 0, SIZE), ball)
    m.add_contact("hit", ball, radius=SIZE, on=paddle, restitution=E)
    m.add_motor("drive", "p")
    return m.compile()


def mirror(t, s):
    """The force on the paddle, which follows −κ b."""
    kappa = MIRROR + GAIN * (G * HIGH - 0.5 * s.rate("b") ** 2 - G * s["b"])
    e, de = -kappa * s["b"] - s["p"], -kappa * s.rate("b") - s.rate("p")
    u = PADDLE * (G + kappa * G + 2 * RATE * de + RATE**2 * e)
    return {"drive": ca.if_else(t < LETS_GO, u, 0.0)}


def main(out, span: float = 8.0) -> dict[str, object]:
    system = toy()
    start = system.state({"b": 0.2, "p": -0.2 * (MIRROR + GAIN * G * (HIGH - 0.2))})
    run = da.simulate(system, start, span, u=da.expression(mirror))
    hits = [s for s in run.switches if s.of == "hit" and s.kind == "hit" and s.t < LETS_GO]
    heights = [run(s.t)["b"] + s.v_after[1] ** 2 / (2 * G) for s in hits]
    rows = {
        "hits under the law": len(hits),
        "height of the first and of the last throw (m)": f"{heights[0]:.4f}, {heights[-1]:.4f}",
        "  settles at (m)": HIGH,
        "speed after a hit / before it, at last": float(-hits[-1].v_after[1] / hits[-1].v_before[1]),
        "lost in impacts (J)": -float(run.work["impacts"][-1]),
        "paddle and ball at the end (m)": f"{run['p'][-1]:.6f}, {run['b'][-1]:.6f}",
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [
        Panel("height (m)", {"ball": run["b"], "paddle": run["p"]}),
        Panel("speed (m/s)", {"ball": run.rate("b"), "paddle": run.rate("p")}),
        Panel("force of the drive (N)", {"drive": run.u[:, 0]}),
    ]
    return publish(out, "juggler", rows, [Picture(system, [start])], panels, run=run, animated=run)
