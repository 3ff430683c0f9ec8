"""A ladder of four-bars through its flat position.

Five loops of the IFToMM benchmark A02. Whenever the cranks lie flat, every loop loses rank and each crank could go
its own way. They stay together through all flat positions.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo

LOOPS = 5


def main(out) -> dict[str, object]:
    system = zoo.ladder(LOOPS).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(LOOPS)), 10.0, rtol=1e-10)
    cranks = np.array([run[f"A{k}"] for k in range(LOOPS + 1)])
    apart = np.abs(cranks - cranks[0]).max(axis=0)
    rows = {
        "reached the end": run.success,
        "steps": run.steps,
        "times flat": int(np.abs(np.diff(np.floor(cranks[0] / np.pi))).sum()),
        "singular passages reported": len(run.passages),
        "largest condition met by a step": float(run.condition.max()),
        "largest violation (m)": float(run.residuals.max()),
        "cranks apart, at most (rad)": float(apart.max()),
        "energy, and its change (J)": f"{run.energy[0]:.4f}, {np.abs(run.energy - run.energy[0]).max():.1e}",
    }
    panels = [
        Panel("angle of the cranks / π (flat at whole numbers)", {"": cranks[0] / np.pi}),
        Panel("condition of A at the steps", {"": run.condition}, log=True),
        Panel("evidence", {"|Φ| (m)": run.residuals, "cranks apart (rad)": apart}, log=True),
        Panel("|change of the energy| (J)", {"": run.energy - run.energy[0]}, log=True),
    ]
    moments = (0, int(np.argmax(run.condition)), int(np.argmin(np.abs(run.t - 3.0))))
    pictures = [Picture(system, [run.state(k)], title=f"t = {run.t[k]:.3f} s") for k in moments]
    return publish(out, "ladder", rows, pictures, panels, run=run, animated=run)
