"""A ratchet: a wheel turns against a load one way, and a pawl keeps it from turning back.

The tip of the pawl is kept outside the saw teeth by two gaps. One is to the nearest tooth, which is what lies behind
its face and below its back: the greater of two distances. The other is to the back of the next. For 0.9 s a motor turns
the wheel, and the pawl rides over its teeth. Then the load turns it back, by less than a tooth, until the pawl holds it
on a face: there the force of the tooth times its radius is the torque of the load.
"""

from itertools import pairwise

import casadi as ca
import numpy as np
from common import Panel, Picture, publish

import dalembert as da

TEETH, ROOT, CREST, LEVER = 12, 0.040, 0.046, 0.05  # -, m
PITCH, RISE = 2 * np.pi / TEETH, (CREST - ROOT) * TEETH / (2 * np.pi)  # rad, m/rad
MOTOR, LOAD, LETS_GO = 0.2, 0.1, 0.9  # N m, N m, s


def ratchet():
    m = da.Mechanism("ratchet", gravity=(0, 0, 0))
    wheel = m.add_body("wheel", mass=0.5, inertia=(4e-4,) * 3)
    pawl = m.add_body("pawl", mass=0.05, com=(LEVER / 2, 0, 0), inertia=da.rod_inertia(0.05, LEVER))
    m.add_joint("wheel", da.Revolute("z"), m.ground, wheel, damping=0.02)
    pivot, tip = m.ground.at(-LEVER, ROOT + 0.002), m.add_frame("tip", pawl.at(LEVER))
    m.add_joint("pawl", da.Revolute("z"), pivot, pawl, stiffness=0.2, rest=-0.6, damping=1e-3)
    m.add_motor("shaft", "wheel")

    def gap(s, ahead, tooth):
        x, y, _ = ca.vertsplit(s.rotation(wheel).T @ (s.position(tip) - s.position(wheel)))
        r, angle = ca.hypot(x, y), ca.atan2(y, x) - PITCH * ca.floor(ca.atan2(y, x) / PITCH + ahead)  # from a face
        return ca.fmax(r * angle, r - CREST - RISE * angle) if tooth else r - ROOT - RISE * ca.fmax(angle, 0)

    m.add_unilateral("tooth", lambda s: gap(s, 0.5, True))
    m.add_unilateral("back", lambda s: gap(s, 0.25, False))
    for a, b in pairwise([r * da.rotation("z", k * PITCH)[:, 0] for k in range(TEETH + 1) for r in (CREST, ROOT)][:-1]):
        R = da.rotation("z", np.arctan2(*(b - a)[1::-1]))
        wheel.add_shape("box", (np.linalg.norm(b - a), 0.001, 0.008), at=(a + b) / 2, rotation=R)
    return m.compile()


def main(out, span: float = 1.5) -> dict[str, object]:
    system = ratchet()
    law = da.expression(lambda t, s: {"shaft": ca.if_else(t < LETS_GO, -MOTOR, LOAD)})
    run = da.simulate(system, system.state({"pawl": 0.15}), span, u=law, method="moreau", step=1e-4)
    x, y, _ = run.position("tip").T
    teeth, push = (np.arctan2(y, x) - run["wheel"]) / PITCH, run.multiplier("tooth")
    rows = {
        "teeth passed": int(teeth.max()) - int(teeth[0]),
        "turned back by (teeth)": float(teeth[run.t > LETS_GO].max() - teeth[-1]),
        "off a face at the end (teeth)": float(abs(teeth[-1] - np.round(teeth[-1]))),
        "force of the tooth × radius (N m)": float(push[-1] * np.hypot(x, y)[-1]),
        "tip in the teeth, at most (m)": float(run.penetration.max()),
    }
    curves = {"wheel (teeth)": -run["wheel"] / PITCH, "pawl (rad)": run["pawl"], "tooth, up to 5 N": push.clip(0, 5)}
    panels = [Panel(title, {"": y}) for title, y in curves.items()]
    return publish(out, "ratchet", rows, [Picture(system, [run.state(-1)])], panels, run=run, animated=run)
