"""Linear models of whole robots at rest.

`da.linearize` gives Â in as many coordinates as there are degrees of freedom; Pinocchio's `constraintDynamics` with
`computeConstraintDynamicsDerivatives` gives ∂v̇/∂q and ∂v̇/∂v in all coordinates, off the loops too. Both are compared
with differences (fourth order) of the dense truth along the manifold: one coordinate moved, the others by `project`.
At rest ∂v̇/∂v is zero, so that Â's lower left is all there is to compare.
"""

from __future__ import annotations

from time import process_time

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks.robots.files import Robot
from benchmarks.timing import Loop, Table, interleaved, python_loop

STEP = 1e-3  # rad or m, of the differences


def table(robots: list[Robot], rounds: int) -> Table:
    """Â of each robot."""
    out = Table(
        "Whole robots: linear models at rest, µs from Python, and differences from the truth",
        ["robot", "dof of nv", "da.linearize", "(error)", "Pinocchio", "(error)", "× Pinocchio", "MuJoCo, FD",
         "first answer, s CPU"],
    )  # fmt: skip
    for robot in robots:
        out.add(robot.name, *_row(robot, rounds))
    return out


def _row(robot: Robot, rounds: int) -> list:
    system, x = robot.system, robot.start
    start = process_time()
    linear = da.linearize(system, x)
    first = process_time() - start
    op = linear.operating
    dof = len(op.speeds)
    rows = [c.index for c in op.speeds]
    expected = _differences(robot, op.Kq)[rows]
    size = np.abs(expected).max()
    names = list(linear.velocities)
    theirs, slope = _pinocchio(robot)
    routes = {
        "ours": python_loop("f(s, x, independent=n)", f=da.linearize, s=system, x=x, n=names),
        "Pinocchio": theirs,
    }
    soft = robot.mujoco()
    if soft is not None:
        routes["MuJoCo"] = _mujoco(soft)
    micro = {n: 1e6 * t for n, t in interleaved(routes, rounds).items()}
    off = [float(np.abs(a - expected).max() / size) for a in (linear.A[dof:, :dof], (slope @ op.Kq)[rows])]
    ratio = micro["Pinocchio"] / micro["ours"]
    return [
        f"{dof} of {system.nv}",
        micro["ours"],
        off[0],
        micro["Pinocchio"],
        off[1],
        ratio,
        micro.get("MuJoCo"),
        first,
    ]


def _differences(robot: Robot, K: np.ndarray) -> np.ndarray:
    """(nv, dof) slopes of the true v̇ at rest along the columns of K."""
    system, x, twin = robot.system, robot.start, robot.twin
    back = np.argsort(twin.order)

    def field(direction: np.ndarray, length: float) -> np.ndarray:
        near = system.project(system.state(system.plus(x, length * direction)))
        return twin.truth(twin.theirs(near.q))[back]

    out = []
    for k in range(K.shape[1]):
        h = STEP / np.abs(K[:, k]).max()
        f = {n: field(K[:, k], n * h) for n in (-2, -1, 1, 2)}
        out.append((8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h))
    return np.array(out).T


def _pinocchio(robot: Robot) -> tuple[Loop, np.ndarray]:
    """A loop of its dynamics and derivatives, and ∂v̇/∂q in our order."""
    twin = robot.twin
    data, details = twin.model.createData(), pin.StdVec_RigidConstraintData()
    for c in twin.constraints:
        details.append(c.createData())
    pin.initConstraintDynamics(twin.model, data, twin.constraints, details)
    settings = pin.ProximalSettings(1e-12, 1e-8, 2)

    def loop(count: int) -> None:
        for _ in range(count):
            pin.constraintDynamics(twin.model, data, twin.q, twin.v, twin.tau, twin.constraints, details, settings)
            pin.computeConstraintDynamicsDerivatives(twin.model, data, twin.constraints, details, settings)

    loop(1)
    back = np.argsort(twin.order)
    return loop, data.ddq_dq[np.ix_(back, back)]


def _mujoco(model: mujoco.MjModel) -> Loop:
    """A loop of its transition matrices by centred differences."""
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # it differentiates no other explicit one
    data, A = mujoco.MjData(model), np.zeros((2 * model.nv, 2 * model.nv))
    given = {"f": mujoco.mjd_transitionFD, "m": model, "d": data, "A": A}
    return python_loop("f(m, d, 1e-6, True, A, None, None, None)", **given)
