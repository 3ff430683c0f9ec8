"""The user's request for a simulation, checked once and frozen: native code sees nothing that did not pass here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert import checks
from dalembert.branch.mirrors import refuse_mirrored
from dalembert.errors import ArgumentError
from dalembert.formulations import FORMULATIONS
from dalembert.integrators.methods import METHODS, Method
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateGiven, positions_only
from dalembert.simulation.events import Event, named_events
from dalembert.simulation.stabilization import Baumgarte, Projection, as_stabilization
from dalembert.system.belonging import missed
from dalembert.system.formulation_options import check_options
from dalembert.system.state import State
from dalembert.system.system import System

#: formulations that integrate total rates in place of velocities, and the ending of their kernels' names
TOTAL_RATES = {"total_rates": "", "total_rates_xi": "_xi"}
CLOSED = 1e-12  # of the mechanism's length: residuals of a state that counts as on the manifold
MANY_TURNS = 1e7  # rad: beyond it the rounding of an angle is more than an integrator's usual tolerance
FAR_AWAY = 1e12  # lengths of the mechanism: where bodies are known to a thousandth of these
SINGULARITY = ("continue", "warn", "stop")
ALL_OPTIONS = ("metric", "variant", "tolerance", "floor", "safety", "damping", "independent", "scale")
#: options of "auto" are for its singular steps
OPTIONS = {"auto": ("tolerance", "floor", "safety", "damping"), **dict.fromkeys(TOTAL_RATES, ())}


@dataclass(frozen=True, eq=False)
class Choices:
    """Options of a simulation that are checked without its system."""

    method_name: str
    rtol: float
    atol: float
    step: float  # s; 0: chosen by the method
    max_step: float  # s
    stabilization: Projection | Baumgarte | None
    formulation: str
    on_singularity: str
    max_steps: int

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: a method's table lives in the memory of its process."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def method(self) -> Method:
        """The method of integration."""
        return METHODS[self.method_name]

    @cached_property
    def projection(self) -> Projection | None:
        """How states are brought back to the manifold, if they are."""
        return self.stabilization if isinstance(self.stabilization, Projection) else None

    @cached_property
    def baumgarte(self) -> Baumgarte | None:
        """The feedback of constraint errors, if there is one."""
        return self.stabilization if isinstance(self.stabilization, Baumgarte) else None

    @cached_property
    def named(self) -> bool:
        """Whether the right-hand side is one of the formulations by name."""
        return self.formulation in FORMULATIONS


@dataclass(frozen=True, eq=False)
class Setup(Choices):
    """A simulation as asked for, wherever it starts."""

    system: System
    p: np.ndarray  # (np,)
    controller: Any  # u(t, state) of any kind, or None
    period: float  # its sampling period, s; 0: asked at every stage
    events: Mapping[str, Event]
    coordinates: Any
    options: Mapping[str, Any]  # of the formulation

    @cached_property
    def metric(self) -> Any:
        """Metric of the formulation, else of the projection, else the mass metric."""
        return self.options.get("metric", "mass" if self.projection is None else self.projection.metric)

    @cached_property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.system.u_names)


class Span(NamedTuple):
    """Where a simulation starts, how far it goes, and what is wanted of it."""

    start: State  # at the first time
    end: float
    samples: np.ndarray | None  # (N,) times at which states are wanted; None: every step
    u: np.ndarray  # (nu,) constant inputs; zero where a controller gives them


@lru_cache(256, typed=True)
def make_choices(
    method: Any, rtol: Any, atol: Any, step: Any, max_step: Any, stabilization: Any, formulation: Any,
    on_singularity: Any, max_steps: Any,
) -> Choices:  # fmt: skip
    """Check options of `simulate`; the same ones are checked once."""
    if METHODS[checks.choice(method, METHODS, "method")].fixed and step is None:
        raise ArgumentError(f"method '{method}' has a fixed step; give it as step=0.001 (s).")
    step = 0.0 if step is None else checks.number(step, "step", above=0.0)
    rtol, atol = checks.number(rtol, "rtol", least=0.0), checks.number(atol, "atol", least=0.0)
    if max(rtol, atol) < 1e-16:
        raise ArgumentError(f"rtol is {rtol:g} and atol {atol:g}; needed: one of them at least 1e-16.")
    return Choices(
        method_name=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=checks.number(max_step, "max_step", above=0.0, finite=False),
        stabilization=as_stabilization(stabilization),
        formulation=checks.choice(formulation, ["auto", *FORMULATIONS, *TOTAL_RATES], "formulation"),
        on_singularity=checks.choice(on_singularity, SINGULARITY, "on_singularity"),
        max_steps=checks.whole(max_steps, "max_steps", least=1, most=2**62),
    )


def make_span(system: System, state: StateGiven, t: Any, t_eval: Any, u: Any) -> Span:
    """Check where a simulation starts and ends; u: constant inputs."""
    given = system.arguments.as_state(state)
    if system.rows.of:
        check_resolution(system, given)
    start, end = _span(t, given.t)
    samples = None if t_eval is None else _samples(t_eval, start, end)
    return Span(given if given.t == start else given.replace(t=start), end, samples, system.arguments.input_vector(u))


def check_steps(choices: Choices, span: Span) -> None:
    """Refuse steps that the clock does not resolve: times would stay as they are."""
    least = float(np.spacing(max(abs(span.start.t), abs(span.end))))
    for name, value in (("max_step", choices.max_step), ("step", choices.step * choices.method.fixed)):
        if 0.0 < value < least:
            raise ArgumentError(
                f"{name} is {value:.3g} s; needed: at least {least:.2g} s, by which neighbouring times are apart "
                f"between {span.start.t:g} and {span.end:g} s."
            )


def check_resolution(system: System, state: State) -> None:
    """Refuse positions so large that rounding alone opens the loops: an angle of 1e12 rad is known to 1e-4 rad."""
    if np.abs(state.q).max(initial=0.0) < MANY_TURNS:
        return
    far = FAR_AWAY * max(1.0, system.layout.length)
    for a in system.layout.joints.values():
        if a.joint.nq != a.joint.nv:
            continue
        for name, x, turns in zip(a.coordinates, np.atleast_1d(state[a.name]), a.joint.angular):
            bound = MANY_TURNS if turns else far
            if abs(x) > bound:
                raise ArgumentError(
                    f"coordinate '{name}' starts at {x:.4g}, where neighbouring numbers are {np.spacing(abs(x)):.1g} "
                    f"apart, too far to keep loops closed; needed: at most {bound:.1g}. Take whole turns out of angles."
                )


def make_setup(
    system: System, choices: Choices, span: Span, p: Parameters, controller: Any = None, period: Any = None,
    events: Any = None, coordinates: Any = None, options: Any = None, *, phases: bool = False,
) -> Setup:  # fmt: skip
    """Check what is asked of a system; everything is looked at before anything is computed.

    phases: whether changes of structure are followed; else a system that has them is refused.
    """
    if not phases and system.layout.is_hybrid:
        raise ArgumentError(
            f"'{system.name}' has contacts, ropes, rigid stops or dry friction, which only da.simulate and da.ensemble "
            "follow. Leave them out, or use one of these."
        )
    if period is not None:
        if controller is None:
            raise ArgumentError(f"period is {period!r}; it is the sampling period (s) of a controller u(t, state).")
        period = checks.number(period, "period", above=0.0)
        if period < 1e-12 * max(abs(span.start.t), abs(span.end)):
            raise ArgumentError(
                f"period is {period:g} s; needed: a period that the clock resolves, above 1e-12 of the time."
            )
    elif getattr(controller, "needs_period", False):
        raise ArgumentError(
            f"the controller ({type(controller).__name__}) remembers its last call, and period is None; needed: a "
            "sampling period (s), period=0.001 for instance."
        )
    own = getattr(controller, "sampling_period", None)
    if not checks.same_period(period or 0.0, own):
        raise ArgumentError(
            f"the controller ({type(controller).__name__}) is made for samples every {own:g} s, and period is "
            f"{period}; needed: period={own:g}."
        )
    check_steps(choices, span)
    options = _options(system, choices.formulation, options)
    _check_together(system, choices, coordinates)
    values = {f.name: getattr(choices, f.name) for f in fields(choices)}
    if choices.baumgarte is not None and not system.rows.of:
        values["stabilization"] = None
    return Setup(
        **values,
        system=system,
        p=system.arguments.defaults if p is None else np.array(system.arguments.parameter_vector(p)),  # its own copy
        controller=controller,
        period=period or 0.0,
        events=named_events(events),
        coordinates=coordinates,
        options=options,
    )


def _check_together(system: System, choices: Choices, coordinates: Any) -> None:
    """Refuse choices that exclude each other."""
    formulation = choices.formulation
    if choices.method_name == "variational":
        positions_only(system, "; method 'variational' needs constraints that bind positions. Use 'dop853' or 'rk4'.")
        if coordinates is not None or formulation != "auto":
            raise ArgumentError(
                "method 'variational' has its own equations for positions and multipliers: leave coordinates and "
                "formulation as they are."
            )
    if formulation in TOTAL_RATES:
        system.diagonal.check()
    if coordinates is not None and (choices.stabilization != Projection() or formulation != "auto"):
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
    if not (isinstance(t, (list, tuple)) or (isinstance(getattr(t, "ndim", None), int) and t.ndim > 0)):
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
    x = checks.increasing(t_eval, "t_eval").copy()
    if x[0] < start or x[-1] > end:
        raise ArgumentError(
            f"t_eval goes from {x[0]:g} to {x[-1]:g} s; needed: times between {start:g} and {end:g} s, as t says."
        )
    return x


def on_manifold(system: System, x: Any, p: np.ndarray) -> Any:
    """The start, brought onto the manifold where it misses it by rounding only."""
    open_by, gap = missed(system, x, p)
    if open_by:
        raise ArgumentError(
            f"the start does not satisfy the constraints: {open_by}. Find one that does with system.assemble(...), or "
            "system.project(state)."
        )
    refuse_mirrored(system, x, p)
    return system.project(x, p=p) if gap > CLOSED else x
