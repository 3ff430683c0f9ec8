"""One second of motion of whole robots: CPU time of each tool at equal error.

Robots are released at rest; the loops on a base set out turning, or all would fall alike. The error is the largest
distance of a link's centre of mass at the end, in metres, from that of our run with rtol = 1e-12; *agreement* is how
near Pinocchio's finest run came to that one. Every tool tries its settings from coarse to fine; the fastest that
reaches a level counts. Pinocchio: `constraintDynamics` (μ = 1e-8, two iterations, Baumgarte's Kp = 100) integrated by
SciPy's DOP853. MuJoCo: RK4 with constraints as stiff as its step allows. Exudyn: index 2 and 3, of rigid bodies in
absolute coordinates, every joint a constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

import dalembert as da
from benchmarks.robots import with_exudyn
from benchmarks.robots.files import Robot
from benchmarks.timing import Table

mujoco.set_mju_user_warning(lambda text: None)  # of steps that are too long; their errors show it
LEVELS = (1e-3, 1e-6, 1e-9)  # m
LONGEST = 5.0  # s of computing after which a tool gives up
# settings, their motion, which is timed, and the centres of mass at the end of what it returns
Ends = Iterator[tuple[str, Callable[[], Any], Callable[[Any], np.ndarray]]]


def ours(robot: Robot) -> Ends:
    """`da.simulate` over its tolerances."""
    for rtol in 10.0 ** -np.arange(3, 13):

        def motion(rtol: float = float(rtol)) -> da.Run:
            return da.simulate(robot.system, robot.moving, 1.0, rtol=rtol, atol=rtol)

        yield f"{rtol:.0e}", motion, lambda run: robot.twin.centres(robot.twin.theirs(run.q[-1]))


def pinocchio(robot: Robot) -> Ends:
    """SciPy over its tolerances."""
    twin, n = robot.twin, robot.twin.model.nq
    rhs, y0 = twin.rates(), np.concatenate([twin.q, robot.moving.v[twin.order]])
    for tolerance in 10.0 ** -np.arange(3, 13):

        def motion(tolerance: float = float(tolerance)) -> Any:
            return solve_ivp(rhs, (0.0, 1.0), y0, method="DOP853", rtol=tolerance, atol=tolerance)

        yield f"{tolerance:.0e}", motion, lambda run: twin.centres(pin.normalize(twin.model, run.y[:n, -1]))


def with_mujoco(robot: Robot) -> Ends:
    """RK4 over its steps."""
    model = robot.mujoco()
    if model is None:
        return
    twin, data = robot.twin, mujoco.MjData(model)
    names = [twin.tree.links[i].name for i in twin.links]
    order = [(model.joint(name).qposadr[0], model.joint(name).dofadr[0]) for name in names]
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.eq_solimp[:, :3] = 0.9999, 0.9999, 0.001
    q, v = twin.q, robot.moving.v[twin.order]
    for steps in (100, 400, 1600, 6400, 25600):

        def motion(steps: int = steps) -> np.ndarray:
            model.opt.timestep = 1 / steps
            model.eq_solref[:] = 2 / steps, 1.0
            mujoco.mj_resetData(model, data)
            for joint, (at_q, at_v) in zip(twin.model.joints[1:], order):
                here = q[joint.idx_q : joint.idx_q + joint.nq]
                data.qpos[at_q : at_q + joint.nq] = here if joint.nq == 1 else [*here[:-4], here[-1], *here[-4:-1]]
                rate = v[joint.idx_v : joint.idx_v + joint.nv].copy()
                if joint.nq == 7:
                    rate[:3] = pin.Quaternion(here[3:]).matrix() @ rate[:3]
                data.qvel[at_v : at_v + joint.nv] = rate
            mujoco.mj_step(model, data, nstep=steps)
            return data.qpos

        def centres(qpos: np.ndarray) -> np.ndarray:
            out = np.empty(twin.model.nq)
            for joint, (at_q, _) in zip(twin.model.joints[1:], order):
                there = qpos[at_q : at_q + joint.nq]
                out[joint.idx_q : joint.idx_q + joint.nq] = (
                    there if joint.nq == 1 else [*there[:-4], *there[-3:], there[-4]]
                )
            return twin.centres(out)

        yield f"h = 1/{steps}", motion, centres


TOOLS = {"dalembert": ours, "Pinocchio + SciPy": pinocchio, "MuJoCo": with_mujoco, "Exudyn": with_exudyn.ends}


def table(robots: list[Robot], quick: bool) -> Table:
    """CPU ms by tool and level."""
    out = Table(
        "Whole robots: CPU ms of one second of motion, by error at its end",
        ["robot", "error, m", *TOOLS, "× the next", "steps", "passages", "agreement, m"],
    )
    longest = 1.0 if quick else LONGEST
    for robot in robots:
        run = da.simulate(robot.system, robot.moving, 1.0, rtol=1e-12)
        expected = robot.twin.centres(robot.twin.theirs(run.q[-1]))
        tried = {name: list(_tried(tool(robot), expected, longest)) for name, tool in TOOLS.items()}
        finest = min(error for _, error in tried["Pinocchio + SciPy"])
        for level in LEVELS:
            ms = {
                name: 1e3 * min((t for t, error in some if error <= level), default=np.inf)
                for name, some in tried.items()
            }
            mine, *others = ms.values()
            shown = [x if np.isfinite(x) else None for x in ms.values()]
            ratio = min(others) / mine if np.isfinite(min(others)) else None
            out.add(robot.name, f"{level:.0e}", *shown, ratio, run.steps, len(run.passages), finest)
    out.notes.append(f"–: not reached by any setting that takes less than {longest:g} s.")
    return out


def _tried(settings: Ends, expected: np.ndarray, longest: float) -> Iterator[tuple[float, float]]:
    """(CPU s, error) of each setting; the least of several runs where they are short."""
    for _, motion, centres in settings:
        best = np.inf
        with np.errstate(all="ignore"):  # coarse settings go astray, and their errors show it
            for _ in range(12):
                start = process_time()
                found = motion()
                best = min(best, process_time() - start)
                if best > 0.1:
                    break
        error = float(np.linalg.norm(centres(found) - expected, axis=1).max())
        yield best, error if np.isfinite(error) else np.inf
        if best > longest or error < LEVELS[-1]:
            return
