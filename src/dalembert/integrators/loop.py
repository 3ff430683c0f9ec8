"""The native loop of a simulation: propose → attempt → guards → accept → exits.

    propose   how long the next attempt is                                     step_control
    attempt   a step of the method, projected, and ẋ there                     the method, manifold
    guards    what it must satisfy; the first that does not decides            guards
    accept    clock, state, record
    exits     whether the loop ends here                                       exits

What the projection moves a trial by counts as error, so a step that leaves the manifold too far is refused like one
that is not accurate. Beside singular configurations the same loop takes steps of a right-hand side that reveals the
rank (`regime.careful`), until the ordinary one can go on (`regime.until`).
"""

from __future__ import annotations

from dalembert.integrators.exits import GO_ON, leave
from dalembert.integrators.guards.discontinuities import begin_search, end_search
from dalembert.integrators.guards.judge import judge
from dalembert.integrators.manifold import keep_energy, project, recover
from dalembert.integrators.run_record import RunRecord
from dalembert.integrators.stage import control, evaluate, motion_rate, state_rounding, tolerance, usual_size
from dalembert.integrators.step_control import SHORTER, accepted, begin_steps, next_stop, propose, ticked
from dalembert.native.calls import finite, jump
from dalembert.native.jit import entry, inline, native
from dalembert.outcome import CALLBACK, CHART_ENDS, DRIFTED, NOT_FINITE, OK, PAUSED, SINGULAR, UNSOUND


@entry(RunRecord)
def advance(x, y, run):
    """Integrate towards the end, recording every accepted step; the outcome goes into the record."""
    run.attempt.outcome = _advance(run)


@native
def _advance(run):
    trial, budget = run.stages[run.rows - 2], run.step.budget
    if run.manifold.project_first != 0 and not _project_start(run):
        return DRIFTED
    while run.clock.t < run.clock.end:
        if budget <= 0 or run.counts.records == run.room:
            return PAUSED
        budget -= 1
        outcome = _prepare(run)
        if outcome == OK:
            outcome = propose(run)
        if outcome != OK:
            return outcome
        run.attempt.outcome = _attempt(run, trial)
        verdict = judge(run, trial)
        if verdict != OK:
            run.counts.rejected += 1
            if verdict != SHORTER:
                return verdict
            continue
        _accept(run, trial)
        outcome = leave(run)
        if outcome != GO_ON:
            return outcome
    return OK


@native
def _project_start(run):
    """Bring x onto the manifold. Returns whether that is done."""
    run.manifold.project_first, run.step.fresh = 0, 0
    if run.manifold.project_every > 0 and run.dof == 0 and not project(run, run.clock.t, run.x, run.x):
        return False
    _keep_low(run)
    return True


@inline
def _prepare(run):
    """Inputs and ẋ at x, the units of the motion, and a first step, where they are not known. Returns the outcome."""
    clock = run.clock
    if clock.hold > 0.0 and clock.t >= clock.sampled_until:
        if not control(run, clock.t, run.x):
            return CALLBACK
        run.counts.samples += 1
        clock.sampled_until = clock.hold_start + run.counts.samples * clock.hold
        run.step.fresh = 0
    clock.stop = next_stop(clock.end, clock.sampled_until, clock.hold)
    if run.step.fresh == 0:
        take_low(run)
        outcome = evaluate(run, clock.t, run.x, run.stages[0])
        if outcome == UNSOUND:
            return CHART_ENDS if run.dof > 0 else SINGULAR
        if outcome != OK:
            return outcome
        run.step.fresh = 1
        begin_search(run)
    if run.scales.rate == 0.0:
        run.scales.rate = motion_rate(run)
    run.scales.rounding = state_rounding(run)
    begin_steps(run)
    return OK


@inline
def _attempt(run, trial):
    """One step of the method, projected where ẋ is sound; that ẋ, for the next step, goes to stages[−1].

    Returns the outcome; the error is in the record.
    """
    jump(run.method_step, 0, 0, run)
    if run.attempt.outcome == OK and (run.step.exponent == 0.0 or run.attempt.error < 1.0):
        run.attempt.outcome = land(run, run.clock.t + run.attempt.h, trial)
        if run.attempt.outcome == OK and (run.step.exponent == 0.0 or run.attempt.error < 1.0):
            return evaluate(run, run.clock.t + run.attempt.h, trial, run.stages[run.rows - 1])
    return run.attempt.outcome


