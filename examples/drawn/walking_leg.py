"""A walking leg of Klann's kind, from its pins: the path of the foot, torque of the crank, and other lengths."""

import numpy as np

import dalembert as da


def machine():
    pins = {
        "O": (0, 0), "A": (0.65, 0.30), "B": (0.60, -0.27), "M": lambda p: ("O", p["crank"], 0.0),
        "C": ("M", 0.60, "B", 0.38, 1), "D": ("M", 1.18, "C", 0.60, 1), "E": ("D", 0.50, "A", 0.55, -1),
        "foot": lambda p: ("D", p["shin"], "E", 1.36, 1)}  # fmt: skip
    bodies = {"crank": "O M", "rod": "M C D", "lower": "B C", "upper": "A E", "leg": "D E foot"}
    return da.Linkage("leg", pins, "O A B", bodies, density=2.0, parameters={"crank": 0.27, "shin": 0.95})


def main():
    system = machine().compile()
    turn = system.sweep({"O": np.linspace(0, 2 * np.pi, 97)}, system.state(), speed=2 * np.pi)
    step = {}
    for shin in (0.93, 0.95, 0.97):
        other = system.with_parameters({"shin": shin})
        step[shin] = float(np.ptp(other.sweep({"O": turn["O"]}, other.state()).position("foot")[:, 0]))
    return {"system": system, "turn": turn, "torque": turn.driving_force("O"), "step": step}


if __name__ == "__main__":
    print(main())
