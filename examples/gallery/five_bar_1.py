"""Paper 1, example 1 (Figs 3.3-3.6): a five-bar that starts at rest in its singular position, left to itself for 5 s.

As in the paper: RK4 with steps of 1 ms, null-space formulation by SVD in the Euclidean metric, no stabilization. The
equations have two falls from there, with the middle pin below or above; the paper's, and this one, is below. Beside it,
da.simulate with its corrections.
"""

from pathlib import Path

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view.plots import positive, shade

RETURN = 2.8253684586  # s: by a model in one coordinate, integrated to 1e-11


def main(out: Path) -> dict[str, object]:
    system = zoo.five_bar().compile()
    start = system.state(*zoo.five_bar_start(0.0))

    run = da.simulate(
        system, start, 5.0, method="rk4", step=1e-3, stabilization="none", formulation="nullspace",
        options={"metric": "euclidean"},
    )  # fmt: skip
    kept = da.simulate(system, start, 5.0)
    later = (run.t > 1.0) & (run.t < 4.0)

    figure, axes = pyplot.subplots(5, 1, figsize=(8, 12), sharex=True, layout="constrained")
    for k, name in enumerate("ABCD"):
        axes[0].plot(run.t, run.q[:, k], label=name)
    axes[0].set(ylabel="q (rad)", title="Fig. 3.3: joint angles")
    axes[1].semilogy(run.t, run.condition)
    axes[1].set(ylabel="cond A", title="Fig. 3.4: condition of the constraint matrix")
    axes[2].plot(run.t, run.kinetic_energy, label="kinetic")
    axes[2].plot(run.t, run.potential_energy, label="potential")
    axes[2].set(ylabel="J", title="Fig. 3.5a: energy")
    axes[3].plot(run.t, run.energy - run.energy[0])
    axes[3].set(ylabel="J", title="Fig. 3.5b: change of the energy")
    axes[4].semilogy(run.t, positive(run.residuals))
    axes[4].set(ylabel="m", xlabel="t (s)", title="Fig. 3.6: violation of the constraints")
    for a in axes:
        shade(a, kept)
        a.grid(alpha=0.3)
        if a.get_legend_handles_labels()[0]:
            a.legend(ncols=4, fontsize="small")
    rows = table(
        "Five-bar, example 1: from rest in the singular position",
        {
            "steps": run.steps,
            "back in the singular position at (s)": float(run.t[later][np.argmin(_lift(run)[later])]),
            "  by da.simulate, corrected: rank 1 from, to (s)": ", ".join(
                f"{p.start:.4f}-{p.end:.4f}" for p in kept.passages if p.steps and p.start > 1.0
            ),
            "  by a model in one coordinate": RETURN,
            "largest condition number at the return": float(run.condition[later].max()),
            "change of the energy (J)": float(np.abs(run.energy - run.energy[0]).max()),
            "  by da.simulate, corrected (J)": float(np.abs(kept.energy - kept.energy[0]).max()),
            "largest violation without any stabilization (m)": float(run.residuals.max()),
            "  by da.simulate, corrected (m)": float(kept.residuals.max()),
        },
    )
    save(figure, out / "five_bar_1.png")
    return rows


def _lift(run) -> np.ndarray:
    """How far the middle pin is from the line of supports: zero in the singular position."""
    return np.abs(np.sin(run.q[:, 0]) + 1.5 * np.sin(run.q[:, 0] + run.q[:, 1]))


if __name__ == "__main__":
    main(folder())
