"""Every mechanism of the zoo closes where it says, and has the degrees of freedom it says, there and elsewhere."""

import numpy as np
import pytest

from dalembert import zoo
from dalembert.errors import ArgumentError


def rank(system, state):
    A = system.constraint_matrix(state)
    return np.linalg.matrix_rank(A, tol=1e-8) if A.size else 0


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_the_start_satisfies_the_constraints_and_their_rates(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    x = system.state(*entry.start())
    assert np.abs(system.residuals(x)).max(initial=0.0) < 1e-12
    assert np.abs(system.speed_residuals(x)).max(initial=0.0) < 1e-12
    assert system.nv - rank(system, x) == entry.mobility
    a = system.acceleration(x)
    assert a.success
    assert a.residual < 1e-9 * (1 + np.abs(a.vdot).max())


def test_the_catalog_is_complete():
    """Whatever has a start is in it, by its name."""
    started = {name.removesuffix("_start") for name in zoo.__all__ if name.endswith("_start")}
    assert started - {"particle"} <= set(zoo.CATALOG) <= set(zoo.__all__)


MOVING = {
    "four-bar": (zoo.four_bar, zoo.four_bar_start, [(a, 3.0) for a in (-2.0, 0.4, 1.9)], 1),
    "five-bar": (zoo.five_bar, zoo.five_bar_start, [(a, 1.0) for a in (-0.9, 0.7, 3.0, 5.5, 9.0)], 2),
    "slider-crank": (zoo.slider_crank, zoo.slider_crank_start, [(a, 2.0) for a in (-3.0, 0.0, 1.5)], 1),
    "equal slider-crank": (zoo.equal_slider_crank, zoo.equal_slider_crank_start, [(0.3, 1.0), (2.5, -2.0)], 1),
    "parallel four-bar": (
        zoo.parallel_four_bar,
        zoo.parallel_four_bar_start,
        [(0.3, -0.9, 1.0, 2.0), (2.0, 1.2, 0, -1.0)],
        2,
    ),
    "Bennett": (zoo.bennett, zoo.bennett_start, [(a, 1.5) for a in (-1.0, 0.5, 2.4)], 1),
    "Bricard": (zoo.bricard, zoo.bricard_start, [(a, -1.0) for a in (-1.3, 0.8, 1.2, 1.9)], 1),
    "Sarrus": (zoo.sarrus, zoo.sarrus_start, [(a, 1.0) for a in (0.2, 0.7, 1.2)], 1),
    "3-RRR": (zoo.planar_3rrr, zoo.planar_3rrr_start, [(0.05, -0.03, 0.3), (-0.06, 0.02, -0.4)], 3),
    "loader": (zoo.loader, zoo.loader_start, [(0.0, 0.0), (0.2, -0.05), (0.3, 0.04)], 2),
    "Stewart": (
        zoo.stewart,
        zoo.stewart_start,
        [([0.2, -0.1, 1.8], None), ([0, 0.3, 2.2], [[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])],
        6,
    ),
    "car": (zoo.car, zoo.car_start, [(3.0, 0.4), (-1.0, -0.6)], 2),
}


@pytest.mark.parametrize("name", MOVING)
def test_it_closes_and_moves_all_along_its_branch(name):
    build, start, arguments, mobility = MOVING[name]
    system = build().compile(backend="casadi")
    for given in arguments:
        x = system.state(*start(*given))
        assert np.abs(system.residuals(x)).max() < 1e-12
        assert np.abs(system.speed_residuals(x)).max() < 1e-12
        assert system.nv - rank(system, x) == mobility


@pytest.mark.parametrize("loops", [1, 4, 12])
def test_a_ladder_has_one_degree_of_freedom_and_loses_rank_when_flat(loops):
    system = zoo.ladder(loops).compile(backend="casadi")
    assert system.nv == 2 * loops + 1
    for angle in (np.pi / 2, -1.0, 2.5):
        x = system.state(*zoo.ladder_start(loops, angle, 2.0))
        assert np.abs(system.residuals(x)).max() < 1e-12
        assert np.abs(system.speed_residuals(x)).max() < 1e-12
        assert system.nv - rank(system, x) == 1
    flat = system.state(*zoo.ladder_start(loops, 0.0, 1.0))
    assert system.nv - rank(system, flat) == loops + 1


def test_redundant_rows_of_the_overconstrained_linkages():
    """Bennett: three of five rows; Bricard and Sarrus: one of five."""
    for build, start, redundant in (
        (zoo.bennett, zoo.bennett_start, 3),
        (zoo.bricard, zoo.bricard_start, 1),
        (zoo.sarrus, zoo.sarrus_start, 1),
    ):
        system = build().compile(backend="casadi")
        assert len(system.row_names) - rank(system, system.state(*start())) == redundant


def test_a_bennett_linkage_that_breaks_bennetts_relation_is_rigid():
    m = zoo.bennett(alpha=np.radians(40), beta=np.radians(70))
    other = zoo.bennett_start(1.0, alpha=np.radians(40), beta=np.radians(69))[0]
    assert np.abs(m.compile(backend="casadi").residuals(other)).max() > 1e-3


def test_the_five_bar_and_the_slider_crank_lose_rank_where_the_papers_say():
    five = zoo.five_bar().compile(backend="casadi")
    crank = zoo.equal_slider_crank().compile(backend="casadi")
    for a in (0.0, 2 * np.pi):
        assert rank(five, five.state(*zoo.five_bar_start(a, 1.0))) == 1
    for a in (np.pi / 2, -np.pi / 2, 3 * np.pi / 2):
        assert rank(crank, crank.state(*zoo.equal_slider_crank_start(a))) == 0
    safe = zoo.five_bar(span=zoo.PEER_SPAN).compile(backend="casadi")
    assert rank(safe, zoo.five_bar_start(-np.pi, span=zoo.PEER_SPAN, branch=-1)[0]) == 2


def test_the_hand_has_20_joint_angles_23_tendons_and_eleven_ways_to_move_what_it_holds():
    free = zoo.hand(holding=False).compile(backend="casadi")
    assert (free.nv, len(free.u_names)) == (20, 23)
    holding = zoo.hand().compile(backend="casadi")
    x = holding.state(*zoo.hand_start())
    rest = holding.applied_forces(x)
    pull = np.column_stack([holding.applied_forces(x, u=u) - rest for u in np.eye(23)])
    K = np.linalg.svd(holding.constraint_matrix(x))[2][15:].T
    assert np.linalg.matrix_rank(K.T @ pull, tol=1e-6) == 11  # what the paper finds: locally controllable
    flexors = [k for k, n in enumerate(holding.u_names) if n.endswith(("FDP", "FPL"))]
    flexion = [k for k, n in enumerate(holding.v_names) if n.endswith(("base.second", "middle", "tip"))]
    assert np.all(pull[np.ix_(flexion, flexors)].sum(axis=1) > 0)


def test_bars_that_cannot_meet_are_refused():
    with pytest.raises(ArgumentError, match="do not meet"):
        zoo.four_bar_start(0.0, ground=2.0)
