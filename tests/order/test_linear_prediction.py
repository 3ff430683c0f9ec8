"""A nonlinear run leaves the linear prediction with the square of the disturbance."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from manifold_differences import displaced


@pytest.mark.parametrize("independent", [["A", "B"], ["A", "D"]])
def test_second_order_in_the_size_of_the_disturbance(independent):
    system = zoo.five_bar().compile()
    rest = da.equilibrium(system, zoo.five_bar_start()[0], solve_for="u")
    model = da.linearize(system, rest.state, u=rest.u, independent=independent)
    step = model.discretize(0.3)
    y = np.array([1.0, -0.6, 0.4, 0.8])
    sizes, errors = np.array([4e-2, 2e-2, 1e-2, 5e-3]), []
    for size in sizes:
        run = da.simulate(system, displaced(model, size * y, 0.0), 0.3, u=rest.u, rtol=1e-12, atol=1e-13)
        errors.append(np.abs(model.deviation(run.state()) - step.A @ (size * y)).max())
    slopes = np.diff(np.log(errors)) / np.diff(np.log(sizes))
    np.testing.assert_allclose(slopes, 2.0, atol=0.15)
