"""A pole on a cart that a crank drives, as an environment for learning: many copies at once."""

import casadi as ca
import numpy as np
from scipy.stats import uniform

import dalembert as da


def machine():
    reach = np.sqrt(0.5**2 - 0.2**2)
    pins = {"A": (0, 0), "B": (0, 0.2), "cart": (reach, 0), "top": (reach, 0.6)}
    m = da.Linkage("cart on a crank", pins, "A", {"crank": "A B", "rod": "B cart"}, mass=0.4)
    m.add_slider("x", "cart", mass=0.5)
    m.add_bar("pole", "cart top", mass=0.1)
    m.add_motor("motor", "A")
    return m


def main(copies=8):
    system = machine().compile()
    worlds = da.environments(
        system, {"A": 0.0, "cart pole": uniform(-0.05, 0.1)}, copies, period=0.02, duration=1.0,
        actions={"motor": (-2.0, 2.0)}, observe=lambda t, s: [s["A"], s.rate("A"), s["cart pole"]],
        reward=lambda t, s, u: 1 - 0.01 * u["motor"] ** 2,
        ends=lambda t, s: ca.fabs(s["cart pole"]) > 0.5)  # fmt: skip
    seen, _ = worlds.reset(seed=1)
    falls = [worlds.step(np.zeros((copies, 1), np.float32))[0] for _ in range(15)]
    return {"system": system, "seen": seen, "falls": falls}


if __name__ == "__main__":
    print(main())
