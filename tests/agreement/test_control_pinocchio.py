"""The same law with Pinocchio's dynamics and NumPy's algebra: five-bar, 3-RRR, Stewart platform, two arms."""

import numpy as np
import pytest

from benchmarks.control import Ours, Peer, cases

CASES = {case.name: case for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_forces_are_those_of_pinocchio_and_dense_algebra(name):
    """Moving, with passive joints, and with quaternions and eighteen passive velocities in the Stewart platform."""
    ours = Ours(CASES[name])
    peer = Peer(CASES[name], ours)
    u = peer.dense(peer.q, peer.v)
    assert np.abs(ours.x.v).max() > 0.1
    np.testing.assert_allclose(ours.u, u, atol=1e-9 * np.abs(u).max())
