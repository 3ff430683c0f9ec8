"""States inside steps that were taken, and the times of events there: by one step of the method from the record before.

Times of events are the zeros of their values. Brackets shrink by inverse quadratic interpolation where that is safe,
else by halves (T. R. Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear
function without using derivatives, Adv. Eng. Softw. 28 (1997) 145-149).
"""

from __future__ import annotations

from dalembert.integrators.loop import land, take_low
from dalembert.integrators.run_record import TURNS, FillRecord, LocateRecord
from dalembert.integrators.stage import control, evaluate, motion_rate
from dalembert.native.calls import call, jump
from dalembert.native.jit import entry, inline, native
from dalembert.outcome import OK, UNSOUND

TRIES = 200  # of a bracket; halves alone need 60


@entry(FillRecord)
def fill(x, y, wish):
    """out[i] ← the record at wanted[i], by a step from the record before, or after it; NaN where that is not sound."""
    times, k = wish.times, 0
    for i in range(wish.asked):
        while k + 2 < wish.count and times[k + 1] < wish.wanted[i]:
            k += 1
        end = k + 1 if k + 1 < wish.count else k
        inside(wish.run, times[k], wish.states[k], times[end], wish.states[end], wish.wanted[i], wish.out[i])
        if wish.backward != 0 and times[k] < wish.wanted[i] < times[end]:
            _stepped(wish.run, times[end], wish.states[end], wish.wanted[i], wish.out[i])


@native
def inside(run, t0, first, t1, last, t, out):
    """out ← the record at t, between the records first (at t0) and last (at t1).

    A step's inputs are those of the record at its end, unless the controller is asked at every stage.
    """
    u, at, n, nu = run.ode.x, run.u_index, run.n, run.nu
    if t >= t1:
        for j in range(n + nu + 1):
            out[j] = last[j]
        return
    for j in range(nu):
        out[n + j] = u[at + j] = last[n + j]
    out[n + nu] = last[n + nu]
    near = 1e-7 * (t1 - t0) if run.step.order == 2 else 0.0  # δ/h of a shorter step is rounding
    for j in range(n):
        out[j] = first[j]
    if t - t0 > near and not _stepped(run, t0, first, t, out):
        return
    if run.control.address != 0 and run.clock.hold == 0.0:
        control(run, t, out)
        for j in range(nu):
            out[n + j] = u[at + j]


@native
def _stepped(run, t0, first, t, out):
    """out ← the state at t by one step from `first`, at t0. Returns whether it is sound; else it is not a number."""
    x, n, trial = run.x, run.n, run.stages[run.rows - 2]
    for j in range(n):
        x[j] = first[j]
    if run.regime.precise != 0:  # records are doubles
        for j in range(run.nq):
            run.low_before[j] = 0.0
        take_low(run)
    run.clock.t, run.attempt.h = t0, t - t0
    good = _peek(run, trial) == OK
    for j in range(n):
        out[j] = trial[j] if good else float("nan")
    return good


@native
def _peek(run, trial):
    """stages[−2] ← the state attempt_h after x, on the manifold, by one step of the method. Returns the outcome."""
    outcome = evaluate(run, run.clock.t, run.x, run.stages[0])
    if outcome != OK:
        return outcome
    run.scales.rate = max(run.scales.rate, motion_rate(run))
    jump(run.method_step, 0, 0, run)
    if run.attempt.outcome != OK:
        return run.attempt.outcome
    if (
        not run.attempt.error < 2.0
    ):  # a shorter step than the one that was accepted is better, but next to a singular position
        return UNSOUND
    return land(run, run.clock.t + run.attempt.h, trial)


@entry(LocateRecord)
def locate(x, y, wish):
    """Find the events whose values change their signs in a step: their times, numbers and records.

    Of a segment's own events the first alone is noted, which ends it. One that TURNS is minus the rate of the event
    before it: this counts where its lowest value in the step is negative though the values at both ends are not.
    `unsound` where a value in the step is no number.
    """
    values, own = wish.values, wish.run.events.own
    wish.hits = wish.unsound = 0
    for k in range(wish.events):
        wish.ends[k], wish.tried[k] = values[1, k], 0
    if own > 0:
        _first_own(wish, own)
    for k in range(own, wish.events):
        if _changes(wish, k):
            _note(wish, k, _zero(wish, k, wish.times[0], values[0, k], wish.times[1], values[1, k]))


