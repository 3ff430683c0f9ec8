"""Accelerations of whole robots at rest, by every route.

The truth is a dense solution by NumPy of Pinocchio's own M, gravity and closure rows, refined; differences are relative
to the largest acceleration. Pinocchio: `constraintDynamics` with μ = 1e-8 and `lcaba` with μ = 1e-6, two proximal
iterations each. MuJoCo's answer is of soft constraints.
"""

from __future__ import annotations

import mujoco
import numpy as np

from benchmarks.robots.files import Robot
from benchmarks.timing import Table, interleaved, python_loop


def table(robots: list[Robot], rounds: int) -> Table:
    """v̇ of each robot by every route."""
    out = Table(
        "Whole robots: acceleration at rest, µs from Python, and differences from the truth",
        ["robot", "nv, rows (rank)", "constraintDynamics", "(error)", "lcaba", "(error)", "MuJoCo",
         "system.acceleration", "(error)", "kernel", "× lcaba", "first answer, s CPU"],
    )  # fmt: skip
    for robot in robots:
        system, x, found, twin = robot.system, robot.start, robot.found, robot.twin
        exact = twin.truth()
        answers = {"ours": found.vdot[twin.order]}
        routes = {"ours": python_loop("f(x)", f=system.acceleration, x=x)}
        kernel = system.kernel("answer")
        known = {
            "q": x.q,
            "v": x.v,
            "tau": np.zeros(system.nv),
            "u": system.arguments.input_vector(None),
            "t": np.zeros(1),
        }
        given = [known[n] for n in kernel.names_in]
        if found.rank == len(system.row_names):
            routes["kernel"] = python_loop("f(*given)", f=kernel, given=given)
        for peer, mu in (("constraintDynamics", 1e-8), ("lcaba", 1e-6)):
            routes[peer], answers[peer] = twin.route(peer, mu, 2)
        soft = robot.mujoco()
        if soft is not None:
            data = mujoco.MjData(soft)
            routes["MuJoCo"] = python_loop("f(m, d)", f=mujoco.mj_forward, m=soft, d=data)
        micro = {n: 1e6 * t for n, t in interleaved(routes, rounds).items()}
        size = np.abs(exact).max()
        error = {n: float(np.abs(a - exact).max() / size) for n, a in answers.items()}
        out.add(
            robot.name, robot.size, micro["constraintDynamics"], error["constraintDynamics"], micro["lcaba"],
            error["lcaba"], micro.get("MuJoCo"), micro["ours"], error["ours"], micro.get("kernel"),
            micro["lcaba"] / micro["ours"], robot.first,
        )  # fmt: skip
    return out
