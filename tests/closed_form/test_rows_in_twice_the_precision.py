"""Rows A, A v + b and accelerations beside singular positions in twice the precision, against forty digits."""

from decimal import Decimal

import numpy as np
import planar_motions as truth
import pytest
from planar_truth import exact, inverse
from test_near_misses import built

import dalembert as da
from dalembert.simulation.singular.rank_revealing import careful

MECHANISMS = ["five-bar", "six-bar", "five-bar on a slide"]  # lengths that doubles hold exactly


def steps_of(system, x):
    """The steps beside singular positions of a run of a system."""
    run = da.simulate(system, x, 1e-3, rtol=1e-12, atol=1e-13)
    return careful(run._dense.layout, None)


def beside(mechanism, miss, seed):
    """Model, joint coordinates to forty digits a distance beside the singular position, and a velocity in doubles."""
    model, S = truth.made(mechanism)
    rng = np.random.default_rng(seed)
    q, v = truth.singular(mechanism) + miss * rng.standard_normal(len(S)), rng.standard_normal(len(S))
    q, v = model.on_manifold(exact(q), exact(v))
    return model, S, solved(S, q), np.array(solved(S, v), dtype=float)


def solved(S, x):
    """S⁻¹ x in decimals; S has integer entries."""
    return exact(np.rint(np.linalg.inv(S)).astype(int)) @ x


def split(q):
    """High and low part of decimals, as doubles."""
    high = q.astype(float)
    return high, (q - exact(high)).astype(float)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_their_rates_are_known_to_thirty_digits(mechanism, seed):
    system, names = built(mechanism, 0.0)
    _, S, q, v = beside(mechanism, 1e-2, seed)
    order = [names.index(name) for name in system.q_names]
    (high, low), v = split(q[order]), v[order]
    steps = steps_of(system, system.state(high, v))
    steps.low[:] = low
    steps.velocity.at(0.0, np.concatenate([high, v]))
    rows = steps.velocity.owner.rows
    assert rows.exact
    found = exact(rows.program.high[rows.program.result]) + exact(rows.program.low[rows.program.result])
    A, speed = found[: rows.m * rows.n].reshape(rows.m, rows.n), found[rows.m * rows.n :]
    # rows of a loop are those of the truth, in the frame in which the loop is measured
    model, _ = truth.made(mechanism)
    J = (model.A(model.J(model.features(exact(S) @ q))) @ exact(S))[:, order]
    frame = A @ J.T @ inverse(J @ J.T)
    assert max(abs(x) for x in (A - frame @ J).ravel()) < Decimal("1e-29")
    np.testing.assert_array_less(np.abs((speed - A @ exact(v)).astype(float)), 1e-29)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("miss", [1e-3, 1e-5, 3e-6])
def test_accelerations_beside_a_position_are_those_of_forty_digits(mechanism, miss):
    """Relative to the largest, which is 1/σ: in doubles alone they are off by 1e-16/σ of that."""
    system, names = built(mechanism, 0.0)
    for seed in range(3):
        model, S, q, v = beside(mechanism, miss, seed)
        expected = solved(S, 2 * model.series(exact(S) @ q, exact(S) @ exact(v), Decimal(0))[2]).astype(float)
        order = [names.index(name) for name in system.q_names]
        high, low = split(q[order])
        steps = steps_of(system, system.state(high, v[order]))
        steps.low[:] = low
        out = steps.stepper.ode.at(0.0, np.concatenate([high, v[order]]))
        found = out[system.nq : system.nq + system.nv]
        assert np.abs(found - expected[order]).max() < 1e-12 * np.abs(expected).max(), (seed, miss)
