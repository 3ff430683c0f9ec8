"""Back to the manifold by the shortest way: against a general optimizer."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from dalembert import zoo
from dalembert.analysis.mobility import independent_rows

sys.path.append(str(Path(__file__).parents[1] / "campaign"))
from plans import build, random_plan

RATE = 3.0  # 1/s, of steps: what makes positions and velocities comparable
OFF = 1e-3


def four_bar(seed):
    system = zoo.four_bar().compile(backend="casadi")
    return system, system.assemble({"A": 0.8 + 0.1 * seed}, v={"A": 5.0})


def disc(seed):
    system = zoo.rolling_disc().compile(backend="casadi")
    return system, system.state(*zoo.rolling_disc_start(lean=0.3, yaw_rate=1.0))


def random(seed):
    """A closed mechanism of the campaign in space, with quaternions, drivers or rolling, at its own rate."""
    plan = random_plan(seed)
    system = build(plan)
    return system, system.project(system.state(plan.q, 3.0 * plan.v))


def restored(system, x, rows, energy):
    """The state to which the kernel's steps lead."""
    kernel, q, v = system.kernel("restore", rows=rows), x.q, x.v
    for _ in range(12):
        known = {"q": q, "v": v, "energy": [energy], "step": [1 / RATE], "rate": [1.0], "unit": [1.0]}
        q, v = kernel(*(np.asarray(known.get(name, 0.0), dtype=float) for name in kernel.names_in))[:2]
    return system.state(q, v, x.t)


@pytest.mark.parametrize(
    ("make", "seed"), [(four_bar, 0), (four_bar, 3), (disc, 0), *((random, k) for k in (13, 16, 50, 71))]
)
def test_positions_velocities_and_energy_are_restored_at_the_nearest_state(make, seed):
    """In the metric δqᵀ M δq / h² + δvᵀ M δv; without ∂(A v)/∂q the way is longer by 1e-4 and more."""
    system, x = make(seed)
    rows = independent_rows(system, x, None) or tuple(range(len(system.rows.of)))
    closed = [k for k in rows if system.rows.holonomic[k]]
    energy, n, rng = system.energy(x), system.nv, np.random.default_rng(seed)
    z = OFF * rng.standard_normal(2 * n)
    y = system.state(system.plus(x, z[:n]), x.v + RATE * z[n:])
    M = system.mass_matrix(y)
    L = np.linalg.cholesky(M).T / np.sqrt(np.trace(M) / n)

    def at(w):  # w: the way in units of OFF, Euclidean
        d = OFF * np.linalg.solve(L, w.reshape(2, n).T).T
        return system.state(system.plus(y, d[0]), y.v + RATE * d[1], y.t)

    def missed(w):
        there = at(w)
        gap = (system.energy(there) - energy) / (OFF * np.trace(M) / n * RATE**2)
        gaps = system.residuals(there)[closed], system.speed_residuals(there)[list(rows)] / RATE
        return np.concatenate([*gaps, [gap * OFF]]) / OFF

    def way(there):
        d = np.array([system.minus(there, y), (there.v - y.v) / RATE])
        return np.linalg.norm(L @ d.T) / OFF

    best = minimize(
        lambda w: w @ w, np.zeros(2 * n), jac=lambda w: 2 * w, method="SLSQP",
        constraints={"type": "eq", "fun": missed}, options={"ftol": 1e-15, "maxiter": 50},
    )  # fmt: skip
    found = restored(system, y, rows, energy)
    assert np.abs(system.residuals(found)).max() < 1e-13
    assert abs(system.energy(found) - energy) < 1e-12 * abs(energy)
    assert way(found) < (1 + 5e-6) * best.fun**0.5
