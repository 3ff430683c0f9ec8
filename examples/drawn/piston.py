"""A slider-crank whose piston's mass, drag, friction and rod's mass are found from noisy measurements."""

import casadi as ca
import numpy as np

import dalembert as da

TRUE = {"piston": 1.3, "drag": 0.9, "rod": 0.42, "friction": 1.6}
TORQUE = da.expression(lambda t, s: {"motor": 0.12 + 0.1 * ca.sin(7 * t)})


def machine():
    start = {"piston": 1.0, "drag": 0.5, "rod": 0.5, "friction": 1.0}
    pins = {"A": (0, 0), "B": (0.05, 0), "C": (0.25, 0)}
    m = da.Linkage("slider-crank", pins, "A", parameters=start, gravity=(0, 0, 0))  # it lies flat
    p = m.parameters.symbols
    m.add_bar("crank", "A B", mass=2.0)
    m.add_bar("rod", "B C", mass=p["rod"])
    m.add_slider("x", "C", mass=p["piston"], damping=p["drag"])
    m.add_joint_force("friction", "x", lambda s: -p["friction"] * ca.tanh(s.rate("x") / 0.02))
    m.add_motor("motor", "A")
    return m


def main(noise=2.2e-4):  # rad, of an encoder with 8192 steps a turn
    system = machine().compile()
    start = system.assemble({"A": 0.3}, guess={"A": 0.3})
    times = np.linspace(0.01, 0.6, 60)
    run = da.simulate(system, start, 0.6, u=TORQUE, p=TRUE)
    rng, q = np.random.default_rng(1), run(times)[0]
    data = {"t": times}
    for name, sigma in (("A", noise), ("x", noise / 20)):
        data[name] = q[:, system.q_names.index(name)] + rng.normal(0, sigma, 60)
    return {"fit": da.fit(system, data, list(TRUE), start, u=TORQUE, sigma={"A": noise, "x": noise / 20})}


if __name__ == "__main__":
    print(main())
