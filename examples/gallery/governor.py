"""Watt's governor: balls that rise with the speed.

Two arms with balls and two links to a sleeve turn with the shaft: two loops through one sliding sleeve. At each speed
of the shaft the balls find a height; the closed form is ω² l cos θ = g (1 + M/m), with ball mass m, sleeve mass M,
arm l. Started away from it the balls swing, at a frequency that the exact linear model gives.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

ARM, BALL, SLEEVE = 0.3, 1.0, 2.0  # m, kg, kg


def governor() -> da.Mechanism:
    """The shaft turns about z; balls hang on the arms, links of the same length lead from them down to the sleeve."""
    m = da.Mechanism("Watt governor")
    shaft = m.add_body("shaft", mass=1.0, com=(0, 0, -0.3), inertia=da.cylinder_inertia(1.0, 0.02, 0.6, "z"))
    sleeve = m.add_body("sleeve", mass=SLEEVE, inertia=da.cylinder_inertia(SLEEVE, 0.04, 0.05, "z"))
    m.add_joint("turn", da.Revolute("z"), m.ground, shaft)
    m.add_joint("rise", da.Prismatic("z"), shaft.at(0, 0, -2 * ARM), sleeve)
    for k, axis in enumerate(("-y", "y"), start=1):
        arm = m.add_body(f"arm {k}", mass=BALL, com=(0, 0, -ARM), inertia=(0, 0, 0))
        link = m.add_body(f"link {k}", mass=1e-3, com=(0, 0, -ARM / 2), inertia=da.rod_inertia(1e-3, ARM, "z"))
        m.add_joint(f"theta {k}", da.Revolute(axis), shaft, arm, damping=0.4)
        m.add_joint(f"knee {k}", da.Revolute(axis), arm.at(0, 0, -ARM), link)
        m.close_loop(f"foot {k}", da.Revolute(axis), link.at(0, 0, -ARM), sleeve)
    m.add_motor("torque", "turn")
    return m


def main(out) -> dict[str, object]:
    m = governor()
    m.add_driver("drive", "turn", lambda t: 14.0 * t)
    driven = m.compile()
    angle = np.arccos(9.81 * (1 + SLEEVE / BALL) / (14.0**2 * ARM))
    near = {"knee 1": -1.2, "knee 2": -1.2, "rise": 0.1}
    x = driven.assemble({"theta 1": 0.6, "theta 2": 0.6}, v={"theta 1": 0.0}, guess=near)
    run = da.simulate(driven, x, 20.0)
    speeds = np.linspace(10, 24, 61)
    steady = np.arccos(9.81 * (1 + SLEEVE / BALL) / (speeds**2 * ARM))
    small = da.linearize(driven, run.state(-1), independent=["theta 1"])
    rows = {
        "angle of the arms at 14 rad/s, closed form (rad)": float(angle),
        "  at the end of a run of 20 s": float(run["theta 1"][-1]),
        "frequency of small swings (Hz)": float(small.modes[0].frequency),
        "sleeve rises by (m)": float(run["rise"][-1]),
        "loops open by (m)": float(run.residuals.max()),
    }
    here = ([14.0], [run["theta 1"][-1]])
    panels = [
        Panel("arms (rad), at 14 rad/s", {"theta 1": run["theta 1"], "closed form": np.full(len(run.t), angle)}),
        Panel("steady angle (rad)", {"closed form": (speeds, steady), ".run": here}, xlabel="speed (rad/s)"),
    ]
    picture = Picture(driven, [run.state(0), run.state(-1)])
    return publish(out, "governor", rows, [picture], panels, run=run, animated=run)
