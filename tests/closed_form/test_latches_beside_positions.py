"""Latches, releases, stops and sticking joints in singular positions and beside them, against motions in θ or (θ, x).

M(y) v̇ + h(y, v) = Q(t),   M (v⁺ − v⁻) = Aᵀ Λ with A v⁺ = 0 where a latch closes
"""

import casadi as ca
import numpy as np
import pytest
from change_point_bars import KINDS, Bars

import dalembert as da

OFF = [*(s * 10.0**k for k in (-12, -9, -8, -7, -6, -5, -4, -3, -2) for s in (1.0, -1.0))]  # rad
AFTER = 0.15  # s


def free(t, y, v, J):
    return np.zeros(J.shape[1])


def latch(velocity):
    """A constraint that keeps a velocity at zero."""
    return lambda m, bar: m.add_constraint("latch", pfaffian=lambda s: s.rate(velocity))


def passes(off):
    return da.Event(lambda t, s: s["A"] - np.pi - off)


def moved_with_the_cart_held(bars, theta, x, rate, time):
    """(θ, θ̇) a time later."""

    def hold(t, y, v, J):  # the force of the latch: x = 0
        M, h, _, _ = bars.at(y, v)
        return np.array([0.0, h[1] - M[1, 0] * h[0] / M[0, 0]])

    return bars.moved(np.array([theta, x, rate, 0.0]), time, hold)[[0, 2]]


def closing(kind, seed, branch, off, rng):
    """The cart is latched as the crank passes θ = off."""
    bars = Bars(kind, seed, branch, cart=True, more=latch("x"))
    rate, vx = rng.choice([-1, 1]) * rng.uniform(0.5, 2.0), rng.uniform(-1.0, 1.0)
    M, _, _, _ = bars.at([off, 0.1], [rate, vx])
    back = bars.moved(np.array([off, 0.1, rate, vx]), -0.1, free)
    theta, after = moved_with_the_cart_held(bars, off, 0.1, rate + M[0, 1] * vx / M[0, 0], AFTER)
    switch = da.Switch(close="latch", when=passes(off), once=True)
    run = da.simulate(bars.system.without("latch"), bars.state(back[:2], back[2:]), 0.1 + AFTER, switches=switch)
    return bars, run, [theta, 0.1], [after, 0.0]


def opening(kind, seed, branch, off, rng):
    """The cart is released as the crank passes θ = off."""
    bars = Bars(kind, seed, branch, cart=True, more=latch("x"))
    rate = rng.choice([-1, 1]) * rng.uniform(0.5, 2.0)
    theta, before = moved_with_the_cart_held(bars, off, 0.1, rate, -0.1)
    end = bars.moved(np.array([off, 0.1, rate, 0.0]), AFTER, free)
    switch = da.Switch(open="latch", when=passes(off), once=True)
    run = da.simulate(bars.system, bars.state([theta, 0.1], [before, 0.0]), 0.1 + AFTER, switches=switch)
    return bars, run, end[:2], end[2:]


def holding(kind, seed, branch, off, rng):
    """The crank is caught at θ = off, and let go 0.1 s later."""
    bars = Bars(kind, seed, branch, more=latch("A"))
    rate = rng.choice([-1, 1]) * rng.uniform(1.0, 2.0)
    back = bars.moved(np.array([off, rate]), -0.1, free)
    switches = [da.Switch(close="latch", when=passes(off), once=True), da.Switch(open="latch", at=0.2)]
    run = da.simulate(bars.system.without("latch"), bars.state(*back), 0.2 + AFTER, switches=switches)
    return bars, run, *bars.moved(np.array([off, 0.0]), AFTER, free)


def lifting(kind, seed, branch, off, rng):
    """A moment that grows with time lifts the crank off a stop at θ = off, 0.2 s after it has come to rest on it."""
    growth = rng.uniform(20.0, 60.0)  # N m/s
    h = Bars(kind, seed, branch).at(off, 0.0)[1][0]
    since = 0.25 - h / growth
    push = lambda m, bar: m.add_joint_force("push", "A", lambda s: growth * (s.t - since))  # noqa: E731
    bars = Bars(
        kind, seed, branch, {"A": {"limits": (np.pi + off, 6.0), "stops": da.Stops(restitution=0.0)}}, more=push
    )
    back = bars.moved(
        np.array([off, -rng.uniform(2.0, 3.0)]), -0.02, lambda t, y, v, J: growth * (t + 0.02 - since) * J[0]
    )
    run = da.simulate(bars.system, bars.state(*back), 0.25 + AFTER)
    return bars, run, *bars.moved(np.array([off, 0.0]), AFTER, lambda t, y, v, J: growth * (t + 0.25 - since) * J[0])


