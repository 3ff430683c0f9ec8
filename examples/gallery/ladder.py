"""A ladder of four-bars (IFToMM benchmark A02) that passes its flat position, where every loop loses rank."""

from pathlib import Path

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view import snapshot
from dalembert.view.plots import positive, shade

LOOPS = 5


def main(out: Path) -> dict[str, object]:
    system = zoo.ladder(LOOPS).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(LOOPS)), 10.0, rtol=1e-10)
    cranks = np.array([run[f"A{k}"] for k in range(LOOPS + 1)])
    apart = np.abs(cranks - cranks[0]).max(axis=0)
    flat = int(np.abs(np.diff(np.floor(cranks[0] / np.pi))).sum())

    figure = pyplot.figure(figsize=(12, 9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    pictures = left.subplots(3, 1)
    for axes, k in zip(pictures, (0, int(np.argmax(run.condition)), int(np.argmin(np.abs(run.t - 3.0))))):
        snapshot(system, run.state(k), axes=axes, names=False)
        axes.set_title(f"t = {run.t[k]:.3f} s")
    axes = right.subplots(4, 1, sharex=True)
    axes[0].plot(run.t, cranks[0] / np.pi)
    axes[0].set(title="angle of the cranks / π (flat at whole numbers)")
    axes[1].semilogy(run.t, run.condition, ".-", lw=0.8, ms=3)
    axes[1].set(title="condition of A at the steps")
    axes[2].semilogy(run.t, positive(run.residuals), label="|Φ| (m)")
    axes[2].semilogy(run.t, positive(apart), label="cranks apart (rad)")
    axes[2].legend()
    axes[3].semilogy(run.t, positive(run.energy - run.energy[0]))
    axes[3].set(title="|change of the energy| (J)", xlabel="t (s)")
    for a in axes:
        shade(a, run)
        a.grid(alpha=0.3)
    rows = table(
        f"Ladder of {LOOPS} loops through its flat position",
        {
            "reached the end": run.success,
            "steps": run.steps,
            "times flat": flat,
            "singular passages reported": len(run.passages),
            "largest condition met by a step": float(run.condition.max()),
            "largest violation (m)": float(run.residuals.max()),
            "cranks apart, at most (rad)": float(apart.max()),
            "energy, and its change (J)": f"{run.energy[0]:.4f}, {np.abs(run.energy - run.energy[0]).max():.1e}",
        },
    )
    save(figure, out / "ladder.png")
    return rows


if __name__ == "__main__":
    main(folder())
