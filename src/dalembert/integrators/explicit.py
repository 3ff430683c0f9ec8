"""Explicit Runge-Kutta steps over compiled kernels: the whole loop is native.

Three kernels drive it, each called by its address (`system.functions`):

    ode      (q, v, …) → q̇, v̇, health        accelerations by sparse elimination
    correct  (q, …)    → q on the manifold    one Newton step of least length in the mass metric (Aghili 37)
    filter   (q, v, …) → v on the manifold    the velocity filter (Kövecses & Piedboeuf 33)

A step is accepted by its error (PI controller, Hairer & Wanner IV.2), then brought back to the manifold, then recorded.
Where the elimination is not healthy the loop stops before the step and says so; the caller takes that step by a
formulation that reveals the rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dalembert.compiler.call import call_kernel

DONE, UNHEALTHY, TOO_SMALL, NOT_FINITE, FULL, DRIFTED = 0, 1, 2, 3, 4, 5
STEPS, REJECTED, EVALUATIONS, CORRECTIONS = 0, 1, 2, 3
#: indices of `numbers`
H, ERROR, RTOL, ATOL, HEALTHY, SHORTEST, LEAST, POSITION, SPEED, WORST, CLOSE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

native = njit(cache=True, nogil=True, error_model="numpy")


class Called(NamedTuple):
    """A kernel as the loop sees it: its inputs wait in `given`, filled but for state and time."""

    address: int
    given: np.ndarray
    place: int  # of t in given; −1 where the kernel has none
    out: np.ndarray
    work: np.ndarray
    rows: int  # residuals it returns


@native
def _call(kernel, t, x, n):
    """Evaluate a kernel at the first n numbers of x."""
    for i in range(n):
        kernel.given[i] = x[i]
    if kernel.place >= 0:
        kernel.given[kernel.place] = t
    call_kernel(kernel.address, kernel.given, kernel.out, kernel.work)  # type: ignore[call-arg]


@native
def _sound(kernel, at, numbers):
    """Whether the elimination whose health stands at out[at:] can be trusted."""
    return kernel.out[at] > numbers[HEALTHY] and kernel.out[at + 1] > numbers[SHORTEST]


@native
def _evaluate(ode, t, x, k, numbers):
    """k ← f(t, x). Returns whether the elimination was sound and the result finite."""
    n = x.shape[0]
    _call(ode, t, x, n)
    total = 0.0
    for i in range(n):
        k[i] = ode.out[i]
        total += ode.out[i]
    numbers[WORST] = min(numbers[WORST], ode.out[n])
    return _sound(ode, n, numbers) and total - total == 0.0


@native
def return_to_manifold(correct, filter_, t, x, nq, corrections, counts, numbers):
    """Correct q up to `corrections` times, then filter v; residuals into `numbers`. False where q runs away."""
    m, nv = correct.rows, x.shape[0] - nq
    residual = 0.0
    for _ in range(corrections):
        _call(correct, t, x, nq)
        residual = 0.0
        for i in range(m):
            residual = max(residual, abs(correct.out[nq + i]))
        if not _sound(correct, nq + m, numbers):
            break
        for i in range(nq):
            x[i] = correct.out[i]
        counts[CORRECTIONS] += 1
        if residual < 1e-9:  # the step just taken squares it
            break
    numbers[POSITION] = max(numbers[POSITION], residual)
    m = filter_.rows
    _call(filter_, t, x, nq + nv)
    for i in range(m):
        numbers[SPEED] = max(numbers[SPEED], abs(filter_.out[nv + i]))
    if _sound(filter_, nv + m, numbers):
        for i in range(nv):
            x[nq + i] = filter_.out[i]
    return residual < 0.1


@native
def advance(ode, correct, filter_, method, t, t_end, x, nq, stages, numbers, counts, corrections, times, states):
    """Integrate from t to t_end, recording every accepted step. Returns (outcome, t, number of records)."""
    A, b, c, e5, e3, _, exponent = method
    s, n = b.shape[0], x.shape[0]
    trial, count = stages[s + 1], 0
    fresh = False
    while t < t_end:
        h = min(numbers[H], t_end - t)
        last = h == t_end - t
        if not fresh:
            if not _evaluate(ode, t, x, stages[0], numbers):
                return UNHEALTHY, t, count
            counts[EVALUATIONS] += 1
            fresh = True
        healthy = True
        for i in range(1, s):
            for j in range(n):
                sum_ = 0.0
                for k in range(i):
                    sum_ += A[i, k] * stages[k, j]
                trial[j] = x[j] + h * sum_
            healthy = _evaluate(ode, t + c[i] * h, trial, stages[i], numbers)
            counts[EVALUATIONS] += 1
            if not healthy:
                break
        if healthy:
            for j in range(n):
                sum_ = 0.0
                for k in range(s):
                    sum_ += b[k] * stages[k, j]
                trial[j] = x[j] + h * sum_
            if exponent > 0.0:
                healthy = _evaluate(ode, t + h, trial, stages[s], numbers)
                counts[EVALUATIONS] += 1
        if not healthy:  # come close to the singularity by short steps, so that little is left to the careful ones
            if exponent == 0.0 or h <= numbers[CLOSE]:
                return UNHEALTHY, t, count
            counts[REJECTED] += 1
            numbers[H] = 0.5 * h
            continue
        if exponent > 0.0:
            five, three = 0.0, 0.0
            for j in range(n):
                scale = numbers[ATOL] + numbers[RTOL] * max(abs(x[j]), abs(trial[j]))
                a5, a3 = 0.0, 0.0
                for k in range(s + 1):
                    a5 += e5[k] * stages[k, j]
                    a3 += e3[k] * stages[k, j]
                five += (a5 / scale) ** 2
                three += (a3 / scale) ** 2
            error = 0.0
            if five > 0.0:
                error = h * five / ((five + 0.01 * three) * n) ** 0.5
            if not error < 1.0:
                counts[REJECTED] += 1
                numbers[H] = h * max(0.2, 0.9 * error ** (-exponent)) if error < 1e300 else 0.1 * h
                if numbers[H] < numbers[LEAST] * max(1.0, abs(t)):
                    return TOO_SMALL, t, count
                continue
            grow = 0.9 * max(error, 1e-10) ** (-0.7 * exponent) * numbers[ERROR] ** (0.4 * exponent)
            if not last or grow < 1.0:
                numbers[H] = h * min(5.0, max(0.2, grow))
            numbers[ERROR] = max(error, 1e-4)
        t = t_end if last else t + h
        for j in range(n):
            x[j] = trial[j]
        counts[STEPS] += 1
        fresh = False
        if corrections > 0 and not return_to_manifold(correct, filter_, t, x, nq, corrections, counts, numbers):
            return DRIFTED, t, count
        total = 0.0
        for j in range(n):
            total += x[j]
        if total - total != 0.0:
            return NOT_FINITE, t, count
        times[count] = t
        for j in range(n):
            states[count, j] = x[j]
        count += 1
        if count == times.shape[0]:
            return FULL, t, count
    return DONE, t, count
