"""The four-bar of a first notebook: assembled, run, linearized, led through a turn."""

import numpy as np

import dalembert as da


def machine():
    pins = {"A": (0, 0), "D": (0.55, 0), "B": ("A", 0.2, 0.6), "C": ("B", 0.6, "D", 0.4, 1)}
    return da.Linkage("four-bar", pins, "A D", {"crank": "A B", "coupler": "B C", "rocker": "C D"}, density=2.0)


def main():
    system = machine().compile()
    rest = da.equilibrium(system, system.state())
    turn = system.sweep({"A": np.linspace(0, 2 * np.pi, 73)}, system.state())
    run = da.simulate(system, system.assemble({}, v={"A": 2.0}), 2.0)
    return {"rest": rest, "mode": da.linearize(system, rest.state).modes[0], "turn": turn, "run": run}


if __name__ == "__main__":
    print(main())
