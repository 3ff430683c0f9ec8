"""Hard points as parameters: one is varied, all are a little off, and the upper arm is optimized for least scrub."""

from pathlib import Path

import numpy as np

import dalembert as da

BALLS = ("tie rod ball", "uca ball", "lca ball")
TRAVEL = {"lower": np.radians(np.linspace(-9, 9, 7))}


def corner():
    """A double wishbone whose ball joints are parameters: x, y and z of "uca ball" are "uca ball[0]" and so on."""
    m = da.Mechanism("double wishbone", gravity=(0, 0, -9.81))
    p = m.add_points(Path(__file__).with_name("hard_points.csv"), unit="mm", parameters=BALLS)
    lower = m.add_body("lower arm", mass=4.0, com=p["lca centre"], inertia=(0.05, 0.02, 0.05))
    upper = m.add_body("upper arm", mass=2.0, com=p["uca centre"], inertia=(0.02, 0.01, 0.02))
    knuckle = m.add_body("knuckle", mass=30.0, com=p["knuckle centre"], inertia=(0.6, 0.9, 0.6))
    m.add_joint("lower", "revolute", m.ground, lower, axis=("lca rear", "lca front"))
    m.add_joint("upper", "revolute", m.ground, upper, axis=("uca rear", "uca front"))
    m.add_joint("lower ball", "spherical", lower, knuckle, at="lca ball")
    m.add_joint("upper ball", "spherical", upper, knuckle, at="uca ball")
    m.add_rod("tie rod", m.ground, knuckle, at=("rack end", "tie rod ball"))
    m.add_frame("patch", knuckle, at="contact patch")
    m.add_frame("spindle", knuckle, at="wheel centre")
    return m.compile()


def toe(turned):
    """Degrees, in all positions of a sweep."""
    axle = turned.rotation("spindle")[..., 1]
    return np.degrees(np.arctan2(-axle[..., 0], axle[..., 1]))


def main():
    system = corner()
    x = system.state()
    raised = system.with_parameters({"tie rod ball[2]": 0.25})  # 5 mm higher
    steer = [toe(s.sweep(TRAVEL, s.state())) for s in (system, raised)]
    off = dict.fromkeys([f"{ball}[{k}]" for ball in BALLS for k in range(3)], 0.5e-3)  # m
    stack = da.study(system, off, {"toe": lambda s: toe(s)[:, -1]}, along=TRAVEL, method="tolerance", guess=x)
    scrub = {"position:patch@y": np.full(7, 0.75)}  # where it is drawn
    bounds = {"uca ball[1]": (0.50, 0.72), "uca ball[2]": (0.35, 0.55)}
    found = da.optimize(system, bounds, TRAVEL, scrub, guess=x)
    return {"system": system, "steer": steer, "stack": stack, "found": found}


if __name__ == "__main__":
    answers = main()
    print("toe over the travel (degrees):", *(t.round(3) for t in answers["steer"]))
    print("of ±0.5 mm each, at full bump:", {n: round(c, 2) for n, c in answers["stack"].contributions("toe").items()})
    print(answers["found"])
