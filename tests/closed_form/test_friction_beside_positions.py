"""Dry friction that turns or holds four-bars in singular positions and beside them, against motions along the branch.

I(θ) θ̈ + ½ I′(θ) θ̇² + V′(θ) = −sign θ̇ Σ f_j |dq_j/dθ|
"""

import numpy as np
import pytest
from change_point_bars import KINDS, Bars

import dalembert as da

OFF = [*(s * 10.0**k for k in (-12, -9, -8, -7, -6, -5, -4, -3, -2) for s in (1.0, -1.0))]  # rad
BACK, AHEAD = 0.2, 0.15  # s
FRICTION = [{"A": 0.5}, {"A": 0.2, "B": 0.3}, {"D": 0.4}]  # N m


def resisting(friction, names):
    """Generalized forces of dry friction at a speed of this sign."""

    def of(sign):
        return lambda t, y, v, J: -sign * sum(f * abs(J[names.index(n)]) for n, f in friction.items())

    return of


def turned(bars, friction, off):
    """(y, v) BACK before the crank comes to rest at θ = off, and AHEAD after it; whether it sticks there."""
    _, h, _, J = bars.at(off, 0.0)
    drag = resisting(friction, bars.names)
    bound = -float(drag(1.0)(0.0, off, 0.0, J)[0])
    sign = 1.0 if -h[0] < bound else -1.0  # it came with, and is slowed down
    held = abs(h[0]) <= bound
    rest = np.array([off, 0.0])
    start = bars.moved(rest, -BACK, drag(sign))
    return start, rest if held else bars.moved(rest, AHEAD, drag(-sign)), held


@pytest.mark.parametrize("branch", [1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_friction_turns_or_holds_a_mechanism_along_the_branch_it_came_by(kind, branch):
    """Right to 1e-7 whatever the distance, and called determined in the position.

    Mechanisms left along the other branch, 0.6 rad/s off, some runs took 70 s, and one that stuck at 1e-6 did not end.
    """
    rng = np.random.default_rng([KINDS.index(kind), branch + 1])
    for seed, friction in enumerate(FRICTION[:2] if branch > 0 else FRICTION[1:]):
        bars = Bars(kind, seed, branch, {n: {"friction": f} for n, f in friction.items()})
        for off in [0.0, *rng.choice(OFF, 2, replace=False).tolist()]:
            start, end, held = turned(bars, friction, off)
            run = da.simulate(bars.system, bars.state(*start), BACK + AHEAD)
            assert run.success, (seed, off, run.message)
            assert bars.error(run, *end) < 1e-7, (seed, off)
            if abs(off) < 1e-7:
                assert all(p.determined for p in run.passages), (seed, off, held)
            assert run.steps < 400


def test_a_crank_that_sticks_beside_a_position_ends_its_run():
    """At 1e-6 rad the step was shortened to nothing, for ever: σ was least where it began."""
    bars = Bars("parallel", 0, 1, {"A": {"friction": 0.5}})
    start, end, _ = turned(bars, {"A": 0.5}, 1e-6)
    run = da.simulate(bars.system, bars.state(*start), BACK + AHEAD)
    assert run.success
    assert bars.error(run, *end) < 1e-8


@pytest.mark.parametrize("friction", [{"A": 0.8, "B": 1.2}, {"A": 1.0, "B": 1.5}, {"A": 0.6, "B": 0.9}], ids=str)
def test_joints_that_share_one_freedom_hold_it_together(friction):
    """One sticks and the other pulls with all it has; together they hold, or not, in the position as beside it.

    At −1.006e-8 and −1.008e-8 rad the last step before the rest ends so near that rounding turns its velocity: the
    branch by which the mechanism came is that of a step before.
    """
    bars = Bars("rhombus", 377, -1, {n: {"friction": f} for n, f in friction.items()})
    for off in (0.0, 1e-9, -1e-8, -1.006e-8, -1.008e-8, 1e-6):
        start, end, held = turned(bars, friction, off)
        assert held == (friction["A"] > 0.7)
        run = da.simulate(bars.system, bars.state(*start), BACK + AHEAD)
        assert run.success
        assert bars.error(run, *end) < 1e-9, off
        assert run.steps < 400
        assert all(p.determined for p in run.passages), off
