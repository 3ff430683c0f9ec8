"""Five-bar: formulation against stabilization.

Is it the formulation that breaks the energy balance of the case before, or the stabilization? The paper compares
multipliers with Baumgarte's feedback and the null space with projection: two things change at once. Here every
formulation runs with every stabilization. RK4 with steps of 1 ms, 5 s, as in the paper.

Formulations agree, stabilizations do not: the stabilization decides. In a passage Baumgarte's feedback divides an
error of the constraints, which it never removes, by a singular value that goes to zero, as (3.9) of the paper says
itself.
"""

import numpy as np
from common import Panel, publish

import dalembert as da
from dalembert import zoo

FORMULATIONS = {"multipliers": "lagrange", "null space": "nullspace"}
STABILIZATIONS = {"Baumgarte": da.Baumgarte(10.0, 10.0), "projection": "projection", "none": "none"}


def main(out) -> dict[str, object]:
    system = zoo.five_bar().compile()
    start = system.state(*zoo.five_bar_start())
    rows, change, drift = {}, {}, {}
    for how, stabilization in STABILIZATIONS.items():
        for name, formulation in FORMULATIONS.items():
            rk4 = {"method": "rk4", "step": 1e-3}
            run = da.simulate(system, start, 5.0, formulation=formulation, stabilization=stabilization, **rk4)
            change[f"{name}, {how}"] = (run.t, np.abs(run.energy_error) + 1e-12)
            drift[f"{name}, {how}"] = (run.t, run.residuals + 1e-17)
            rows[f"change of the energy, {name}, {how} (J)"] = float(np.abs(run.energy_error).max())
            rows[f"largest drift, {name}, {how} (m)"] = float(run.residuals.max())
    panels = [Panel("change of the energy (J)", change, log=True), Panel("constraint drift (m)", drift, log=True)]
    return publish(out, "five_bar_study", rows, [], panels, run=run, width=10.0)
