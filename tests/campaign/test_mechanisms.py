"""The campaign of random closed mechanisms, small ones by default; `make campaign` runs larger ones, any number."""

import pytest
from compared import compare

from dalembert.linearization import plan
from dalembert.recursions import elimination
from dalembert.recursions.clusters import groups
from dalembert.system import equation_rows

#: seeds of larger mechanisms on which library and oracles once disagreed
FOUND = {
    10: "a body that is locked twice: its velocity is rounding, and no contradiction",
    2: "nothing moves and nothing accelerates: a residual of rounding is no contradiction",
    5: "inverse dynamics in a plane: rows of rounding refuse no acceleration",
    4: "a linear model's own coordinates",
    5000166: "two contacts of one body press against each other: no joint passes that on, but for rounding",
    5000272: "kilometres and grams in the euclidean metric: as inaccurate as its inertia is ill-conditioned, not more",
    5000321: "an acceleration that is rounding beside others is no contradiction",
    505839: "multipliers in the euclidean metric of tenths of millimetres: as inaccurate as M is ill-conditioned",
    502313: "an acceleration that was computed elsewhere is admissible but for the rounding of its largest part",
}


#: and of small ones
FOUND_SMALL = {
    1000520: "a row that depends on two nearly dependent ones: rounding of their pivots is no independence",
}
#: the same of runs: (seed, small)
RUNS = {
    (7025, True): "no constraint rows, but a formulation by name: no position is singular",
    (4, False): "works at the first of the wanted times are not zero: the energy balance counts from there",
    (6000053, True): "a structure: the energy of what does not move is rounding, and need not be restored",
    (7, True): "a skate that leaves a freedom of positions, but none of velocities",
}


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_small_random_mechanisms_agree_with_oracles(first):
    wrong = {seed: out.wrong for seed in range(first, first + 10) if (out := compare(seed, small=True)).wrong}
    assert not wrong


@pytest.mark.parametrize("first", [200, 215, 230])
def test_random_mechanisms_agree_by_the_routes_of_large_ones(first, monkeypatch):
    """Loops are eliminated in their sub-trees and derivatives made of rows, however small the mechanisms are."""
    monkeypatch.setattr(elimination, "LONG", 0)
    monkeypatch.setattr(elimination, "_local", lambda tree, A: groups(tree.tree, A) if len(A) else None)
    for module in (equation_rows, plan):
        monkeypatch.setattr(module, "LARGE", 0)
    wrong = {seed: out.wrong for seed in range(first, first + 15) if (out := compare(seed)).wrong}
    assert not wrong


def test_a_leaning_disc_agrees_to_more_digits_than_a_rough_difference_would():
    assert not compare(2251, small=True).wrong


@pytest.mark.parametrize("seed", FOUND, ids=str)
def test_mechanisms_that_once_disagreed(seed):
    out = compare(seed)
    assert not out.wrong
    assert out.checked > 20


@pytest.mark.parametrize("seed", FOUND_SMALL, ids=str)
def test_small_mechanisms_that_once_disagreed(seed):
    assert not compare(seed, small=True).wrong


@pytest.mark.parametrize(("seed", "small"), [*RUNS, *((seed, True) for seed in range(11, 17))])
def test_runs_are_the_integrals_of_independent_accelerations(seed, small):
    assert not compare(seed, small, "runs").wrong


@pytest.mark.parametrize("seed", [*range(20, 32), 900128])  # the last: rest by steps through other coordinates
def test_answers_in_other_units_are_the_same(seed):
    assert not compare(seed, True, "units").wrong


@pytest.mark.parametrize("seed", range(40, 52))
def test_linear_models_are_the_differences_of_independent_accelerations(seed):
    assert not compare(seed, True, "linear").wrong
