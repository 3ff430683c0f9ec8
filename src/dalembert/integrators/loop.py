"""The native loop of a simulation: control, step, return to the manifold, record, watch for events.

A step is accepted by its error, then brought back to the manifold, then recorded. Where the elimination of constraints
is not sound the step is halved, and near enough to the singularity (a hundredth of the usual step) the loop ends
and says so: careful steps are another matter (`careful`).
"""

from __future__ import annotations

from dalembert.compiler.memory import array_at, floats, integers_at
from dalembert.integrators.called import CALLBACK, OK, UNHEALTHY, UNSOLVED
from dalembert.integrators.entries import (
    CHART_ENDS,
    DONE,
    DRIFTED,
    EVENT,
    FAILED,
    FULL,
    NO_STEP,
    NOT_FINITE,
    SINGULAR,
    TOO_SMALL,
)
from dalembert.integrators.manifold import recover, return_to_manifold
from dalembert.integrators.method import attempt
from dalembert.integrators.native import call, entry, finite, inline, native
from dalembert.integrators.numbers import (
    ATOL,
    CARRY,
    COUNTS,
    DOF,
    ERROR,
    EVERY,
    HEALTH,
    HOLD,
    LARGEST,
    LEAST,
    NQ,
    NUMBERS,
    NV,
    RECORDS,
    REJECTED,
    RTOL,
    SAMPLED,
    SAMPLES,
    START,
    STEPS,
    U_AT,
    USUAL,
    WORKS,
    WORST,
    H,
    U,
)
from dalembert.integrators.stage import control, evaluate

SMALLEST = 1e-15  # of the time: a step that rounding swallows
CLOSE = 0.01  # of the usual step: how near to a singularity the ordinary steps go


@entry
def advance(record):
    """Integrate to the end, recording every accepted step; outcome and time reached go into the record."""
    run, method = record.run, record.method
    x, marks = moving(run)
    stages, numbers, counts, times, states = history(run)
    parts, t, t_end = run.parts, run.t, run.end
    trial, before = stages[stages.shape[0] - 2], stages[stages.shape[0] - 1]
    n, fresh = x.shape[0], False
    counts[RECORDS] = 0
    while t < t_end:
        stop = t_end
        if numbers[HOLD] > 0.0:
            if t >= numbers[SAMPLED]:
                if not control(parts, t, x, numbers):
                    return leave(run, FAILED, t)
                counts[SAMPLES] += 1
                numbers[SAMPLED] = numbers[START] + counts[SAMPLES] * numbers[HOLD]
                fresh = False
            if numbers[SAMPLED] < t_end - 1e-9 * numbers[HOLD]:
                stop = numbers[SAMPLED]
        if not fresh:
            outcome = evaluate(parts, t, x, stages[0], numbers, counts)
            if outcome != OK:
                return leave(run, _ended(outcome, numbers), t)
            fresh = True
        if numbers[H] == 0.0:
            numbers[H] = first_step(method.exponent, parts, t, x, stages, numbers, counts)
            numbers[USUAL] = numbers[H]
        h = min(numbers[H], numbers[LARGEST])
        last = stop - t <= h * (1.0 + 1e-9)
        if last:
            h = stop - t
        elif h <= SMALLEST * abs(t):  # the clock hardly moves: the motion runs away
            return leave(run, TOO_SMALL, t)
        numbers[HEALTH] = 1.0  # of this attempt alone
        outcome, error = attempt(method, parts, t, h, x, stages, numbers, counts)
        if outcome == CALLBACK:
            return leave(run, FAILED, t)
        if outcome == UNHEALTHY and numbers[DOF] > 0.0:
            return leave(run, CHART_ENDS, t)
        if outcome != OK:
            counts[REJECTED] += 1
            numbers[HEALTH] = 1.0
            if method.exponent == 0.0 or (outcome == UNHEALTHY and h <= CLOSE * numbers[USUAL]):
                return leave(run, _ended(outcome, numbers), t)
            numbers[H] = 0.5 * h
            if numbers[H] < numbers[LEAST] * max(1.0, abs(t)):
                return leave(run, NOT_FINITE, t)
            continue
        if method.exponent > 0.0:
            if not error < 1.0:
                counts[REJECTED] += 1
                numbers[HEALTH] = 1.0
                numbers[H] = h * max(0.2, 0.9 * error ** (-method.exponent)) if error < 1e300 else 0.1 * h
                if numbers[H] < numbers[LEAST] * max(1.0, abs(t)):
                    return leave(run, TOO_SMALL, t)
                continue
            grow = 0.9 * max(error, 1e-10) ** (-0.7 * method.exponent) * numbers[ERROR] ** (0.4 * method.exponent)
            if not last or grow < 1.0:
                numbers[H] = h * min(5.0, max(0.2, grow))
            if not last:
                numbers[USUAL] = 0.8 * numbers[USUAL] + 0.2 * h
            numbers[ERROR] = max(error, 1e-4)
        if numbers[DOF] > 0.0 and not recover(parts.recover, t + h, trial, numbers):
            return leave(run, CHART_ENDS, t)
        if last:
            t, numbers[CARRY] = stop, 0.0
        else:  # compensated, so that a million steps end where they should
            due = h - numbers[CARRY]
            numbers[CARRY] = (t + due - t) - due
            t += due
        for j in range(n):
            before[j] = x[j]
            x[j] = trial[j]
        counts[STEPS] += 1
        fresh = False
        outcome = settle(parts, t, x, before, times, states, marks, numbers, counts)
        if outcome != DONE:
            return leave(run, outcome, t)
        if counts[RECORDS] == times.shape[0]:
            return leave(run, FULL, t)
    return leave(run, DONE, t)


