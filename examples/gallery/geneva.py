"""A Geneva drive: a pin in one of four slots turns a wheel by quarters.

The walls of the slots are two gaps, ± y of the pin in the slot that is nearest, with flared mouths; while the pin is
out, two more lock the wheel, as the disc of the crank does. All leave 0.1 mm of play. While the pin is in a slot, the
wheel follows β = atan(λ sin α / (1 − λ cos α)), λ = sin(π/n), to half of the play over the distance of the pin.
"""

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da

SLOTS, CRANK, PLAY, SPEED = 4, 0.03, 1e-4, 2 * np.pi  # -, m, m, rad/s
LAMBDA, PITCH = np.sin(np.pi / SLOTS), 2 * np.pi / SLOTS
APART, WHEEL = CRANK / LAMBDA, CRANK / np.tan(np.pi / SLOTS)  # m


def drive():
    m = da.Mechanism("Geneva drive", gravity=(0, 0, 0))
    crank, wheel = (m.add_body(n, mass=0.1, inertia=(2e-5,) * 3) for n in ("crank", "wheel"))
    m.add_joint("crank", da.Revolute("z"), m.ground, crank)
    m.add_joint("wheel", da.Revolute("z"), m.ground.at(APART), wheel, damping=2e-4)
    m.add_driver("motor", "crank", lambda t: SPEED * t - np.pi / 2)
    pin = m.add_frame("pin", crank.at(CRANK))

    def gap(s, side, locks):
        x, y, _ = ca.vertsplit(s.rotation(wheel).T @ (s.position(pin) - s.position(wheel)))
        inside = WHEEL - ca.hypot(x, y)
        angle = s["wheel"] - np.pi / SLOTS if locks else ca.atan2(-y, -x)
        off = (WHEEL if locks else ca.hypot(x, y)) * ca.sin(angle - PITCH * ca.floor(angle / PITCH + 0.5))
        return PLAY / 2 - side * off + 2 * ca.fmax(inside if locks else -inside, 0)

    for k, name in enumerate(("slot right", "slot left", "lock right", "lock left")):
        m.add_unilateral(name, lambda s, side=2 * (k % 2) - 1, locks=k > 1: gap(s, side, locks))
    wheel.add_shape("cylinder", (WHEEL, 0.004), colour=(0.75, 0.6, 0.2, 1))
    for k in range(SLOTS):
        R, long = da.rotation("z", k * PITCH), WHEEL - APART + CRANK
        wheel.add_shape("box", (long, 0.004, 0.0041), at=R @ (WHEEL - long / 2, 0, 0), rotation=R, colour=(0, 0, 0, 1))
    crank.add_shape("sphere", 0.0018, at=(CRANK, 0, 0.01))
    crank.add_shape("box", (CRANK, 0.003, 0.003), at=(CRANK / 2, 0, 0.009))
    return m.compile()


def main(out, span: float = 2.0) -> dict[str, object]:
    system = drive()
    start = system.assemble({"crank": -np.pi / 2, "wheel": np.pi / SLOTS})
    run = da.simulate(system, start, span, method="moreau", step=2.5e-4)
    turns, alpha = np.divmod(run["crank"] + np.pi, 2 * np.pi) - np.array([[0.0], [np.pi]])  # from the line of centres
    off = run["wheel"] + PITCH * turns + np.arctan2(LAMBDA * np.sin(alpha), 1 - LAMBDA * np.cos(alpha))
    rows = {
        "quarters in two turns": float(run["wheel"][0] - run["wheel"][-1]) / PITCH,
        "off the formula, in a slot (rad)": float(np.abs(off[np.abs(alpha) < np.pi / 2 - np.pi / SLOTS]).max()),
        "  play / 2 over the least distance (rad)": PLAY / 2 / (APART - CRANK),
        "fastest, by the formula (rad/s)": f"{-run.rate('wheel').min():.4f}, {SPEED * LAMBDA / (1 - LAMBDA):.4f}",
    }
    walls = {name: run.multiplier(f"slot {name}").clip(0, 1) for name in ("left", "right")}
    panels = [Panel("wheel (rad)", {"": run["wheel"]}), Panel("walls on the pin, up to 1 N", walls)]
    return publish(out, "geneva", rows, [Picture(system, [run(0.19)])], panels, run=run, animated=run)
