"""Through a singular position: short RK4 steps by a formulation that reveals the rank.

`parts.ode` is that formulation's field, whose answer ends with rank, largest and smallest singular value. The ordinary
right-hand side is asked after each step whether it is sound again.
"""

from __future__ import annotations

from dalembert.compiler.memory import array_at, floats
from dalembert.integrators.called import CALLBACK, OK
from dalembert.integrators.entries import DONE, FAILED, FULL, NOT_FINITE
from dalembert.integrators.explicit import combine
from dalembert.integrators.loop import CLOSE, first_step, history, leave, moving, settle
from dalembert.integrators.manifold import sound
from dalembert.integrators.native import call, entry
from dalembert.integrators.numbers import (
    CAREFUL,
    NARROW,
    NQ,
    NV,
    PASSAGE,
    RANK,
    RECORDS,
    STEPS,
    TAKEN,
    UNTIL,
    USUAL,
    WHEN,
    H,
)
from dalembert.integrators.stage import evaluate


@entry
def pass_singularity(record):
    """Careful steps until the ordinary right-hand side is sound again; ends as `loop.advance` does."""
    run, method = record.run, record.method
    x, marks = moving(run)
    stages, numbers, counts, times, states = history(run)
    passage, parts, ordinary, t, t_end = array_at(run.passage, (PASSAGE,)), run.parts, run.ordinary, run.t, run.end
    n, s, out = x.shape[0], method.size, floats(parts.ode.out)
    A, b, c = floats(method.A), floats(method.b), floats(method.c)
    trial, before = stages[stages.shape[0] - 2], stages[stages.shape[0] - 1]
    counts[RECORDS] = 0
    if numbers[H] == 0.0:  # the start itself is singular
        outcome = evaluate(parts, t, x, stages[0], numbers, counts)
        if outcome != OK:
            return leave(run, FAILED if outcome == CALLBACK else NOT_FINITE, t)
        numbers[H] = numbers[USUAL] = first_step(1 / 8, parts, t, x, stages, numbers, counts)
    while t < t_end:
        h = min(numbers[H], t_end - t)
        if numbers[USUAL] > 0.0:
            h = min(h, CLOSE * numbers[USUAL])
        last = h == t_end - t
        for i in range(s):
            combine(trial, x, h, A, i * s, stages, i)
            outcome = evaluate(parts, t + c[i] * h, trial, stages[i], numbers, counts)
            if outcome != OK:
                return leave(run, FAILED if outcome == CALLBACK else NOT_FINITE, t)
            rank, sigma = out[n + 2], out[n + 4] / max(out[n + 3], 1e-300)
            passage[RANK] = min(passage[RANK], rank)
            if sigma < passage[NARROW]:
                passage[NARROW], passage[WHEN] = sigma, t
        combine(trial, x, h, b, 0, stages, s)
        for j in range(n):
            before[j] = x[j]
            x[j] = trial[j]
        t = t_end if last else t + h
        counts[STEPS] += 1
        counts[CAREFUL] += 1
        passage[TAKEN] += 1
        passage[UNTIL] = t
        outcome = settle(parts, t, x, before, times, states, marks, numbers, counts)
        if outcome != DONE:
            return leave(run, outcome, t)
        call(ordinary, t, x, int(numbers[NQ] + numbers[NV]))
        if sound(ordinary, n, numbers):
            return leave(run, DONE, t)
        if counts[RECORDS] == times.shape[0]:
            return leave(run, FULL, t)
    return leave(run, DONE, t)
