"""Bricard's linkage turns inside out.

Six equal links with hinges at right angles form a closed loop that should be rigid by counting: six hinges, five rows
that matter, 6 − 5 − 1 = 0. It moves all the same, since one row depends on the others in every position. The rank is
found, not assumed. Along the motion the angles obey cos θ₁ + cos θ₂ + cos θ₁ cos θ₂ = 0.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo


def main(out, span: float = 12.0) -> dict[str, object]:
    system = zoo.bricard().compile()
    start = system.state(*zoo.bricard_start(np.pi / 2))
    report = system.report(start)
    run = da.simulate(system, start, span)
    c1, c2 = np.cos(run["theta1"]), np.cos(run["theta2"])
    rows = {
        "constraint rows, rank, mobility": f"{len(system.row_names)}, {report.rank}, {report.mobility}",
        "reached the end": run.success,
        "steps": run.steps,
        "cos θ₁ + cos θ₂ + cos θ₁ cos θ₂, at most": float(np.abs(c1 + c2 + c1 * c2).max()),
        "loop open by (m)": float(run.residuals.max()),
        "energy, and its error (J)": f"{run.energy[0]:.4f}, {np.abs(run.energy_error).max():.1e}",
    }
    panels = [
        Panel("hinges (rad)", {"θ₁ = θ₃ = θ₅": run["theta1"], "θ₂ = θ₄ = θ₆": run["theta2"]}),
        Panel("energy (J)", {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "sum": run.energy}),
        Panel("evidence", {"energy error (J)": run.energy_error, "loop open (m)": run.residuals}, log=True),
    ]
    picture = Picture(system, [run.state(k) for k in (len(run.t) // 8, 0)])
    return publish(out, "bricard", rows, [picture], panels, run=run, animated=run)
