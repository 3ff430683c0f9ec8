"""A governor by linear-quadratic regulation: the speed is held against a load.

The same machine with a motor on its shaft, free to turn. In a steady turn it is linearized exactly, in three states:
the angle of the arms, its rate, and the speed. `da.lqr` designs a regulator for the model. After one second a brake
is applied. Without the regulator the shaft slows down and the balls sink.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish
from governor import ARM, BALL, SLEEVE, governor

import dalembert as da

SPEED, BRAKE = 14.0, 0.1  # rad/s, N m


def main(out) -> dict[str, object]:
    m = governor()
    m.add_joint_force("brake", "turn", lambda s: -BRAKE * ca.if_else(s.t > 1.0, 1.0, 0.0))
    system = m.compile()
    angle = float(np.arccos(9.81 * (1 + SLEEVE / BALL) / (SPEED**2 * ARM)))
    near = {"knee 1": -2 * angle, "knee 2": -2 * angle, "rise": 2 * ARM * (1 - np.cos(angle))}
    x = system.assemble({"theta 1": angle, "theta 2": angle}, v={"turn": SPEED, "theta 1": 0.0}, guess=near)
    model = da.linearize(system, x, independent=["turn", "theta 1"]).without()
    regulator = da.lqr(model, {"turn rate": 100.0}, 1.0)
    held = da.simulate(system, x, 8.0, u=regulator, period=0.01)
    left = da.simulate(system, x, 8.0)
    rows = {
        "states of the model": ", ".join(model.state_names),
        "eigenvalues, left alone (1/s)": ", ".join(f"{e:.3f}" for e in model.eigenvalues),
        "eigenvalues, regulated (1/s)": ", ".join(f"{e:.3f}" for e in regulator.eigenvalues),
        "speed after 8 s, left alone (rad/s)": float(left.rate("turn")[-1]),
        "speed after 8 s, regulated (rad/s)": float(held.rate("turn")[-1]),
        "  expected: brake / gain below 14 (rad/s)": float(
            SPEED - BRAKE / regulator.K[0, model.state_names.index("turn rate")]
        ),
        "torque of the motor at the end (N m)": float(held.u[-1, 0]),
    }
    both = {"regulated": held, "left alone": left}
    panels = [
        Panel("speed (rad/s); the brake takes hold at 1 s", {n: (r.t, r.rate("turn")) for n, r in both.items()}),
        Panel("arms (rad)", {n: (r.t, r["theta 1"]) for n, r in both.items()}),
        Panel("torque of the motor (N m)", {"regulated": (held.t, held.u[:, 0])}),
    ]
    pictures = [Picture(system, [left.state(-1), held.state(-1)], title="at the end: left alone (pale), regulated")]
    return publish(out, "governor_lqr", rows, pictures, panels, animated=left, speed=0.5)
