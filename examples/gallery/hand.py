"""A hand moves a ball with twenty-three tendons.

Twenty joint angles, five tips on a ball of 7 cm, tendons that pull and cannot push: the size of Fig. 1 of Johnson and
Murphey. `control.actuator_forces` finds the smallest tensions that hold the ball with every tip inside its friction
cone; motion control with the same limits lifts it by 4 mm. The exact linear model has 22 states, two of them unstable,
and the tendons reach all.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

LIFT, TICK = 0.004, 0.002  # m, s


def main(out, span: float = 1.0) -> dict[str, object]:
    system = zoo.hand().compile()
    x = system.state(*zoo.hand_start())
    pull = dict.fromkeys(system.u_names, (0.0, 60.0))
    tips = [name.removesuffix(" contact") for name in system.layout.mechanism.constraints]
    cones = [control.Cone(f"{t} contact.z", [f"{t} contact.x", f"{t} contact.y"], 0.6) for t in tips]
    hold = control.actuator_forces(system, x, limits=pull, cones=cones)
    model = da.linearize(system, x, u=np.maximum(hold.u, 0.0))
    home = x.position("object")
    path = control.quintic(home, home + np.array([0.0, 0.0, LIFT]), 0.8)
    law = control.motion_control(
        system, control.position("object"), path, rate=15.0, limits=pull, cones=cones, free_damping=15.0
    )
    run = da.simulate(system, x, span, u=law, period=TICK, t_eval=np.linspace(0, span, 101))
    up = 1e3 * (run.position("object")[:, 2] - home[2])
    wanted = np.array([1e3 * (path(t)[0][2] - home[2]) for t in run.t])
    pulling = [name for name, u in zip(system.u_names, hold.u) if u > 1e-6]
    push = {t: run.multiplier(f"{t} contact") for t in tips}
    slope = {t: np.hypot(f[:, 0], f[:, 1]) / f[:, 2] for t, f in push.items()}
    rows = {
        "freedoms, tendons": f"{hold.mobility}, {len(system.u_names)}",
        "states of the linear model, controllable": f"{len(model.state_names)}, {model.controllable}",
        "tendons that pull while it rests": f"{len(pulling)}: {', '.join(pulling)}",
        "acceleration left while it rests (rad/s², m/s²)": float(np.abs(system.acceleration(x, u=hold.u).vdot).max()),
        "largest distance from the path (mm)": float(np.abs(up - wanted).max()),
        "smallest and largest tension on the way (N)": f"{run.u.min():.2g}, {run.u.max():.4g}",
        "least push of a tip (N)": float(min(f[:, 2].min() for f in push.values())),
        "friction / push, at most": float(max(s.max() for s in slope.values())),
    }
    panels = [
        Panel("height of the ball (mm)", {"run": up, "wanted": wanted}),
        Panel("push of the tips (N)", {t: f[:, 2] for t, f in push.items()}),
        Panel("tensions (N)", {name: run.u[:, k] for k, name in enumerate(system.u_names)}),
    ]
    picture = Picture(system, [x])
    return publish(out, "hand", rows, [picture], panels, run=run, animated=run, traces=["object"], speed=0.2)
