"""A parallel-arm flexure as a pseudo-rigid body (Howell), and a table on four bushings."""

import dalembert as da

E, WIDTH, THICK, LENGTH, GAMMA = 70e9, 0.01, 0.5e-3, 0.05, 0.8517
K = 2 * GAMMA * 2.67617 * E * (WIDTH * THICK**3 / 12) / LENGTH  # N m/rad, of each pivot
FEET = {"a": (-0.5, -0.5), "b": (0.5, -0.5), "c": (0.5, 0.5), "d": (-0.5, 0.5)}
STIFF = {"a": 1e5, "b": 1e5, "c": 2e5, "d": 1e5}


def machine():
    r = GAMMA * LENGTH
    pins = {"A": (0, 0), "D": (0.04, 0), "B": (0, r), "C": (0.04, r)}
    m = da.Linkage("flexure", pins, "A D", {"left": "A B", "right": "D C"}, mass=0.002, gravity=(0, 0, 0))
    m.add_bar("stage", "B C", mass=0.1)
    for pin in "ABCD":
        m.add_torsion_spring(f"leaf {pin}", pin, stiffness=K)
    return m


def table():
    m = da.Mechanism("table", gravity=(0, 0, -9.81))
    top = m.add_body("top", mass=20.0, com=(0.1, 0.05, 0), inertia=(1, 1, 2))
    m.add_joint("free", "free", m.ground, top)
    for foot, place in FEET.items():
        m.add_bushing(foot, m.ground, top, at=place, stiffness=(0, 0, 0, 1e6, 1e6, STIFF[foot]))
    return m


def main():
    held = table()
    rest = da.equilibrium(held.compile(), {}).state
    down = {n: rest.position(held.bodies["top"].at(*at))[2] for n, at in FEET.items()}
    frequency = da.linearize(machine().compile(), {}).modes[0].frequency
    return {"frequency": frequency, "loads": {n: -STIFF[n] * z for n, z in down.items()}}


if __name__ == "__main__":
    print(main())
