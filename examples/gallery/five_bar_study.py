"""Paper 1, example 2, taken apart: is it the formulation that breaks the energy balance, or the stabilization?

The paper compares multipliers with Baumgarte's feedback and the null space with projection: two things change at once.
Here every formulation runs with every stabilization. RK4 with steps of 1 ms, 5 s, as in the paper.
"""

from pathlib import Path

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view.plots import positive, shade

FORMULATIONS = {"multipliers": "lagrange", "null space": "nullspace"}
STABILIZATIONS = {"Baumgarte": da.Baumgarte(10.0, 10.0), "projection": "projection", "none": "none"}


def main(out: Path) -> dict[str, object]:
    system = zoo.five_bar().compile()
    start = system.state(*zoo.five_bar_start())
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(10, 8), sharex=True, layout="constrained")
    rows: dict[str, object] = {}
    for k, (how, stabilization) in enumerate(STABILIZATIONS.items()):
        for (name, formulation), line in zip(FORMULATIONS.items(), ({"lw": 4, "alpha": 0.35}, {"lw": 1.2, "ls": "--"})):
            run = da.simulate(
                system, start, 5.0, formulation=formulation, stabilization=stabilization, method="rk4", step=1e-3
            )
            change, drift = np.abs(run.energy_error), run.residuals
            rows[f"change of the energy, {name}, {how} (J)"] = float(change.max())
            rows[f"largest drift, {name}, {how} (m)"] = float(drift.max())
            above.semilogy(run.t, positive(change), color=f"C{k}", label=f"{name}, {how}", **line)
            below.semilogy(run.t, positive(drift), color=f"C{k}", **line)
    shade(above, run)
    shade(below, run)
    above.set(
        title="the stabilization decides, not the formulation", ylabel="change of the energy (J)", ylim=(1e-9, 1e3)
    )
    above.legend(ncols=3, fontsize="small", loc="upper left")
    below.set(ylabel="constraint drift (m)", xlabel="t (s)", ylim=(1e-17, 1e-1))
    for axis in (above, below):
        axis.grid(alpha=0.3)
    table("Five-bar, example 2: formulation against stabilization", rows)
    save(figure, out / "five_bar_study.png")
    return rows


if __name__ == "__main__":
    main(folder())
