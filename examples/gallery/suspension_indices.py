"""Which point of a suspension matters: Sobol indices of the double wishbone.

The heights of five points of the suspension are known to two millimetres. `scipy.stats.sobol_indices` asks for
thousands of suspensions; `da.ensemble` makes them, each assembled with its own points, dropped by 40 mm and left to its
spring and damper. Of the spread of toe and camber, and of the travel in the rebound, an index is the part that a point
answers for, alone (first order) or together with the others (total).
"""

import numpy as np
from common import Panel, Picture, publish
from scipy.stats import norm, sobol_indices
from wishbone import FIXED, corner

import dalembert as da

POINTS = ("rack", "tie", "upper ball", "lower ball", "strut top")
DEVIATION, DROP = 2e-3, 0.1  # m, rad of the lower arm


def main(out, n=None) -> dict[str, object]:
    n = n or (1024 if out is not None else 32)
    system = corner(POINTS).compile()
    rest = da.equilibrium(system, system.state()).state
    outputs = {
        "toe": lambda t, s: s.pose("wheel")[0, 1] / s.pose("wheel")[1, 1],
        "camber": lambda t, s: -s.pose("wheel")[2, 1],
        "travel": lambda t, s: s.position("wheel")[2],
    }
    made = []

    def responses(heights):
        runs = da.ensemble(
            system, {"lower": rest["lower"] - DROP}, 0.25, v={"lower": 0.0}, guess=rest, t_eval=[0.0, 0.1, 0.25],
            p={f"{name} height": x for name, x in zip(POINTS, heights)}, outputs=outputs, keep="outputs", rtol=1e-6,
        )  # fmt: skip
        made.append((len(runs), int(runs.success.sum())))
        toe, camber, travel = (runs.outputs[name] for name in outputs)
        return np.array([toe[:, 0], camber[:, 0], travel[:, 1] - travel[:, 0]])

    spread = [norm(FIXED[name][2], DEVIATION) for name in POINTS]
    found = sobol_indices(func=responses, n=n, dists=spread, rng=1)
    low = system.assemble({"lower": rest["lower"] - DROP}, v={"lower": 0.0}, guess=rest)
    heights = [f"{name} height" for name in POINTS]
    static = {name: (lambda s, f=outputs[name]: f(0.0, s)) for name in ("toe", "camber")}
    slopes = da.sensitivities(system, low, of=static, wrt=heights, held=["lower"])
    rows = {"runs": sum(count for count, _ in made), "that succeeded": sum(good for _, good in made)}
    for k, name in enumerate(("toe", "camber", "travel in the rebound")):
        for point, first, total in zip(POINTS, found.first_order[k], found.total_order[k]):
            rows[f"{name}: {point}, alone and in all"] = f"{first:.3f}, {total:.3f}"
    for name in static:
        parts = np.array([slopes.d(name, height) ** 2 for height in heights])
        rows[f"{name}: by exact derivatives, point by point"] = ", ".join(f"{x:.3f}" for x in parts / parts.sum())
    panels = [
        Panel(f"indices of the {title}", {"|alone": (POINTS, first), "|in all": (POINTS, total)}, xlabel="height of")
        for title, first, total in zip(("toe", "camber", "travel"), found.first_order, found.total_order)
    ]
    return publish(out, "suspension_indices", rows, [Picture(system, [rest])], panels)
