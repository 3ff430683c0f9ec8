"""One evaluation of the right-hand side, with its controller and its chart."""

from __future__ import annotations

from dalembert.integrators.manifold import recover
from dalembert.native.calls import call, call_into, finite
from dalembert.native.jit import inline, native
from dalembert.outcome import CALLBACK, NOT_FINITE, OK, UNSOUND

STILL = 1e-12  # of free fall: accelerations, and speeds of a fall, that are rounding
FAR = 1e15  # usual sizes: a number beyond has lost its digits, and no controller is asked about such a state
EPS = 2.0**-52
ORDINARY = 1e4  # units of position: up to it rounding is what the ruler allows for everywhere, and tolerances are kept
SHARE = 0.1  # of the distance of neighbouring numbers: an error of a step that is small beside its rounding
WORK = 1e3  # times rtol: works follow from the motion, and no step depends on them


@native
def control(run, t, x):
    """Ask the controller for the inputs of the right-hand side. Returns whether it gave finite numbers."""
    f, u, at = run.control, run.ode.x, run.u_index
    call(f, t, x, run.nq + run.nv)
    out = f.y
    if not finite(out, run.nu):
        return False
    for i in range(run.nu):
        u[at + i] = out[i]
    return True


@inline
def usual_size(run, j):
    """The unit of number j of x: of a position (q, or y of a chart), or of a velocity (v, w) of this run's motion."""
    moving = run.nq <= j < run.nq + run.nv or j >= run.nq + run.nv + run.dof
    return run.unit[j] * run.scales.rate if moving else run.unit[j]


@native
def far_off(run, x):
    """Whether a stage has led to a state that says nothing: of a step much too long, to be refused for its error."""
    if run.scales.rate == 0.0:
        return False  # where a run begins
    most = 0.0
    for j in range(run.nq + run.nv):
        most = max(most, abs(x[j]) / usual_size(run, j))
    return not most < FAR


@inline
def tolerance(run, j, size):
    """The error that number j of x may have, of about this size. A little of what rounding moves it by is none."""
    return (run.step.atol + SHARE * run.scales.rounding) * usual_size(run, j) + run.step.rtol * size


@inline
def state_rounding(run):
    """How far x is from its neighbours, in units of positions: by its largest one, and by the time if that counts."""
    timed = run.ode.time_index >= 0 or (run.control.address != 0 and run.control.time_index >= 0)
    most = abs(run.clock.t) * run.scales.rate if timed and run.clock.hold == 0.0 else 0.0
    for j in range(run.nq):
        most = max(most, abs(run.x[j]) / run.unit[j])
    return EPS * most if most > ORDINARY else 0.0


@inline
def work_tolerance(rtol, work, inertia, rate):
    """The error that a work may have, J: WORK times less exact than positions, of itself and of the motion's energy."""
    return max(WORK * rtol * (abs(work) + inertia * rate**2), 1e-300)


@native
def motion_rate(run):
    """1/s: how fast x changes, by velocities and accelerations over the units of positions; at rest, as things fall."""
    x, slope, nq, speed, push = run.x, run.stages[0], run.nq, 0.0, 0.0
    for j in range(nq, nq + run.nv):
        speed = max(speed, abs(x[j]) / run.unit[j])
        push = max(push, abs(slope[j]) / run.unit[j])
    if push <= STILL * run.scales.weight:  # the rounding of weights that balance: no motion
        push = 0.0
    rate = max(speed, push**0.5)
    if rate > STILL * run.scales.weight**0.5:
        return rate
    return run.scales.weight**0.5 if run.scales.weight > 0.0 else 1.0


@inline
def evaluate(run, t, x, k):
    """k ← ẋ and its evidence. In a chart, q and v of x are first made those of its coordinates. Returns the outcome."""
    n, f = run.n, run.ode
    run.counts.evaluations += 1
    if run.dof > 0 and not recover(run, t, x):
        return UNSOUND
    if run.control.address != 0 and run.clock.hold == 0.0 and not far_off(run, x) and not control(run, t, x):
        return CALLBACK
    call_into(f, t, x, run.nq + run.nv + 2 * run.dof, k)
    length = k[n + 1] / max(f.row_scale, 1e-300)
    run.attempt.end_margin, run.attempt.spread = min(k[n], length), k[n] * length
    run.attempt.margin, run.attempt.least_spread = (
        min(run.attempt.margin, run.attempt.end_margin),
        min(run.attempt.least_spread, run.attempt.spread),
    )
    run.attempt.largest_margin = max(run.attempt.largest_margin, run.attempt.end_margin)
    if not (k[n] > f.min_angle and k[n + 1] > f.min_length):
        return UNSOUND
    return OK if finite(k, n) else NOT_FINITE
