"""`fit`: parameters of a mechanism from measurements of its motion, by least squares with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError
from dalembert.hints import explained
from dalembert.protocols import Inputs, StateGiven, check_system
from dalembert.sensitivity.residuals import Residuals
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.sensitivities import sensitivities
from dalembert.sensitivity.targets import Targets
from dalembert.simulation.results.run import Run
from dalembert.simulation.simulate import simulate
from dalembert.studies.fitted import Fit, covariance
from dalembert.studies.measured import Measured
from dalembert.system.state import State
from dalembert.system.system import System


@explained
def fit(
    system: System,
    data: Any,
    parameters: Sequence[str] | Mapping[str, float],
    state: StateGiven,
    *,
    v: Mapping[str, float] | None = None,
    t: float = 0.0,
    guess: Any = None,
    u: Inputs = None,
    sigma: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    rtol: float = 1e-9,
    max_evaluations: int = 100,
) -> Fit:
    """Parameters for which a simulated motion is nearest to a measured one, with their confidence intervals.

    Minimizes Σ ((simulated − measured) / sigma)² by SciPy's `least_squares`, with exact derivatives.

    data: {"t": times (s), quantity: values}, a pandas DataFrame, or the name of a CSV file with a line of names.
    Quantities are those of `da.sensitivities`: "A", "rate:A", "position:tip@x", …; NaN and empty cells count as not
    measured.

    parameters: names, or {name: value to begin with}; by default the system's own. "held:A" and "held:rate:A" are the
    start itself, if that is not known either.

    state: where the motion starts: coordinates by name, with velocities v and at time t, from which each trial is
    assembled (with this guess), or a `State`, where no loop depends on the parameters; parameters of its own count. u:
    inputs, as in `da.simulate`.

    sigma: standard deviations of the measurements, one or by quantity. Without it all quantities count by their own
    spread, and the noise is estimated from the residuals. bounds: {name: (least, greatest)}. rtol: of the simulations.
    max_evaluations: trials, at most.

    The result has `values`, `errors`, `confidence()`, `residuals`, the `run` and pictures; parameters that the data do
    not determine are named in its message and have infinite errors. Where a trial cannot be assembled or simulated to
    the last time, the step is shortened.

    >>> import numpy as np
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> L, d = m.add_parameter("L", 1.0), m.add_parameter("d", 0.0)
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)), damping=d)
    >>> system, times = m.compile(), np.linspace(0.1, 3.0, 30)
    >>> truth = da.simulate(system, {"A": 1.0}, 3.0, p={"L": 1.3, "d": 0.4}, t_eval=times)
    >>> noise = 1e-3 * np.random.default_rng(1).normal(size=30)
    >>> found = da.fit(system, {"t": times, "A": truth["A"] + noise}, ["L", "d"], {"A": 1.0})
    >>> print(found)
    fit of 'pendulum' to 30 measurements of A: converged
          value    error      95 %
    L   1.30001  0.00015    1.2997  1.30033
    d  0.400738  0.00054  0.399636  0.40184
    """
    check_system(system)
    measured = Measured.read(data)
    v = {name: checks.number(x, f"v of '{name}'") for name, x in checks.mapping({} if v is None else v, "v").items()}
    by_name = isinstance(state, Mapping)
    if not by_name and (own := system.arguments.resolve(state, None, None)[2]) is not None:
        values = dict(zip(system.p_names, system.arguments.parameter_vector(own).tolist()))
        system = system.with_parameters(values)
    names, first = _parameters(system, parameters, state, v)
    begin = checks.number(t, "t") if by_name else system.arguments.as_state(state).t
    if measured.t[0] < begin:
        raise ArgumentError(f"the first measurement is at {measured.t[0]:g} s, before the start at t = {begin:g} s.")
    model = FitModel(
        system, measured, names, state, dict(v or {}), float(begin), guess, u, checks.number(rtol, "rtol", above=0.0)
    )
    known = np.isfinite(measured.values)
    if known.sum() < len(names):
        raise ArgumentError(
            f"data has {known.sum()} measurements for {len(names)} parameters; needed: as many or more."
        )
    sizes = _sizes(measured, sigma)
    residuals = Residuals(model, names, np.where(known, measured.values, 0.0), np.broadcast_to(sizes, known.shape))
    chosen = known.ravel()
    low, high = _bounds(names, first, bounds)
    from scipy.optimize import least_squares

    found = least_squares(
        lambda x: residuals(x)[chosen],
        first,
        jac=lambda x: residuals.jacobian(x)[chosen],
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
        max_nfev=checks.whole(max_evaluations, "max_evaluations", least=1),
    )
    at = residuals.at(found.x)
    assert at is not None
    assert model.run is not None
    jacobian = residuals.jacobian(found.x)[chosen]
    freedom = max(1, int(chosen.sum()) - len(names))
    spread = 1.0 if sigma is not None else float(2.0 * found.cost / freedom)
    matrix, unknown = covariance(jacobian, found.x, spread, names)
    return Fit(
        system=system.with_parameters({n: x for n, x in zip(names, found.x.tolist()) if not n.startswith("held:")}),
        names=names,
        estimate=found.x,
        covariance=matrix,
        undetermined=unknown,
        at_bound=tuple(n for n, active in zip(names, found.active_mask) if active),
        measured=measured,
        simulated=at.value.reshape(measured.values.shape),
        sigma=sizes * (1.0 if sigma is not None else np.sqrt(spread)),
        freedom=freedom,
        run=model.run,
        evaluations=int(found.nfev),
        success=bool(found.status > 0),
    )


class FitModel:
    """The motion and its derivatives at trial parameters."""

    run: Run | None = None  # the last

    def __init__(
        self, system: System, measured: Measured, names: tuple[str, ...], start: Any, v: dict[str, float], begin: float,
        guess: Any, u: Inputs, rtol: float,
    ):  # fmt: skip
        self.system, self.measured, self.names, self.start, self.v = system, measured, names, start, v
        self.begin, self.guess, self.u, self.rtol = begin, guess, u, rtol
        self.by_name = isinstance(start, Mapping)

    def __call__(self, trial: Mapping[str, float]) -> Sensitivities:
        p = {name: x for name, x in trial.items() if not name.startswith("held:")}
        t = self.measured.t
        run = simulate(
            self.system, self._start(trial, p), float(t[-1]), u=self.u, p=p, rtol=self.rtol, atol=1e-3 * self.rtol
        )
        if run.t[-1] < t[-1]:
            raise AssemblyError(f"with {_shown(trial)} the simulation ended before the last measurement: {run.message}")
        held = list(self.start) if self.by_name else None
        found = sensitivities(run, of=list(self.measured.of), wrt=list(self.names), held=held, at=t)
        self.run = run
        return found

    def _start(self, trial: Mapping[str, float], p: Mapping[str, float]) -> State:
        if not self.by_name:
            return self.system.arguments.as_state(self.start)
        q, v = dict(self.start), {**dict.fromkeys(self.start, 0.0), **self.v}
        for name, x in trial.items():
            of = name.rpartition(":")[2]
            if name.startswith("held:rate:"):
                v[of] = x
            elif name.startswith("held:"):
                q[of] = x
        return self.system.assemble(q, v, guess=self.guess, t=self.begin, p=p)


def _parameters(system: System, given: Any, start: Any, v: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Names, and where to begin."""
    if isinstance(given, str) or not isinstance(given, (Sequence, Mapping)) or not len(given):
        raise ArgumentError(f"parameters is {checks.shown(given)}; needed: names, or {{name: value to begin with}}.")
    names = Targets.of(system, list(given)).names
    if isinstance(given, Mapping):
        return names, np.array([checks.number(given[n], f"parameters[{n!r}]") for n in given], dtype=float)
    own = dict(zip(system.p_names, system.arguments.parameter_vector(None).tolist()))
    starts = start if isinstance(start, Mapping) else {}
    for name in names:
        kind, _, of = name.rpartition(":")
        if kind.startswith("held") and of not in starts:
            raise ArgumentError(f"'{name}' needs a start by name; found no '{of}' in state={checks.shown(start)}.")
        if kind:
            own[name] = float((v or {}).get(of, 0.0) if kind == "held:rate" else starts[of])
    return names, np.array([own[n] for n in names])


