"""A slider-crank from its triangle, to be compared with its Lagrange equations."""

import numpy as np

import dalembert as da

R, L = 0.1, 0.3


def machine(angle=0.6):
    reach = R * np.cos(angle) + np.sqrt(L**2 - (R * np.sin(angle)) ** 2)
    pins = {"A": (0, 0), "B": ("A", R, angle), "C": (reach, 0)}
    m = da.Linkage("slider-crank", pins, "A")
    m.add_bar("crank", "A B", mass=1.0)
    m.add_bar("rod", "B C", mass=0.8)
    m.add_slider("x", "C", mass=0.5)
    return m


def main():
    system = machine().compile()
    return {"vdot": system.acceleration(system.assemble({}, v={"A": 2.0})).vdot, "system": system}


if __name__ == "__main__":
    print(main())
