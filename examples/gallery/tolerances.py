"""Tolerances of a four-bar: where the rocker is, when every length is a little off.

Five hundred linkages with lengths drawn from normal distributions are assembled and released with the same crank speed.
The bands contain nine tenths of them. At the start they agree with the exact derivatives with respect to the lengths;
later, linkages that differ by a thousandth of a length diverge.
"""

import numpy as np
from common import Panel, Picture, publish
from scipy.stats import norm

import dalembert as da

LENGTHS, DEVIATION = {"crank": 0.3, "coupler": 1.0, "rocker": 0.8}, 1e-3  # m, and of each length
GUESS = {"A": 0.5, "B": 0.5, "C": -2.0}


def four_bar() -> da.System:
    m = da.Mechanism("four-bar with tolerances", gravity=(0, -9.81, 0))
    before = m.ground.at()
    for joint, (name, length) in zip("ABC", LENGTHS.items()):
        along = m.add_parameter(name, length)
        link = m.add_body(name + " link", mass=length, com=(along / 2, 0, 0), inertia=da.rod(length, length))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(along, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(1.0, 0, 0))
    return m.compile()


def main(out, n=500) -> dict[str, object]:
    system, times = four_bar(), np.linspace(0, 3, 151)
    spread = {name: norm(length, DEVIATION * length) for name, length in LENGTHS.items()}
    rocker = {"rocker": lambda t, s: s["A"] + s["B"] + s["C"]}
    drawn = {"p": spread, "n": n, "sampling": "latin"}
    runs = da.ensemble(system, {"A": 0.5}, 3.0, v={"A": 6.0}, guess=GUESS, t_eval=times, outputs=rocker, **drawn)
    x = system.assemble({"A": 0.5}, v={"A": 6.0}, guess=GUESS)
    slopes = da.sensitivities(system, x, of=["B", "C"], wrt=list(LENGTHS), held=["A"])
    change = [slopes.d("B", name) + slopes.d("C", name) for name in LENGTHS]
    linear = float(np.linalg.norm([DEVIATION * LENGTHS[name] * d for name, d in zip(LENGTHS, change)]))
    low, middle, high = runs.quantiles("rocker")
    rows = {
        "runs": len(runs),
        "that succeeded": int(runs.success.sum()),
        "deviation of the rocker at the start (mrad)": 1e3 * float(runs.outputs["rocker"][:, 0].std()),
        "  by exact derivatives (mrad)": 1e3 * linear,
        "width of the band at the start (mrad)": 1e3 * float(high[0] - low[0]),
        "width of the band after 3 s (mrad)": 1e3 * float(high[-1] - low[-1]),
    }
    panels = [
        Panel("rocker (rad): 5 %, 50 %, 95 % of the linkages", {"5 %": low, "50 %": middle, "95 %": high}),
        Panel("width of the band (mrad)", {"95 % − 5 %": 1e3 * (high - low)}, log=True),
    ]
    one = da.simulate(system, x, 3.0, t_eval=times)
    return publish(out, "tolerances", rows, [Picture(system, [x], title="at the start")], panels, run=one)
