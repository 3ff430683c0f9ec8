"""Velocities as runs integrate them, v or total rates, and from total rates back to v."""

from __future__ import annotations

import numpy as np

from dalembert.integrators.run_record import JointRates
from dalembert.native import library
from dalembert.native.bound import Bound
from dalembert.simulation.setup import TOTAL_RATES, Setup
from dalembert.system.state import State


def integrated(setup: Setup, state: State) -> np.ndarray:
    """Velocities that are integrated, (nv,): v or its total rates."""
    formulation = setup.formulation
    if formulation not in TOTAL_RATES:
        return state.v
    return setup.system.diagonal.total_rates(state, normalized=formulation == "total_rates", p=setup.p)


def of_joint_rates(setup: Setup, function: Bound) -> Bound:
    """A controller, or events, as the loop calls it: of q and v whatever is integrated."""
    formulation, system = setup.formulation, setup.system
    if formulation not in TOTAL_RATES:
        return function
    convert = Bound.of(system.kernel(f"joint_rates{TOTAL_RATES[formulation]}"), {"p": setup.p})
    struct = JointRates(nq=system.nq, nv=system.nv, given=function.nx, inner=function, convert=convert)
    x, y = np.zeros(function.nx), np.zeros(function.ny)
    return Bound.around(library.address("in_joint_rates"), x, y, struct, function.time_index, function.owner)


def velocities(setup: Setup, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """v, (N, nv), of what was integrated."""
    if setup.formulation not in TOTAL_RATES or not len(q):
        return rates
    kernel = setup.system.kernel(f"joint_rates{TOTAL_RATES[setup.formulation]}")
    known = {"q": np.ascontiguousarray(q), "dq": np.ascontiguousarray(rates), "p": setup.p}
    return kernel.batch(*(known[name] for name in kernel.names_in))
