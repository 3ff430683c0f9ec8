"""Singular positions inside a step, found before the step is accepted.

A step that leads past a singular position at a distance that is small beside its length may not notice: the constraint
forces grow like 1/σ, σ the distance, but for a time as short as σ / speed, between two stages. So where rows of
constraints come close to dependent, the least σ on the way is looked for on a curve of degree five through both ends of
the step. Then the step

    meets the position (σ ≤ hit)                   stands: the motion goes straight through
    passes at a distance that its stages resolve   stands
    passes at a smaller one                        is made shorter, to end before the position

A step in which rows turn by more than a radian could lead past several positions, and is made shorter too. Where σ is
too small for elimination, careful steps take over. The rows of a chart are singular where those of the constraints are,
so a step in a chart does not lead past any of these: it ends where σ is below FRESH, and the run goes on in all
coordinates, as one without charts.
"""

from __future__ import annotations

from math import copysign

from dalembert.integrators.run_record import FORGET, FRESH, PASSAGE, SKIPPED
from dalembert.native.calls import call
from dalembert.native.jit import inline, native
from dalembert.outcome import OK, PASSED, SINGULAR, UNSOUND

LOW = 1e-2  # margin (squared sine) of a step below which it is looked at
FALLEN = 0.1  # times the largest spread at its ends: that of a step that may have passed zero between two stages
CLOSE = 1e-2  # σ of a passage that is reported
TURN = 1.0  # rad, or lengths: what coordinates may change by in a step in which rows turn, so that it hides no position
SEEN = 0.25  # of that: a step in which they turn less shows by its stages whether it is to be looked at
VARIED = 0.5  # of the largest margin of a step: that of a stage that tells that rows turn
NEARBY = 0.2  # root of a margin: next to it, σ is looked for together with the margin
SHORTER = 1e-2  # of a step: the next try, at least
RESOLVED = 12.0  # times the least σ: what σ may be at both ends of a step together, with error control
GIVEN = 2.05  # the same of a step whose length is given, which no error control would shorten
PLACES, GOLDEN = 8, 0.6180339887498949  # of a long step, and what is between them: they lie evenly in any part of it
PARTS = 4  # of a step that are looked at one by one
SHARE = 0.1  # of the way to the position that is left by a step made shorter
APART = 1e-2  # of a step: between two values of σ² that tell whether it falls
FINE = 1e-4  # of a step: the same where σ is large enough
RISE = 1.5  # times σ of a passage: nothing less is a rise between it and another one
ROUGH, EXACT = 1e-7, 1e-12  # of σ: how well it is known where it is compared, and where it is least
SUNK = 1e-2  # of σ²: what is left of it, at most, where a position that is met is expected
ENDS = 0.75  # of FRESH: where a step in a chart ends that would lead below it
ROUNDS = 8  # parabolas through three values of σ² on the way to its least


@native
def nearness(run, t, x):
    """Margin of the constraint rows: least squared sine between them, or squared length of one over its usual one."""
    f = run.gauge
    forget = f.y[1]  # is still to be done
    f.y[1] = SKIPPED
    call(f, t, x, run.nq)
    margin, f.y[1] = f.y[0], forget
    return margin if margin > 0.0 else 0.0


@native
def distance(run, t, x, accuracy):
    """σ², the square of the least singular value of the constraint rows, σ to within so much of it."""
    f = run.gauge
    f.y[0] = accuracy
    call(f, t, x, run.nq)
    square = f.y[1]
    return square if square > 0.0 else 0.0


@inline
def may_pass(margin, least_spread, sigma, sigma_before, root, root_before, change):
    """Whether a step is to be looked at: rows come close to dependent in it, or may have been so between two stages.

    Of its stages, the least margin and spread; at its ends, the roots of both; `change`: of the root of the spread, if
    it went on as in the step before.
    """
    low = max(LOW, 0.5 * min(sigma, sigma_before) ** 2)
    return margin < low or least_spread < FALLEN * max(root, root_before) ** 2 or root_before + change < 0.0


