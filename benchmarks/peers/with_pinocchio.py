"""Pinocchio's accelerations integrated by SciPy, as its users do.

`constraintDynamics` with μ = 1e-8 (its defaults give NaN on planar loops, whose rows are redundant) and at most two
proximal iterations, or ten on the ladder that becomes singular, and for ladders also the loop-constrained
articulated-body algorithm `lcaba`, which grows more slowly with their length. Baumgarte's Kp = 100.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from benchmarks.motions import NOWHERE, Motion, Outcome
from benchmarks.peers import Families, Setting

METHODS = ("DOP853", "RK45", "LSODA")
TOLERANCES = [10.0**-k for k in range(3, 14)]


def families(motion: Motion) -> Families:
    """SciPy's methods over their tolerances, for each algorithm."""
    singular, ladder = "A02" in motion.name, motion.name.startswith("P5")
    rates = {"": accelerations(motion, "constraintDynamics", 1e-8, 10 if singular else 2)}
    if ladder:
        rates["lcaba "] = accelerations(motion, "lcaba", 1e-6, 2)
    n, y0 = len(motion.q), np.r_[motion.q, motion.v]

    def solve(rhs, method: str, tolerance: float, duration: float):
        return solve_ivp(rhs, (0.0, duration), y0, method=method, rtol=tolerance, atol=tolerance)

    def judge(run) -> Outcome:
        return motion.judge(run.y[:n].T, run.y[n:].T) if run.success else NOWHERE

    return [
        [Setting(f"{name}{method} {tol:.0e}", partial(solve, rhs, method, tol), judge) for tol in TOLERANCES]
        for name, rhs in rates.items()
        for method in METHODS
    ]


def accelerations(motion: Motion, algorithm: str, mu: float, iterations: int):
    """(t, y) → ẏ."""
    model, constraints = motion.pinocchio, motion.model.pinocchio_closures(motion.pinocchio)
    data, details = model.createData(), pin.StdVec_RigidConstraintData()
    for c in constraints:
        c.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(100.0, 20.0))
        details.append(c.createData())
    if algorithm == "lcaba":
        pin.computeJointMinimalOrdering(model, data, constraints)
    else:
        pin.initConstraintDynamics(model, data, constraints, details)
    f, settings = getattr(pin, algorithm), pin.ProximalSettings(1e-14, mu, iterations)
    n, tau = model.nq, np.zeros(model.nv)

    def rhs(t, y):
        v = y[n:]
        return np.concatenate([v, f(model, data, y[:n], v, tau, constraints, details, settings)])

    return rhs
