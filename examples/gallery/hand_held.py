"""A hand holds a ball by friction alone while somebody pushes it.

The tips of the five digits touch the ball: they roll, slide and leave as contacts with friction do. Tensions that hold
it still are found with every tip inside a cone of 0.5 and every tendon pulling. Held constant they let the ball go: the
grasp is unstable, at 39 1/s. The regulator of the hand with tips fixed to the ball keeps it through a push of 0.15 N.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

PUSH, AT, LASTS = 0.15, 0.05, 0.02  # N, s, s
TICK, MOST, FRICTION, CONE = 0.002, 60.0, 0.9, 0.5  # s, N


def regulator(system: da.System, x: da.State, digits: list[str]) -> tuple[np.ndarray, da.Regulator]:
    """Tensions that hold the ball of the hand with tips fixed to it, and the regulator about them."""
    cones = [control.Cone(f"{d} contact.z", [f"{d} contact.x", f"{d} contact.y"], CONE) for d in digits]
    rest = control.actuator_forces(system, x, limits=dict.fromkeys(system.u_names, (0.5, MOST)), cones=cones)
    model = da.linearize(system, x, u=rest.u).discretize(TICK)
    half, each = len(model.state_names) // 2, ((1e4, 1e7), (1.0, 1e2))  # of positions and rates, those of the ball last
    weights = {name: each[k >= half][".v" in name] for k, name in enumerate(model.state_names)}
    return rest.u, da.lqr(model, weights, 1.0, limits=dict.fromkeys(system.u_names, (0.0, MOST)))


def main(out, span: float = 0.5) -> dict[str, object]:
    pinned = zoo.hand().compile()
    x = pinned.state(*zoo.hand_start())
    digits = [name.removesuffix(" contact") for name in pinned.layout.mechanism.constraints]
    tensions, keep = regulator(pinned, x, digits)
    m = zoo.hand(friction=FRICTION)
    m.add_wrench("push", "object", force=lambda s: (0.0, PUSH * ca.exp(-(((s.t - AT) / LASTS) ** 2)), 0.0))
    system = m.compile()
    free = da.simulate(system, x.q, span, u=tensions)
    run = da.simulate(system, x.q, span, u=lambda t, s: keep(t, pinned.state(s.q, s.v)), period=TICK)
    away = [1e3 * np.linalg.norm(r.position("object") - x.position("object"), axis=1) for r in (run, free)]
    early, pressed = free.t < min(span, 0.25), run.t > 1e-3  # before, tips take hold: the start is off by rounding
    push = {d: run.multiplier(f"{d} contact")[pressed] for d in digits}
    slope = {d: np.hypot(f[:, 1], f[:, 2]) / f[:, 0] for d, f in push.items()}
    rows = {
        "the ball moves by at most (mm)": float(away[0].max()),
        "it is off by, at the end (mm)": float(away[0][-1]),
        "  with constant tensions (mm)": float(away[1][-1]),
        "smallest tension (N)": float(run.u.min()),
        "largest tension (N)": float(run.u.max()),
        "least push of a tip (N)": float(min(f[:, 0].min() for f in push.values())),
        "friction / push, at most": float(max(s.max() for s in slope.values())),
        "tips that slide or leave": sum(" slides" in str(s) or " left" in str(s) for s in run.switches),
        "  with constant tensions": sum(" slides" in str(s) or " left" in str(s) for s in free.switches),
    }
    panels = [
        Panel("the ball is off by (mm)", {"regulator": away[0], "constant": (free.t[early], away[1][early])}),
        Panel("push of the tips (N)", {d: (run.t[pressed], f[:, 0]) for d, f in push.items()}),
        Panel("friction / push", {d: (run.t[pressed], s) for d, s in slope.items()}),
    ]
    return publish(out, "hand_held", rows, [Picture(system, [x])], panels, run=run)
