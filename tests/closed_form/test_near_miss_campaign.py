"""A few cases of near_miss_campaign.py: misses below what double precision resolves are said, larger ones followed."""

import pytest
from near_miss_campaign import AVOIDED, drawn, judged

CASES = [
    (2000, AVOIDED, "said"),  # a four-bar whose coupler is 4.8e-15 m too short
    (2003, AVOIDED, "right"),  # two loops of a ladder, 3.6e-13 m
    (2007, AVOIDED, "right"),  # a slider-crank, 1.8e-14 m
    (3001, ("five-bar", "3-RRR"), "right"),  # five-bar, 4.6e-8 rad aside
    (3005, ("five-bar", "3-RRR"), "said"),  # 3-RRR, 8.3e-8 rad
]


@pytest.mark.parametrize(("seed", "kinds", "verdict"), CASES)
def test_what_is_not_resolved_is_said(seed, kinds, verdict):
    """Against forty digits: within the tolerance, or a passage says that the start does not determine the motion."""
    assert judged(drawn(seed, kinds), 1e-9)[0] == verdict
