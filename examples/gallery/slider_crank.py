"""Paper 2, section 8: a slider-crank with equal links, which is singular whenever the crank is upright.

The tip may slide on, or stay at the origin while the links turn together: both satisfy the constraint there. Started on
the branch that slides (q₂ = −2 q₁) with enough speed to turn over, it passes the singularity twice each turn.
"""

from pathlib import Path

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view.plots import positive, shade


def main(out: Path) -> dict[str, object]:
    system = zoo.equal_slider_crank().compile()
    run = da.simulate(system, system.state(*zoo.equal_slider_crank_start(0.5, 5.0)), 5.0)
    smallest = row_length(run)  # one row: its length is its singular value, √5 l |cos q₁|
    off = np.abs(run["q2"] + 2 * run["q1"])
    fine = da.simulate(
        system, system.state(*zoo.equal_slider_crank_start(0.5, 5.0)), (0, 5), t_eval=np.linspace(0, 5, 20001)
    )

    figure, axes = pyplot.subplots(4, 1, figsize=(8, 10), sharex=True, layout="constrained")
    axes[0].plot(run.t, run["q1"] / np.pi, label="q₁/π")
    axes[0].plot(run.t, run["q2"] / np.pi, label="q₂/π")
    axes[0].set(title="joint angles")
    axes[0].legend()
    axes[1].plot(fine.t, row_length(fine), label="along the motion")
    axes[1].plot(fine.t, np.sqrt(5) * np.abs(np.cos(fine["q1"])), "--", label="√5 l |cos q₁|")
    axes[1].plot(run.t, smallest, "k.", ms=4, label="steps of the run")
    axes[1].set(ylabel="m", title="singular value of A")
    axes[1].legend()
    axes[2].semilogy(run.t, positive(run.residuals), label="|Φ| (m)")
    axes[2].semilogy(run.t, positive(off), label="|q₂ + 2 q₁| (rad)")
    axes[2].set(title="constraint, and distance from the branch that slides")
    axes[2].legend()
    axes[3].semilogy(run.t, positive(run.energy - run.energy[0]))
    axes[3].set(ylabel="J", xlabel="t (s)", title="|change of the energy|")
    for a in axes:
        shade(a, run)
        a.grid(alpha=0.3)
    crossed = int(np.abs(np.diff(np.floor(run["q1"] / np.pi - 0.5))).sum())
    rows = table(
        "Slider-crank with equal links, through its singularities",
        {
            "reached the end": run.success,
            "steps": run.steps,
            "singular positions crossed": crossed,
            "singular passages reported": len(run.passages),
            "smallest singular value met by a step (m)": float(smallest.min()),
            "largest violation (m)": float(run.residuals.max()),
            "distance from the branch q₂ = −2 q₁ (rad)": float(off.max()),
            "energy, and its change (J)": f"{run.energy[0]:.4f}, {np.abs(run.energy - run.energy[0]).max():.1e}",
        },
    )
    save(figure, out / "slider_crank.png")
    return rows


def row_length(run):
    """Of A along a run."""
    return np.linalg.norm(run.system.kernel("constraints").batch(run.q)[1], axis=(1, 2))


if __name__ == "__main__":
    main(folder())
