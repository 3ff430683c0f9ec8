"""The result of `study`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import hinted
from dalembert.studies.estimated import aligned
from dalembert.studies.sampling import sobol_indices
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns, Tabular

LEVELS = (0.05, 0.5, 0.95)  # quantiles of a table


@hinted
@dataclass(frozen=True, eq=False, repr=False)
class Study(Tabular):
    """Results of variants of a mechanism: `study["height"]` is one result, `print(study)` a table, `report` a page.

    Variants that cannot be led or did not end have NaN, and do not count.
    """

    system: System
    method: str
    names: tuple[str, ...]  # (m,) of the parameters
    results: tuple[str, ...]  # (r,) names of the results
    samples: np.ndarray  # (n, m) values of the parameters
    values: np.ndarray  # (n, r) of the results
    nominal: np.ndarray  # (m,) values of the system itself
    tolerances: np.ndarray | None  # (m,) of method "tolerance"
    runs: Any  # the `Sweeps` or `Ensemble` of all variants

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, name: str) -> np.ndarray:
        """(n,) values of a result, or of a parameter, by its name."""
        if name in self.results:
            return self.values[:, self.results.index(name)]
        if name in self.names:
            return self.samples[:, self.names.index(name)]
        raise unknown("result or parameter", name, [*self.results, *self.names])

    def state(self, k: int, *index: int) -> State:
        """A state of variant k; index: which value or time, as in `Sweeps.state` and `Ensemble.state`."""
        return self.runs.state(k, *index)

    def animate(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """The motion of a variant as one HTML file at path; options: of `Sweeps.animate`, or of `Ensemble.animate`."""
        return self.runs.animate(path, **options)

    # --- statistics ---------------------------------------------------------------------------------------------

    def mean(self, name: str) -> float:
        """Mean of a result; name: of the result."""
        return float(self._known(name).mean())

    def standard_deviation(self, name: str) -> float:
        """Standard deviation of a result, by n − 1; name: of the result."""
        return float(self._known(name, least=2).std(ddof=1))

    def quantiles(self, name: str, levels: Any = LEVELS) -> np.ndarray:
        """(len(levels),) quantiles of a result; name: of the result; levels: between 0 and 1."""
        wanted = checks.vector(levels, None, "levels")
        if not len(wanted) or wanted.min() < 0.0 or wanted.max() > 1.0:
            raise ArgumentError(f"levels is {checks.shown(levels)}; needed: numbers between 0 and 1.")
        return np.asarray(np.quantile(self._known(name), wanted))

    # --- causes -------------------------------------------------------------------------------------------------

    def effects(self, name: str) -> dict[str, float]:
        """What each tolerance alone does to a result: half the difference between its ends, by parameter.

        name: of the result.
        """
        self._needs("tolerance")
        pairs = self[name][1:].reshape(-1, 2)
        return dict(zip(self.names, (0.5 * (pairs[:, 0] - pairs[:, 1])).tolist()))

    def worst_case(self, name: str) -> float:
        """By how much a result deviates at most where all tolerances add up, to first order; name: of the result."""
        return float(np.abs(list(self.effects(name).values())).sum())

    def root_sum_square(self, name: str) -> float:
        """By how much a result deviates as a rule: the root of the sum of the squares of all effects; name: of it."""
        return float(np.linalg.norm(list(self.effects(name).values())))

    def contributions(self, name: str) -> dict[str, float]:
        """The share of the variance of a result that is due to each parameter; name: of the result.

        Of tolerances, their squares over the sum of squares; of "sensitivity", Sobol's first-order indices; of samples,
        the squares of the standardized coefficients of a linear regression, which are shares where it is linear.
        """
        if self.method == "tolerance":
            squares = np.square(list(self.effects(name).values()))
            return dict(zip(self.names, (squares / (squares.sum() or 1.0)).tolist()))
        if self.method == "sensitivity":
            return dict(zip(self.names, sobol_indices(self[name], len(self.names))[0].tolist()))
        y = self[name]
        known = np.isfinite(y)
        if known.sum() <= len(self.names) + 1 or not y[known].std() > 0.0:
            raise ArgumentError(
                f"'{name}' has {int(known.sum())} values, or all alike; needed: more than parameters, that differ."
            )
        x = self.samples[known]
        spread = x.std(axis=0)
        scaled = (x - x.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        slopes = np.linalg.lstsq(scaled, y[known] - y[known].mean(), rcond=None)[0] / y[known].std()
        return dict(zip(self.names, (slopes**2).tolist()))

    def total_indices(self, name: str) -> dict[str, float]:
        """Sobol's total indices of a result (name), interactions included, by parameter; of method "sensitivity"."""
        self._needs("sensitivity")
        return dict(zip(self.names, sobol_indices(self[name], len(self.names))[1].tolist()))

    # --- forms --------------------------------------------------------------------------------------------------

    def plot(self, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Histograms of results beside what each parameter contributes, as a Matplotlib figure (extra `view`).

        names: of results, by default all. path: a file to write to.
        """
        from dalembert.view.studies import plot_study

        return plot_study(self, names, path)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the study as one HTML page, which works offline, in light and dark; returns its path.

        path: of the file: statistics, histograms, contributions, and each result over each parameter.
        """
        from dalembert.view.study_page import write_page

        return write_page(self, path)

    def statistics(self) -> list[list[str]]:
        """Rows of a table: for each result its mean, deviation and quantiles, or its stack-up of tolerances."""
        if self.method == "tolerance":
            rows = [["", "nominal", "worst case ±", "root sum square ±"]]
            return rows + [
                [r, *(f"{x:.6g}" for x in (self[r][0], self.worst_case(r), self.root_sum_square(r)))]
                for r in self.results
            ]
        rows = [["", "mean", "deviation", *(f"{100 * q:g} %" for q in LEVELS), "least", "greatest"]]
        for r in self.results:
            x = self._known(r)
            spread = self.standard_deviation(r) if len(x) > 1 else 0.0
            numbers = (x.mean(), spread, *self.quantiles(r), x.min(), x.max())
            rows.append([r, *(f"{y:.6g}" for y in numbers)])
        return rows

    def summary(self) -> str:
        """What was varied, and the statistics of each result, as text to print."""
        return "\n".join([repr(self)[1:-1], *aligned(self.statistics())])

    def _columns(self) -> Columns:
        """One row a variant: its parameters and results."""
        values = {name: self.samples[:, k] for k, name in enumerate(self.names)}
        values |= {(r if r not in values else f"result.{r}"): self.values[:, k] for k, r in enumerate(self.results)}
        return Columns(self.system.name, "variant", np.arange(len(self)), values, {})

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        good = int(np.isfinite(self.values).all(axis=1).sum())
        return (
            f"<study of '{self.system.name}' ({self.method}) over {', '.join(self.names)}: {good} of {len(self)} "
            f"variants have all results>"
        )

    def _known(self, name: str, least: int = 1) -> np.ndarray:
        x = self[name]
        x = x[np.isfinite(x)]
        if len(x) < least:
            raise ArgumentError(f"'{name}' has {len(x)} values; needed: {least} or more. See study.runs.messages.")
        return x

    def _needs(self, method: str) -> None:
        if self.method != method:
            raise ArgumentError(f"this is known with method='{method}'; the study is one of '{self.method}'.")
