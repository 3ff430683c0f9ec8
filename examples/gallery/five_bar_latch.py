"""A five-bar whose loop opens and is latched again, in one run.

Two arms with springs and dampers hold a pin between their tips. At 0.4 s the pin is drawn: the arms swing apart, each
for itself. When their tips are within five millimetres of each other again the latch falls in: a plastic impact, by the
orthogonal projection of the velocity in the mass metric. The energy it takes is in the balance.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

NEAR = 5e-3  # m
ELBOW = np.arccos(0.5 / 0.7 - np.cos(1.7)) - 1.7  # at rest the tips meet


def arms():
    m = da.Mechanism("five-bar", gravity=(0, 0, 0))
    tips = []
    for side, foot, q in (("left", 0.0, (1.7, ELBOW)), ("right", 1.0, (np.pi - 1.7, -ELBOW))):
        upper, lower = (m.add_body(f"{side} {n}", mass=w, com=(0.35, 0, 0), inertia=da.rod(w, 0.7))
                        for n, w in (("arm", 1.0), ("hand", 0.6)))  # fmt: skip
        spring = {"stiffness": 20.0, "damping": 1.0}
        m.add_joint(f"{side} shoulder", da.Revolute("z"), m.ground.at(foot), upper, rest=q[0], **spring)
        m.add_joint(f"{side} elbow", da.Revolute("z"), upper.at(0.7), lower, rest=q[1], **spring)
        tips.append(m.add_frame(f"{side} tip", lower.at(0.7)))
    m.close_loop("pin", da.Revolute("z"), *tips)
    return m.compile()


def main(out, span: float = 6.0) -> dict[str, object]:
    system = arms()
    start = system.assemble({"left shoulder": 1.4, "right shoulder": 0.9}, guess={"left elbow": -1, "right elbow": 1})

    def apart(t, s):
        away = s.position("left tip") - s.position("right tip")
        return away.T @ away - NEAR**2

    meet = da.Event(da.expression(apart), direction=-1)
    draw, latch = da.Switch(open="pin", at=0.4), da.Switch(close="pin", when=meet, reach=1.1 * NEAR)
    run = da.simulate(system, start, span, switches={"draw": draw, "latch": latch})
    apart_by = np.linalg.norm(run.position("left tip") - run.position("right tip"), axis=1)
    shut = run.switches[1]
    rows = {
        "reached the end": run.success,
        "latched at (s)": shut.t,
        "lost in the latch (J)": shut.lost,
        "the same from the velocities (J)": 0.5 * float(shut.jump @ system.mass_matrix(run(shut.t)) @ shut.jump),
        "the tips were apart by (m)": float(apart_by.max()),
        "loop open after it by (m)": float(run.phases[2].residuals.max()),
        "energy error (J)": float(np.abs(run.energy_error).max()),
    }
    panels = [
        Panel("tips apart (m)", {"distance": apart_by}),
        Panel("force in the pin (N)", {"x": run.multiplier("pin.x"), "y": run.multiplier("pin.y")}),
        Panel("energy (J)", {"sum": run.energy, "dissipated": run.dissipated, "impacts": run.work["impacts"]}),
    ]
    picture = Picture(system, [start, run(1.0)])
    return publish(out, "five_bar_latch", rows, [picture], panels, run=run, animated=run)
