"""The attempt hides no root: no event changes its sign more than once in it.

The motion inside a step is that of the curve through its ends (`step_curve`). The values of an event at quarters
of the step define a polynomial. Where this turns below zero, the event is evaluated there; where it does not give the
value at an eighth of the step, at all its sixteenths. A step that hides a root is made shorter, to end where the sign
is another one, so that each change is seen as those of ordinary events are.
"""

from __future__ import annotations

from dalembert.integrators.run_record import LOOKS
from dalembert.integrators.step_control import try_next
from dalembert.integrators.step_curve import curve
from dalembert.native.calls import call
from dalembert.native.jit import inline, native
from dalembert.outcome import OK

SHORTEST = 1e-6  # of the usual step: one that is not made shorter
QUARTER = LOOKS // 4  # parts of a quarter of a step
FINE = 0.25  # of a part: between places at which the polynomial is looked at
UNLIKE = 0.01  # of the range of an event's values: by how much it may differ from the polynomial


@inline
def missed_roots(run, trial):
    """Whether an event of the user's changes its sign and changes back in the attempt; see `guards`."""
    if run.events.count > run.events.own and run.watch.address != 0 and run.step.exponent > 0.0:
        shown = hides(run, run.attempt.h, trial)
        if shown > 0.0:
            return try_next(run, shown)
    return OK


@native
def hides(run, h, trial):
    """How long a step may be (s) that is to show an event which this one, to `trial`, hides; 0 where it hides none."""
    looks, before = run.event_looks, run.event_values[0]
    if h < SHORTEST * run.step.usual_h:
        return 0.0
    if run.events.u_index > 0:
        for i in range(run.nu):
            run.watch.x[run.events.u_index + i] = run.ode.x[run.u_index + i]
    for i in range(run.events.count):
        looks[0, i] = before[i]
    for k in range(1, 4):
        _look(run, h, trial, k * QUARTER, looks[k * QUARTER])
    call(run.watch, run.clock.t + h, trial, run.nq + run.nv)
    for i in range(run.events.count):
        looks[LOOKS, i] = run.watch.y[i]
    _look(run, h, trial, _place(2), looks[2])
    rough = False
    for i in range(run.events.own, run.events.count):
        rough = rough or _is_rough(looks, i)
    if rough:
        for k in range(1, LOOKS):
            if k % QUARTER != 0 and k != 2:
                _look(run, h, trial, _place(k), looks[k])
    first = float(LOOKS)
    for i in range(run.events.own, run.events.count):
        first = min(first, _shown(run, h, trial, i, rough))
    return h * first / LOOKS if first < LOOKS else 0.0


@inline
def _place(k):
    """Sixteenths of the step at look k: quarters, and others beside them that have no period in common with waves."""
    return float(k) if k % QUARTER == 0 else k + 0.2 * ((7 * k) % 5 - 2)


@inline
def _look(run, h, trial, place, out):
    """out ← the events so many sixteenths into the step."""
    at = h * place / LOOKS
    curve(run, h, trial, at)
    call(run.watch, run.clock.t + at, run.stages[1], run.nq + run.nv)
    for i in range(run.events.count):
        out[i] = run.watch.y[i]


@inline
def _polynomial(looks, i, place):
    """The value that those at the quarters tell, by their differences."""
    a, b, c, d, e = looks[0, i], looks[QUARTER, i], looks[2 * QUARTER, i], looks[3 * QUARTER, i], looks[LOOKS, i]
    z = place / QUARTER
    second, third, fourth = c - 2.0 * b + a, d - 3.0 * c + 3.0 * b - a, e - 4.0 * d + 6.0 * c - 4.0 * b + a
    return a + z * (b - a + (z - 1.0) / 2.0 * (second + (z - 2.0) / 3.0 * (third + (z - 3.0) / 4.0 * fourth)))


@inline
def _is_rough(looks, i):
    """Whether the polynomial does not tell the value of event i at an eighth of the step."""
    low = high = looks[2, i]
    for k in range(5):
        low, high = min(low, looks[k * QUARTER, i]), max(high, looks[k * QUARTER, i])
    return abs(_polynomial(looks, i, _place(2)) - looks[2, i]) > UNLIKE * (high - low)


@native
def _shown(run, h, trial, i, rough):
    """Sixteenths of the step after which event i has another sign for the first time, if it does not keep that."""
    looks, other = run.event_looks, float(LOOKS)
    start = looks[0, i]
    stride = 1 if rough else QUARTER
    if start == 0.0:  # a zero that is left: the step is to end before the next one
        for k in range(stride, LOOKS + 1, stride):
            if looks[k, i] * looks[2, i] < 0.0:
                return _place(2)
        return other
    for k in range(stride, LOOKS + 1, stride):
        if looks[k, i] * start < 0.0:
            other = min(other, _place(k))
        elif other < k:
            return other
    if rough:
        return float(LOOKS)
    other = float(LOOKS)
    here, there = start, _polynomial(looks, i, FINE)
    for k in range(1, round(LOOKS / FINE)):
        last, here = here, there
        there = _polynomial(looks, i, (k + 1) * FINE)
        place, value = k * FINE, here
        if (here - last) * (there - here) < 0.0:  # its turn is near: of the parabola through the three
            place += 0.5 * FINE * (last - there) / (last - 2.0 * here + there)
            value = _polynomial(looks, i, place)
        if value * start < 0.0:
            other = min(other, place)
        if there * start > 0.0 and other < LOOKS:
            _look(run, h, trial, other, looks[LOOKS + 1])
            return other if looks[LOOKS + 1, i] * start < 0.0 else float(LOOKS)
    return float(LOOKS)