@inline
def history(run):
    """Arrays of a record: stages, numbers, counts, times and states."""
    h = run.history
    return (
        array_at(h.stages, (h.rows, h.n)), array_at(h.numbers, (NUMBERS,)), integers_at(h.counts, (COUNTS,)),
        array_at(h.times, (h.room,)), array_at(h.states, (h.room, h.width)),
    )  # fmt: skip


@inline
def moving(run):
    """The state, and the marks of events."""
    return array_at(run.x, (run.history.n,)), array_at(run.marks, (2, run.events))


@inline
def leave(run, outcome, t):
    """The end of a call."""
    run.outcome, run.t = outcome, t


@native
def _ended(outcome, numbers):
    """The loop's word for an evaluation that failed."""
    if outcome == CALLBACK:
        return FAILED
    if outcome == UNHEALTHY:
        return CHART_ENDS if numbers[DOF] > 0.0 else SINGULAR
    if outcome == UNSOLVED:
        return NO_STEP
    return NOT_FINITE


@native
def settle(parts, t, x, before, times, states, marks, numbers, counts):
    """After a step: back to the manifold, into the records, and a look for events. Returns DONE where all is well."""
    if numbers[EVERY] > 0.0 and not return_to_manifold(parts, t, x, before, numbers, counts):
        return DRIFTED
    if not finite(x, x.shape[0]):
        return NOT_FINITE
    record(parts, t, x, times, states, numbers, counts)
    return EVENT if parts.events.address != 0 and crossed(parts, t, x, marks, numbers) else DONE


@native
def record(parts, t, x, times, states, numbers, counts):
    """State, inputs and least health of a step just taken."""
    n, at, nu, u = x.shape[0], int(numbers[U_AT]), int(numbers[U]), floats(parts.ode.given)
    count = counts[RECORDS]
    if parts.control.address != 0 and numbers[HOLD] == 0.0:
        control(parts, t, x, numbers)
    times[count] = t
    for j in range(n):
        states[count, j] = x[j]
    for j in range(nu):
        states[count, n + j] = u[at + j]
    states[count, n + nu] = numbers[HEALTH]
    numbers[WORST] = min(numbers[WORST], numbers[HEALTH])
    numbers[HEALTH] = 1.0
    counts[RECORDS] += 1


@native
def peek(method, parts, t, h, x, stages, numbers, counts):
    """stages[−2] ← the state h after x, on the manifold, by one step of the method. Returns the outcome."""
    trial, before = stages[stages.shape[0] - 2], stages[stages.shape[0] - 1]
    outcome = evaluate(parts, t, x, stages[0], numbers, counts)
    if outcome != OK:
        return outcome
    outcome, error = attempt(method, parts, t, h, x, stages, numbers, counts)
    if outcome != OK:
        return outcome
    if not error < 2.0:  # a shorter step than the one that was accepted is better, but next to a singular position
        return UNHEALTHY
    for j in range(x.shape[0]):
        before[j] = x[j]
    if numbers[DOF] > 0.0:
        return OK if recover(parts.recover, t + h, trial, numbers) else UNHEALTHY
    if numbers[EVERY] > 0.0:
        return_to_manifold(parts, t + h, trial, before, numbers, counts)
    return OK


