"""A quadruped on five-bar legs stands and is pushed.

`examples/models/quadruped.yaml`: sixteen bars in four closed loops, eight servos, four feet with friction. The servos
hold the stance and know nothing else. A push on the trunk that grows slowly slides it forwards at μ m g, and lifts two
feet sideways at m g a / h, a half the width of the stance, h the height of the trunk. Of pushes of a tenth of a second
it slides and stops, or rocks on two feet and comes back, or falls: that run ends at 60°, as only the feet touch.
"""

import numpy as np
from common import Panel, Picture, publish
from legged import FEET, FRICTION, STEP, evidence, robot, tilt

import dalembert as da

PUSHES = {"forwards, 60 N": (60.0, 0.0), "sideways, 60 N": (0.0, 60.0), "sideways, 90 N": (0.0, 90.0)}


FALLS = da.Event(lambda t, s: s["trunk.qx"] ** 2 + s["trunk.qy"] ** 2 - 0.25, terminal=True)


def pushed(system, start, force, span):
    """A run with the force (x, y), a function of time, on the trunk."""
    how = {"u": lambda t, s: [*start.u[:8], *force(t), 0.0], "period": 0.01, "events": {"falls": FALLS}, **STEP}
    return da.simulate(system, start, span, **how)


def short(force):
    """A push from 0.2 to 0.3 s."""
    return lambda t: force if 0.195 < t < 0.295 else (0.0, 0.0)


def main(out, span: float = 2.0) -> dict[str, object]:
    system, rest, weight = robot()
    ahead, aside = (pushed(system, rest, f, 4.5) for f in (lambda t: [10 * t, 0], lambda t: [0, 10 * t]))
    forces = np.array([ahead.multiplier(f) for f in FEET])  # (feet, times, 3), normal first
    slides = np.argmax((np.hypot(forces[..., 1], forces[..., 2]) > 0.999 * FRICTION * forces[..., 0]).all(axis=0)[1:])
    lifted = aside.state(int(np.argmax(aside.multiplier("FR foot.gap")[1:] == 0.0)))
    edge = float(lifted.position("FL toe")[1] - system.center_of_mass(lifted)[1])
    first, rocked, fallen = runs = [pushed(system, rest, short(force), span) for force in PUSHES.values()]
    rows = {
        "force on all feet at last / weight": sum(first.multiplier(f"{f}.gap")[-1] for f in FEET) / weight,
        "slow push that slides it forwards (N)": 10 * float(ahead.t[slides]),
        "  friction of its weight (N)": FRICTION * weight,
        "slow push that lifts two feet (N)": 10 * lifted.t,
        "  m g a / h (N)": weight * edge / lifted["trunk.z"],
        "60 N forwards move it by (m)": float(first["trunk.x"][-1]),
        "60 N sideways tilt it by, at most and at the end (deg)": f"{tilt(rocked).max():.2f}, {tilt(rocked)[-1]:.2f}",
        "90 N sideways: falls at (s)": float(fallen.t[-1]),
        **evidence(runs),
    }
    panels = [
        Panel("tilt of the trunk (deg)", {name: (r.t, tilt(r)) for name, r in zip(PUSHES, runs)}),
        Panel("sideways, 60 N: force on the feet (N)", {f: (rocked.t, rocked.multiplier(f"{f}.gap")) for f in FEET}),
        Panel("forwards, 60 N: place of the trunk (m)", {"x": (first.t, first["trunk.x"])}),
    ]
    leaning = rocked.state(int(np.argmax(tilt(rocked))))
    pictures = [Picture(system, [rest], title="at rest"), Picture(system, [leaning], title="60 N sideways")]
    return publish(out, "quadruped", rows, pictures, panels, animated=rocked)
