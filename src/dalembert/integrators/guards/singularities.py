"""The attempt leads past no singular configuration that its stages do not resolve.

A step that leads past a singular position at a distance that is small beside its length may not notice: the constraint
forces grow like 1/σ, σ the distance, but for a time as short as σ / speed, between two stages. So where rows of
constraints come close to dependent, the least σ on the way is looked for on a curve of degree five through both ends of
the step. Then the step

    meets the position (σ ≤ hit)                   stands: the motion goes straight through
    passes at a distance that its stages resolve   stands
    passes at a smaller one                        is made shorter, to end before the position

A step in which rows turn by more than a radian could lead past several positions, and is made shorter too. Where σ is
too small for elimination, careful steps take over. The rows of a chart are singular where those of the constraints are:
a step in a chart ends where σ is below `fresh`, and the run goes on in all coordinates, as one without charts.
"""

from __future__ import annotations

from math import copysign

from dalembert.integrators.run_record import FORGET, PARTS, PASSAGE, SKIPPED
from dalembert.integrators.step_control import SAFETY, SHORTER, try_next
from dalembert.integrators.step_curve import curve, straight_on
from dalembert.native.calls import call
from dalembert.native.jit import inline, native
from dalembert.outcome import CHART_ENDS, OK, PASSED, SINGULAR, UNSOUND

PLACES, GOLDEN = 8, 0.6180339887498949  # of a long step, and what is between them: they lie evenly in any part of it
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
def may_pass(ruler, margin, least_spread, sigma, sigma_before, root, root_before, change):
    """Whether a step is to be looked at: rows come close to dependent in it, or may have been so between two stages.

    Of its stages, the least margin and spread; at its ends, the roots of both; `change`: of the root of the spread, if
    it went on as in the step before.
    """
    low = max(ruler.inspected, ruler.varied * min(sigma, sigma_before) ** 2)
    return margin < low or least_spread < ruler.fallen * max(root, root_before) ** 2 or root_before + change < 0.0


@inline
def singularities(run, trial):
    """Whether the attempt leads past a singular configuration, and how; see `guards`.

    attempt.passes tells that it does and stands, with the passage in the next place of `passages`.
    """
    if run.gauge.address == 0:
        return OK
    outcome = inspect(run, run.attempt.h, trial)
    if outcome == PASSED:
        run.attempt.passes = 1
        return OK
    if outcome == UNSOUND:  # a chart is left where the step begins, whose length is given
        return CHART_ENDS if run.step.exponent == 0.0 else SHORTER
    return outcome


@native
def inspect(run, h, trial):
    """OK for a step that may stand, PASSED with the place of a passage, UNSOUND for one too long.

    SINGULAR where the run is to stop, or to go on by careful steps.
    """
    run.detected = run.singularity
    sigma, root = max(run.attempt.end_margin, 0.0) ** 0.5, max(run.attempt.spread, 0.0) ** 0.5
    way, varied = 0.0, run.regime.blind != 0 or run.attempt.margin < run.ruler.varied * run.attempt.largest_margin
    for j in range(run.nq):
        way = max(way, abs(trial[j] - run.x[j]) / run.unit[j])
    if way > run.ruler.turn and run.step.exponent > 0.0 and (varied or _varies(run, h, trial)):
        try_next(run, SAFETY * h * run.ruler.turn / way)
        return UNSOUND
    lowest, fresh = run.ruler.chart_passed * run.ruler.fresh, run.ruler.fresh
    if run.dof > 0 and run.step.exponent > 0.0 and sigma < lowest < fresh < run.detected.sigma:
        return _leaves_chart(run, h, run.detected.sigma, sigma)
    looked_at = run.regime.blind != 0 or run.regime.careful != 0 or (varied and way > run.ruler.seen * run.ruler.turn)
    if looked_at or may_pass(
        run.ruler,
        run.attempt.margin,
        run.attempt.least_spread,
        sigma,
        run.detected.sigma,
        root,
        run.detected.root,
        run.detected.root_rate * h,
    ):
        outcome = _look(run, h, trial)
        if outcome in (OK, PASSED):
            run.detected.root_rate, run.detected.root = (root - run.detected.root) / h, root
        return outcome
    run.detected.root_rate, run.detected.root, run.detected.sigma, run.detected.end_sigma = (
        (root - run.detected.root) / h,
        root,
        sigma,
        1.0,
    )
    if sigma > run.detected.risen:
        run.detected.risen = 0.0
    return OK


