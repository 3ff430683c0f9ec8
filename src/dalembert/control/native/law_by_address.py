"""A whole controller in machine code: time and state in, inputs out, for loops that run without Python.

@numba.njit
def step(law, t, q, v, u):
    ask(law, t, q, v, u)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.call import call_kernel
from dalembert.control.native.law import update
from dalembert.formulations.contract import Options
from dalembert.linalg import kernel


class NativeLaw(NamedTuple):
    """What `ask` needs of a controller; made by `ProjectedControl.native`. Valid as long as the controller lives."""

    address: int  # of the plant's kernel
    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    flat: np.ndarray
    ints: np.ndarray
    dims: np.ndarray
    options: Options
    mode: int
    kind: int
    reference: int  # address of the trajectory's kernel
    clock: np.ndarray  # (1,)
    wish: np.ndarray  # (3 nt,) in flat
    reference_w: np.ndarray
    time: int  # place of t in x, or −1
    result: np.ndarray  # (na,) in flat
    inputs: np.ndarray  # (na,) which inputs the actuators are


@kernel
def ask(law, t, q, v, u):
    """u (nu,) ← the inputs at time t in the state (q, v). Returns the outcome; inputs that are not used stay."""
    nq = q.shape[0]
    for i in range(nq):
        law.x[i] = q[i]
    for i in range(v.shape[0]):
        law.x[nq + i] = v[i]
    if law.time >= 0:
        law.x[law.time] = t
    law.clock[0] = t
    call_kernel(law.reference, law.clock, law.wish, law.reference_w)  # type: ignore[call-arg]
    outcome = update(law.address, law.x, law.y, law.w, law.flat, law.ints, law.dims, law.options, law.mode, law.kind)
    for k in range(law.inputs.shape[0]):
        u[law.inputs[k]] = law.result[k]
    return outcome


def native_law(plant: Any, solver: Any, mode: int, reference: Any) -> NativeLaw:
    """The parts of a controller whose reference is a `Trajectory`."""
    trajectory = reference.kernel
    flat, ints, dims = solver._memory
    return NativeLaw(
        plant.kernel.address, plant.x, plant.y, plant.w, flat, ints, dims, solver.options, mode, solver.kind,
        trajectory.address, np.zeros(1), solver.room.wish, np.zeros(max(1, trajectory.work_size)),
        plant.time, solver.room.u, np.array(plant.actuators.inputs, dtype=np.int64),
    )  # fmt: skip
