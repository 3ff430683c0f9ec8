"""Ten seconds of motion beside Pinocchio + SciPy: time at three levels of accuracy, errors beside it.

Levels (largest energy and closure error over the run): L1 0.1 J, 1e-3 m; L2 1e-3 J, 1e-6 m; L3 1e-6 J, 1e-9 m.
Each tool tries its methods and tolerances; the fastest setting that reaches a level counts. Pinocchio's accelerations
(`constraintDynamics`, μ = 1e-8, two proximal iterations, Baumgarte Kp = 100) are integrated by SciPy's DOP853, RK45 and
LSODA, as its users do. Closures are judged by our own residuals for both.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

import dalembert as da

from .constrained import Peer
from .description import Model
from .models import consistent_state, five_bar, four_bar, two_arms
from .timing import Table

LEVELS = {"L1": (0.1, 1e-3), "L2": (1e-3, 1e-6), "L3": (1e-6, 1e-9)}
DURATION = 10.0


def errors(system: da.System, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Largest change of energy and largest residual over the states."""
    states = [system.state(a, b) for a, b in zip(q, v)]
    energy = np.array([system.energy(x) for x in states])
    gap = max(np.abs(system.residuals(x)).max() for x in states)
    return float(np.abs(energy - energy[0]).max()), float(gap)


def ours(system: da.System, x: da.State, repeats: int) -> list[tuple[float, float, float]]:
    """(seconds, energy error, closure error) of each setting."""
    out = []
    da.simulate(system, x, 0.01)
    for method in ("dop853", "dopri5"):
        for tolerance in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11):
            times = []
            for _ in range(repeats):
                start = perf_counter()
                run = da.simulate(system, x, DURATION, method=method, rtol=tolerance, atol=tolerance)
                times.append(perf_counter() - start)
            if run.success:
                out.append((min(times), *errors(system, run.q, run.v)))
    return out


def pinocchio(model: Model, system: da.System, x: da.State) -> list[tuple[float, float, float]]:
    """The same for Pinocchio + SciPy."""
    peer = Peer(model, x.q, x.v)
    data, details = peer.model.createData(), pin.StdVec_RigidConstraintData()
    for c in peer.constraints:
        c.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(100.0, 20.0))
        details.append(c.createData())
    pin.initConstraintDynamics(peer.model, data, peer.constraints, details)
    settings, n, tau = pin.ProximalSettings(1e-14, 1e-8, 2), system.nq, peer.tau
    solve, constraints, pin_model = pin.constraintDynamics, peer.constraints, peer.model

    def rhs(t, y):
        return np.concatenate([y[n:], solve(pin_model, data, y[:n], y[n:], tau, constraints, details, settings)])

    out = []
    for method in ("DOP853", "RK45", "LSODA"):
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            start = perf_counter()
            run = solve_ivp(rhs, (0, DURATION), np.r_[x.q, x.v], method=method, rtol=tolerance, atol=tolerance)
            seconds = perf_counter() - start
            if run.success:
                out.append((seconds, *errors(system, run.y[:n].T, run.y[n:].T)))
    return out


def best(results: list[tuple[float, float, float]], level: tuple[float, float]) -> tuple[float, float, float] | None:
    """The fastest that reaches a level."""
    reached = [r for r in results if r[1] <= level[0] and r[2] <= level[1]]
    return min(reached, default=None)


def run(quick: bool = False) -> list[Table]:
    """The table."""
    table = Table(
        "Ten seconds of motion: ms at each level, energy error (J) and closure error (m) of ours, and the ratio",
        ["problem", "level", "ours", "energy", "closure", "Pinocchio + SciPy", "ratio ≥ 5"],
    )
    for model in (five_bar(), four_bar(), two_arms()):
        system = model.mechanism().compile()
        x = system.project(system.state(*consistent_state(model, system)))
        mine, theirs = ours(system, x, 2 if quick else 5), pinocchio(model, system, x)
        for name, level in LEVELS.items():
            a, b = best(mine, level), best(theirs, level)
            ratio = b[0] / a[0] if a and b else None
            table.add(
                model.name, name, 1e3 * a[0] if a else None, a[1] if a else None, a[2] if a else None,
                1e3 * b[0] if b else None, ratio,
            )  # fmt: skip
    return [table]
