"""A front axle: a corner by its hard points and its image, rack, anti-roll bar and tyres."""

import dalembert as da

POINTS = {
    "lower front": (0.12, 0.35, 0.20), "lower rear": (-0.12, 0.35, 0.20), "lower ball": (0.0, 0.70, 0.18),
    "upper front": (0.10, 0.42, 0.44), "upper rear": (-0.10, 0.42, 0.44), "upper ball": (-0.02, 0.66, 0.46),
    "foot": (0, 0.58, 0.19), "top": (0, 0.50, 0.62), "wheel": (0, 0.75, 0.30)}  # fmt: skip
TIE = (0.12, 0.34, 0.25), (0.13, 0.68, 0.245)


def corner():
    m = da.Mechanism("corner")
    p = m.add_points(POINTS)
    lower = m.add_body("lower", mass=4.0, com=(0, 0.52, 0.19), inertia=(0.05, 0.02, 0.05))
    upper = m.add_body("upper", mass=2.0, com=(0, 0.55, 0.45), inertia=(0.02, 0.01, 0.02))
    knuckle = m.add_body("knuckle", mass=30.0, com=p["wheel"], inertia=(0.6, 0.9, 0.6))
    m.add_joint("arm", "revolute", m.ground, lower, axis=("lower rear", "lower front"))
    m.add_joint("upper arm", "revolute", m.ground, upper, axis=("upper rear", "upper front"))
    m.add_joint("lower joint", "spherical", lower, knuckle, at="lower ball")
    m.add_joint("upper joint", "spherical", upper, knuckle, at="upper ball")
    m.add_spring("spring", m.ground, lower, at=("top", "foot"), stiffness=35e3, damping=2500.0, rest_length=0.52)
    m.add_frame("wheel", knuckle, at="wheel")
    return m


def machine():
    m = da.Mechanism("axle", gravity=(0, 0, -9.81))
    chassis, mid = m.add_body("chassis", mass=400.0, com=(0, 0, 0.5), inertia=(120, 200, 250)), m.add_body("mid")
    m.add_joint("heave", "prismatic", m.ground, mid, axis="z")
    m.add_joint("roll", "revolute", mid, chassis, axis="x")
    rack = m.add_body("rack", mass=2.0, com=(0.12, 0, 0.25))
    m.add_driver("steering", m.add_joint("rack", "prismatic", chassis, rack, axis="y"), 0.0)
    bar = m.add_parameter("bar", 20e3)
    for side, y in (("left ", 1), ("right ", -1)):
        part = m.merge(corner(), side, at=chassis, mirror=None if y > 0 else "y")
        m.add_rod(f"{side}tie", rack, part["knuckle"], at=[(a, y * b, c) for a, b, c in TIE])
        m.add_tyre(f"{side}tyre", f"{side}wheel", radius=0.3, stiffness=200e3)
    m.add_elastic_coupling("anti-roll bar", {"left arm": 1.0, "right arm": -1.0}, stiffness=bar)
    return m


def main():
    system = machine().compile()
    rest = da.equilibrium(system, system.state()).state
    modes = {bar: da.linearize(system, rest, p={"bar": bar}).modes for bar in (0.0, 20e3)}
    return {"rest": rest, "frequencies": {bar: [mode.frequency for mode in those] for bar, those in modes.items()}}


if __name__ == "__main__":
    print(main())
