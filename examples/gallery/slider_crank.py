"""A slider-crank with equal links.

Section 8 of Aghili's paper. The mechanism is singular whenever the crank is upright: the tip may slide on, or stay at
the origin while the links turn together. Both satisfy the constraint there. Started on the branch that slides (q₂ =
−2 q₁) with enough speed to turn over, it passes the singularity twice each turn and stays on its branch. The singular
value follows the paper's √5 l |cos q₁|.
"""

import numpy as np
from common import Panel, Picture, publish

import dalembert as da
from dalembert import zoo


def main(out) -> dict[str, object]:
    system = zoo.equal_slider_crank().compile()
    start = system.state(*zoo.equal_slider_crank_start(0.5, 5.0))
    run = da.simulate(system, start, 5.0)
    fine = da.simulate(system, start, (0, 5), t_eval=np.linspace(0, 5, 20001))
    smallest, along = row_length(run), row_length(fine)  # one row: its length is its singular value
    off = np.abs(run["q2"] + 2 * run["q1"])
    rows = {
        "reached the end": run.success,
        "steps": run.steps,
        "singular positions crossed": int(np.abs(np.diff(np.floor(run["q1"] / np.pi - 0.5))).sum()),
        "singular passages reported": len(run.passages),
        "smallest singular value met by a step (m)": float(smallest.min()),
        "singular value against √5 l |cos q₁| (m)": float(
            np.abs(along - np.sqrt(5) * np.abs(np.cos(fine["q1"]))).max()
        ),
        "largest violation (m)": float(run.residuals.max()),
        "distance from the branch q₂ = −2 q₁ (rad)": float(off.max()),
        "energy, and its change (J)": f"{run.energy[0]:.4f}, {np.abs(run.energy - run.energy[0]).max():.1e}",
    }
    panels = [
        Panel("joint angles / π", {"q₁": run["q1"] / np.pi, "q₂": run["q2"] / np.pi}),
        Panel("singular value of A (m)", {"√5 l |cos q₁|": (fine.t, along), ".steps of the run": smallest}),
        Panel("evidence", {"|Φ| (m)": run.residuals, "|q₂ + 2 q₁| (rad)": off}, log=True),
        Panel("|change of the energy| (J)", {"": run.energy - run.energy[0]}, log=True),
    ]
    picture = Picture(system, [run.state(k) for k in (12, 24, 0)])
    return publish(out, "slider_crank", rows, [picture], panels, run=run, animated=run)


def row_length(run):
    """Length of the one row of A along a run, (N,)."""
    return np.linalg.norm(run.system.kernel("constraints").batch(run.q)[1], axis=(1, 2))
