"""Singular positions inside a step, found before the step is accepted.

A step that leads past a singular position at a distance that is small beside its length may not notice: the constraint
forces grow like 1/σ, σ the distance, but for a time as short as σ / speed, between two stages. So where rows of
constraints come close to dependent, the least σ on the way is looked for on a curve of degree five through both ends of
the step. Then the step

    meets the position (σ ≤ hit)                   stands: the motion goes straight through
    passes at a distance that its stages resolve   stands
    passes at a smaller one                        is made shorter, to end before the position
"""

from __future__ import annotations

from dalembert.integrators.run_record import FORGET, SKIPPED
from dalembert.native.calls import call
from dalembert.native.jit import inline, native
from dalembert.outcome import OK, PASSED, SINGULAR, UNSOUND

LOW = 1e-2  # margin (squared sine) of a step below which it is looked at
CLOSE = 1e-2  # σ of a passage that is reported
RESOLVED = 12.0  # times the least σ: what σ may fall and rise by in a step
PARTS = 4  # of a step that are looked at one by one
SHARE = 0.1  # of the way to the position that is left by a step made shorter
APART = 1e-2  # of a step: between two values of σ² that tell whether it falls
FINE = 1e-4  # of a step: the same where σ is large enough
RISE = 1.5  # times σ of a passage: nothing less is a rise between it and another one


@native
def nearness(run, t, x):
    """Margin of the constraint rows: least squared sine between them, or squared length of one over its usual one."""
    f = run.gauge
    f.y[1] = SKIPPED
    call(f, t, x, run.nq)
    margin = f.y[0]
    return margin if margin > 0.0 else 0.0


@native
def distance(run, t, x):
    """σ², the square of the least singular value of the constraint rows."""
    f = run.gauge
    call(f, t, x, run.nq)
    square = f.y[1]
    return square if square > 0.0 else 0.0


@native
def watch(run, h, trial):
    """OK for a step that may stand, PASSED with the place of a passage, UNSOUND for one too long, SINGULAR to stop."""
    if run.gauge.address == 0:
        return OK
    sigma = max(run.end_margin, 0.0) ** 0.5
    rate = (sigma - run.sigma) / h
    dips = run.margin < max(LOW, 0.5 * min(sigma, run.sigma) ** 2)
    if not (dips or run.blind != 0 or run.singular != 0 or run.sigma + run.sigma_rate * h < 0.0):
        run.sigma, run.sigma_rate = sigma, rate
        if sigma > run.risen:
            run.risen = 0.0
        return OK
    if run.singular == 0 and _far(run, h, trial):
        return OK
    run.gauge.y[1] = FORGET  # the same answers for the same step, whatever came before
    first, last, e = distance(run, run.t, run.x), distance(run, run.t + h, trial), APART * h
    sigma = max(run.gauge.y[0], 0.0) ** 0.5
    outcome, found = OK, 0
    at, risen = 0.0, run.risen
    fall = run.fall * e
    if fall == 0.0 or run.fall_t != run.t:
        straight_on(run, run.x, run.stages[0], e)
        fall = distance(run, run.t + e, run.stages[1]) - first
    for k in range(1, PARTS + 1):  # where σ falls and rises again
        to = h * k / PARTS
        if k < PARTS:
            here = between(run, h, trial, to)
            if here > run.risen**2:
                run.risen = 0.0
            rise = between(run, h, trial, to + e) - here
        else:
            straight_on(run, trial, run.stages[run.rows - 1], e)
            rise = distance(run, run.t + h + e, run.stages[1]) - last
        if fall < 0.0 < rise and outcome in (OK, PASSED):
            seen = _least(run, h, trial, at, to, fall, rise, first**0.5 + last**0.5, found)
            if seen != OK:
                outcome, found = seen, found + 1
        at, fall = to, rise
    if outcome in (OK, PASSED):
        run.sigma_rate, run.sigma = (sigma - run.sigma) / h, sigma
        run.fall, run.fall_t = fall / e, run.t + h
        if last > run.risen**2:
            run.risen = 0.0
    else:
        run.passed, run.risen = 0, risen
    return outcome


@native
def _far(run, h, trial):
    """Whether rows are so far from dependent in the whole step that nothing in it is to be reported.

    Between two places the margin's root falls by no more than it changes between any two that are side by side.
    """
    before = nearness(run, run.t, run.x) ** 0.5
    least, change, first = before, 0.0, before
    for k in range(1, PARTS + 1):
        if k < PARTS:
            curve(run, h, trial, h * k / PARTS)
            here = nearness(run, run.t + h * k / PARTS, run.stages[1]) ** 0.5
        else:
            here = nearness(run, run.t + h, trial) ** 0.5
        least, change, before = min(least, here), max(change, abs(here - before)), here
    if least <= CLOSE + change:
        return False
    run.sigma_rate, run.sigma = (before - first) / h, before
    if before > run.risen:
        run.risen = 0.0
    return True


