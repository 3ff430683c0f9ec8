"""Through a singular position: short RK4 steps by a formulation that reveals the rank.

`parts.ode` is that formulation's field, whose answer ends with rank, largest and smallest singular value. The ordinary
right-hand side is asked after each step whether it is sound again.
"""

from __future__ import annotations

from dalembert.integrators.called import CALLBACK, OK
from dalembert.integrators.loop import (
    CLOSE,
    DONE,
    FAILED,
    FULL,
    NOT_FINITE,
    first_step,
    settle,
)
from dalembert.integrators.manifold import sound
from dalembert.integrators.native import call, floats, native
from dalembert.integrators.numbers import CAREFUL, NQ, NV, RECORDS, STEPS, USUAL, H
from dalembert.integrators.stage import evaluate

#: places in `passage`: end, least rank, least singular value over the largest, when, steps
END, RANK, LEAST, WHEN, COUNT = range(5)


@native
def pass_singularity(method, parts, ordinary, t, t_end, x, stages, numbers, counts, times, states, marks, passage):
    """Careful steps until the ordinary right-hand side is sound again. Returns as `loop.advance` does."""
    n, s, out = x.shape[0], method.b.shape[0], floats(parts.ode.out)
    trial, before = stages[stages.shape[0] - 2], stages[stages.shape[0] - 1]
    counts[RECORDS] = 0
    if numbers[H] == 0.0:  # the start itself is singular
        outcome = evaluate(parts, t, x, stages[0], numbers, counts)
        if outcome != OK:
            return FAILED if outcome == CALLBACK else NOT_FINITE, t
        numbers[H] = numbers[USUAL] = first_step(1 / 8, parts, t, x, stages, numbers, counts)
    while t < t_end:
        h = min(numbers[H], t_end - t)
        if numbers[USUAL] > 0.0:
            h = min(h, CLOSE * numbers[USUAL])
        last = h == t_end - t
        for i in range(s):
            for j in range(n):
                sum_ = 0.0
                for k in range(i):
                    sum_ += method.A[i, k] * stages[k, j]
                trial[j] = x[j] + h * sum_
            outcome = evaluate(parts, t + method.c[i] * h, trial, stages[i], numbers, counts)
            if outcome != OK:
                return FAILED if outcome == CALLBACK else NOT_FINITE, t
            rank, sigma = out[n + 2], out[n + 4] / max(out[n + 3], 1e-300)
            passage[RANK] = min(passage[RANK], rank)
            if sigma < passage[LEAST]:
                passage[LEAST], passage[WHEN] = sigma, t
        for j in range(n):
            sum_ = 0.0
            for k in range(s):
                sum_ += method.b[k] * stages[k, j]
            before[j] = x[j]
            x[j] += h * sum_
        t = t_end if last else t + h
        counts[STEPS] += 1
        counts[CAREFUL] += 1
        passage[COUNT] += 1
        passage[END] = t
        outcome = settle(parts, t, x, before, times, states, marks, numbers, counts)
        if outcome != DONE:
            return outcome, t
        call(ordinary, t, x, int(numbers[NQ] + numbers[NV]))
        if sound(ordinary, n, numbers):
            return DONE, t
        if counts[RECORDS] == times.shape[0]:
            return FULL, t
    return DONE, t
