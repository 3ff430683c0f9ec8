"""The record of a run: everything the native loop reads and writes, for as long as the run lives.

The state is x = (q, v, y, ẏ, w): coordinates and velocities, independent coordinates and their rates where the run has
a chart, and the work done since the start. Python and native code read the same fields by name.
"""

from __future__ import annotations

from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Opaque, Part, Struct

FRESH = 0.05  # σ of the constraints below which no chart is used
PASSAGE = 7  # numbers of a passage before its state
TURNS = -2  # of an event's directions: where it falls, the event before it may have dipped below zero in the step
FORGET, SKIPPED = -1.0, -2.0  # for σ² among the outputs of `gauge`, before a call: begin anew, or leave it out


def _function() -> type[Bound]:
    return Bound


class RunRecord(Struct):
    """State, options, counts and functions of a run."""

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
    events = Int()
    own_events = Int()  # the first of them, by which phases end
    watch_u = Int()  # of the inputs in what events are given; 0: they see none

    # --- clock
    t = Float()
    end = Float()
    carry = Float()  # what rounding took from t
    h = Float()  # the next step; 0: to be chosen
    usual_h = Float()  # moving average of the steps taken
    max_h = Float()
    pace = Float()  # of the time since `begun`: no step is longer, where this is above 0; events could hide in it
    begun = Float()
    least_h = Float()  # the first step, which may be longer than that
    budget = Int()  # attempts until the loop pauses
    fresh = Int()  # whether stages[0] is ẋ at x

    # --- the method, and one attempt of it
    step = Int()  # address of its step
    method = Opaque()  # its table, and room for what it needs
    exponent = Float()  # 1 / (order of the error estimate + 1); 0 for a fixed step
    order = Int()
    rtol = Float()
    atol = Float()  # in units of each number
    rate = Float()  # 1/s: of the motion at the start, the unit of velocities over that of positions; 0: not known yet
    weight = Float()  # 1/s²: gravity over the length of the mechanism
    inertia = Float()  # of the mechanism: times the rate squared, the unit of energy that works are measured by
    attempt_h = Float()
    by_landing = Int()  # whether the error is the distance of the landing, which may be rounding
    outcome = Int()  # of the attempt, then of the call
    error = Float()  # estimated error over the tolerances
    last_error = Float()

    # --- sampled controller
    hold = Float()  # sampling period; 0: asked at every stage
    hold_start = Float()
    sampled_until = Float()

    # --- constraints
    length = Float()  # of the mechanism
    widest = Float()  # the largest unit of a constraint row: 1 rad, or the length of the mechanism
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
    chart_margin = Float()  # of the chart's rows; below it another chart is needed

    # --- evidence
    margin = Float()  # least margin of the elimination in this attempt
    largest_margin = Float()  # the largest of this attempt
    worst_margin = Float()
    landing_margin = Float()  # least margin of the elimination by which this attempt was projected
    landing = Int()  # whether this attempt could be projected
    landed = Int()  # whether the last step could
    drift = Float()
    speed_drift = Float()

    # --- singular positions
    singular = Int()  # whether steps are careful
    until = Float()  # margin from which the loop need not go on like this; 0: it does to the end
    precise = Int()  # whether careful steps have positions with a low part
    stop = Int()  # whether to end before a singular position
    beyond = Int()  # whether the run may go on beyond an end beside one
    blind = Int()  # whether the right-hand side may not tell of dependent rows
    near = Float()  # σ below which elimination is not accurate
    hit = Float()  # σ of a position that is met
    across = Float()  # σ from which such a position is crossed
    end_margin = Float()  # margin at the end of this attempt
    sigma = Float()  # its root, after the last step
    end_sigma = Float()  # the least singular value there, where the step was looked at
    spread = Float()  # least squared sine times least squared length there: neither hides the other
    least_spread = Float()  # the least of this attempt
    root = Float()  # of the spread after the last step
    root_rate = Float()
    fall = Float()  # rate of the margin after the last step that was looked at; it decides for both sides of the joint
    fall_t = Float()  # when that was
    risen = Float()  # σ above which another passage may be noted
    passed = Int()  # passages to be noted, in this call
    most = Int()  # of these until the loop ends
    unsound = Int()  # attempts in a row that failed next to a singular position

    # --- kinks: where forces begin and end to act
    kinks = Int()
    kink_u = Int()  # of the inputs in what they are given; 0: they see none
    kink_tries = Int()  # attempts to end a step at one; 0: none is sought
    kink = Int()  # the one that is sought
    kink_low = Float()  # a step that is too short
    kink_high = Float()  # one that goes beyond it
    kink_value = Float()  # its value there
    kink_h = Float()  # the step that was to be taken

    # --- counts
    steps = Int()
    rejected = Int()
    evaluations = Int()
    corrections = Int()
    samples = Int()
    singular_steps = Int()
    jacobians = Int()
    records = Int()  # of this call

    # --- memory
    x = Doubles("n")
    unit = Doubles("n")  # 1 rad, or the length of the mechanism
    stages = Doubles("rows", "pitch")  # each ẋ and its evidence; the last two: the trial, and the loop's own
    times = Doubles("room")
    states = Doubles("room", "width")
    event_looks = Doubles("18", "events")  # at parts of a step
    event_values = Doubles("2", "events")  # at the record before, and now
    directions = Ints("events")  # 1: rising, −1: falling, 0: either way; TURNS: minus the rate of the event before
    kink_values = Doubles("3", "kinks")  # at x, at the end of the attempt, at that of one that is too short
    passages = Doubles("most", "nq + nv + 7")  # t, σ, margin, resolved, singular steps, its step, state
    margins = Doubles("5")  # their roots, at places of the step that is looked at
    squares = Doubles("5")  # σ² there; −1: not known
    low = Doubles("nq")  # the low part of the position of the trial
    low_before = Doubles("nq")  # and of x
    plain = Ints("nq")  # the velocity that is the rate of a coordinate, or −1

    # --- functions
    ode = Part(_function)
    correct = Part(_function)
    filter = Part(_function)
    restore = Part(_function)
    energies = Part(_function)  # kinetic and potential, J, for steps that keep their sum
    recover = Part(_function)  # the state of a chart's coordinates
    control = Part(_function)
    watch = Part(_function)  # events
    step_kernel = Part(_function)  # of methods that have one
    slope = Part(_function)  # ∂ẋ/∂x of what is integrated; without it, differences
    bends = Part(_function)  # kinks
    gauge = Part(_function)  # the margin of the constraint rows, and σ²


class FillRecord(Struct):
    """States wanted between records."""

    run = Part(lambda: RunRecord)
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

    run = Part(lambda: RunRecord)
    width = Int()
    events = Int()
    hits = Int()
    unsound = Int()  # whether a value in the step was no number
    times = Doubles("2")  # of the records at both ends of the step
    states = Doubles("2", "width")
    values = Doubles("2", "events")  # of the events there
    row = Doubles("width")
    when = Doubles("events")
    which = Ints("events")
    rows = Doubles("events", "width")


class JointRates(Struct):
    """A function of (q, v, …) that is given (q, ν, …), and the kernel that makes v of ν."""

    nq = Int()
    nv = Int()
    given = Int()  # numbers of its input
    inner = Part(_function)
    convert = Part(_function)
