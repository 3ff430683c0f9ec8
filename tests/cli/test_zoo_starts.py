"""Mechanisms of the zoo as the command line and the studio open them."""

import numpy as np
import pytest

from dalembert.cli.study import CommandStudy
from dalembert.zoo import CATALOG

HELD = [name for name, entry in CATALOG.items() if entry.held]


@pytest.mark.parametrize("name", HELD)
def test_what_only_motors_hold_up_starts_with_the_inputs_that_hold_it(name):
    """Newton's second law of the whole: at rest nothing accelerates, and without the inputs it falls."""
    system = CommandStudy(name).system
    x = system.named_state("start")
    assert np.abs(system.acceleration(x).vdot).max() < 1e-8
    assert np.abs(system.acceleration(x, u=np.zeros(len(system.u_names))).vdot).max() > 1.0
