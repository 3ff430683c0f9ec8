"""The record of a run: everything the native loop reads and writes, for as long as the run lives.

The state is x = (q, v, y, ẏ, w): coordinates and velocities, independent coordinates and their rates where the run has
a chart, and the work done since the start. Python and native code read the same fields by name.

What only Python sets is in the record itself: sizes, arrays, functions. Numbers that change are in parts, embedded in
the same memory. Each part has one writer in native code, and is copied as bytes: what a refused attempt has changed of
`detected` is restored from `singularity`.

    part              what                                          writer
    clock             time, sampling of the controller              loop
    step              step control                                  step_control; `fresh`: loop
    attempt           one attempt of the method                     the method, stage, manifold
    manifold          projection                                    manifold
    singularity       distance to singular configurations           loop, from `detected`
    detected          the same at the end of this attempt           singularity
    regime            which steps are taken beside them             Python
    events            how many                                      Python
    discontinuities   a step that ends at one                       discontinuities
    evidence, counts  for the result                                loop, stage, manifold
    scales            units of the motion                           loop
    ruler             where decisions fall (`dalembert.ruler`)      Python
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Embedded, Float, Int, Ints, Opaque, Struct, StructPart
from dalembert.ruler import Ruler

PASSAGE = 7  # numbers of a passage before its state
PARTS = 4  # of a step that is inspected for singular configurations, one by one
LOOKS = 16  # parts of a step at which events are evaluated
TURNS = -2  # of an event's directions: where it falls, the event before it may have dipped below zero in the step
EASY = 1e-4  # of the tolerance: the error of a step before the first, and the least one of a step before
FORGET, SKIPPED = -1.0, -2.0  # for σ² among the outputs of `gauge`, before a call: begin anew, or leave it out


def _function() -> type[Bound]:
    return Bound


class Clock(Struct):
    """Time, and that of a sampled controller."""

    t = Float()
    end = Float()
    stop = Float()  # of the next step, at the latest: the end, or the next sample of the controller
    carry = Float()  # what rounding took from t
    hold = Float()  # sampling period; 0: asked at every stage
    hold_start = Float()
    sampled_until = Float()


class StepControl(Struct):
    """How long steps are."""

    h = Float()  # the next step; 0: to be chosen
    usual_h = Float()  # moving average of the steps taken
    max_h = Float()
    pace = Float()  # of the time since `begun`: no step is longer, where this is above 0; events could hide in it
    begun = Float()
    least_h = Float()  # the first step, which may be longer than that
    exponent = Float()  # 1 / (order of the error estimate + 1); 0 for a fixed step
    order = Int()
    rtol = Float()
    atol = Float()  # in units of each number
    last_error = Float()
    unsound = Int()  # attempts in a row that failed next to a singular configuration
    budget = Int()  # attempts until the loop pauses
    fresh = Int()  # whether stages[0] is ẋ at x


class Scales(Struct):
    """Units of the motion."""

    rate = Float()  # 1/s: of the motion at the start, the unit of velocities over that of positions; 0: not known yet
    rounding = Float()  # of positions, and of the time where it counts, in units of positions: no state is known better
    weight = Float()  # 1/s²: gravity over the length of the mechanism
    inertia = Float()  # of the mechanism: times the rate squared, the unit of energy that works are measured by
    length = Float()  # of the mechanism
    widest = Float()  # the largest unit of a constraint row: 1 rad, or the length of the mechanism


class Attempt(Struct):
    """One attempt of the method, and its projection."""

    h = Float()
    outcome = Int()  # of the attempt, then of the call
    last = Int()  # whether it leads to `clock.stop`
    passes = Int()  # whether it leads past a singular configuration, and stands
    error = Float()  # estimated error over the tolerances
    by_projection = Int()  # whether the error is the distance of the projection, which may be rounding
    projected = Int()  # whether it could be projected
    projection_margin = Float()  # least margin of the elimination by which it was
    margin = Float()  # least margin of the elimination
    largest_margin = Float()
    end_margin = Float()
    spread = Float()  # least squared sine times least squared length at its end: neither hides the other
    least_spread = Float()


class Manifold(Struct):
    """How states are brought back to the constraints."""

    tolerance = Float()  # residual below which one more Newton step reaches rounding
    closed_to = Float()  # residual of a start that is on the manifold
    closed = Int()  # whether the start is
    independent = Int()  # whether its rows are far from dependent
    project_every = Int()  # positions are corrected after every k-th step; 0: never
    max_corrections = Int()
    frozen = Int()  # correct along the directions at the start of the step
    filter_velocities = Int()
    restore_energy = Int()
    energy = Float()  # of the start
    kept_below = Float()  # σ below which steps that have `energies` keep their sum
    project_first = Int()  # bring x onto the manifold before the next step
    projected = Int()  # whether the last step could be projected
    chart_margin = Float()  # of the chart's rows; below it another chart is needed


class Singularity(Struct):
    """How near a state is to a singular configuration."""

    sigma = Float()  # root of the margin
    end_sigma = Float()  # the least singular value, where the step was inspected; else 1
    root = Float()  # of the spread
    root_rate = Float()
    fall = Float()  # dσ²/dt at the end of the last inspected step; the next one starts from it
    fall_t = Float()  # when that was
    risen = Float()  # σ above which another passage may be noted


class Regime(Struct):
    """Which steps are taken beside singular configurations."""

    careful = Int()  # whether steps reveal the rank
    until = Float()  # margin from which the loop need not go on like this; 0: it does to the end
    precise = Int()  # whether careful steps have positions with a low part
    stop = Int()  # whether to end before a singular configuration
    beyond = Int()  # whether the run may go on beyond an end beside one
    blind = Int()  # whether the right-hand side may not tell of dependent rows
    across = Float()  # σ from which one that is met is crossed
    followed = Float()  # σ down to which a motion that misses one is followed; 0: to `ruler.hit`
    noted = Int()  # passages, in this call
    most = Int()  # of these until the loop ends


class Events(Struct):
    """How many events there are."""

    count = Int()
    own = Int()  # the first of them, by which phases end
    u_index = Int()  # of the inputs in what events are given; 0: they see none


class Discontinuities(Struct):
    """A step that is to end where a force begins or ceases to act: at a change of sign of an indicator."""

    count = Int()
    u_index = Int()  # of the inputs in what the indicators are given; 0: they see none
    tries = Int()  # attempts to end a step at one; 0: none is sought
    which = Int()  # the one that is sought
    low = Float()  # a step that is too short
    high = Float()  # one that goes beyond it
    value = Float()  # its value there
    h = Float()  # the step that was to be taken


class Evidence(Struct):
    """Largest and least of the run."""

    worst_margin = Float()
    drift = Float()
    speed_drift = Float()


class Counts(Struct):
    """Of the run; `records` of this call."""

    steps = Int()
    rejected = Int()
    evaluations = Int()
    corrections = Int()
    samples = Int()
    careful_steps = Int()
    jacobians = Int()
    records = Int()


if TYPE_CHECKING:
    Marks: Any
else:  # the fields of a ruler, as numbers of the record
    Marks = type(Struct)("Marks", (Struct,), {"__module__": __name__, **{f.name: Float() for f in fields(Ruler)}})


class RunRecord(Struct):
    """State, options, counts and functions of a run."""

    clock = Embedded(Clock)
    step = Embedded(StepControl)
    attempt = Embedded(Attempt)
    manifold = Embedded(Manifold)
    singularity = Embedded(Singularity)  # at x
    detected = Embedded(Singularity)  # at the end of the attempt
    regime = Embedded(Regime)
    events = Embedded(Events)
    discontinuities = Embedded(Discontinuities)
    evidence = Embedded(Evidence)
    counts = Embedded(Counts)
    scales = Embedded(Scales)
    ruler = Embedded(Marks)

    # --- sizes
    n = Int()  # numbers in x
    nq = Int()
    nv = Int()
    dof = Int()  # of the chart; 0: all coordinates are integrated
    works = Int()
    nu = Int()
    u_index = Int()  # of the inputs in what the right-hand side is given
    rows = Int()  # of stages
    pitch = Int()  # numbers of one of them
    room = Int()  # for records
    width = Int()  # of a record: x, inputs, margin

    # --- memory
    x = Doubles("n")
    unit = Doubles("n")  # 1 rad, or the length of the mechanism
    stages = Doubles("rows", "pitch")  # each ẋ and its evidence; the last two: the trial, and the loop's own
    times = Doubles("room")
    states = Doubles("room", "width")
    event_looks = Doubles(f"{LOOKS + 2}", "events.count")  # at parts of a step, and at one more place
    event_values = Doubles("2", "events.count")  # at the record before, and now
    directions = Ints("events.count")  # 1 rising, −1 falling, 0 either way; TURNS: minus the rate of the event before
    indicator_values = Doubles("3", "discontinuities.count")  # at x, at the attempt's end, at that of one too short
    passages = Doubles("regime.most", f"{PASSAGE} + nq + nv")  # t, σ, margin, resolved, careful steps, its step, state
    margins = Doubles(f"{PARTS + 1}")  # their roots, at places of the step that is inspected
    squares = Doubles(f"{PARTS + 1}")  # σ² there; −1: not known
    low = Doubles("nq")  # the low part of the position of the trial
    low_before = Doubles("nq")  # and of x
    plain = Ints("nq")  # the velocity that is the rate of a coordinate, or −1

    # --- the method
    method_step = Int()  # address of its step
    method = Opaque()  # its table, and room for what it needs

    # --- functions
    ode = StructPart(_function)
    correct = StructPart(_function)
    filter = StructPart(_function)
    restore = StructPart(_function)
    energies = StructPart(_function)  # kinetic and potential, J, for steps that keep their sum
    recover = StructPart(_function)  # the state of a chart's coordinates
    control = StructPart(_function)
    watch = StructPart(_function)  # events
    step_kernel = StructPart(_function)  # of methods that have one
    slope = StructPart(_function)  # ∂ẋ/∂x of what is integrated; without it, differences
    indicators = StructPart(_function)  # of discontinuities: positive where a force acts
    gauge = StructPart(_function)  # the margin of the constraint rows, and σ²


class FillRecord(Struct):
    """States wanted between records."""

    run = StructPart(lambda: RunRecord)
    count = Int()  # records
    width = Int()
    times = Doubles("count")
    states = Doubles("count", "width")
    asked = Int()
    backward = Int()  # whether steps lead back from the record after
    wanted = Doubles("asked")  # increasing times
    out = Doubles("asked", "width")


class LocateRecord(Struct):
    """Events wanted inside a step."""

    run = StructPart(lambda: RunRecord)
    width = Int()
    events = Int()
    hits = Int()
    unsound = Int()  # whether a value in the step was not finite
    times = Doubles("2")  # of the records at both ends of the step
    states = Doubles("2", "width")
    values = Doubles("2", "events")  # of the events there
    ends = Doubles("events")  # and at the first of a segment's own events that is known
    tried = Ints("events")
    row = Doubles("width")
    when = Doubles("events")
    which = Ints("events")
    rows = Doubles("events", "width")


class JointRates(Struct):
    """A function of (q, v, …) that is given (q, ν, …), and the kernel that makes v of ν."""

    nq = Int()
    nv = Int()
    given = Int()  # numbers of its input
    inner = StructPart(_function)
    convert = StructPart(_function)
