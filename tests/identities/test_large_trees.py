"""The Jacobian of the right-hand side of large trees, by columns of joints, against automatic differentiation."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.simulation.large import make_large_slope
from random_mechanisms import random_state, random_tree

KINDS = (da.Revolute, da.Prismatic, da.Spherical, da.Universal, da.Cylindrical, da.Free)


@pytest.mark.parametrize("seed", range(3))
def test_the_jacobian_of_a_tree_is_that_of_its_accelerations(seed):
    """∂(q̇, v̇)/∂(q, v) with quaternions, springs, dampers, an input, a parameter and a force that knows the time."""
    m = random_tree(seed, 14, KINDS, floating=seed == 0)
    first, last = m.bodies["body1"], m.bodies["body13"]
    k = m.add_parameter("k", 40.0)
    m.add_spring("rope", first.at(0.1, 0, 0), last.at(0, 0.2, 0), stiffness=k, rest_length=0.3, damping=2.0)
    m.add_motor("motor", next(name for name, j in m.joints.items() if isinstance(j.joint, (da.Revolute, da.Prismatic))))
    gust = lambda s: (0.0, 3.0 * ca.sin(s.t), 2.0 * s.position("body13")[0])  # noqa: E731
    m.add_wrench("gust", last.at(0, 0, 0.1), force=gust)
    system = m.compile(backend="casadi")
    assert system.nv > 20
    x, u, p, t = random_state(system, seed), [0.7], [55.0], 0.4
    bound = make_large_slope(system, None, np.array(p))
    n = system.nq + system.nv
    bound.x[n : n + 1] = u
    J = bound.at(t, np.concatenate([x.q, x.v])).reshape(n, n)
    f = system.function("ode")
    given = {"q": ca.SX.sym("q", system.nq), "v": ca.SX.sym("v", system.nv), "u": u, "p": p, "t": t}
    rate = ca.vertcat(*f(*(given[name] for name in f.name_in()))[:2])
    known = ca.vertcat(given["q"], given["v"])
    rng = np.random.default_rng(seed)
    way = np.concatenate([system.rates(x.replace(v=rng.normal(size=system.nv))), rng.normal(size=system.nv)])
    along = ca.Function("along", [known], [ca.jtimes(rate, known, ca.SX(way))])
    expected = np.array(along(np.concatenate([x.q, x.v]))).ravel()
    np.testing.assert_allclose(J @ way, expected, atol=1e-9 * np.abs(expected).max())
