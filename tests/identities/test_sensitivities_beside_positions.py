"""Derivatives of runs that pass beside singular positions, against fourth-order differences of such runs."""

import re

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

PARAMETERS = {"load": 0.01, "span": 0.7}


def five_bar():
    """The five-bar with a load on its second link, and a spring to the ground whose length is a parameter."""
    m = zoo.five_bar()
    load, span = (m.add_parameter(name, value) for name, value in PARAMETERS.items())
    m.add_wrench("weight", m.bodies["link 2"], force=(0, -load, 0))
    m.add_spring("spring", m.ground, m.bodies["link 2"].at(0.3), stiffness=0.01, rest_length=span)
    return m.compile()


def beside(system, miss, seed):
    """A start from which the fall misses the singular position."""
    x = system.state(*zoo.five_bar_start())
    y = np.random.default_rng(seed).normal(size=2)
    along = system.subspaces(x).K @ y
    return system.project(x.replace(q=x.q + miss * along / abs(along).max()))


def differences(system, x, name, h, duration):
    """(nv,) ∂q/∂name at the end by fourth-order differences, and about by how much they may be wrong."""
    changed = {k: {name: PARAMETERS[name] + k * h} for k in (-2, -1, 1, 2)}
    q = {k: da.simulate(system, x, duration, p=p, rtol=1e-12, atol=1e-13).q[-1] for k, p in changed.items()}
    second = (q[1] - q[-1]) / (2 * h)
    fourth = (4 * second - (q[2] - q[-2]) / (4 * h)) / 3
    return fourth, 0.1 * abs(fourth - second).max() + 1e-12 / h


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_motions_that_miss_a_position_have_derivatives(seed, method):
    system = five_bar()
    x = beside(system, 0.008, seed)
    run = da.simulate(system, x, 1.0, rtol=1e-11, atol=1e-12)
    (passage,) = run.passages
    assert not passage.met
    s = da.sensitivities(run, of=list("ABCD"), wrt=list(PARAMETERS), method=method)
    for k, name in enumerate(PARAMETERS):
        expected, doubt = differences(system, x, name, 2e-4, 1.0)
        error = abs(s.jacobian[:, k] - expected).max()
        assert error < 0.1 * run.rtol / passage.distance**2 * abs(expected).max() + doubt
        assert doubt < 1e-4 * abs(expected).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_not_exact_enough_is_told_how_exact_it_has_to_be(seed):
    system = five_bar()
    x = beside(system, 2e-3, seed)
    with pytest.raises(da.ArgumentError, match=r"at a distance .* Simulate it with rtol=") as told:
        da.sensitivities(da.simulate(system, x, 0.8, rtol=1e-7), of=["A"], wrt=["load"])
    rtol = float(re.search(r"rtol=(\S+) or less", str(told.value))[1])
    run = da.simulate(system, x, 0.8, rtol=0.99 * rtol, atol=0.1 * rtol)
    s = da.sensitivities(run, of=list("ABCD"), wrt=["load"])
    expected, doubt = differences(system, x, "load", 2e-5, 0.8)
    assert doubt < 1e-5 * abs(expected).max()
    assert abs(s.jacobian[:, 0] - expected).max() < 1e-4 * abs(expected).max() + doubt
