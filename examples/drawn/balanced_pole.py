"""A pole on a five-bar, balanced by LQR from the two motors."""

import numpy as np

import dalembert as da


def machine():
    pins = {"A": (-0.1, 0), "D": (0.1, 0), "hinge": (0, 0.38), "B": ("A", 0.2, "hinge", 0.3, 1)}
    pins |= {"E": ("D", 0.2, "hinge", 0.3, -1), "tip": lambda p: ("hinge", p["L"], np.pi / 2)}
    bars = {"left": "A B", "left rod": "B hinge", "right": "D E", "right rod": "E hinge"}
    m = da.Linkage("pole on five-bar", pins, "A D", bars, mass=0.3, parameters={"L": 0.4, "mass": 0.2})
    m.add_bar("pole", "hinge tip", mass=m.parameters.symbols["mass"])
    for side in "AD":
        m.add_motor(f"motor {side}", side)
    return m


def main():
    system = machine().compile()
    up = da.equilibrium(system, system.state(), solve_for="u")
    lean = ("lean", lambda s: s["A"] + s["B"] + s["hinge pole"])
    model = da.linearize(system, up.state, u=up.u, independent=["A", "D", lean])
    law = da.lqr(model, {"A": 10.0, "D": 10.0, "lean": 100.0}, 0.1)
    x = up.state
    start = system.assemble({"A": x["A"], "D": x["D"], "hinge pole": 0.05}, guess=x)
    return {"system": system, "model": model, "up": up, "run": da.simulate(system, start, 3.0, u=law), "lean": lean[1]}


if __name__ == "__main__":
    print(main())