@native
def watch(run, h, trial):
    """OK for a step that may stand, PASSED with the place of a passage, UNSOUND for one too long.

    SINGULAR where the run is to stop, or to go on by careful steps.
    """
    if run.gauge.address == 0:
        return OK
    sigma, root = max(run.end_margin, 0.0) ** 0.5, max(run.spread, 0.0) ** 0.5
    way, varied = 0.0, run.blind != 0 or run.margin < VARIED * run.largest_margin
    for j in range(run.nq):
        way = max(way, abs(trial[j] - run.x[j]) / run.unit[j])
    if way > TURN and run.exponent > 0.0 and (varied or _varies(run, h, trial)):
        run.h = 0.9 * h * TURN / way
        return UNSOUND
    if run.dof > 0 and run.exponent > 0.0 and sigma < 0.5 * FRESH < FRESH < run.sigma:
        return _leaves_chart(run, h, run.sigma, sigma)
    looked_at = run.blind != 0 or run.singular != 0 or (varied and way > SEEN * TURN)
    if looked_at or may_pass(run.margin, run.least_spread, sigma, run.sigma, root, run.root, run.root_rate * h):
        outcome = _look(run, h, trial)
        if outcome in (OK, PASSED):
            run.root_rate, run.root = (root - run.root) / h, root
        return outcome
    run.root_rate, run.root, run.sigma, run.end_sigma = (root - run.root) / h, root, sigma, 1.0
    if sigma > run.risen:
        run.risen = 0.0
    return OK


@native
def _varies(run, h, trial):
    """Whether rows turn in a step whose stages do not show it, by margins at places that no period goes with."""
    least, largest = run.margin, run.largest_margin
    for k in range(1, PLACES + 1):
        part = k * GOLDEN % 1.0
        curve(run, h, trial, part * h)
        margin = nearness(run, run.t + part * h, run.stages[1])
        least, largest = min(least, margin), max(largest, margin)
    return least < VARIED * largest


@native
def _look(run, h, trial):
    """The outcome of a step in which rows may come close to dependent, by the places where σ falls and rises again.

    Between two places the margin's root falls by no more than it changes between any two that are side by side. So
    parts of the step are left out in which nothing is to be reported, but for careful steps.
    """
    roots, squares, change = run.margins, run.squares, 0.0
    run.gauge.y[1] = FORGET  # the same answers for the same step, whatever came before
    for k in range(PARTS + 1):
        _move(run, h, trial, k)
        t, squares[k] = run.t + h * k / PARTS, -1.0
        if run.singular != 0 or (k > 0 and roots[k - 1] < NEARBY):  # σ² is likely to be asked for too
            squares[k] = distance(run, t, run.stages[1], ROUGH)
            roots[k] = max(run.gauge.y[0], 0.0) ** 0.5
        else:
            roots[k] = nearness(run, t, run.stages[1]) ** 0.5
        if k > 0:
            change = max(change, abs(roots[k] - roots[k - 1]))
    limit = (FRESH if run.dof > 0 else CLOSE) + change
    outcome, found, risen, e = OK, 0, run.risen, APART * h
    first = last = -1.0
    here = fall = there = rise = 0.0
    known = False
    for k in range(1, PARTS + 1):
        if min(roots[k - 1], roots[k]) > limit and run.singular == 0:
            if roots[k] > run.risen:
                run.risen = 0.0
            known = False
            continue
        at, to = h * (k - 1) / PARTS, h * k / PARTS
        if not known:
            here = _square(run, h, trial, k - 1)
            first = here if k == 1 else first
            if k == 1 and run.fall != 0.0 and run.fall_t == run.t:
                fall = run.fall * e
            else:
                fall = _change(run, h, trial, k - 1, here)
        there = _square(run, h, trial, k)
        rise = _change(run, h, trial, k, there)
        if here > run.risen**2:
            run.risen = 0.0
        if fall < 0.0 < rise and outcome in (OK, PASSED):
            first = _square(run, h, trial, 0) if first < 0.0 else first
            last = there if k == PARTS else _square(run, h, trial, PARTS) if last < 0.0 else last
            s = _vertex(at, to, here, there, fall / e, rise / e)
            seen = _least(run, h, trial, s, first**0.5 + last**0.5, found)
            if seen != OK:
                outcome, found = seen, found + 1
        known, here, fall = True, there, rise
    if outcome in (OK, PASSED):
        run.sigma, run.end_sigma = roots[PARTS], here**0.5 if known else 1.0
        if known:
            run.fall, run.fall_t = fall / e, run.t + h
        if (here if known else roots[PARTS] ** 2) > run.risen**2:
            run.risen = 0.0
    else:
        run.risen = risen
    return outcome


@native
def _move(run, h, trial, k):
    """stages[1] ← the state after k parts of a step; at its ends, the position there itself."""
    if 0 < k < PARTS:
        curve(run, h, trial, h * k / PARTS)
    else:
        straight_on(run, run.x if k == 0 else trial, run.stages[0], 0.0)


