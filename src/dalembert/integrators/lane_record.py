"""The record of several runs side by side: what the native loop of `lanes` reads and writes.

Number j of lane l stands at [j, l], or at j · lanes + l of a flat array: an operation on all lanes is one on
neighbouring doubles.
"""

from __future__ import annotations

from dalembert.integrators.run_record import PASSAGE, RunRecord
from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Ints, Opaque, Struct, StructPart

LOG = 256  # passages, until the loop pauses
#: numbers of the clock of a run, as `RunRecord` has them; of the last error, its logarithm
CLOCK = (
    "clock.carry", "step.h", "step.usual_h", "step.last_error", "scales.rate", "singularity.sigma", "singularity.root",
    "singularity.root_rate", "singularity.fall", "singularity.fall_t", "singularity.risen", "counts.samples",
    "clock.sampled_until", "next_sample",
)  # fmt: skip
STEPS, REJECTED, EVALUATIONS, CORRECTIONS = range(4)  # columns of `counts`
MARGIN, DRIFT, SPEED_DRIFT, ENERGY = range(4)  # columns of `evidence`


def _function() -> type[Bound]:
    return Bound


class LaneRecord(Struct):
    """Runs under way, one a lane, the queue they come from, and the results."""

    # --- sizes
    lanes = Int()
    n = Int()  # numbers in the state of a run: q, v, works
    nq = Int()
    nv = Int()
    works = Int()
    nu = Int()
    np = Int()
    m = Int()  # constraint rows
    rows = Int()  # of stages; the last is the loop's

    # --- method
    method = Opaque()  # its table
    exponent = Float()
    rtol = Float()
    atol = Float()
    max_h = Float()
    max_steps = Int()
    project = Int()  # whether states are brought back to the manifold
    tolerance = Float()  # as in `RunRecord`
    max_corrections = Int()
    widest = Float()

    # --- functions
    ode = StructPart(_function)  # of all lanes
    correct = StructPart(_function)
    filter = StructPart(_function)
    u_index = Int()  # of the inputs of `ode`
    ode_p = Int()  # of the parameters of the functions; −1 where they have none
    correct_p = Int()
    filter_p = Int()
    control = StructPart(_function)  # of all lanes, asked at every stage
    control_p = Int()
    one_control_p = Int()
    hold = Float()  # sampling period of a controller, s; 0: asked at every stage
    watch = StructPart(_function)  # events of all lanes
    watch_p = Int()
    one_watch_p = Int()
    events = Int()
    direction = Ints("events")  # 1 upwards, −1 downwards, 0 either way
    terminal = Ints("events")  # whether an event ends its run
    one = StructPart(lambda: RunRecord)  # of one lane: for the start of a run, and next to singular positions
    one_p = Int()
    gauge_p = Int()
    gauge_sizes = Int()
    measured = Int()  # rows that the gauge measures

    # --- the runs of this call
    count = Int()
    todo = Ints("count")  # runs that wait for a lane
    queued = Int()  # how many of these there are
    next = Int()  # the first of them that has not been taken
    budget = Int()  # attempts until the loop pauses
    outcome = Int()
    starts = Doubles("count", "nq + nv")
    times = Doubles("count", "2")  # first and last
    first_h = Doubles("count")  # 0: chosen
    parameters = Doubles("count", "np")
    inputs = Doubles("count", "nu")
    lengths = Doubles("count")  # of the mechanism with these parameters: the unit of slides
    inertias = Doubles("count")
    sizes = Doubles("count", "max(m, 1)")  # usual lengths of constraint rows
    measures = Doubles("count", "max(measured, 1)")  # the same of those that the gauge measures
    near = Float()
    unequal = Float()  # ratio of these lengths from which every step is looked at
    asked = Int()
    wanted = Doubles("asked")  # times at which states are wanted

    # --- their results
    outcomes = Ints("count")  # −1: not begun
    ends = Doubles("count", "n")
    reached = Doubles("count")  # s
    counts = Ints("count", "4")  # steps, rejected, evaluations, corrections
    evidence = Doubles("count", "4")  # least margin, largest residuals of Φ and its rate before correction, and energy
    samples = Doubles("count", "asked", "n")
    room = Int()  # for events of a run
    hits = Doubles("count", "room", "2")  # time and index of each event, step by step
    hits_of = Ints("count")  # how many there are
    log = Doubles(
        str(LOG), f"{1 + PASSAGE} + nq + nv + nu"
    )  # passages: the run, numbers as in `RunRecord`, state, inputs
    logged = Int()
    resumed = Ints("count")  # whether a run goes on from where it left its lane, after an excursion
    clock = Doubles("count", str(len(CLOCK)))  # of a run that has left its lane, or goes on

    # --- lanes
    run = Ints("lanes")  # index of the run, −1 for none
    state = Ints("lanes")  # of the attempt: an outcome, or CORRECTING, STILL
    sampling = Ints("lanes")  # what the attempt is for: a step, or a time inside the step that is done (`lane_events`)
    next_sample = Ints("lanes")
    last = Ints("lanes")  # whether this step leads to `stop`
    held = Ints("lanes")  # samples of the controller so far
    unsound = Ints("lanes")  # attempts in a row that failed next to a singular position
    leaving = Ints("lanes")  # whether the step ends too close to one
    blind = Ints("lanes")  # whether every step is looked at
    slide = Ints("n")  # whether a number of x is measured by the mechanism's length
    t = Doubles("lanes")
    end = Doubles("lanes")
    stop = Doubles("lanes")  # the end, or the next sample of the controller
    sampled_until = Doubles("lanes")
    carry = Doubles("lanes")
    h = Doubles("lanes")
    dt = Doubles("lanes")  # of the attempt
    step_h = Doubles("lanes")  # of the step that is done, while its wanted times are computed
    usual_h = Doubles("lanes")
    error = Doubles("lanes")
    last_error = Doubles("lanes")  # its logarithm, at least that of 1e-4
    rate = Doubles("lanes")
    margin = Doubles("lanes")
    end_margin = Doubles("lanes")
    landing_margin = Doubles("lanes")
    sigma = Doubles("lanes")
    spread = Doubles("lanes")
    least_spread = Doubles("lanes")
    root = Doubles("lanes")
    root_rate = Doubles("lanes")
    fall = Doubles("lanes")
    fall_t = Doubles("lanes")
    risen = Doubles("lanes")
    min_length = Doubles("lanes")
    row_scale = Doubles("lanes")

    # --- events of lanes, over the step that is done
    pending = Ints("lanes")  # bits: events that are to be located
    which = Ints("lanes")  # the one that is being located
    finish = Doubles("lanes")  # s after the start of the step: of a terminal event; 1e300 for none
    time_1 = Doubles("lanes")  # s after the start of the step: the bracket
    time_2 = Doubles("lanes")
    value_1 = Doubles("lanes")
    value_2 = Doubles("lanes")
    part = Doubles("lanes")  # of the bracket, where to look next
    event_before = Doubles("max(events, 1) * lanes")
    event_after = Doubles("max(events, 1) * lanes")

    # --- memory
    x = Doubles("n * lanes")
    trial = Doubles("n * lanes")
    raw = Doubles("n * lanes")
    after = Doubles("n * lanes")  # the state after the step that is done, while its wanted times are computed
    slope_after = Doubles("n * lanes")
    unit = Doubles("n * lanes")  # of the numbers of x
    errors = Doubles("n * lanes")  # of the step, by the two estimates
    others = Doubles("n * lanes")
    five = Doubles("lanes")  # sums or largest numbers of each lane
    three = Doubles("lanes")
    noise = Doubles("lanes")
    by_landing = Doubles("lanes")  # 1 where the error is the distance of the landing
    chosen = Doubles("lanes")  # 1 where a lane takes part
    stages = Doubles("rows", "(n + 2) * lanes")  # ẋ, and the two margins of its elimination
