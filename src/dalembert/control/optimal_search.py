"""The search for a motion of least cost: Newton's method on motions, or iLQR, within limits of the path."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.control import sweeps
from dalembert.control.optimal_problem import CostedMotion, OptimalProblem, StepDerivatives

SHORTEST = 2.0**-20  # part of a step of the search below which it ends
ROUGH = 1e-6  # tolerance of iLQR before Newton's method
ROUNDS = 30  # searches with new multipliers of the path


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Where a search ended."""

    motion: CostedMotion
    slopes: StepDerivatives
    gains: np.ndarray  # (N, inputs, 2 nv)
    costs: list[float]
    slope: float
    success: bool
    message: str
    iterations: int
    violation: float = 0.0


def search(
    problem: OptimalProblem, motion: CostedMotion, newton: bool, most: int, tolerance: float, allowed: float
) -> SearchResult:
    """A motion of least cost whose path is within its limits to `allowed`."""
    if not problem.path:
        return least(problem, motion, newton, most, tolerance)
    spent, costs, last = 0, [], np.inf
    violation = max(0.0, float(problem.excess(motion).max()))
    problem.path.begin(problem.plain_cost(motion), violation)
    for round_ in range(ROUNDS):
        begun = problem.costed(motion) or motion
        found = least(problem, begun, newton, most - spent, max(tolerance, 1e-6) if round_ == 0 else tolerance)
        motion, spent = found.motion, spent + found.iterations
        costs += found.costs
        excess = problem.excess(motion)
        violation = max(0.0, float(excess.max()))
        if violation <= allowed or not found.success or spent >= most:
            break
        problem.path.update(excess, stiffer=violation > 0.25 * last)
        last = violation
    kept = violation <= allowed
    message = _found_in(spent) if found.message == _found_in(found.iterations) else found.message
    message = message if kept else f"{message}; limits of the path are exceeded by {violation:.1e}"
    plain = CostedMotion(motion.taken, problem.plain_cost(motion))
    return SearchResult(
        plain, found.slopes, found.gains, costs, found.slope, found.success and kept, message, spent, violation
    )


def search_from_far(
    problem: OptimalProblem, motion: CostedMotion, newton: bool, most: int, tolerance: float, allowed: float
) -> SearchResult:
    """`search` from a motion that may be far from the best one: with iLQR first, which stays away from saddles."""
    found = search(problem, motion, False, most, max(tolerance, ROUGH) if newton else tolerance, allowed)
    if not newton:
        return found
    last = search(problem, problem.costed(found.motion) or found.motion, True, most, tolerance, allowed)
    spent = found.iterations + last.iterations
    message = _found_in(spent) if last.message == _found_in(last.iterations) else last.message
    return replace(last, costs=found.costs + last.costs[1:], iterations=spent, message=message)


def _found_in(iterations: int) -> str:
    return f"found in {iterations} iteration{'' if iterations == 1 else 's'}"


def least(problem: OptimalProblem, motion: CostedMotion, newton: bool, most: int, tolerance: float) -> SearchResult:
    """Iterations to the least cost."""
    damping, costs, message, success = 0.0, [motion.cost], "", False
    slopes, (l, end) = problem.slopes(motion), problem.expand(motion)
    for iteration in range(most + 1):
        A, B = slopes.matrices
        bounds = None if problem.free else (problem.limits[0] - motion.u, problem.limits[1] - motion.u)
        regulator = sweeps.backward(A, B, l, end, bounds, max(damping, 1e-14))
        sweep, curved = regulator, False
        if newton:
            p = sweeps.costates(A, l, end, problem.n)
            exact = sweeps.backward(A, B, l, end, bounds, damping, slopes.bent(p))
            sweep, curved = (exact, True) if exact is not None else (regulator, False)
        if regulator is None or sweep is None:
            message = "the cost has no curvature by some input; give every input a cost"
            break
        if -(sweep.slope + sweep.curve) <= tolerance * (abs(motion.cost) + 1e-300) * 1e-2 or sweep.slope == 0.0:
            message, success = _found_in(iteration), True
            break
        if iteration == most:
            message = f"not found in {most} iterations; raise max_iterations, or start from a better guess"
            break
        better, part = _line(problem, motion, sweep, regulator if curved else None, A, B)
        if better is None:
            if damping < 1e8:
                damping = max(1e-6, 10.0 * damping)
                continue
            message = "no step lowers the cost any more; rounding, or a cost that is not smooth"
            success = -(sweep.slope + sweep.curve) <= 1e-6 * abs(motion.cost)
            break
        damping = 0.0 if part == 1.0 and damping < 1e-5 else damping / 3.0
        motion = better
        costs.append(motion.cost)
        slopes, (l, end) = problem.slopes(motion), problem.expand(motion)
    gains = np.zeros((problem.steps, problem.nu, problem.n)) if regulator is None else regulator.K
    slope = np.nan if sweep is None else sweep.steepest
    return SearchResult(motion, slopes, gains, costs, slope, success, message, iteration)


def _line(
    problem: OptimalProblem,
    motion: CostedMotion,
    sweep: sweeps.BackwardSweep,
    regulator: sweeps.BackwardSweep | None,
    A: np.ndarray,
    B: np.ndarray,
) -> tuple[CostedMotion | None, float]:
    """The first of ever shorter steps that lowers the cost as it should, and its length.

    With a regulator the curve x + s z, u + s w, z and w the linear motion of the sweep, is followed by its gains: the
    projection of a curve on motions. Without one the gains of the sweep act, as in DDP.
    """
    states, z, w = motion.taken.before, [np.zeros(problem.n)], []
    if regulator is not None:
        for k in range(problem.steps):
            w.append(sweep.k[k] + sweep.K[k] @ z[-1])
            z.append(A[k] @ z[-1] + B[k] @ w[-1])
    part = 1.0
    while part > SHORTEST:
        if regulator is None:
            trial = problem.followed(states, motion.u + part * sweep.k, sweep.K)
        else:
            wanted = problem.moved(states, part * np.array(z[:-1]))
            trial = problem.followed(wanted, motion.u + part * np.array(w), regulator.K)
        expected = part * sweep.slope + part * part * sweep.curve
        if trial is not None and trial.cost <= motion.cost + 1e-4 * min(expected, 0.0):
            return trial, part
        part *= 0.5
    return None, 0.0