@native
def _varies(run, h, trial):
    """Whether rows turn in a step whose stages do not show it, by margins at places that no period goes with."""
    least, largest = run.attempt.margin, run.attempt.largest_margin
    for k in range(1, PLACES + 1):
        part = k * GOLDEN % 1.0
        curve(run, h, trial, part * h)
        margin = nearness(run, run.clock.t + part * h, run.stages[1])
        least, largest = min(least, margin), max(largest, margin)
    return least < run.ruler.varied * largest


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
        t, squares[k] = run.clock.t + h * k / PARTS, -1.0
        if run.regime.careful != 0 or (k > 0 and roots[k - 1] < run.ruler.nearby):  # σ² is likely to be asked for too
            squares[k] = distance(run, t, run.stages[1], run.ruler.rough)
            roots[k] = max(run.gauge.y[0], 0.0) ** 0.5
        else:
            roots[k] = nearness(run, t, run.stages[1]) ** 0.5
        if k > 0:
            change = max(change, abs(roots[k] - roots[k - 1]))
    limit = (run.ruler.fresh if run.dof > 0 else run.ruler.reported) + change
    outcome, found, risen, e = OK, 0, run.detected.risen, run.ruler.apart * h
    first = last = -1.0
    here = fall = there = rise = 0.0
    known = False
    for k in range(1, PARTS + 1):
        if min(roots[k - 1], roots[k]) > limit and run.regime.careful == 0:
            if roots[k] > run.detected.risen:
                run.detected.risen = 0.0
            known = False
            continue
        at, to = h * (k - 1) / PARTS, h * k / PARTS
        if not known:
            here = _square(run, h, trial, k - 1)
            first = here if k == 1 else first
            if k == 1 and run.detected.fall != 0.0 and run.detected.fall_t == run.clock.t:
                fall = run.detected.fall * e
            else:
                fall = _change(run, h, trial, k - 1, here)
        there = _square(run, h, trial, k)
        rise = _change(run, h, trial, k, there)
        if here > run.detected.risen**2:
            run.detected.risen = 0.0
        if fall < 0.0 < rise and outcome in (OK, PASSED):
            first = _square(run, h, trial, 0) if first < 0.0 else first
            last = there if k == PARTS else _square(run, h, trial, PARTS) if last < 0.0 else last
            s = _vertex(at, to, here, there, fall / e, rise / e)
            seen = _least(run, h, trial, s, first**0.5 + last**0.5, found)
            if seen != OK:
                outcome, found = seen, found + 1
        known, here, fall = True, there, rise
    if outcome in (OK, PASSED):
        run.detected.sigma, run.detected.end_sigma = roots[PARTS], here**0.5 if known else 1.0
        if known:
            run.detected.fall, run.detected.fall_t = fall / e, run.clock.t + h
        if (here if known else roots[PARTS] ** 2) > run.detected.risen**2:
            run.detected.risen = 0.0
    else:
        run.detected.risen = risen
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
        run.squares[k] = distance(run, run.clock.t + h * k / PARTS, run.stages[1], run.ruler.rough)
    return run.squares[k]


@native
def _change(run, h, trial, k, here):
    """Change of σ² over the time `apart` h, from `here` after k parts of a step; extrapolated linearly at its ends."""
    e = run.ruler.apart * h
    if 0 < k < PARTS:
        return between(run, h, trial, h * k / PARTS + e, run.ruler.rough) - here
    straight_on(run, run.x if k == 0 else trial, run.stages[0 if k == 0 else run.rows - 1], e)
    return distance(run, run.clock.t + h * k / PARTS + e, run.stages[1], run.ruler.rough) - here


@inline
def _vertex(a, b, f_a, f_b, slope_a, slope_b):
    """Where the cubic through two values and slopes is least that falls at a and rises at b."""
    bend = slope_a + slope_b - 3.0 * (f_b - f_a) / (b - a)
    turn = (bend * bend - slope_a * slope_b) ** 0.5
    return b - (b - a) * (slope_b + turn - bend) / (slope_b - slope_a + 2.0 * turn)


@inline
def met_below(run):
    """σ of a singular configuration that is met."""
    return run.regime.followed if run.regime.followed > 0.0 else run.ruler.hit


