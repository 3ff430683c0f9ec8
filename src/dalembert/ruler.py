"""The ruler: the distances, margins and fractions at which the native loop decides about passages, charts, projection.

One object, made from the tolerances of a run and the `RankPolicy` of its mechanism, and copied into the record of the
native loop (`integrators.run_record`), where it has the same names. `simulation.singular` reads the same object where
the loop has ended beside a singular configuration.

σ is the least singular value of the whitened constraint rows (`rank`): about 1 far from singular configurations. A
margin is the least squared sine between a row and those before it, or the squared length of a row over its usual one:
cheaper than σ², and as small where rows are dependent.

Each field has a reason: a formula, or *plateau*, where results do not depend on it. `tests/closed_form/test_ruler.py`
moves each of these by a factor of 3 both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.rank import RankPolicy

MET = 1e-7  # σ, at least, of a configuration that is met: doubles do not tell branches apart next to a nearer one


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """Where decisions fall. Made by `make_ruler`."""

    # --- rank
    near: float  # σ below which elimination without pivoting loses the accuracy asked for: √(ε / accuracy)
    hit: float  # σ of a singular configuration that is met: about the error of the motion, 10 rtol
    told: float  # rad, or lengths: a miss of an apex that is told from none, ten times what a run is off by: 3 rtol
    turned: float  # σ below which rounding of positions, ε/σ, turns velocities, ε/σ², by more than rtol: √(10 ε / rtol)
    lost: float  # margin of a stage at which rounding, ε / margin, may exceed the tolerance: the stage is moved
    clearly: float = 1e4  # times the margin that is not trusted: rows independent enough for all to be used. plateau
    within: float = 4.0  # times `hit`: σ of states that are in a position, and of what else vanishes there. plateau
    zero: float = 0.5  # times `hit`: singular values up to this are none, for steps that reveal the rank. Below 1
    nothing: float = 1e-13  # the same where rows are known in twice the precision: a tenth of `finest`
    clear: float = 2.0  # times `near`, `fresh`: σ from which ordinary steps, charts, go on again. Above 1: they stay

    # --- charts
    chart: float = 1e-2  # margin of the rows of a chart below which another one is taken. plateau
    worn: float = 0.1  # of that margin where the chart was taken: the same, where it was small there. plateau
    fresh: float = 0.05  # σ of the constraints below which no chart is used: all coordinates. plateau
    chart_ends: float = 0.75  # of `fresh`: where a step in a chart ends that would lead below it. Between 0.5 and 1
    chart_passed: float = 0.5  # of `fresh`: σ at the end of such a step. Below `chart_ends`
    renewed: float = 1e-3  # of the usual step: one that fails in a fresh chart and is as short ends charts. plateau

    # --- which steps are inspected for singular configurations
    inspected: float = 1e-2  # margin of a step below which it is inspected: σ = 0.1, far above all that counts. plateau
    fallen: float = 0.1  # of the spread at its ends: that of a stage of a step that may have passed zero. plateau
    turn: float = 1.0  # rad, or lengths: coordinates move no farther in a step in which rows turn. Half a loop is π
    seen: float = 0.25  # of `turn`: a shorter step shows by its stages whether it is to be inspected. plateau
    varied: float = 0.5  # of the margins of a step: that of a stage which tells that rows turn. plateau
    nearby: float = 0.2  # root of a margin: next to it, σ is asked for together with the margin. Cost, not result

    # --- what is found there
    reported: float = 1e-2  # σ of a passage that is reported. What users read of `passages`
    resolved: float = 12.0  # times the least σ: σ at both ends of a step whose stages resolve it. plateau
    resolved_given: float = 2.05  # the same of a step whose length is given: no error control refines it
    rise: float = 1.5  # times σ of a passage: nothing less is a rise between it and the next. plateau
    apart: float = 1e-2  # of a step: between two values of σ² whose difference tells whether it falls. plateau
    fine: float = 1e-4  # of a step: the same where σ is large enough for rounding. plateau
    rough: float = 1e-7  # of σ: how well it is known where it is compared. plateau
    exact: float = 1e-12  # of σ: how well where it is least: rounding of σ² / σ. So of velocities, lengths and steps
    given: float = 0.5  # of σ: what it may change by in a step of given length that passes on its side. plateau
    sunk: float = 1e-2  # of σ²: what is left of it, at most, one parabola ahead of a configuration that is met. plateau
    ahead: float = 10.0  # times σ of one that is met: from there on it is asked whether the motion goes to one. plateau
    soon: float = 1e3  # usual steps: how far ahead such a one may be. plateau
    bent: float = 1e-6  # σ: by how much it changes, at least, between values whose parabola is used: √1e-12. plateau

    # --- how steps are shortened
    share: float = 0.1  # of the way to the configuration that is left by a step made shorter. plateau
    left: float = 0.7  # of that way: what is left of it at most. Cost, not result
    aimed: float = 6.0  # times σ over σ at both ends: what is left of it, between these. Cost, not result
    shorter: float = 1e-2  # of a step: the next try, at least. plateau
    shift: float = 0.87  # of a step with a stage too near: its stages lie elsewhere then. Any number that is no ratio
    close: float = 0.01  # of the usual step: how near to a singular configuration ordinary steps go. plateau
    nearest: float = 1e-9  # of the usual step: the same of steps that reveal the rank. plateau

    # --- projection
    projected: float = 1e-9  # rad, or lengths: a residual that one more Newton step brings to rounding: a tenth of √ε
    runaway: float = 0.1  # rad, or lengths: a residual, and a last correction, that lead back to no manifold. plateau
    short: float = 0.1  # of the usual step: projection moves a shorter one by rounding, which is no error. plateau
    scaled: float = 1e-3  # of the kinetic energy: what rounding may have changed. plateau
    lively: float = 10.0  # times σ of the energy: a kinetic energy that tells speeds better than they are. plateau
    balanced: float = 0.1  # of the kinetic energy behind a crossing: what a balance may lack. plateau
    landed: float = 1e-2  # σ at an event below which its state is landed in twice the precision. Cost, not result
    settles: float = 1e-9  # lengths: a residual in a chart that may be rounding, where it falls no more. plateau
    closes: float = 1e-14  # rad, or lengths: a residual in a chart that is rounding

    # --- crossings of configurations that are met
    across: float = 1e-4  # σ from which they are made in one step: rows are known to ε/σ, and the way is short. plateau
    far: float = 1e-5  # σ behind one where the motion is taken up again, at least: its rates are known to 1e-6. plateau
    farther: float = 30.0  # times `hit`: the same, where that is more. plateau
    reached: float = 0.25  # of that σ: what a state there may have. plateau
    nearer: float = 0.3  # of σ: where a crossing that is not exact enough is tried again. plateau
    together: float = 10.0  # times the least singular value: others up to this vanish there too. plateau
    weak: float = 0.03  # singular values of scaled rows above this, usually 1, are no part of it. plateau
    passed: float = 1e-2  # of σ before one straight ahead: what is left of it there, at most. plateau
    turning: float = 0.1  # of a velocity: by how much it may turn on the way, or be off the branch it is on. plateau
    slowed: float = 0.5  # of the speed before: a slower one in the position may turn there. plateau
    slow: float = 1e-3  # of the velocity a step before: one that no longer tells the branch. plateau
    distinct: float = 1e-4  # of a velocity on a cone: solutions that differ by less are one. plateau
    dip: float = 1e-4  # of the usual: the least singular value ahead of a neighbour that meets the position. plateau
    flat: float = 1e-3  # of the largest: slopes of the tangent cone, eigenvalues of its forms: zero. plateau
    stay: float = 1e-2  # of a run: a step in one that nothing moves the mechanism out of. Cost, not result
    patient: float = 1e-3  # of that step: the first time at which forces that grow are asked for. Cost, not result
    coarse: float  # error of a crossing that is better made from nearer: ten times the tolerance
    settled: float  # change of a velocity after which a crossing is exact: a thousandth of the tolerance, or rounding

    # --- whether the start determines what follows
    aside: float = 1e-3  # of a velocity: what rounding may have turned it by that tells its branch. plateau
    known: float  # σ above which it does: lengths are rounded, which turns it by `rounding` / σ²: √(rounding / aside)
    allowed: float  # rad: what a run may be turned by, for an error of 100 rtol
    claimed: float  # rad, or of a velocity: the same, and rounding that is estimated from above

    # --- rounding
    finest: float = 1e-12  # σ down to which rows in twice the precision, combined in doubles, are known to 1e-4: ε/σ
    necks: float = 10.0  # times the least σ of a configuration that rounded lengths leave regular: nearer, they decide
    tightest: float = 1e-11  # tolerance of careful steps, at least: rounding of constraint forces, ε/σ at `far`
    unlanded: float = 1e-8  # rad, or lengths: a last Newton step after which no manifold is near: √ε
    unseen: float = 1e-9  # of the terms of the cone's equations: rounding, some thousand times. plateau
    rounding: float = 1e-15  # of a time or a coordinate: a few units in the last place
    operation: float = 2e-16  # of a row: rounding of its elements, which turns a motion by this over the margin
    sampled: float = 1e-9  # of a distance: how far to the sides the gap of a cone is sampled. plateau
    second: float = 1e-6  # of the reach of a motion: so near a position terms of third order are rounding: ε^⅓. plateau
    sharp: float = 1e-12  # reciprocal condition from which equations of a position are solved as they are. plateau
    ended: float = 1e-13  # of a velocity on a cone: a last Newton step
    least_step: float = 1e-14  # of the time, or of what the motion takes: no step that error control may ask for


def make_ruler(rtol: float, policy: RankPolicy, least: float = 0.0) -> Ruler:
    """The ruler of a run. least: σ up to which its user counts configurations as singular."""
    return Ruler(
        near=policy.near,
        hit=max(MET, 10.0 * rtol, least),
        told=3.0 * rtol,
        turned=(1e-15 / rtol) ** 0.5,
        lost=1e-13 / rtol,
        coarse=10.0 * rtol,
        settled=max(Ruler.exact, 1e-3 * rtol),
        known=(Ruler.rounding / Ruler.aside) ** 0.5,
        allowed=allowed(rtol),
        claimed=claimed(rtol),
    )


def allowed(rtol: float) -> float:
    """The angle by which a run may be turned, rad."""
    return 1e2 * rtol


def claimed(rtol: float) -> float:
    """The same, or the error of a velocity, up to which the start determines what follows; estimates are from above."""
    return max(allowed(rtol), 1e-6)


def growth_followed(rtol: float) -> float:
    """How many times differences may grow at a passage: runs are off by 0.1 rtol before one, and by 300 behind."""
    return 300.0 * rtol / max(0.1 * rtol, 1e-12)
