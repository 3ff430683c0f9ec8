"""v̇ and λ at a state: by compiled elimination where the rows are safely independent, else by a formulation by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isfinite, nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.formulations import EUCLIDEAN, MASS, Problem, make_problem
from dalembert.lazy import cached_property
from dalembert.native.library import call
from dalembert.outcome import Outcome
from dalembert.protocols import Inputs, Parameters, StateLike
from dalembert.rank import angular_velocities, rank_policy, usual_inertias
from dalembert.symbols import all_numbers
from dalembert.system.formulation_options import metric_factor
from dalembert.system.inertia import massless_velocity, varies_inertia

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.system.system import System

OK, INCONSISTENT = Outcome.OK, Outcome.INCONSISTENT
MISSED = 1e-8  # of the terms of a row of A v̇ + γ: by how much they may fail to cancel
ROUNDING = 1e-13  # of the largest terms
HEAVY = 1e-9  # of the usual inertia of a velocity


class Acceleration(NamedTuple):
    """v̇ and λ with M v̇ + h = τ + Q + Aᵀλ and A v̇ + γ = 0.

    The shortest λ has the least Σ (sᵢ λᵢ)², sᵢ the usual length of row i in the mass metric (`rank`): forces and
    moments can be compared then, and the answer does not depend on units. Where the constraints contradict each other
    v̇ comes nearest to them, and the status is INCONSISTENT.
    """

    vdot: np.ndarray  # (nv,)
    multipliers: np.ndarray  # (m,) the shortest where A is rank deficient, see below; 0 for rows that are switched off
    force: np.ndarray  # (nv,) Aᵀλ
    rank: int
    condition: float  # σ_max / σ_min over what is retained, in the formulation's metric (elimination: an estimate)
    residual: float  # ‖A v̇ + γ‖∞ after the solve
    status: Outcome

    @property
    def message(self) -> str:
        """The status as a sentence."""
        missed = f"; they are missed by {self.residual:.3g} (m/s², rad/s²)" if self.status is INCONSISTENT else ""
        return self.status.sentence + missed

    @property
    def success(self) -> bool:
        """Whether v̇ and λ can be used."""
        return self.status is OK

    def __eq__(self, other: object) -> bool:
        return self is other  # arrays have no single truth

    def __hash__(self) -> int:
        return id(self)


class Limits(NamedTuple):
    """Margins of the elimination above which it needs no pivoting, and the usual lengths of rows in the mass metric."""

    angle: float  # squared sine of the angle between a row and the others
    length: float  # squared length of a row
    size: float  # usual length of the shortest row
    sizes: np.ndarray  # (m,) of each row

    @property
    def floor(self) -> float:
        """Singular values of A in the mass metric below this are rounding."""
        return 1e-13 * self.size


def limits(system: System, p: Parameters = None) -> Limits:
    """The limits of a system at these parameters."""
    if not system.rows.of:
        return Limits(0.0, 0.0, 0.0, np.zeros(0))
    policy = rank_policy(system, p)
    return Limits(policy.least_angle, policy.least_length, policy.size, policy.sizes)


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
    """Data of `System.acceleration`, prepared once; each problem is used by one call at a time."""

    def __init__(self, system: System):
        self.parameters = system.parameters  # the limits are for these
        self.limits = limits(system)
        self.rank, self.nv = len(system.rows.of), system.nv
        self.answer = Prepared(system.kernel("answer"))
        #: of each velocity: above these it moves mass for sure; None where all always do
        self.inertias = None if system._inertias.solid else HEAVY * usual_inertias(system)
        self.problems: list[Problem] = []
        self._system = system

    @cached_property
    def equations(self) -> Prepared:
        """The kernel of M, f, A and γ, compiled when first needed."""
        return Prepared(self._system.kernel("constrained"))


def eliminated(system: System, x: StateLike, tau: Any, u: Inputs, p: Parameters) -> Acceleration | None:
    """The acceleration by sparse elimination, or None where the constraints are not safely independent."""
    solver = system._solver
    answer, least = solver.answer, solver.limits
    if answer.plain and tau is None and u is None and p is None:
        if answer.timed:
            vdot, multipliers, force, evidence, inertias = answer.kernel(x.q, x.v, *answer.defaults, x.t)
        else:
            vdot, multipliers, force, evidence, inertias = answer.kernel(x.q, x.v, *answer.defaults)
    else:
        given = np.zeros(system.nv) if tau is None else system.arguments.velocity_vector(tau, "tau")
        vdot, multipliers, force, evidence, inertias = system.kernels.at(answer.kernel, x, u, p, {"tau": given})
        if p is not None:
            least = limits(system, p)
    angle, length, worst, total = evidence.tolist()
    if not (angle > least.angle and length > least.length and isfinite(total)):
        return None
    doubtful = solver.inertias is not None and (p is not None or False in (inertias > solver.inertias).tolist())
    if (doubtful or varies_inertia(system, p)) and massless_velocity(system, x, p) is not None:
        return refused(system, Outcome.MASS_SINGULAR)
    rank = solver.rank
    condition = max(1.0 / sqrt(angle), least.size / sqrt(length)) if rank else 1.0
    found = vdot, multipliers, force, rank, condition, sqrt(worst), OK
    return tuple.__new__(Acceleration, found)  # a tenth of the time of a small mechanism faster than Acceleration(...)


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
    scale: float | None,
    active: Mapping[str, bool] | None,
) -> Acceleration:
    """The acceleration by a formulation; the arguments are those of `System.acceleration`."""
    solver = system._solver
    sizes = solver.limits.sizes if p is None else limits(system, p).sizes
    threshold, damp = damping or (0.0, 0.0)
    if metric.__class__ is str and metric == "mass" and not active:
        problem, on, kind = _all_rows(system, solver, x, tau, u, p), None, MASS
    else:
        problem, on = _some_rows(system, x, tau, u, p, metric, active)
        kind, problem.weight[:] = metric_factor(metric, system.nv)
        sizes = sizes[on] * _units(problem, kind)
    A, gamma = problem.A, problem.gamma
    A /= sizes[:, None]
    gamma /= sizes
    problem.metric, problem.variant, problem.sigma = kind, variant, scale or 0.0
    problem.tolerance, problem.safety, problem.floor = tolerance, safety, floor
    problem.threshold, problem.damp = threshold, damp
    if formulation == "partition":
        problem.independent[:] = 0
        problem.independent[[system.arguments.velocity_index(name) for name in independent]] = 1
    call(formulation, problem)
    answer = _answer(system, x, p, problem, sizes, on, damping is not None)
    if on is None:
        solver.problems.append(problem)
        return _with_led(system, x, p, answer)
    multipliers = np.zeros(len(on))
    multipliers[on] = answer.multipliers
    vdot, force = answer.vdot, answer.force
    if isinstance(metric, str) and metric == "innovations":
        vdot = system.evaluate("joint_rates", x, dq=vdot, p=p)
        force = system.evaluate("joint_forces", x, tau=force, p=p)
    return _with_led(system, x, p, answer._replace(vdot=vdot, force=force, multipliers=multipliers))


def _with_led(system: System, x: StateLike, p: Parameters, answer: Acceleration) -> Acceleration:
    """The answer with Aᵀλ of led coordinates, whose equations, and columns of A, the formulations do not see."""
    places = list(system.description.prescribed.values())
    if places and answer.multipliers.size:
        answer.force[places] = system.constraint_matrix(x, p=p)[:, places].T @ answer.multipliers
    return answer


def refused(system: System, why: Outcome) -> Acceleration:
    """No numbers, and why."""
    n, m = np.full(system.nv, nan), np.full(len(system.rows.of), nan)
    return Acceleration(n, m, n.copy(), 0, inf, nan, why)


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
        system.kernels.at(equations.kernel, x, u, p, {}, out)
    if tau is not None:
        problem.f += system.arguments.velocity_vector(tau, "tau")
    return problem


def _units(problem: Problem, kind: int) -> float:
    """Factor from lengths in the mass metric to lengths in another metric: masses against weights."""
    if kind == MASS:
        return 1.0
    W = np.eye(problem.n) if kind == EUCLIDEAN else problem.weight.T @ problem.weight
    return float(np.sqrt(np.trace(problem.M) / np.trace(W)))


def _some_rows(
    system: System, x: StateLike, tau: Any, u: Inputs, p: Parameters, metric: Any, active: Mapping[str, bool] | None
) -> tuple[Problem, np.ndarray]:
    """The equations with some rows switched off, or in the coordinates ν, where M = 1; and which rows are on."""
    given = np.zeros(system.nv) if tau is None else system.arguments.velocity_vector(tau, "tau")
    if isinstance(metric, str) and metric == "innovations":
        M = np.eye(system.nv)
        f, A, gamma = system.evaluate("diagonal_constrained", x, tau=given, u=u, p=p)
    else:
        M, f, A, gamma = system.evaluate("constrained", x, u=u, p=p)
        f = f + given
    on = system.arguments.active_rows(active)
    return make_problem(system.nv, int(on.sum()), M=M, f=f, A=A[on], gamma=gamma[on]), on


def _answer(
    system: System,
    x: StateLike,
    p: Parameters,
    problem: Problem,
    sizes: np.ndarray,
    on: np.ndarray | None,
    softened: bool,
) -> Acceleration:
    """The result of a problem whose rows were divided by `sizes`; no numbers where it was not solved."""
    code, rank, largest, smallest = problem.status, problem.rank, problem.largest, problem.smallest
    if code != 0:
        vdot, force, multipliers = (np.full_like(y, nan) for y in (problem.vdot, problem.force, problem.multipliers))
        return Acceleration(vdot, multipliers, force, rank, inf, nan, Outcome(code))
    condition = largest / smallest if smallest > 0.0 else (inf if rank else 1.0)
    vdot, missed = problem.vdot.copy(), np.abs(problem.A @ problem.vdot + problem.gamma)
    good = softened or _satisfied(system, x, p, problem, missed, sizes, on)
    residual = _largest(missed * sizes)
    multipliers = problem.multipliers / sizes
    return Acceleration(
        vdot, multipliers, problem.force.copy(), rank, condition, residual, OK if good else INCONSISTENT
    )


def _largest(x: np.ndarray) -> float:
    """max |x|; of a dozen numbers Python finds it sooner than NumPy."""
    return max(map(abs, x.tolist()), default=0.0)


def free_fall(system: System, length: float) -> float:
    """Gravity over a length, 1/s²: accelerations that vanish have rounding of this size; 0 for symbolic gravity."""
    gravity = system.description.gravity
    return float(np.linalg.norm(gravity.astype(float))) / length if all_numbers(gravity) else 0.0


def _satisfied(
    system: System,
    x: StateLike,
    p: Parameters,
    problem: Problem,
    missed: np.ndarray,
    sizes: np.ndarray,
    on: np.ndarray | None,
) -> bool:
    """Whether A v̇ + γ is zero but for rounding and what the tolerance drops, row by row."""
    if _largest(missed) <= ROUNDING * _largest(problem.gamma):
        return True
    terms = np.abs(problem.A) @ np.abs(problem.vdot) + np.abs(problem.gamma)
    if (missed <= MISSED * terms + ROUNDING * terms.max()).all():
        return True
    policy = rank_policy(system, p)  # γ is a sum of products of velocities, and v̇ may be what is left of free fall
    speed = np.abs(x.v / np.where(angular_velocities(system), 1.0, policy.length)).max(initial=0.0)
    fall = free_fall(system, policy.length)  # weights that balance leave their rounding
    terms += (speed**2 + fall) * (policy.units if on is None else policy.units[on]) / sizes
    terms += np.abs(problem.A) @ np.abs(np.linalg.solve(problem.M, problem.f))
    return bool((missed <= MISSED * terms + ROUNDING * terms.max()).all())
