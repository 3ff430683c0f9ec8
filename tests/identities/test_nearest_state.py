"""Back to the manifold by the shortest way: against a general optimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dalembert import zoo


@pytest.mark.parametrize("seed", range(4))
def test_positions_velocities_and_energy_are_restored_at_the_nearest_state(seed):
    """In the mass metric of (q, v); the way that forgets how A v changes with q is longer by 1e-4 to 1e-3 of itself."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.8}, v={"A": 2.0})
    energy, n, kernel = system.energy(x), system.nv, system.kernel("restore")
    off = 1e-2 * np.random.default_rng(seed).standard_normal(2 * n)
    y = system.state(system.plus(x, off[:n]), x.v + off[n:])
    M = system.mass_matrix(y)

    def way(z):
        a, b = z[:n] - y.q, z[n:] - y.v
        return a @ M @ a + b @ M @ b

    def missed(z):
        at = system.state(z[:n], z[n:])
        return np.concatenate([system.residuals(at), system.speed_residuals(at), [system.energy(at) - energy]])

    z = np.concatenate([y.q, y.v])
    for _ in range(10):
        known = {"q": z[:n], "v": z[n:], "energy": np.array([energy])}
        z = np.concatenate(kernel(*(known[name] for name in kernel.names_in))[:2])
    assert np.abs(missed(z)).max() < 1e-13
    options = {"ftol": 1e-16, "maxiter": 300}
    best = minimize(way, z, constraints={"type": "eq", "fun": missed}, method="SLSQP", options=options)
    assert way(z) ** 0.5 == pytest.approx(best.fun**0.5, rel=5e-5)
