"""Tolerances of a four-bar: where the rocker is, with lengths a little off and clearance at a pin.

Five hundred linkages with lengths drawn from normal distributions are assembled and released with the same crank speed.
The pin of the last joint lies somewhere against its hole, half a millimetre from the middle. The bands contain half and
nine tenths of the linkages. At the start they agree with the exact derivatives with respect to the lengths and the
place of the pin; later, linkages that differ by a thousandth of a length diverge.
"""

import numpy as np
from common import Panel, Picture, publish
from scipy.stats import norm

import dalembert as da

LENGTHS, DEVIATION = {"crank": 0.3, "coupler": 1.0, "rocker": 0.8}, 1e-3  # m, and of each length
PIN, CLEARANCE = ("pin x", "pin y"), 5e-4  # m
GUESS = {"A": 0.5, "B": 0.5, "C": -2.0}


def four_bar() -> da.System:
    m = da.Mechanism("four-bar with tolerances", gravity=(0, -9.81, 0))
    before = m.ground.at()
    for joint, (name, length) in zip("ABC", LENGTHS.items()):
        along = m.add_parameter(name, length)
        link = m.add_body(name + " link", mass=length, com=(along / 2, 0, 0), inertia=da.rod_inertia(length, length))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(along, 0, 0)
    x, y = (m.add_parameter(name, 0.0) for name in PIN)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(1.0 + x, y, 0))
    return m.compile()


def main(out, n=500) -> dict[str, object]:
    system, times = four_bar(), np.linspace(0, 3, 151)
    spread = {name: norm(length, DEVIATION * length) for name, length in LENGTHS.items()}
    around = np.random.default_rng(1).uniform(0, 2 * np.pi, n)
    spread |= {"pin x": CLEARANCE * np.cos(around), "pin y": CLEARANCE * np.sin(around)}
    rocker = {"rocker": lambda t, s: s["A"] + s["B"] + s["C"]}
    drawn = {"p": spread, "n": n, "sampling": "latin"}
    runs = da.ensemble(system, {"A": 0.5}, 3.0, v={"A": 6.0}, guess=GUESS, t_eval=times, outputs=rocker, **drawn)
    x = system.assemble({"A": 0.5}, v={"A": 6.0}, guess=GUESS)
    slopes = da.sensitivities(system, x, of=["B", "C"], wrt=[*LENGTHS, *PIN], held=["A"])
    change = [slopes.d("B", name) + slopes.d("C", name) for name in (*LENGTHS, *PIN)]
    deviations = [*(DEVIATION * length for length in LENGTHS.values()), *[CLEARANCE / np.sqrt(2)] * 2]
    linear = float(np.linalg.norm(np.multiply(deviations, change)))
    one = da.simulate(system, x, 3.0, t_eval=times)
    nominal = one["A"] + one["B"] + one["C"]
    lowest, low, middle, high, highest = 1e3 * (runs.quantiles("rocker", [0.05, 0.25, 0.5, 0.75, 0.95]) - nominal)
    rows: dict[str, object] = {"runs": len(runs), "that succeeded": int(runs.success.sum())}
    rows |= {
        "deviation of the rocker at the start (mrad)": 1e3 * float(runs.outputs["rocker"][:, 0].std()),
        "  by exact derivatives (mrad)": 1e3 * linear,
        "width of the band at the start (mrad)": float(highest[0] - lowest[0]),
        "width of the band after 3 s (mrad)": float(highest[-1] - lowest[-1]),
    }
    bands = {"90 %": (times, lowest, highest), "50 %": (times, low, high), "median": (times, middle)}
    panels = [Panel("rocker of the nominal linkage (rad)", {"": nominal}), Panel("the others, less that (mrad)", bands)]
    return publish(out, "tolerances", rows, [Picture(system, [x], title="at the start")], panels, run=one)