@native
def meets(run):
    """Whether the motion goes straight to a singular position that is near, by three margins straight ahead.

    Not with curvatures: next to a position that is missed they are large, and lead into it.
    """
    reach, here = max(run.across, 10.0 * run.hit), nearness(run, run.t, run.x)
    if here > reach**2:
        return False
    e = 1e-2 * run.h
    straight_on(run, run.x, run.stages[0], e)
    fall = nearness(run, run.t + e, run.stages[1]) - here
    if fall >= 0.0:
        return False
    s = -2.0 * here / fall * e  # the position, if it is met
    if s > 1e3 * run.usual_h:
        return False
    straight_on(run, run.x, run.stages[0], s)
    first = nearness(run, run.t + s, run.stages[1])
    straight_on(run, run.x, run.stages[0], 2.0 * s)
    second = nearness(run, run.t + 2.0 * s, run.stages[1])
    bend = here - 2.0 * first + second  # of the parabola through the three
    lift = second - here
    return bend > 0.0 and first - lift * lift / (8.0 * bend) <= run.hit**2


@inline
def straight_on(run, x, rates, e):
    """stages[1] ← the position a time e after x."""
    moved = run.stages[1]
    for j in range(run.nq):
        moved[j] = x[j] + e * rates[j]


@native
def _least(run, h, trial, a, b, fall, rise, both, found):
    """The least σ between the times a and b of a step, and what is to be done.

    σ² changes by `fall` and `rise` there; σ is `both` at the ends of the step together; so many passages were
    found before in it.
    """
    e = APART * h
    s, last = a + (b - a) * fall / (fall - rise), -1.0
    for _ in range(12):  # σ² is nearly c² (s − s*)² + σ*²: its difference is linear in s
        change = -between(run, h, trial, s)
        change += between(run, h, trial, s + e)
        if change < 0.0:
            a, fall = s, change
        else:
            b, rise = s, change
        new = a + (b - a) * fall / (fall - rise)
        if not a < new < b:
            new = 0.5 * (a + b)
        if abs(new - last) < 1e-9 * h:
            break
        last, s = s, new
    s = min(max(s + 0.5 * e, 0.0), h)
    d = h * min(APART, max(FINE, 1e-6 / both))  # as far apart as rounding of σ² needs
    for _ in range(2):  # the vertex of a parabola: the secants above are as far apart as APART says
        left, here, right = between(run, h, trial, s - d), between(run, h, trial, s), between(run, h, trial, s + d)
        bend = left - 2.0 * here + right
        if bend > 0.0:
            s = min(max(s + 0.5 * d * max(-1.0, min(1.0, (left - right) / bend)), 0.0), h)
    sigma = between(run, h, trial, s) ** 0.5
    margin = run.gauge.y[0]
    if margin > CLOSE**2 or run.risen > 0.0:
        return OK
    met, resolved = sigma <= run.hit, both <= RESOLVED * sigma
    if run.stop != 0 and margin <= run.near**2:
        return SINGULAR
    if run.exponent > 0.0 and h > 1e-12 * run.usual_h:
        if found > 0:
            run.h = 0.5 * h
            return UNSOUND
        if not met and not resolved:
            left = max(SHARE, min(0.7, 3.0 * sigma / (0.5 * both)))
            run.h = s * (1.0 - left)
            return UNSOUND
    run.risen = RISE * sigma
    run.passed, run.passage_t, run.passage_sigma, run.resolved = 1, run.t + s, sigma, 1 if met or resolved else 0
    for j in range(run.nq + run.nv):
        run.passage[j] = run.stages[1][j]
    return PASSED


@native
def between(run, h, trial, s):
    """σ² a time s into the step; the state there is in stages[1] then."""
    curve(run, h, trial, s)
    return distance(run, run.t + s, run.stages[1])


@native
def curve(run, h, trial, s):
    """stages[1] ← the state a time s into the step, on a curve with the values, rates and curvatures of both ends.

    q̈ is known where q̇ = v; other coordinates have values and rates only.
    """
    x, rates, there, out, nq, nv = run.x, run.stages[0], run.stages[run.rows - 1], run.stages[1], run.nq, run.nv
    z = s / h
    w = 1.0 - z
    for j in range(nq + nv):
        p0, p1, d0, d1 = x[j], trial[j], h * rates[j], h * there[j]
        value = p0 + z * z * (3.0 - 2.0 * z) * (p1 - p0) + z * w * w * d0 - z * z * w * d1
        if j < nq and run.plain[j] >= 0:  # the curvature that the cubic misses at both ends
            k = nq + run.plain[j]
            e0 = h * h * rates[k] - 6.0 * (p1 - p0) + 4.0 * d0 + 2.0 * d1
            e1 = h * h * there[k] + 6.0 * (p1 - p0) - 2.0 * d0 - 4.0 * d1
            value += 0.5 * z * z * w * w * (w * e0 + z * e1)
        out[j] = value
