"""Pages of the zoo in Node against the library: the same steps, and a second with steps of their own."""

import numpy as np
import pytest

import dalembert as da
from dalembert.analysis.mobility import independent_rows
from live_in_node import STEPS, ask, zoo_page

#: a redundant loop whose chosen rows become dependent, and singular positions that are met
NAMES = ("bennett", "delta", "five_bar", "sarrus")
CLOSE = 0.03  # σ of the chosen rows from which rounding may decide what steps are taken


def chosen_sigma(system, run):
    """σ of the rows that a run begins with, in the mass metric over their greatest lengths, at each record: (n,)."""
    if not system.rows.of:
        return np.ones(len(run.t))
    states = [system.state(q, v, t) for q, v, t in zip(run.q, run.v, run.t)]
    rows = independent_rows(system, states[0], run.p)
    A = np.array([system.constraint_matrix(x) for x in states])
    L = np.linalg.cholesky([system.mass_matrix(x) for x in states])
    white = np.linalg.solve(L, A.transpose(0, 2, 1))[:, :, slice(None) if rows is None else list(rows)]
    return np.linalg.svd(white / np.linalg.norm(white, axis=1).max(axis=0), compute_uv=False)[:, -1]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_steps_lead_to_the_same_states(name):
    """To 1e-12 away from singular positions; towards them 1/σ² more, as rounding of constraints moves velocities."""
    system, x, data = zoo_page(name)
    run = da.simulate(system, x, 1.0)
    found = ask(data, "const t = given.t" + STEPS, t=run.t.tolist())
    assert found["ended"] is None
    assert found["residual"] < 1e-11
    sigma = chosen_sigma(system, run)
    weak = (sigma < CLOSE) | (run.t > min((m.start for m in run.passages), default=np.inf))
    n = int(np.argmax(weak)) - 1 if weak.any() else len(sigma) - 1
    assert n > 5
    np.testing.assert_allclose(found["times"][:n], run.t[1 : n + 1], rtol=0, atol=1e-14)
    states = np.hstack([run.q, run.v])[1 : n + 1]
    gap = np.abs(np.array(found["rows"])[:n, : states.shape[1]] - states).max(axis=1)
    allowed = 1e-12 * (1 + np.abs(states).max()) * np.maximum(1.0, 0.1 / sigma[1 : n + 1]) ** 2
    assert (gap < allowed).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_its_own_meets_the_same_singular_positions(name):
    """And no others: chosen rows that become dependent are no singular position while other rows carry the loop."""
    system, x, data = zoo_page(name)
    run = da.simulate(system, x, 1.0)
    found = ask(
        data,
        "machine.begin(); machine.to(1); return { state: [...machine.q, ...machine.v], passages: machine.passages, "
        "ended: machine.ended }",
    )
    assert found["ended"] is None
    assert len(found["passages"]) == len(run.passages)
    np.testing.assert_allclose([m["t"] for m in found["passages"]], [m.nearest for m in run.passages], atol=1e-8)
    np.testing.assert_allclose(found["state"], [*run.q[-1], *run.v[-1]], rtol=1e-8, atol=1e-8)


def test_a_page_departs_from_the_library_where_the_library_departs_from_itself():
    """The delta robot's symmetric fall loses three digits at each met position: after the fourth, none are left.

    Four positions agree to 1e-7 s; the fifth one moves by more between two tolerances of the library than the page
    differs from it.
    """
    system, x, data = zoo_page("delta")
    runs = [da.simulate(system, x, 4.0, rtol=r, atol=0.1 * r) for r in (1e-9, 1e-10)]
    met = np.array([[m.nearest for m in run.passages[:5]] for run in runs])
    found = ask(
        data, "machine.begin(); machine.to(4); return { t: machine.passages.map(m => m.t), end: machine.ended }"
    )
    assert found["end"] is None
    np.testing.assert_allclose(found["t"][:4], met[0, :4], rtol=0, atol=1e-7)
    np.testing.assert_allclose(met[1, :4], met[0, :4], rtol=0, atol=1e-7)
    assert abs(met[1, 4] - met[0, 4]) > abs(found["t"][4] - met[0, 4])
