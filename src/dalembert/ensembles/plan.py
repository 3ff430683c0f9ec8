"""The settings that all runs of an ensemble share, and how one of them is made by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.compiler.target import host
from dalembert.ensembles.lanes import Batch, fits
from dalembert.errors import ArgumentError
from dalembert.lazy import cached_property
from dalembert.simulation.callbacks import steering
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.results.run import Run
from dalembert.simulation.setup import Setup, Span
from dalembert.simulation.simulate import carried_out, simulate
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.ensembles.sensitivities import Derivatives

LEAST = 8  # lanes
#: options of `simulate` that a setup keeps under their names
PASSED_ON = ("rtol", "atol", "max_step", "stabilization", "formulation", "on_singularity", "max_steps", "events")


@dataclass(frozen=True, eq=False)
class EnsemblePlan:
    """The settings that all runs of an ensemble share; picklable, so that other processes can use them."""

    setup: Setup  # of one run; parameters are replaced
    samples: np.ndarray | None  # (T,) times of t_eval
    outputs: Mapping[str, Callable[[Any, Any], Any]]  # f(t, state), at the times of t_eval
    keep: str  # at the times of t_eval: "states", "outputs", or a "summary" of outputs
    lanes: int  # 1: each run alone
    controllers: Callable[[int, Mapping[str, Any]], Any] | None = None  # f(k, values): the controller of run k
    changes: Mapping[str, Any] = field(default_factory=dict)  # switches and stops, as `simulate` takes them
    slopes: Derivatives | None = None  # that are wanted of every run

    @property
    def wanted(self) -> np.ndarray:
        """Times of t_eval."""
        return np.zeros(0) if self.samples is None else self.samples

    @cached_property
    def layout(self) -> RunLayout:
        """The common settings of plain runs with the parameters of the setup."""
        return RunLayout(self.setup)

    def __reduce__(self) -> tuple[Any, ...]:
        return EnsemblePlan, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def hybrid(self) -> bool:
        """Whether the structure of the mechanism changes in its runs, or they are made by time stepping."""
        hybrid = bool(self.changes) or self.setup.system.layout.is_hybrid
        return hybrid or self.setup.method_name == "moreau"


def laid_out(plan: EnsemblePlan, batch: Batch, k: int) -> tuple[RunLayout, Span]:
    """The layout of run k of a batch, of its own where it has functions or parameters of its own, and its span."""
    setup = plan.setup
    if plan.controllers is not None:
        setup = replace(
            setup, controller=controller_of(plan.setup.system, plan.controllers, int(batch.k[k]), batch.values, k)
        )
    plain = setup.controller is None and not setup.events and setup.coordinates is None
    shared = plain and np.array_equal(batch.p[k], setup.p)
    layout = plan.layout if shared else RunLayout(replace(setup, p=batch.p[k]))
    start = setup.system.state(batch.q[k], batch.v[k], float(batch.t[k, 0]))
    return layout, Span(start, float(batch.t[k, 1]), plan.samples, batch.u[k])


def run_alone(plan: EnsemblePlan, batch: Batch, k: int, samples: np.ndarray | None) -> Run:
    """Run k of a batch by itself, with states at the times of `samples`, or at every step."""
    if not plan.hybrid:
        layout, span = laid_out(plan, batch, k)
        return carried_out(layout, span._replace(samples=samples))
    setup = plan.setup
    law = setup.controller
    if plan.controllers is not None:
        law = controller_of(setup.system, plan.controllers, int(batch.k[k]), batch.values, k)
    options = {name: getattr(setup, name) for name in PASSED_ON}
    return simulate(
        setup.system, setup.system.state(batch.q[k], batch.v[k], float(batch.t[k, 0])), tuple(batch.t[k]),
        u=batch.u[k] if law is None else law, p=batch.p[k], period=setup.period or None, step=setup.step or None,
        method=setup.method_name, options=setup.options or None, t_eval=samples, **options, **plan.changes,
    )  # fmt: skip


def controller_of(
    system: System, make: Callable[[int, Mapping[str, Any]], Any], run: int, varied: Mapping[str, Any], k: int
) -> Any:
    """The controller that a user's function makes for a run, from row k of what differs from run to run."""
    try:
        made = make(run, {name: x[k] if x.ndim > 1 else float(x[k]) for name, x in varied.items()})
    except Exception as error:
        raise ArgumentError(f"controllers({run}, …) raised {type(error).__name__}: {error}") from error
    law = steering(system, made)
    if law is None:
        raise ArgumentError(f"controllers({run}, …) gives {checks.shown(made)}; needed: a controller u(t, state).")
    return law


def usual_lanes(setup: Setup) -> int:
    """Lanes for runs like this on this processor: two vectors' worth, 8 or 16, or 1 where each run is made alone."""
    beside = fits(setup) and setup.system.backend == "native" and not setup.system.layout.is_hybrid
    return max(LEAST, 2 * host().width) if beside else 1
