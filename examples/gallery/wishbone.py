"""A double wishbone suspension with a tie rod: camber and toe over the travel of the wheel.

Two arms turn about axes on the chassis, ball joints carry the upright, a tie rod steers it: one degree of freedom
left. Spring and damper act between the lower arm and the chassis. `system.sweep` moves the wheel's centre up and down
and gives the curves by which a suspension is judged; the natural frequency comes from the exact linear model.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da

POINTS = {  # m: x forward, y outward, z up
    "lower front": (0.15, 0.35, 0.18), "lower rear": (-0.20, 0.35, 0.19), "lower ball": (0.01, 0.74, 0.17),
    "upper front": (0.12, 0.44, 0.44), "upper rear": (-0.14, 0.44, 0.43), "upper ball": (-0.01, 0.69, 0.47),
    "rack": (0.12, 0.37, 0.24), "tie": (0.13, 0.72, 0.235), "centre": (0.0, 0.78, 0.31),
    "strut foot": (0.0, 0.60, 0.18), "strut top": (-0.01, 0.50, 0.62),
}  # fmt: skip
FIXED, ARM = {name: np.array(x) for name, x in POINTS.items()}, (0.3, 0.35, 0.03)


def corner(heights=()) -> da.Mechanism:  # heights of these points are parameters
    m = da.Mechanism("double wishbone")
    raised = {name: m.add_parameter(f"{name} height", FIXED[name][2]) for name in heights}
    P = {name: np.array([*x[:2], raised[name]], dtype=object) if name in heights else x for name, x in FIXED.items()}
    for arm, mass in (("lower", 4.0), ("upper", 2.5)):
        pin, ball, along = P[f"{arm} front"], P[f"{arm} ball"], FIXED[f"{arm} rear"] - FIXED[f"{arm} front"]
        body = m.add_body(f"{arm} arm", mass=mass, com=(ball - pin) / 2, inertia=da.box_inertia(mass, ARM))
        m.add_joint(arm, da.Revolute(tuple(along / np.linalg.norm(along))), m.ground.at(*pin), body)
        m.add_frame(f"{arm} ball", body.at(*(ball - pin)))
    upright = m.add_body("upright", mass=25.0, com=P["centre"] - P["lower ball"], inertia=(0.9, 1.4, 0.9))
    on = {name: upright.at(*(P[name] - P["lower ball"])) for name in ("upper ball", "tie", "centre")}
    m.add_joint("upright", da.Spherical(), "lower ball", upright)
    m.close_loop("upper pin", da.Spherical(), "upper ball", on["upper ball"])
    m.add_rod("tie rod", m.ground.at(*P["rack"]), on["tie"], length=float(np.linalg.norm(FIXED["tie"] - FIXED["rack"])))
    m.add_frame("wheel", on["centre"])
    foot = m.bodies["lower arm"].at(*(P["strut foot"] - P["lower front"]))
    m.add_spring("strut", foot, m.ground.at(*P["strut top"]), stiffness=45e3, damping=2.5e3, rest_length=0.56)
    m.add_wrench("road", "wheel", force=(0, 0, 3500.0))
    return m


def main(out) -> dict[str, object]:
    system = corner().compile()
    rest = da.equilibrium(system, system.state()).state
    angles = rest["lower"] + np.linspace(-0.22, 0.22, 89)
    sweep = system.sweep({"lower": angles}, rest, speed=0.3)
    poses = np.array([system.pose(sweep.state(k), "wheel") for k in range(89)])
    axle, travel = poses[:, :3, 1], 1e3 * (poses[:, 2, 3] - poses[44, 2, 3])
    camber, toe = np.degrees(np.arcsin(-axle[:, 2])), np.degrees(np.arctan2(axle[:, 0], axle[:, 1]))
    rows = {
        "frequency with the body held (Hz)": da.linearize(system, rest, independent=["lower"]).modes[0].frequency,
        "camber change, from full droop to full bump (degrees)": float(camber[-1] - camber[0]),
        "toe change over the travel (degrees)": float(np.ptp(toe)),
    }
    curves = {"camber": (travel, camber), "toe": (travel, toe)}
    panel = Panel("camber and toe (degrees)", curves, xlabel="travel of the wheel (mm)")
    picture = Picture(system, [sweep.state(0), sweep.state(88), rest], [poses[:, :3, 3]])
    return publish(out, "wishbone", rows, [picture], [panel], animated=sweep, traces=["wheel"])
