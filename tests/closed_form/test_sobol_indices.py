"""Sobol indices of outputs of an ensemble against a function whose indices are known."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.stats import sobol_indices, uniform

import dalembert as da


def test_indices_of_ishigamis_function_of_three_parameters():
    """sin a + 7 sin² b + 0.1 c⁴ sin a, a … c uniform in (−π, π) (Ishigami & Homma 1990); c acts only beside a.

    The first order is V_a, V_b, 0 and the total one V_a + V_ac, V_b, V_ac, over V = V_a + V_b + V_ac. The function is
    that of a pendulum's parameters where it hangs at rest, so every row of the samples has to come back in its place.
    """
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    a, b, c = (m.add_parameter(name, 0.1) for name in "abc")
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    system = m.compile()

    def ishigami(t, s):
        return ca.sin(a) + 7.0 * ca.sin(b) ** 2 + 0.1 * c**4 * ca.sin(a) + s["A"]

    def responses(x):
        runs = da.ensemble(
            system, {"A": 0.0}, 1e-3, p=dict(zip("abc", x)), t_eval=[1e-3], outputs={"y": ishigami}, keep="outputs"
        )
        return runs.outputs["y"].T

    found = sobol_indices(func=responses, n=2048, dists=[uniform(-np.pi, 2 * np.pi)] * 3, rng=0)
    V_a = 0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2
    V_b, V_ac = 7.0**2 / 8.0, 0.1**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    V = V_a + V_b + V_ac
    np.testing.assert_allclose(np.ravel(found.first_order), [V_a / V, V_b / V, 0.0], atol=0.02)
    np.testing.assert_allclose(np.ravel(found.total_order), [(V_a + V_ac) / V, V_b / V, V_ac / V], atol=0.02)
