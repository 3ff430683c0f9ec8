"""A four-bar for a million steps: the loop stays closed, and the energy stays."""

from pathlib import Path
from time import perf_counter

import numpy as np
from common import constraints, folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view.plots import positive


def main(out: Path, span: float = 1000.0) -> dict[str, object]:
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    times = np.linspace(0, span, 2001)
    da.simulate(system, start, times[:3], method="rk4", step=1e-3)  # compiles
    began = perf_counter()
    run = da.simulate(system, start, times, method="rk4", step=1e-3)
    seconds = perf_counter() - began
    free = da.simulate(system, start, times, method="rk4", step=1e-3, corrections=0)
    (phi, rates, _), (free_phi, free_rates, _) = constraints(run), constraints(free)

    figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for one, two, what, axis in (
        (phi, free_phi, "|Φ| (m)", axes[0]),
        (rates, free_rates, "|A v| (m/s)", axes[1]),
        ((run.energy - run.energy[0])[:, None], (free.energy - free.energy[0])[:, None], "|E − E₀| (J)", axes[2]),
    ):
        axis.semilogy(times, positive(np.abs(two).max(axis=1)), label="left alone", lw=0.8)
        axis.semilogy(times, positive(np.abs(one).max(axis=1)), label="corrected", lw=0.8)
        axis.set_ylabel(what)
        axis.grid(alpha=0.3)
    axes[0].set_title("four-bar, RK4 with steps of 1 ms")
    axes[0].legend()
    axes[2].set_xlabel("t (s)")
    half = len(times) // 2
    change = np.abs(run.energy - run.energy[0])
    rows = table(
        "Four-bar, a long run",
        {
            "steps": run.steps,
            "steps a second": float(run.steps / seconds),
            "largest violation, left alone (m)": float(np.abs(free_phi).max()),
            "largest violation, corrected (m)": float(np.abs(phi).max()),
            "  in the first and in the second half": f"{np.abs(phi[:half]).max():.1e}, {np.abs(phi[half:]).max():.1e}",
            "largest violation of the velocities, corrected (m/s)": float(np.abs(rates).max()),
            "energy, and its change, corrected (J)": f"{run.energy[0]:.4f}, {change.max():.1e}",
            "  at the end of the first and of the second half (J)": f"{change[half]:.1e}, {change[-1]:.1e}",
        },
    )
    save(figure, out / "four_bar_long.png")
    return rows


if __name__ == "__main__":
    main(folder())
