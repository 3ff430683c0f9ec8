"""A pendulum swings up by planned motion, and is caught.

The cart may push with 6 N and has 0.6 m of rail to each side, which is not enough to lift the pendulum at once.
`control.plan_motion` finds the swing of least effort within these limits. `da.lqr_along` keeps the cart on the
planned motion and `da.lqr` balances the pendulum upright afterwards, although the start is a little off.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import control, zoo

PUSH, RAIL, SPAN, TICK = 6.0, 0.6, 2.5, 0.01  # N, m, s, s


def main(out, intervals: int = 40) -> dict[str, object]:
    system = zoo.cart_pole().compile()
    hanging = system.state(*zoo.cart_pole_start(hanging=True))
    keep = {"limits": {"push": PUSH}, "positions": {"cart": RAIL}}
    plan = control.plan_motion(system, hanging, {"cart": 0.0, "phi1": 0.0}, SPAN, intervals=intervals, **keep)
    swing = plan.simulate()
    ticks = np.linspace(0.0, SPAN, round(SPAN / TICK) + 1)
    track = da.lqr_along(da.linearize_along(system, swing, times=ticks), {"cart": 10.0, "phi1": 10.0}, 0.1)
    upright = system.state(*zoo.cart_pole_start())
    balance = da.lqr(da.linearize(system, upright).discretize(TICK), {"cart": 1.0, "phi1": 10.0}, 0.1)

    def law(t, state):
        return np.clip(track(t, state) if t < SPAN else balance(t, state), -10.0, 10.0)

    run = da.simulate(system, hanging.replace({"phi1": np.pi + 0.05}), 6.0, u=law, period=TICK)
    open_loop = da.simulate(system, hanging.replace({"phi1": np.pi + 0.05}), SPAN, u=plan.sampled(TICK), period=TICK)
    rows = {
        "plan": plan.message,
        "pendulum at the end of the plan, simulated (rad)": float(swing["phi1"][-1]),
        "started 0.05 rad off, in open loop (rad)": float(open_loop["phi1"][-1]),
        "started 0.05 rad off, with feedback, after 6 s (rad)": float(run["phi1"][-1]),
        "largest way of the cart (m)": float(np.abs(run["cart"]).max()),
        "largest push (N)": float(np.abs(run.u).max()),
    }
    panels = [
        Panel("pendulum (rad, 0 is upright)", {"with feedback": run["phi1"], "planned": (swing.t, swing["phi1"])}),
        Panel("cart (m)", {"with feedback": run["cart"], "planned": (swing.t, swing["cart"])}),
        Panel("push (N)", {"with feedback": run.u[:, 0], "planned": (swing.t, swing.u[:, 0])}),
    ]
    picture = Picture(system, [run.state(k) for k in np.linspace(0, len(run.t) - 1, 9).astype(int)])
    return publish(out, "swing_up", rows, [picture], panels, run=run, animated=run, traces=["tip"])