@inline
def _changes(wish, k):
    """Whether event k changes its sign as it is to, between the start of the step and where `ends` are its values."""
    before, after, way = wish.values[0, k], wish.ends[k], wish.run.directions[k]
    return before != 0.0 and before * after <= 0.0 and (way == 0 or (after > before) == (way > 0))


@native
def _first_own(wish, own):
    """Note the first of the segment's own events.

    The one that seems nearest is located, then what changes its sign before it: of many that change in the step most
    need not be.
    """
    values, ends, t0, end, first = wish.values, wish.ends, wish.times[0], wish.times[1], -1
    while True:
        k = _nearest(wish, own)
        if k < 0:
            break
        wish.tried[k], of, t = 1, k, end
        if wish.run.directions[k] != TURNS:
            t = _zero(wish, k, t0, values[0, k], end, ends[k])
        else:
            of = k - 1
            lowest = _zero(wish, k, t0, values[0, k], end, ends[k])
            _value(wish, k, lowest)
            least = wish.run.watch.y[of]
            if not least < 0.0:
                continue
            t = _zero(wish, of, t0, values[0, of], lowest, least)
        if t == t and (first < 0 or t < end or (t == end and of < first)):
            end, first = t, of
            _value(wish, of, end)
            for i in range(own):
                ends[i] = wish.run.watch.y[i]
    if first >= 0:
        _note(wish, first, end)


@native
def _nearest(wish, own):
    """The event that seems to change its sign first, of those that have not been tried; −1: none does."""
    values, ends, found, least = wish.values, wish.ends, -1, 2.0
    for k in range(own):
        if wish.tried[k] != 0 or not _changes(wish, k):
            continue
        if wish.run.directions[k] == TURNS and not (values[0, k - 1] > 0.0 and ends[k - 1] > 0.0):
            continue
        part = values[0, k] / (values[0, k] - ends[k])
        if part < least:
            found, least = k, part
    return found


@native
def _note(wish, k, t):
    """Add a hit, unless its time is no number."""
    if t == t:
        inside(wish.run, wish.times[0], wish.states[0], wish.times[1], wish.states[1], t, wish.rows[wish.hits])
        wish.when[wish.hits], wish.which[wish.hits] = t, k
        wish.hits += 1


@native
def _value(wish, k, t):
    """The value of event k at t in the step."""
    run, row = wish.run, wish.row
    inside(run, wish.times[0], wish.states[0], wish.times[1], wish.states[1], t, row)
    f = run.watch
    if run.events.u_index > 0:
        for i in range(run.nu):
            f.x[run.events.u_index + i] = row[run.n + i]
    call(f, t, row, run.nq + run.nv)
    value = f.y[k]
    if value - value != 0.0 or row[0] - row[0] != 0.0:
        wish.unsound = 1
    return value


@native
def _zero(wish, k, t1, f1, t2, f2):
    """The time between t1 and t2 at which event k, f1 and f2 there, is zero; NaN where there is none to be found."""
    if f2 == 0.0:
        return t2
    scale, part = abs(t2 - t1), f1 / (f1 - f2)
    for _ in range(TRIES):
        t = t1 + part * (t2 - t1)
        value = _value(wish, k, t)
        if wish.unsound != 0:
            return float("nan")
        if (value > 0.0) == (f1 > 0.0):
            t3, f3 = t1, f1
        else:
            t3, f3 = t2, f2
            t2, f2 = t1, f1
        t1, f1 = t, value
        best = t1 if abs(f1) < abs(f2) else t2
        least = wish.run.ruler.rounding * max(abs(best), scale) / abs(t2 - t1) if t1 != t2 else 1.0
        if value == 0.0 or least > 0.5:
            break
        xi, phi, part = (t1 - t2) / (t3 - t2), (f1 - f2) / (f3 - f2), 0.5
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            part = f1 / (f2 - f1) * f3 / (f2 - f3) + (t3 - t1) / (t2 - t1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        part = min(1.0 - least, max(least, part))
    return best
