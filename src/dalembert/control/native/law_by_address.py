"""A whole controller in machine code, called like a kernel: q, v and t in, all inputs out.

call_kernel(law.address, x, u, law.work)
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, njit, types

from dalembert.compiler.loops import machine_code
from dalembert.compiler.memory import array_at, floats, integers_at, jump
from dalembert.control.native.law import OK, update
from dalembert.formulations.contract import Options
from dalembert.integrators.records import address, layout, values


class NativeLaw(NamedTuple):
    """A controller for compiled loops; made by `ProjectedControl.native`. Valid as long as it lives itself."""

    address: int
    work: np.ndarray  # what the function at the address needs: the record of `parts`
    parts: Parts


class Parts(NamedTuple):
    """What `follow` needs of a controller, with the lengths of its arrays."""

    nq: int
    nv: int
    nu: int
    na: int
    nx: int
    ny: int
    nw: int
    nflat: int
    nints: int
    ndims: int
    plant: int  # address of the plant's kernel
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


def follow(x, y, law):
    """y (nu,) ← the inputs for q, v and t in x; no numbers where there are none, zero where nothing acts."""
    state, out, given, n = floats(x), floats(y), floats(law.x), law.nq + law.nv
    for i in range(n):
        given[i] = state[i]
    if law.time >= 0:
        given[law.time] = state[n]
    clock, result, inputs = floats(law.clock), floats(law.result), integers_at(law.inputs, (law.na,))
    clock[0] = state[n]
    jump(law.reference, law.clock, law.wish, law.reference_w)
    o = law.options
    outcome = update(
        law.plant, array_at(law.x, (law.nx,)), array_at(law.y, (law.ny,)), array_at(law.w, (law.nw,)),
        array_at(law.flat, (law.nflat,)), integers_at(law.ints, (law.nints,)), integers_at(law.dims, (law.ndims,)),
        Options(o.metric, o.tolerance, o.safety, o.threshold, o.damp, o.variant, o.floor), law.mode, law.kind,
    )  # fmt: skip
    for i in range(law.nu):
        out[i] = 0.0
    for k in range(law.na):
        out[inputs[k]] = result[k] if outcome == OK else float("nan")


@cache
def _address() -> int:
    def make() -> tuple[Any, tuple[Any, ...]]:
        options: Any = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        signature = types.int64, types.int64, from_dtype(layout(Parts))
        return njit(error_model="numpy", nogil=True, **options)(follow), signature

    package = Path(__file__).parent.parent.parent
    folders = [package / name for name in ("control/native", "formulations", "linalg")]
    return machine_code("the law of motion control", folders, make)


def native_law(plant: Any, solver: Any, mode: int, reference: Any) -> NativeLaw:
    """A controller whose reference is a `Trajectory`, as it is now, with memory of its own for each that is made."""
    trajectory, system = reference.kernel, plant.system
    flat, ints, dims = (block.copy() for block in solver._memory)
    x, y, w = (block.copy() for block in (plant.x, plant.y, plant.w))

    def same(view: np.ndarray) -> np.ndarray:
        at = (address(view) - address(solver._memory[0])) // 8
        return flat[at : at + view.size]

    parts = Parts(
        system.nq, system.nv, len(system.u_names), plant.na, len(x), len(y), len(w), len(flat), len(ints), len(dims),
        plant.kernel.address, x, y, w, flat, ints, dims, solver.options, mode, solver.kind, trajectory.address,
        np.zeros(1), same(solver.room.wish), np.zeros(max(1, trajectory.work_size)), plant.time,
        same(solver.room.u), np.array(plant.actuators.inputs, dtype=np.int64),
    )  # fmt: skip
    record = np.array(values(parts), layout(Parts))
    return NativeLaw(_address(), np.frombuffer(record.tobytes()).copy(), parts)
