"""The cone of many loops by elements: what decompositions of all rows tell of it."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.simulation.singular import passages
from dalembert.simulation.singular.local_cone import ElementRows, LocalCone


@pytest.mark.parametrize("loops", [2, 5, 20, 40])
@pytest.mark.parametrize("angle", [1e-11, 1e-6, np.pi - 1e-8])
def test_a_cone_by_elements_is_the_cone(loops, angle):
    """Singular values, the projection of a velocity, the nearest motion and how fast the position opens."""
    system = zoo.ladder(loops).compile()
    p, u = system.arguments.parameter_vector(None), system.arguments.input_vector(None)
    x = system.state(*zoo.ladder_start(loops, angle, -3.0))
    tangent = tangent_of_motion(system, x, p)
    dense = TangentCone.of(system, x, p, loops, 2 * loops, tangent, u)
    rows = ElementRows.of(system, x, p)
    np.testing.assert_allclose(rows.singular_values()[::-1], tangent.sigma, rtol=0, atol=5e-8)
    cone = LocalCone.of(system, x, p, rows, loops)
    assert cone is not None
    assert cone.U.shape[0] == loops
    aside = x.v + 0.3 * np.random.default_rng(loops).standard_normal(system.nv)
    for v in (x.v, aside):
        y, d = dense.local(v), cone.local(v)
        scale = np.abs(v).max()
        np.testing.assert_allclose(d, dense.K @ y, rtol=0, atol=(1e-10 + 10 * abs(np.sin(angle))) * scale)
        assert cone.length(d) == pytest.approx(np.linalg.norm(y), rel=1e-5)
        assert cone.opening(d) == pytest.approx(dense.opening(y), rel=1e-4)
    on, near = dense.nearest(dense.local(x.v)), cone.nearest(cone.local(x.v))
    np.testing.assert_allclose(near, dense.K @ on, rtol=0, atol=1e-4)
    assert np.abs(cone(near)).max() < 1e-9 * 9 * loops
    assert cone.selects(near) == dense.selects(on)


@pytest.mark.parametrize(("loops", "rtol"), [(2, 1e-8), (5, 1e-10), (20, 1e-8), (40, 1e-5), (40, 1e-10)])
def test_verdicts_on_passages_do_not_depend_on_the_route(loops, rtol):
    system = zoo.ladder(loops).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(loops)), 2.0, rtol=rtol, atol=0.1 * rtol)
    assert len(run._met) == 2
    for met in run._met:
        x, u = system.state(np.array(met.q), np.array(met.v), met.t), system.arguments.input_vector(None)
        dense, sparse = passages._seen(system, run.p, met, x, u), passages._seen_in_many_loops(system, run.p, met, x)
        assert sparse.rank == dense.rank == loops
        assert sparse.rows == dense.rows
        assert sparse.branches == dense.branches == "several"
        assert sparse.determined == dense.determined
        assert sparse.distance == pytest.approx(dense.distance, rel=1e-2)
        assert sparse.gap == pytest.approx(dense.gap, rel=1e-2)


def test_dependencies_between_loops_are_left_to_decompositions():
    """Two loops that carry one body twice: no loop is singular by itself, so elements do not tell."""
    system = zoo.planar_3rrr().compile()
    x, p = system.state(), system.arguments.parameter_vector(None)
    assert LocalCone.of(system, x, p, ElementRows.of(system, x, p), 1) is None