@native
def meets(run):
    """Whether the motion goes straight to a singular position that is near, by three margins straight ahead.

    Not with curvatures: next to a position that is missed they are large, and lead into it.
    """
    reach, here = max(run.regime.across, run.ruler.ahead * met_below(run)), nearness(run, run.clock.t, run.x)
    if here > reach**2:
        return False
    e = run.ruler.apart * run.step.h
    straight_on(run, run.x, run.stages[0], e)
    fall = nearness(run, run.clock.t + e, run.stages[1]) - here
    if fall >= 0.0:
        return False
    s = -2.0 * here / fall * e  # the position, if it is met
    if s > run.ruler.soon * max(run.step.usual_h, run.step.h):  # a run that begins in a position has no usual step yet
        return False
    straight_on(run, run.x, run.stages[0], s)
    first = nearness(run, run.clock.t + s, run.stages[1])
    if (
        first > run.ruler.sunk * here
    ):  # beside a position that is missed σ² falls slowly, and s is far too long for a parabola
        return False
    straight_on(run, run.x, run.stages[0], 2.0 * s)
    second = nearness(run, run.clock.t + 2.0 * s, run.stages[1])
    bend = here - 2.0 * first + second  # of the parabola through the three
    lift = second - here
    return (
        bend > 0.0
        and first - lift * lift / (8.0 * bend) <= (run.ruler.hit if run.regime.across > 0.0 else met_below(run)) ** 2
    )


@native
def _least(run, h, trial, s, both, found):
    """The least σ near the time s of a step, and what is to be done.

    σ is `both` at the ends of the step together; so many passages were found before in it.
    """
    d = run.ruler.apart * h
    fine = h * min(run.ruler.apart, max(run.ruler.fine, run.ruler.bent / both))  # as rounding of σ² needs
    for _ in range(ROUNDS):  # σ² is nearly c² (s − s*)² + σ*²
        accuracy = run.ruler.rough if d > fine else run.ruler.exact
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
    sigma = between(run, h, trial, s, run.ruler.exact) ** 0.5
    margin = run.gauge.y[0]
    if run.dof > 0 and margin < run.ruler.fresh**2 < run.margins[0] ** 2:
        return _leaves_chart(run, s, run.margins[0], margin**0.5)
    if margin > run.ruler.reported**2:
        return OK
    met, resolved = (
        sigma <= met_below(run),
        both <= (run.ruler.resolved if run.step.exponent > 0.0 else run.ruler.resolved_given) * sigma,
    )
    noted_before = (
        run.detected.risen > 0.0 and run.ruler.rise * run.ruler.rise * sigma > run.detected.risen
    )  # σ has not risen since, and is as small again
    if noted_before and (met or resolved):
        return OK
    if run.regime.stop != 0 and margin <= run.ruler.near**2:
        return SINGULAR
    if run.step.exponent > 0.0 and h > run.ruler.exact * run.step.usual_h:
        if found > 0:
            try_next(run, 0.5 * h)
            return UNSOUND
        if not met and not resolved:
            left = max(run.ruler.share, min(run.ruler.left, run.ruler.aimed * sigma / both))
            try_next(run, max(s * (1.0 - left), run.ruler.shorter * h))  # it may be least where the step begins
            return UNSOUND
        if not met and run.regime.careful == 0 and sigma < run.ruler.near:
            return SINGULAR
    if noted_before:
        return OK
    run.detected.risen = run.ruler.rise * sigma
    noted = run.passages[run.regime.noted]
    noted[0], noted[1], noted[2], noted[3] = run.clock.t + s, sigma, margin, 1.0 if met or resolved else 0.0
    for j in range(run.nq + run.nv):
        noted[PASSAGE + j] = run.stages[1][j]
    return PASSED


@inline
def _leaves_chart(run, s, first, least):
    """UNSOUND: a step in a chart is made shorter, to end where that is left; σ falls from `first` to `least` in s."""
    try_next(run, s * (first - max(run.ruler.chart_ends * run.ruler.fresh, least)) / (first - least))
    return UNSOUND


@native
def between(run, h, trial, s, accuracy):
    """σ² a time s into the step; the state there is in stages[1] then."""
    curve(run, h, trial, s)
    return distance(run, run.clock.t + s, run.stages[1], accuracy)
