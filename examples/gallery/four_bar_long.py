"""A four-bar for a million steps: the loop stays closed, and the energy stays."""

from pathlib import Path
from time import perf_counter

import numpy as np
from common import folder, save, table
from matplotlib import pyplot

import dalembert as da
from dalembert import zoo
from dalembert.view.plots import positive


def main(out: Path, span: float = 1000.0) -> dict[str, object]:
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    times = np.linspace(0, span, 2001)
    da.simulate(system, start, times[:3][[0, -1]], t_eval=times[:3], method="rk4", step=1e-3)  # compiles
    began = perf_counter()
    run = da.simulate(system, start, times[[0, -1]], t_eval=times, method="rk4", step=1e-3)
    seconds = perf_counter() - began
    free = da.simulate(system, start, times[[0, -1]], t_eval=times, method="rk4", step=1e-3, stabilization="none")
    steady = da.simulate(system, start, times[[0, -1]], t_eval=times, method="variational", step=1e-3)

    figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for a, name in ((free, "RK4, left alone"), (run, "RK4, corrected"), (steady, "variational")):
        axes[0].semilogy(times, positive(a.residuals), label=name, lw=0.8)
        axes[1].semilogy(times, positive(a.speed_residuals), lw=0.8)
        axes[2].semilogy(times, positive(a.energy - a.energy[0]), lw=0.8)
    for axis, what in zip(axes, ("|Φ| (m)", "|A v| (m/s)", "|E − E₀| (J)")):
        axis.set_ylabel(what)
        axis.grid(alpha=0.3)
    axes[0].set_title("four-bar, steps of 1 ms")
    axes[0].legend()
    axes[2].set_xlabel("t (s)")
    half = len(times) // 2
    change, wobble = (np.abs(a.energy - a.energy[0]) for a in (run, steady))
    phi = run.residuals
    rows = table(
        "Four-bar, a long run",
        {
            "steps": run.steps,
            "steps a second": float(run.steps / seconds),
            "largest violation, left alone (m)": float(free.residuals.max()),
            "largest violation, corrected (m)": float(phi.max()),
            "  in the first and in the second half": f"{phi[:half].max():.1e}, {phi[half:].max():.1e}",
            "largest violation of the velocities, corrected (m/s)": float(run.speed_residuals.max()),
            "energy, and its change, corrected (J)": f"{run.energy[0]:.4f}, {change.max():.1e}",
            "  at the end of the first and of the second half (J)": f"{change[half]:.1e}, {change[-1]:.1e}",
            "its change, variational, in the first half and the second (J)": (
                f"{wobble[:half].max():.1e}, {wobble[half:].max():.1e}"
            ),
        },
    )
    save(figure, out / "four_bar_long.png")
    return rows


if __name__ == "__main__":
    main(folder())
