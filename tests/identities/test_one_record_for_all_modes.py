"""A run has one native record for all its modes: it goes and answers as with a record of its own for each of them."""

import numpy as np
import pytest
from tests.identities.test_modes_as_selections import box, linkage, roped

import dalembert as da
from dalembert.simulation.hybrid import mode_data, problem


def chain(joints):
    """Links that hang from the ground, with so much dry friction in their joints that these stop one after another."""
    m = da.Mechanism("chain", gravity=(0, -9.81, 0))
    before = m.ground
    for k in range(joints):
        body = m.add_body(f"b{k}", mass=0.2, com=(0.05, 0, 0), inertia=da.box_inertia(0.2, (0.1, 0.02, 0.02)))
        frame = before if k == 0 else before.at(0.1, 0, 0)
        m.add_joint(f"j{k}", da.Revolute("z"), frame, body, friction=0.04 * (joints - k) / joints)
        before = body
    system = m.compile()
    return system, system.state(np.random.default_rng(3).uniform(-0.5, 0.5, joints)), 0.4


def between(run):
    """States inside every phase, asked for after the run: the records of its modes are made anew for them."""
    return np.concatenate([run(t).q for t in times(run)])


def times(run):
    return [0.4 * p.t[0] + 0.6 * p.t[-1] for p in run.phases if len(p.t) > 1]


@pytest.mark.parametrize("make", [box, linkage, roped, lambda: chain(5)], ids=["box", "linkage", "roped", "chain"])
def test_a_run_is_that_of_records_of_their_own(make, monkeypatch):
    system, state, end = make()
    together = [da.simulate(system, state, end) for _ in range(2)]  # the second in the memory of the first
    states = [between(run) for run in together]
    monkeypatch.setattr(problem, "is_for", lambda layout: False)
    system, state, end = make()
    alone = da.simulate(system, state, end)
    assert len(alone.phases) > 1
    for run, inside in zip(together, states):
        assert len(run.phases) == len(alone.phases)
        for name in ("t", "q", "v", "margin"):
            assert np.array_equal(getattr(run, name), getattr(alone, name)), name
        assert all(np.array_equal(run.work[name], alone.work[name]) for name in alone.work)
        assert np.array_equal(inside, between(alone))


def test_a_change_of_mode_lays_nothing_out(monkeypatch):
    """Memory is made for the record, twice (its own, and that of states inside steps), and for each number of rows."""
    made, real = [], mode_data.make_mode_rows
    monkeypatch.setattr(mode_data, "make_mode_rows", lambda *a, **k: made.append(k["m"]) or real(*a, **k))
    system, state, end = chain(8)
    run = da.simulate(system, state, end)
    numbers, modes = {len(p.system.rows.of) for p in run.phases}, {p.system.mode for p in run.phases}
    assert len(modes) > 2 * len(numbers)
    assert len(made) <= 2 * (2 + 3 * len(numbers))
    made.clear()
    again = da.simulate(system, state, end)
    assert not made
    assert np.array_equal(run.q, again.q)