def breaking_away(kind, seed, branch, off, rng):
    """A crank that friction has stopped at θ = off is moved on by a moment that grows with time."""
    friction, growth, since = 15.0, rng.choice([-1, 1]) * rng.uniform(20.0, 60.0), 0.1
    push = lambda m, bar: m.add_joint_force(  # noqa: E731
        "push", "A", lambda s: ca.if_else(s.t > since, growth * (s.t - since), 0.0)
    )
    bars = Bars(kind, seed, branch, {"A": {"friction": friction}}, more=push)
    sign, way = rng.choice([-1, 1]), np.sign(growth)
    back = bars.moved(np.array([off, 0.0]), -0.05, lambda t, y, v, J: -sign * friction * J[0])
    away = since + (bars.at(off, 0.0)[1][0] + way * friction) / growth
    run = da.simulate(bars.system, bars.state(*back), away + AFTER)
    push = lambda t, y, v, J: (growth * (t + away - since) - way * friction) * J[0]  # noqa: E731
    return bars, run, *bars.moved(np.array([off, 0.0]), AFTER, push)


HAPPENS = (closing, opening, holding, lifting, breaking_away)


@pytest.mark.parametrize(("kind", "happens"), [(KINDS[(k + j) % 4], HAPPENS[k]) for k in range(5) for j in (0, 2)])
def test_what_closes_opens_and_sticks_beside_a_position_leaves_the_motion_on_its_branch(kind, happens):
    """Right to 1e-7 in the position, and beside it but where it is passed slowly and a passage says so.

    Joints that stuck in a position stayed for ever, or broke away too early, 1 rad/s off without a word; a latch that
    had closed ended a phase at every step.
    """
    rng = np.random.default_rng([KINDS.index(kind), len(happens.__name__)])
    branch = int(rng.choice([-1, 1]))
    for off in (0.0, float(rng.choice(OFF))):
        bars, run, y, v = happens(kind, int(rng.integers(20)), branch, off, rng)
        assert run.success, (off, run.message)
        said = not all(p.determined for p in run.passages)
        assert bars.error(run, y, v) < 1e-7 or (said and 1e-6 <= abs(off) <= 1e-4), off
        assert run.steps < 500


def test_a_law_that_grows_with_time_breaks_a_crank_away_in_a_position():
    """As a force that grows does: the law is asked while nothing moves, and on the way out."""
    friction, growth, since = 15.0, 40.0, 0.1
    bars = Bars("change", 3, 1, {"A": {"friction": friction}}, more=lambda m, bar: m.add_motor("push", "A"))
    back = bars.moved(np.array([0.0, 0.0]), -0.05, lambda t, y, v, J: friction * J[0])
    away = since + (bars.at(0.0, 0.0)[1][0] + friction) / growth
    end = bars.moved(np.array([0.0, 0.0]), AFTER, lambda t, y, v, J: (growth * (t + away - since) - friction) * J[0])
    run = da.simulate(
        bars.system, bars.state(*back), away + AFTER, u=lambda t, s: np.array([growth * max(t - since, 0.0)])
    )
    assert run.success
    assert bars.error(run, *end) < 1e-7
    assert all(p.determined for p in run.passages)


def test_a_latch_that_has_closed_ends_no_phase():
    """It holds the crank where its event is zero but for rounding, which ended a phase at every step."""
    bars, off = Bars("parallel", 0, -1, more=latch("A")), 1e-4
    back = bars.moved(np.array([off, -1.8]), -0.15, free)
    switches = [da.Switch(close="latch", when=passes(off), once=True), da.Switch(open="latch", at=0.17)]
    run = da.simulate(bars.system.without("latch"), bars.state(*back), 0.2, switches=switches)
    assert [s.kind for s in run.switches] == ["closed", "opened"]
    assert len(run.phases) == 3
