"""A few of the random drops of `drops`, one seed of each kind at three sizes and more."""

import pytest
from tests.campaign.drops import dropped


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 7, 8, 11])
def test_drops_end_without_made_energy_or_penetration(seed):
    drop = dropped(seed)
    assert drop.status == "DONE", drop.message
    assert drop.made < 1e-5  # of the energy of a fall through the size, at rtol = 1e-6
    assert drop.below < 1e-9  # of the size
