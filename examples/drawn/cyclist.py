"""A cyclist's leg with four muscles that only pull: the least activations that turn the crank at 60 rpm."""

import numpy as np

import dalembert as da
from dalembert import control

STRENGTH = {"glut": 3000.0, "iliopsoas": 2000.0, "quad": 6000.0, "ham": 2500.0}  # N


def machine():
    pins = {
        "hip": (-0.22, 0.64), "crank": (0, 0), "pedal": (0, 0.17), "knee": ("hip", 0.43, "pedal", 0.45, 1),
        "ground 1": (-0.30, 0.66), "ground 2": (-0.29, 0.60), "ground 3": (-0.17, 0.70), "ground 4": (-0.28, 0.60),
        "thigh 1": ("hip", "knee", 0.18, -0.05), "thigh 2": ("hip", "knee", 0.08, 0.04),
        "thigh 3": ("hip", "knee", 0.10, 0.03), "thigh 4": ("hip", "knee", 0.43, 0.06),
        "shank 1": ("knee", "pedal", 0.06, 0.045), "shank 2": ("knee", "pedal", 0.05, -0.05)}  # fmt: skip
    m = da.Linkage("leg", pins, "hip crank", {"thigh": "hip knee", "shank": "knee pedal"}, mass=5.0)
    m.add_bar("arm", "crank pedal", mass=0.5)
    m.add_joint_force("load", "crank", lambda s: -2.0 * s.rate("crank"))
    muscles = {
        "glut": "ground 1, ground 2, thigh 1", "iliopsoas": "ground 3, thigh 2", "quad": "thigh 3, thigh 4, shank 1",
        "ham": "ground 4, shank 2"}  # fmt: skip
    for name, path in muscles.items():
        places = path.split(", ")
        m.add_cable(name, [p.split()[0] for p in places], at=places, tension=m.add_input(name))
    return m


def main():
    system = machine().compile()
    t = np.linspace(0.0, 1.0, 37)
    turn = control.actuator_forces_along(
        system, {"crank": -2 * np.pi * t}, t, state=system.state(), metric=STRENGTH,
        limits={name: (0.0, most) for name, most in STRENGTH.items()}, cyclic=True)  # fmt: skip
    return {"system": system, "turn": turn}


if __name__ == "__main__":
    print(main())