@native
def _square(run, h, trial, k):
    """σ² after k parts of a step."""
    if run.squares[k] < 0.0:
        _move(run, h, trial, k)
        run.squares[k] = distance(run, run.t + h * k / PARTS, run.stages[1], ROUGH)
    return run.squares[k]


@native
def _change(run, h, trial, k, here):
    """Change of σ² over the time APART h, from `here` after k parts of a step; extrapolated linearly at its ends."""
    e = APART * h
    if 0 < k < PARTS:
        return between(run, h, trial, h * k / PARTS + e, ROUGH) - here
    straight_on(run, run.x if k == 0 else trial, run.stages[0 if k == 0 else run.rows - 1], e)
    return distance(run, run.t + h * k / PARTS + e, run.stages[1], ROUGH) - here


@inline
def _vertex(a, b, f_a, f_b, slope_a, slope_b):
    """Where the cubic through two values and slopes is least that falls at a and rises at b."""
    bend = slope_a + slope_b - 3.0 * (f_b - f_a) / (b - a)
    turn = (bend * bend - slope_a * slope_b) ** 0.5
    return b - (b - a) * (slope_b + turn - bend) / (slope_b - slope_a + 2.0 * turn)


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
    if s > 1e3 * max(run.usual_h, run.h):  # a run that begins in a position has no usual step yet
        return False
    straight_on(run, run.x, run.stages[0], s)
    first = nearness(run, run.t + s, run.stages[1])
    if first > SUNK * here:  # beside a position that is missed σ² falls slowly, and s is far too long for a parabola
        return False
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
def _least(run, h, trial, s, both, found):
    """The least σ near the time s of a step, and what is to be done.

    σ is `both` at the ends of the step together; so many passages were found before in it.
    """
    d, fine = APART * h, h * min(APART, max(FINE, 1e-6 / both))  # as far apart as rounding of σ² needs
    for _ in range(ROUNDS):  # σ² is nearly c² (s − s*)² + σ*²
        accuracy = ROUGH if d > fine else EXACT
        left, here = between(run, h, trial, s - d, accuracy), between(run, h, trial, s, accuracy)
        right = between(run, h, trial, s + d, accuracy)
        bend = left - 2.0 * here + right
        move = 0.5 * d * (left - right) / bend if bend > 0.0 else copysign(h / PARTS, left - right)
        new = min(max(s + max(-h / PARTS, min(h / PARTS, move)), 0.0), h)
        move, s = abs(new - s), new
        if move <= 2.0 * d:
            if d <= fine:
                break
            d = fine
    sigma = between(run, h, trial, s, EXACT) ** 0.5
    margin = run.gauge.y[0]
    if run.dof > 0 and margin < FRESH**2 < run.margins[0] ** 2:
        return _leaves_chart(run, s, run.margins[0], margin**0.5)
    if margin > CLOSE**2:
        return OK
    met, resolved = sigma <= run.hit, both <= (RESOLVED if run.exponent > 0.0 else GIVEN) * sigma
    noted_before = run.risen > 0.0 and RISE * RISE * sigma > run.risen  # σ has not risen since, and is as small again
    if noted_before and (met or resolved):
        return OK
    if run.stop != 0 and margin <= run.near**2:
        return SINGULAR
    if run.exponent > 0.0 and h > 1e-12 * run.usual_h:
        if found > 0:
            run.h = 0.5 * h
            return UNSOUND
        if not met and not resolved:
            left = max(SHARE, min(0.7, 3.0 * sigma / (0.5 * both)))
            run.h = max(s * (1.0 - left), SHORTER * h)  # it may be least where the step begins
            return UNSOUND
        if not met and run.singular == 0 and sigma < run.near:
            return SINGULAR
    if noted_before:
        return OK
    run.risen = RISE * sigma
    noted = run.passages[run.passed]
    noted[0], noted[1], noted[2], noted[3] = run.t + s, sigma, margin, 1.0 if met or resolved else 0.0
    for j in range(run.nq + run.nv):
        noted[PASSAGE + j] = run.stages[1][j]
    return PASSED


@inline
def _leaves_chart(run, s, first, least):
    """UNSOUND: a step in a chart is made shorter, to end where that is left; σ falls from `first` to `least` in s."""
    run.h = s * (first - max(ENDS * FRESH, least)) / (first - least)
    return UNSOUND


@native
def between(run, h, trial, s, accuracy):
    """σ² a time s into the step; the state there is in stages[1] then."""
    curve(run, h, trial, s)
    return distance(run, run.t + s, run.stages[1], accuracy)


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
