"""The result of `fit`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.simulation.results.run import Run
from dalembert.studies.estimated import Estimated, aligned
from dalembert.studies.measured import Measured
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

UNDETERMINED = 1e-8  # of the largest singular value of the scaled Jacobian: below, noise of 1e-8 decides


def covariance(
    jacobian: np.ndarray, estimate: np.ndarray, spread: float, names: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """spread (JᵀJ)⁻¹, (m, m), and the parameters that J (N, m) does not determine, whose variances are infinite.

    Columns are scaled to length one first, so that the verdict does not depend on units. A parameter whose own size,
    (m,) `estimate`, changes next to nothing beside what others do has a column of rounding.
    """
    sizes = np.linalg.norm(jacobian, axis=0)
    effect = sizes * np.abs(estimate)
    sizes = np.where((estimate != 0.0) & (effect <= UNDETERMINED * effect.max()), 0.0, sizes)
    jacobian, scale = np.where(sizes > 0.0, jacobian, 0.0), np.where(sizes > 0.0, sizes, 1.0)
    _, sigma, Vt = np.linalg.svd(jacobian / scale, full_matrices=False)
    weak = sigma <= UNDETERMINED * sigma.max(initial=1e-300)
    safe = np.where(weak, np.inf, sigma)
    matrix = spread * (Vt.T / safe**2) @ Vt / np.outer(scale, scale)
    open_ = (np.abs(Vt[weak]).max(axis=0, initial=0.0) > 0.1) | (sizes == 0.0)
    matrix[open_, :] = matrix[:, open_] = np.nan
    matrix[open_, open_] = np.inf
    return matrix, tuple(name for name, is_open in zip(names, open_) if is_open)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Estimated):
    """Parameters found from measurements: `fit.values`, `fit.errors`, `fit.confidence()`; `print(fit)` is a table.

    The table of `to_pandas` and `plot` has each quantity measured, simulated and their difference over time.
    """

    system: System  # with the parameters found
    names: tuple[str, ...]  # (m,) of the parameters
    estimate: np.ndarray  # (m,)
    covariance: np.ndarray  # (m, m) of the estimate; inf and NaN of what the data do not determine
    undetermined: tuple[str, ...]  # parameters that the data do not determine
    at_bound: tuple[str, ...]  # parameters at a bound
    measured: Measured
    simulated: np.ndarray  # (N, k) at the times of the measurements
    sigma: np.ndarray  # (k,) standard deviation of the noise of each quantity: as given, or estimated
    freedom: int  # measurements less parameters
    run: Run  # the motion with the parameters found
    evaluations: int
    success: bool

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors of the parameters by name."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist()))

    @property
    def residuals(self) -> np.ndarray:
        """(N, k) measured less simulated; NaN where nothing was measured."""
        return self.measured.values - self.simulated

    @property
    def message(self) -> str:
        """How the fit ended, and what it leaves open."""
        said = "converged" if self.success else f"stopped after {self.evaluations} evaluations; raise max_evaluations"
        if self.undetermined:
            said += f"; the data do not determine {', '.join(self.undetermined)}"
        if self.at_bound:
            said += f"; at a bound: {', '.join(self.at_bound)}"
        return said

    def state(self, k: int = -1) -> State:
        """State number k of the motion with the parameters found; the last by default."""
        return self.run.state(k)

    def animate(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """The motion with the parameters found as one HTML file at path; options of `dalembert.view.animate`."""
        return self.run.animate(path, **options)

    def confidence(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals (least, greatest) of the parameters by name, by Student's distribution; level: their probability.

        They are those of the linearized model, exact where residuals are small beside its curvature.
        """
        from scipy.stats import t

        width = float(t.ppf(0.5 * (1.0 + checks.number(level, "level", above=0.0, below=1.0)), self.freedom))
        return {n: (x - width * e, x + width * e) for (n, x), e in zip(self.values.items(), self.errors.values())}

    def plot(self, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Measurements over the simulated motion, and their differences, as a Matplotlib figure (extra `view`).

        names: of quantities; by default all. path: a file to write to.
        """
        from dalembert.view.fits import plot_fit

        return plot_fit(self, names, path)

    def _columns(self) -> Columns:
        parts = {"measured": self.measured.values, "simulated": self.simulated, "residual": self.residuals}
        values = {f"{name}.{what}": x[:, k] for k, name in enumerate(self.measured.of) for what, x in parts.items()}
        return Columns(repr(self)[1:-1], "t", self.measured.t, values, {"t": "s"})

    def __str__(self) -> str:
        cells = [["", "value", "error", "95 %", ""]]
        for name, (low, high) in self.confidence().items():
            cells.append([name, f"{self.values[name]:.6g}", f"{self.errors[name]:.2g}", f"{low:.6g}", f"{high:.6g}"])
        return "\n".join([repr(self)[1:-1], *aligned(cells)])

    def __repr__(self) -> str:
        count = int(np.isfinite(self.measured.values).sum())
        return f"<fit of '{self.system.name}' to {count} measurements of {', '.join(self.measured.of)}: {self.message}>"
