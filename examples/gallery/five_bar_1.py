"""Five-bar from rest in its singular position.

Example 1 of Spencer (2004), Figs 3.3-3.6: all links in line, at rest, left to itself for 5 s. As in the paper: RK4
with steps of 1 ms, null-space formulation by SVD in the Euclidean metric, no stabilization. The mechanism falls,
swings up, and comes back to where it started. The equations allow two falls, with the middle pin below or above; the
paper's is below, and so is this one. The table also gives da.simulate with its corrections.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

RETURN = 2.8253684586  # s: by a model in one coordinate, integrated to 1e-11
PAPER = {"method": "rk4", "step": 1e-3, "stabilization": "none", "formulation": "nullspace"}


def main(out) -> dict[str, object]:
    system = zoo.five_bar().compile()
    start = system.state(*zoo.five_bar_start(0.0))
    run = da.simulate(system, start, 5.0, options={"metric": "euclidean"}, **PAPER)
    kept = da.simulate(system, start, 5.0)
    later = (run.t > 1.0) & (run.t < 4.0)
    lift = np.abs(np.sin(run["A"]) + 1.5 * np.sin(run["A"] + run["B"]))  # of the middle pin; 0 in the singular position
    rows = {
        "steps": run.steps,
        "back in the singular position at (s); paper: 2.82": float(run.t[later][np.argmin(lift[later])]),
        "  by da.simulate, corrected: rank 1 from, to (s)": ", ".join(
            f"{p.start:.4f}-{p.end:.4f}" for p in kept.passages if p.steps and p.start > 1.0
        ),
        "  by a model in one coordinate": RETURN,
        "largest condition number at the return": float(run.condition[later].max()),
        "change of the energy (J)": float(np.abs(run.energy - run.energy[0]).max()),
        "  by da.simulate, corrected (J)": float(np.abs(kept.energy - kept.energy[0]).max()),
        "largest violation without any stabilization (m)": float(run.residuals.max()),
        "  by da.simulate, corrected (m)": float(kept.residuals.max()),
    }
    panels = [
        Panel("Fig. 3.3: joint angles (rad)", {name: run[name] for name in "ABCD"}),
        Panel("Fig. 3.4: condition of the constraint matrix", {"": run.condition}, log=True),
        Panel("Fig. 3.5a: energy (J)", {"kinetic": run.kinetic_energy, "potential": run.potential_energy}),
        Panel("Fig. 3.5b: change of the energy (J)", {"": run.energy - run.energy[0]}),
        Panel("Fig. 3.6: violation of the constraints (m)", {"": run.residuals}, log=True),
    ]
    picture = Picture(system, [run.state(k) for k in (400, 800, 0)])
    return publish(out, "five_bar_1", rows, [picture], panels, run=run, animated=kept, traces=["link 3"])
