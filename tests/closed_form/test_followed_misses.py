"""Misses of an apex that numbers of twice the precision resolve are followed, against forty digits."""

import pytest
from test_near_misses import CASES, NAMES, TIMES, ran

CONES = ("five-bar", "five-bar on a slide", "driven five-bar")


def named(least):
    chosen = [k for k, c in enumerate(CASES) if c["mechanism"] in CONES and least <= abs(c["miss"]) <= 1e-6]
    return pytest.mark.parametrize("k", chosen, ids=lambda k: NAMES[k])


@named(1e-7)
def test_misses_of_1e_7_rad_are_followed_at_the_usual_tolerance(k):
    run, error = ran(CASES[k], 1e-9)
    assert all(p.determined for p in run.passages)
    assert error < TIMES * 1e-9


@named(1e-8)
def test_misses_of_1e_8_rad_are_followed_at_a_tolerance_of_1e_11(k):
    run, error = ran(CASES[k], 1e-11)
    assert all(p.determined and not p.met for p in run.passages)
    assert error < TIMES * 1e-11
