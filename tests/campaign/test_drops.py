"""A few of the random drops of `drops`, one seed of each kind at three sizes and more."""

import pytest
from tests.campaign.drops import dropped


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 7, 8, 11, 211])
def test_drops_end_without_made_energy_or_penetration(seed):
    drop = dropped(seed)
    assert drop.status == "DONE", drop.message
    assert drop.is_sound, drop


@pytest.mark.parametrize("seed", [3, 10, 14])
def test_drops_by_time_stepping_end_likewise(seed):
    drop = dropped(seed, stepped=True)
    assert drop.status == "DONE", drop.message
    assert drop.is_sound, drop