@native
def land(run, t, trial):
    """Bring the trial onto the manifold, in place. What moves it is error of the step. Returns the outcome.

    In a chart q and v are those of its coordinates: they are integrated too, to tell how far that moves them.
    """
    run.attempt.projected, run.attempt.by_projection = 1, 0
    if run.dof > 0 or run.manifold.project_every > 0:
        raw, n, moved, every = run.stages[run.rows - 1], run.nq + run.nv, 0.0, max(1, run.manifold.project_every)
        for j in range(n):
            raw[j] = trial[j]
        if run.dof > 0:
            if not recover(run, t, trial):
                return UNSOUND
        elif not project(run, t, trial, run.x):
            return DRIFTED
        if run.attempt.projected == 0 and run.ode.min_angle >= 0.0:
            return UNSOUND
        if run.energies.address != 0 and run.attempt.projected != 0:
            keep_energy(run, t, trial, run.x)
        # not the step's error: of a start off the manifold, and what does not get less with the step: rounding
        if run.manifold.projected != 0 and run.attempt.h > run.ruler.short * run.step.usual_h:
            # rounding of Φ moves q by 1/σ, which moves v by 1/σ again
            noise = max(run.ruler.rounding, run.scales.rounding) / max(run.attempt.projection_margin, 1e-300)
            for j in range(n):
                scale = tolerance(run, j, abs(trial[j])) + noise * max(usual_size(run, j), abs(trial[j]))
                moved += ((trial[j] - raw[j]) / scale) ** 2
            moved = (moved / n) ** 0.5 / every
            if moved > run.attempt.error:
                run.attempt.error, run.attempt.by_projection = moved, 1
    return OK if finite(trial, run.n) else NOT_FINITE


@native
def _accept(run, trial):
    """The step is taken: its successor's length, clock, state, record, and the passage that it leads over."""
    before = run.clock.t
    accepted(run, end_search(run) if run.step.exponent > 0.0 else 0.0)
    if run.gauge.address != 0:
        run.singularity = run.detected
    _move_clock(run)
    for j in range(run.n):
        run.x[j], run.stages[0, j] = trial[j], run.stages[run.rows - 1, j]
    _keep_low(run)
    run.counts.steps += 1
    run.counts.careful_steps += run.regime.careful
    run.manifold.projected = run.attempt.projected
    run.evidence.worst_margin = min(run.evidence.worst_margin, run.attempt.margin)
    _write_record(run)
    if run.attempt.passes != 0:
        noted = run.passages[run.regime.noted]
        noted[4], noted[5], noted[6] = float(run.counts.careful_steps), before, run.clock.t
        run.regime.noted += 1


@inline
def _move_clock(run):
    """To the end of the step."""
    clock = run.clock
    if run.attempt.last != 0:
        clock.t, clock.carry = clock.stop, 0.0
    else:
        clock.t, clock.carry = ticked(clock.t, clock.carry, run.attempt.h)


@inline
def _write_record(run):
    """State, inputs and margin, at the place of the next record."""
    row, u = run.states[run.counts.records], run.ode.x
    run.times[run.counts.records] = run.clock.t
    for j in range(run.n):
        row[j] = run.x[j]
    for j in range(run.nu):
        row[run.n + j] = u[run.u_index + j]
    row[run.n + run.nu] = run.attempt.margin
    run.counts.records += 1


@inline
def take_low(run):
    """The low part of x, where equations read it, becomes that of the state they are asked for."""
    if run.regime.precise != 0:
        for j in range(run.nq):
            run.low[j] = run.low_before[j]


@inline
def _keep_low(run):
    """The low part of the trial becomes that of x."""
    if run.regime.precise != 0:
        for j in range(run.nq):
            run.low_before[j] = run.low[j]
