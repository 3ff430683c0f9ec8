"""The native solver of contact problems, against its laws, every mode by itself, and that of event-driven runs."""

import numpy as np
import pytest

from contact_problems import enumerated, problem, random_elements, random_rows, residual, solved
from dalembert.native import library
from dalembert.outcome import NOT_CONVERGED, OK
from dalembert.simulation.hybrid.contact_forces import ContactRows, contact_forces


def test_a_thousand_random_problems_satisfy_signorini_and_coulomb():
    """Redundant rows, circular cones, stops, joint friction, lengths of rows over two decades: 1e-10 in all of them."""
    steps = []
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        nv = int(rng.integers(1, 13))
        elements = random_elements(rng)
        Y = random_rows(rng, elements, nv)
        G, q = Y @ Y.T, Y @ rng.normal(size=nv)
        c = solved(G, q, elements)
        assert c.outcome == OK, seed
        assert c.residual <= 1e-10, seed
        assert residual(G, q, elements, c.z) < 1e-10, seed
        assert np.allclose(c.w, G @ c.z + q, atol=1e-9 * np.abs(G).max()), seed
        steps.append(c.steps)
    assert np.median(steps) <= 2  # Newton's method after sweeps that have found who bears and slides


@pytest.mark.parametrize("seed", range(60))
def test_the_solution_is_one_of_those_of_all_modes(seed):
    rng = np.random.default_rng(seed)
    elements = [(1, 1, float(rng.uniform(0, 0.5)), 0.0), (1, 0, 0.0, 0.0), (0, 1, 0.0, float(rng.uniform(0, 1)))]
    elements += [(1, 1, float(rng.uniform(0, 0.5)), 0.0)] * int(rng.integers(0, 2))
    Y = random_rows(rng, elements, 9)
    G, q = Y @ Y.T, Y @ rng.normal(size=9)
    known = enumerated(G, q, elements)
    assert known, "Signorini's and Coulomb's laws have a solution"
    z = solved(G, q, elements).z
    size = np.sqrt(np.diag(G))
    assert min(np.abs((z - one) * size).max() for one in known) < 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_as_the_solver_of_event_driven_runs(seed):
    """Contacts in space, joints and stops with little friction, where there is one solution."""
    rng = np.random.default_rng(seed)
    elements = random_elements(rng, most=4, friction=0.15)
    nv = 2 + sum(n + a for n, a, _, _ in elements)
    Y = random_rows(rng, elements, nv)
    Y *= np.linalg.norm(rng.normal(size=nv)) / np.linalg.norm(Y, axis=1)[:, None]
    q = Y @ rng.normal(size=nv)
    sides, at = [], 0
    for k, (normal, across, mu, bound) in enumerate(elements):
        side = ContactRows(str(k), Y[at] if normal else None, wanted=float(q[at]) if normal else 0.0)
        at += normal
        if across:
            side.tangents, side.rates, side.mu, side.bound = Y[at : at + across], q[at : at + across], mu, bound
        at += across
        sides.append(side)
    expected = contact_forces(sides, nv)
    z = solved(Y @ Y.T, q, elements).z
    assert np.abs(Y.T @ z - expected.total).max() < 1e-9 * np.abs(q).max()


def test_the_same_problem_in_other_units():
    """Impulses scale as they must when lengths and masses do, also by row."""
    rng = np.random.default_rng(3)
    elements = [(1, 2, 0.4, 0.0)] * 3 + [(0, 1, 0.0, 0.3)]
    Y, nu = random_rows(rng, elements, 12), rng.normal(size=12)
    z = solved(Y @ Y.T, Y @ nu, elements).z
    for scale in (1e-6, 1e6):
        other = [(n, a, mu, F / scale) for n, a, mu, F in elements]
        found = solved(scale**2 * (Y @ Y.T), scale * (Y @ nu), other).z
        assert np.allclose(found * scale, z, rtol=1e-9, atol=1e-12)


def test_a_box_on_four_corners_has_no_slip_and_bears_its_weight():
    """Twelve rows of six velocities: impulses are not unique, what they do is."""
    corners = np.array([[x, y, -0.1] for x in (-0.3, 0.3) for y in (-0.2, 0.2)])
    rows = []
    for r in corners:
        for direction in np.eye(3)[[2, 0, 1]]:
            rows.append(np.concatenate([np.cross(r, direction) / np.sqrt(0.02), direction]))
    Y, nu = np.array(rows), np.array([0, 0, 0, 0, 0, -1.0])
    c = solved(Y @ Y.T, Y @ nu, [(1, 2, 0.5, 0.0)] * 4)
    assert np.abs(nu + Y.T @ c.z).max() < 1e-11
    assert np.isclose(c.z[::3].sum(), 1.0, atol=1e-10)
    assert (c.z[::3] > 0.0).all()


def test_a_solution_is_kept_and_one_that_cannot_be_is_reported():
    rng = np.random.default_rng(11)
    elements = [(1, 2, 0.6, 0.0)] * 4
    Y, nu = random_rows(rng, elements, 8), rng.normal(size=8)
    first = solved(Y @ Y.T, Y @ nu, elements)
    again = solved(Y @ Y.T, Y @ nu, elements, start=first.z)
    assert again.steps == 0
    assert again.swept == 0
    pressed = problem(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, -1.0]), [(1, 0, 0.0, 0.0)] * 2)
    library.call("solve_cone", pressed)  # two walls that come together
    assert pressed.outcome == NOT_CONVERGED
    assert pressed.residual > 0.1


def test_rows_that_nothing_can_move_get_no_impulse():
    c = solved(np.diag([0.0, 1.0]), np.array([-1.0, -2.0]), [(1, 0, 0.0, 0.0)] * 2)
    assert c.z.tolist() == [0.0, 2.0]