@entry
def fill(record):
    """out[i] ← the state at wanted[i], by one step from the record before it; NaN where that is not sound.

    A step's inputs are those of the record at its end, unless the controller is asked at every stage.
    """
    run, method, parts = record.run, record.method, record.run.parts
    stages, numbers, counts, times, states = history(run)
    wanted, out = array_at(run.wanted, (run.asked,)), array_at(run.out, (run.asked, states.shape[1]))
    n, at, nu = out.shape[1] - int(numbers[U]) - 1, int(numbers[U_AT]), int(numbers[U])
    k, u = 0, floats(parts.ode.given)
    for i in range(wanted.shape[0]):
        while k + 2 < times.shape[0] and times[k + 1] < wanted[i]:
            k += 1
        end = k + 1 if k + 1 < times.shape[0] else k
        if wanted[i] >= times[end]:
            for j in range(n + nu + 1):
                out[i, j] = states[end, j]
            continue
        for j in range(nu):
            out[i, n + j] = u[at + j] = states[end, n + j]
        out[i, n + nu] = states[end, n + nu]
        near = 1e-7 * (times[end] - times[k]) if method.order == 2 else 0.0  # δ/h of a shorter step is rounding
        good = wanted[i] - times[k] <= near
        for j in range(n):
            out[i, j] = states[k, j]
        if not good:
            good = peek(method, parts, times[k], wanted[i] - times[k], states[k, :n], stages, numbers, counts) == OK
            for j in range(n):
                out[i, j] = stages[stages.shape[0] - 2, j] if good else float("nan")
        if good and parts.control.address != 0 and numbers[HOLD] == 0.0:
            control(parts, wanted[i], out[i], numbers)
            for j in range(nu):
                out[i, n + j] = u[at + j]


@native
def crossed(parts, t, x, marks, numbers):
    """Evaluate the events into marks[1]; whether any has another sign than before, in marks[0], or is no number."""
    f, hit = parts.events, False
    out = floats(f.out)
    call(f, t, x, int(numbers[NQ] + numbers[NV]))
    for i in range(marks.shape[1]):
        marks[1, i] = out[i]
        if marks[0, i] * marks[1, i] < 0.0 or (marks[1, i] == 0.0 and marks[0, i] != 0.0):
            hit = True
    hit = hit or not finite(out, marks.shape[1])
    if not hit:
        for i in range(marks.shape[1]):
            marks[0, i] = marks[1, i]
    return hit


@native
def first_step(exponent, parts, t, x, stages, numbers, counts):
    """A step to begin with, from the size of x, ẋ and ẍ (Hairer, Nørsett & Wanner II.4)."""
    n = x.shape[0] - int(numbers[WORKS])
    d0, d1, d2 = 0.0, 0.0, 0.0
    trial, slope = stages[stages.shape[0] - 2], stages[stages.shape[0] - 1]
    for j in range(n):
        scale = numbers[ATOL] + numbers[RTOL] * abs(x[j])
        d0 += (x[j] / scale) ** 2
        d1 += (stages[0, j] / scale) ** 2
    h0 = 0.01 * (d0 / d1) ** 0.5 if d0 > 1e-10 and d1 > 1e-10 else 1e-6
    h0 = min(h0, numbers[LARGEST])
    for j in range(x.shape[0]):
        trial[j] = x[j] + h0 * stages[0, j]
    if evaluate(parts, t + h0, trial, slope, numbers, counts) != OK:
        return h0
    for j in range(n):
        scale = numbers[ATOL] + numbers[RTOL] * abs(x[j])
        d2 += ((slope[j] - stages[0, j]) / scale) ** 2
    steep = max(d1, d2 / h0**2) ** 0.5 / n**0.5
    h1 = max(1e-6, 1e-3 * h0) if steep <= 1e-15 else (0.01 / steep) ** exponent
    return min(100.0 * h0, h1, numbers[LARGEST])
