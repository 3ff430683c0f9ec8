"""v̇ and λ at a state: by compiled elimination where the rows are safely independent, else by a formulation by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import inf, isfinite, nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.formulations import EUCLIDEAN, MASS, Problem, make_problem
from dalembert.native.library import call
from dalembert.outcome import Outcome
from dalembert.protocols import Inputs, Parameters, StateLike
from dalembert.rank import rank_policy
from dalembert.system.formulation_options import metric_factor

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.system.system import System

OK = Outcome.OK


class Acceleration(NamedTuple):
    """v̇ and λ with M v̇ + h = τ + Q + Aᵀλ and A v̇ + γ = 0."""

    vdot: np.ndarray  # (nv,)
    multipliers: np.ndarray  # (m,) the shortest where A is rank deficient; rows that are switched off have 0
    force: np.ndarray  # (nv,) Aᵀλ
    rank: int
    condition: float  # σ_max / σ_min over what is retained, in the formulation's metric (elimination: an estimate)
    residual: float  # ‖A v̇ + γ‖∞ after the solve
    status: Outcome

    @property
    def message(self) -> str:
        """The status as a sentence."""
        return self.status.sentence

    @property
    def success(self) -> bool:
        """Whether v̇ and λ can be used."""
        return self.status is OK

    def __eq__(self, other: object) -> bool:
        return self is other  # arrays have no single truth

    def __hash__(self) -> int:
        return id(self)


class Limits(NamedTuple):
    """Margins of the elimination above which it needs no pivoting, and the usual size of a row in the mass metric."""

    angle: float  # squared sine of the angle between a row and the others
    length: float  # squared length of a row
    size: float

    @property
    def floor(self) -> float:
        """Singular values of A in the mass metric below this are rounding."""
        return 1e-13 * self.size


def limits(system: System, p: Parameters = None) -> Limits:
    """The limits of a system at these parameters."""
    if not system.rows.of:
        return Limits(0.0, 0.0, 0.0)
    policy = rank_policy(system, p)
    return Limits(policy.least_angle, policy.least_length, policy.size)


class Prepared:
    """A kernel of (q, v, tau, u, p, t), and its arguments besides the state while nothing else is given."""

    __slots__ = ("defaults", "kernel", "plain", "timed")

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        names = tuple(kernel.names_in)
        self.plain = names[:2] == ("q", "v") and "p" not in names
        self.defaults = [np.zeros(n) for n, name in zip(kernel.n_in, names) if name in ("tau", "u")]
        self.timed = "t" in names


class Solver:
    """What `System.acceleration` needs at each call, prepared once; each problem is used by one call at a time."""

    def __init__(self, system: System):
        self.parameters = system.parameters  # the limits are for these
        self.limits = limits(system)
        self.rank, self.nv = len(system.rows.of), system.nv
        self.answer = Prepared(system.kernel("answer"))
        self.problems: list[Problem] = []
        self._system = system

    @cached_property
    def equations(self) -> Prepared:
        """The kernel of M, f, A and γ, compiled when first needed."""
        return Prepared(self._system.kernel("constrained"))


def eliminated(system: System, x: StateLike, tau: Any, u: Inputs, p: Parameters) -> Acceleration | None:
    """The acceleration by sparse elimination, or None where the constraints are not safely independent."""
    solver = system.solver
    answer, least = solver.answer, solver.limits
    if answer.plain and tau is None and u is None and p is None:
        if answer.timed:
            vdot, multipliers, force, evidence = answer.kernel(x.q, x.v, *answer.defaults, x.t)
        else:
            vdot, multipliers, force, evidence = answer.kernel(x.q, x.v, *answer.defaults)
    else:
        given = np.zeros(system.nv) if tau is None else system.velocity_vector(tau, "tau")
        vdot, multipliers, force, evidence = system.evaluate_kernel(answer.kernel, x, u, p, {"tau": given})
        if p is not None:
            least = limits(system, p)
    angle, length, worst, total = evidence.tolist()
    if not (angle > least.angle and length > least.length and isfinite(total)):
        return None
    rank = solver.rank
    condition = max(1.0 / sqrt(angle), least.size / sqrt(length)) if rank else 1.0
    return Acceleration(vdot, multipliers, force, rank, condition, sqrt(worst), OK)


def solved(
    system: System,
    x: StateLike,
    tau: Any,
    u: Inputs,
    p: Parameters,
    formulation: str,
    *,
    metric: Any,
    variant: int,
    tolerance: float,
    floor: float,
    safety: float,
    damping: tuple[float, float] | None,
    independent: Iterable[str],
    active: Mapping[str, bool] | None,
) -> Acceleration:
    """The acceleration by a formulation; the arguments are those of `System.acceleration`."""
    solver = system.solver
    size = solver.limits.size if p is None else limits(system, p).size
    threshold, damp = damping or (0.0, 0.0)
    if metric.__class__ is str and metric == "mass" and not active:
        problem, on = _all_rows(system, solver, x, tau, u, p), None
        kind, floor = MASS, floor * size
    else:
        problem, on = _some_rows(system, x, tau, u, p, metric, active)
        kind, problem.weight[:] = metric_factor(metric, system.nv)
        floor *= size * _units(problem, kind)
    problem.set(
        metric=kind,
        variant=variant,
        tolerance=tolerance,
        safety=safety,
        threshold=threshold,
        damp=damp,
        floor=floor,
    )
    if formulation == "partition":
        problem.independent[:] = 0
        problem.independent[[system.velocity_index(name) for name in independent]] = 1
    call(formulation, problem)
    if on is None:
        answer = _answer(problem, problem.vdot.copy(), problem.force.copy(), problem.multipliers.copy())
        solver.problems.append(problem)
        return answer
    vdot, force, multipliers = problem.vdot, problem.force, np.zeros(len(on))
    multipliers[on] = problem.multipliers
    if isinstance(metric, str) and metric == "innovations":
        vdot = system.evaluate("joint_rates", x, dq=vdot, p=p)
        force = system.evaluate("joint_forces", x, tau=force, p=p)
    return _answer(problem, vdot, force, multipliers)


def _all_rows(system: System, solver: Solver, x: StateLike, tau: Any, u: Inputs, p: Parameters) -> Problem:
    """The equations at a state, in a problem that no other call uses."""
    try:
        problem = solver.problems.pop()
    except IndexError:
        problem = make_problem(solver.nv, solver.rank)
    out, equations = (problem.M, problem.f, problem.A, problem.gamma), solver.equations
    if u is None and p is None and equations.plain:
        if equations.timed:
            equations.kernel(x.q, x.v, *equations.defaults, x.t, out=out)
        else:
            equations.kernel(x.q, x.v, *equations.defaults, out=out)
    else:
        system.evaluate_kernel(equations.kernel, x, u, p, {}, out)
    if tau is not None:
        problem.f += system.velocity_vector(tau, "tau")
    return problem


def _units(problem: Problem, kind: int) -> float:
    """What turns lengths in the mass metric into lengths in another one: masses against weights."""
    if kind == MASS:
        return 1.0
    W = np.eye(problem.n) if kind == EUCLIDEAN else problem.weight.T @ problem.weight
    return float(np.sqrt(np.trace(problem.M) / np.trace(W)))


def _some_rows(
    system: System, x: StateLike, tau: Any, u: Inputs, p: Parameters, metric: Any, active: Mapping[str, bool] | None
) -> tuple[Problem, np.ndarray]:
    """The equations with some rows switched off, or in the coordinates ν, where M = 1; and which rows are on."""
    given = np.zeros(system.nv) if tau is None else system.velocity_vector(tau, "tau")
    if isinstance(metric, str) and metric == "innovations":
        M = np.eye(system.nv)
        f, A, gamma = system.evaluate("diagonal_constrained", x, tau=given, u=u, p=p)
    else:
        M, f, A, gamma = system.evaluate("constrained", x, u=u, p=p)
        f = f + given
    on = system.active_rows(active)
    return make_problem(system.nv, int(on.sum()), M=M, f=f, A=A[on], gamma=gamma[on]), on


def _answer(problem: Problem, vdot: np.ndarray, force: np.ndarray, multipliers: np.ndarray) -> Acceleration:
    """The result; no numbers where the problem was not solved."""
    code, rank, largest, smallest, residual = problem.numbers("status", "rank", "largest", "smallest", "residual")
    if code != 0:
        vdot, force, multipliers = (np.full_like(x, nan) for x in (vdot, force, multipliers))
        return Acceleration(vdot, multipliers, force, rank, inf, nan, Outcome(code))
    condition = largest / smallest if smallest > 0.0 else (inf if rank else 1.0)
    return Acceleration(vdot, multipliers, force, rank, condition, residual, OK)