def _sizes(measured: Measured, sigma: Any) -> np.ndarray:
    """(k,) what differences of each quantity are divided by."""
    if isinstance(sigma, Mapping):
        missing = [name for name in measured.of if name not in sigma]
        if missing:
            raise ArgumentError(f"sigma has no entry for {', '.join(missing)}; needed: one for each quantity of data.")
        return np.array([checks.number(sigma[n], f"sigma[{n!r}]", above=0.0) for n in measured.of])
    if sigma is not None:
        return np.full(len(measured.of), checks.number(sigma, "sigma", above=0.0))
    known = np.isfinite(measured.values)
    spread = np.array([np.std(x[k]) if k.any() else 0.0 for x, k in zip(measured.values.T, known.T)])
    return np.where(spread > 0.0, spread, 1.0)


def _bounds(names: tuple[str, ...], first: np.ndarray, given: Any) -> tuple[np.ndarray, np.ndarray]:
    """(m,) least and greatest values; the first ones are to lie between."""
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for name, pair in checks.mapping({} if given is None else given, "bounds").items():
        if name not in names:
            raise ArgumentError(f"bounds has '{name}', which is not among the parameters: {', '.join(names)}.")
        k = names.index(name)
        low[k], high[k] = checks.vector(pair, 2, f"bounds[{name!r}]", finite=False)
        if not low[k] < first[k] < high[k]:
            raise ArgumentError(
                f"bounds[{name!r}] is ({low[k]:g}, {high[k]:g}), and the fit begins at {first[k]:g}; needed: a value "
                f"between them. Give parameters={{{name!r}: value, …}}."
            )
    return low, high


def _shown(trial: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {x:.6g}" for name, x in trial.items())
