"""What a user asks of a simulation, checked once and frozen: native code sees nothing that is not from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.formulations import FORMULATIONS
from dalembert.integrators.methods import METHODS, Method
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.callbacks import expression, is_numba
from dalembert.simulation.events import Event, named_events
from dalembert.simulation.stabilization import Baumgarte, Projection, as_stabilization
from dalembert.system.formulation_options import check_options
from dalembert.system.state import State
from dalembert.system.system import System

#: formulations that integrate total rates in place of velocities, and the ending of their kernels' names
TOTAL_RATES = {"total_rates": "", "total_rates_xi": "_xi"}
CLOSED = 1e-12  # of the mechanism's length: residuals of a state that counts as on the manifold
SINGULARITY = ("continue", "warn", "stop")
ALL_OPTIONS = ("metric", "variant", "tolerance", "floor", "safety", "damping", "independent", "scale")
#: options of "auto" are for its singular steps
OPTIONS = {"auto": ("tolerance", "floor", "safety", "damping"), **dict.fromkeys(TOTAL_RATES, ())}


@dataclass(frozen=True, eq=False)
class Setup:
    """A simulation as asked for."""

    system: System
    start: State  # at the first time
    end: float
    samples: np.ndarray | None  # (N,) times at which states are wanted; None: every step
    p: np.ndarray  # (np,)
    u: np.ndarray  # (nu,) constant inputs; zero where a controller gives them
    controller: Any  # u(t, state) of any kind, or None
    hold: float  # its sampling period, s; 0: asked at every stage
    events: Mapping[str, Event]
    method_name: str
    rtol: float
    atol: float
    step: float  # s; 0: chosen by the method
    max_step: float  # s
    stabilization: Projection | Baumgarte | None
    coordinates: Any
    formulation: str
    options: Mapping[str, Any]  # of the formulation
    on_singularity: str
    max_steps: int

    @property
    def method(self) -> Method:
        """The method of integration."""
        return METHODS[self.method_name]

    @property
    def projection(self) -> Projection | None:
        """How states are brought back to the manifold, if they are."""
        return self.stabilization if isinstance(self.stabilization, Projection) else None

    @property
    def baumgarte(self) -> Baumgarte | None:
        """The feedback of constraint errors, if there is one."""
        return self.stabilization if isinstance(self.stabilization, Baumgarte) else None

    @property
    def metric(self) -> Any:
        """Of the formulation, else of the projection, else of the mass."""
        return self.options.get("metric", "mass" if self.projection is None else self.projection.metric)

    @property
    def named(self) -> bool:
        """Whether the right-hand side is one of the formulations by name."""
        return self.formulation in FORMULATIONS

    def described(self) -> dict[str, Any]:
        """What must be equal for a recorded run to go on with this setup, by argument."""
        return {
            "state": (self.start.q.tolist(), self.start.v.tolist()),
            "t": self.start.t,
            "t_eval": None if self.samples is None else self.samples.tolist(),
            "u": self.u.tolist() if self.controller is None else "controller",
            "hold": self.hold,
            "method": self.method_name,
            "rtol": self.rtol,
            "atol": self.atol,
            "step": self.step,
            "max_step": self.max_step,
            "stabilization": self.stabilization,
            "coordinates": self.coordinates if isinstance(self.coordinates, (str, list, type(None))) else "chart",
            "formulation": self.formulation,
            "options": dict(self.options),
            "events": list(self.events),
        }


def make_setup(
    system: System, state: StateGiven, t: Any, *, u: Any, p: Parameters, hold: Any, events: Any, method: Any, rtol: Any,
    atol: Any, step: Any, max_step: Any, t_eval: Any, stabilization: Any, coordinates: Any, formulation: Any,
    options: Any, on_singularity: Any, max_steps: Any,
) -> Setup:  # fmt: skip
    """Check the arguments of `simulate`; everything is looked at before anything is computed."""
    if not hasattr(system, "constraint_matrix"):
        kind = type(system).__name__
        hint = " Compile it first: system = mechanism.compile()." if hasattr(system, "compile") else ""
        raise ArgumentError(f"system is a {kind}; needed: a compiled System.{hint}")
    if METHODS[checks.choice(method, METHODS, "method")].fixed and step is None:
        raise ArgumentError(f"method '{method}' has a fixed step; give it as step=0.001 (s).")
    step = 0.0 if step is None else checks.number(step, "step", above=0.0)
    rtol, atol = checks.number(rtol, "rtol", least=0.0), checks.number(atol, "atol", least=0.0)
    if max(rtol, atol) < 1e-16:
        raise ArgumentError(f"rtol is {rtol:g} and atol {atol:g}; needed: one of them at least 1e-16.")
    max_step = checks.number(max_step, "max_step", above=0.0, finite=False)
    max_steps = checks.whole(max_steps, "max_steps", least=1, most=2**62)
    on_singularity = checks.choice(on_singularity, SINGULARITY, "on_singularity")
    given = system.as_state(state)
    start, end = _span(t, given.t)
    samples = None if t_eval is None else _samples(t_eval, start, end)
    steers = callable(u) or isinstance(u, expression) or is_numba(u)
    if hold is not None:
        if not steers:
            raise ArgumentError(f"hold is {hold!r}; it is the sampling period (s) of a controller u(t, state).")
        hold = checks.number(hold, "hold", above=0.0)
        if hold < 1e-12 * max(abs(start), abs(end)):
            raise ArgumentError(
                f"hold is {hold:g} s; needed: a period that the clock resolves, above 1e-12 of the time."
            )
    kept = as_stabilization(stabilization)
    formulation = checks.choice(formulation, ["auto", *FORMULATIONS, *TOTAL_RATES], "formulation")
    options = _options(system, formulation, options)
    _check_together(system, method, formulation, coordinates, kept, steers, events)
    vector = system.parameter_vector(p)
    return Setup(
        system=system,
        start=given if given.t == start else given.replace(t=start),
        end=end,
        samples=samples,
        p=vector,
        u=system.input_vector(None if steers else u),
        controller=u if steers else None,
        hold=hold or 0.0,
        events=named_events(events),
        method_name=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        stabilization=None if isinstance(kept, Baumgarte) and not system.rows.of else kept,
        coordinates=coordinates,
        formulation=formulation,
        options=options,
        on_singularity=on_singularity,
        max_steps=max_steps,
    )


def _check_together(
    system: System, method: str, formulation: str, coordinates: Any, stabilization: Any, steers: bool, events: Any
) -> None:
    """Refuse choices that exclude each other."""
    if method == "variational":
        if not system.rows.holonomic.all():
            names = dict.fromkeys(c for c, h in zip(system.rows.of, system.rows.holonomic) if not h)
            raise ArgumentError(
                f"method 'variational' needs holonomic constraints; {', '.join(names)} are not. Use 'dop853' or 'rk4'."
            )
        if coordinates is not None or formulation != "auto":
            raise ArgumentError(
                "method 'variational' has its own equations for positions and multipliers: leave coordinates and "
                "formulation as they are."
            )
    if formulation in TOTAL_RATES:
        system.diagonal.check()
        if steers or events is not None:
            raise ArgumentError(
                f"formulation '{formulation}' integrates total rates; controllers, events and recordings see "
                "velocities. Give constant inputs, or take formulation='auto'."
            )
    if coordinates is not None and (stabilization != Projection() or formulation != "auto"):
        raise ArgumentError(
            "coordinates= keeps to the manifold by itself and eliminates natively: leave stabilization and formulation "
            "as they are."
        )


def _options(system: System, formulation: str, options: Any) -> dict[str, Any]:
    """Options of a formulation, checked."""
    if options is None:
        return {}
    given = dict(checks.mapping(options, "options"))
    checks.keywords(given, OPTIONS.get(formulation, ALL_OPTIONS), f"options of formulation '{formulation}'")
    if formulation in FORMULATIONS or formulation == "auto":
        name = "nullspace" if formulation == "auto" else formulation
        checked = check_options(system, name, **given)
        return {key: checked[key] for key in given}
    return given


def _span(t: Any, start: float) -> tuple[float, float]:
    """First and last time from a duration, or from (start, end)."""
    if np.ndim(t) == 0 or isinstance(t, (str, dict)):
        return start, start + checks.number(t, "t", least=0.0)
    x = checks.vector(t, None, "t")
    if len(x) != 2:
        raise ArgumentError(
            f"t has {len(x)} numbers; needed: a duration (s) or (start, end). Times at which you want states go into "
            "t_eval=."
        )
    if x[1] < x[0]:
        raise ArgumentError(f"t is ({x[0]:g}, {x[1]:g}); needed: an end that is not before the start.")
    return float(x[0]), float(x[1])


def _samples(t_eval: Any, start: float, end: float) -> np.ndarray:
    x = checks.vector(t_eval, None, "t_eval").copy()
    if not len(x) or not np.all(np.diff(x) > 0.0):
        raise ArgumentError("t_eval is empty or does not increase; needed: increasing times.")
    if x[0] < start or x[-1] > end:
        raise ArgumentError(
            f"t_eval goes from {x[0]:g} to {x[-1]:g} s; needed: times between {start:g} and {end:g} s, as t says."
        )
    return x


def on_manifold(system: System, x: Any, p: np.ndarray) -> Any:
    """The start, brought onto the manifold where it misses it by rounding only."""
    phi, A, b = system.evaluate("constraints", x, p=p)
    units = np.where(system.rows.angular, 1.0, system.layout.length)
    gaps = np.abs(phi) / units, np.abs(A @ x.v + b) / units
    fast = np.abs(x.v).max(initial=0.0) / min(1.0, system.layout.length)
    for gap, limit, what in zip(gaps, (1.0, 1.0 + fast), ("position", "velocity")):
        if not gap.max() <= 1e-5 * limit:
            worst = int(np.argmax(gap))
            raise ArgumentError(
                f"the start does not satisfy the constraints: the {what} misses row '{system.row_names[worst]}' by "
                f"{gap[worst] * units[worst]:.3g}. Find one that does with system.assemble(...), or "
                "system.project(state)."
            )
    return system.project(x, p=p) if max(gap.max() for gap in gaps) > CLOSED else x
