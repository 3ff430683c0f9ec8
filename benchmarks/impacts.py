"""A thousand impacts: a pendulum that swings against a stop, beside MuJoCo and Exudyn.

A point mass on a rod of 1 m is let go at 1 rad and hits a stop where it hangs straight down, with restitution e. With
k = sin(amplitude/2) every hit makes k ← e k, and between hits sin(θ/2) = k sn(ω t, k): all are measured by this closed
form. Ours finds the impacts as events. The peers' stops are a spring and damper of the same restitution, in MuJoCo with
contacts that last six steps, in Exudyn with DOPRI5 in steps up to 0.01 s; README.md lists the settings tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from time import process_time

import mujoco
import numpy as np
from scipy.special import ellipj, ellipk

import dalembert as da
from benchmarks.timing import Table

sys.exudynFast = True  # type: ignore[attr-defined]
with redirect_stdout(None):  # it says that it is the fast one
    import exudyn as exu
from exudyn.itemInterface import (  # noqa: E402
    MarkerNodeCoordinate,
    NodeGenericData,
    NodeGenericODE2,
    NodePointGround,
    ObjectConnectorCoordinateSpringDamperExt,
    ObjectKinematicTree,
    SensorNode,
)

HITS, START, E, G = 1000, 1.0, 0.999, 9.81
END, SAMPLE = 1029.5, 0.25  # s: after the last hit; of the angles that are compared
STIFF = 1e10  # N m/rad, of Exudyn's stop
OMEGA = np.sqrt(G)  # of small swings, 1/s
ZETA = -np.log(E) / np.hypot(np.pi, np.log(E))  # of a damped spring that gives the speed E back
Course = tuple[np.ndarray, np.ndarray]  # times, angles
Solve = Callable[[float], Course]  # of the time at the end
MUJOCO = (("Euler", 1e-3), ("RK4", 1e-3), ("Euler", 1e-4))
XML = """<mujoco><option timestep="{h}" integrator="{method}" gravity="0 -{g} 0"/><worldbody><body>
<joint axis="0 0 1" limited="true" range="0 180" solreflimit="-{stiffness} -{damping}" solimplimit=".9999 .9999 1"/>
<inertial pos="0 -1 0" mass="1" diaginertia="1e-12 1e-12 1e-12"/></body></worldbody></mujoco>"""


def run(quick: bool = False) -> list[Table]:
    """Largest errors of the angle up to 10, 100 and 1000 impacts, and the time of the whole run."""
    table = Table(
        "A thousand impacts: largest error of the angle, rad, and seconds of CPU",
        ["route", "up to 10 impacts", "up to 100", "up to 1000", "CPU s"],
    )
    routes = {f"ours, rtol {rtol:g}": ours(rtol) for rtol in (1e-4, 1e-6, 1e-9)}
    routes |= {f"MuJoCo, {method}, h = {h:g} s": with_mujoco(method, h) for method, h in MUJOCO[: 2 if quick else 3]}
    routes |= {f"Exudyn, tolerance {tol:g}": with_exudyn(tol) for tol in (1e-8, 1e-10, 1e-12)}
    for name, solve in routes.items():
        solve(5.0)  # compiles and warms
        spent = float("inf")
        for _ in range(1 if quick else 2):
            start = process_time()
            t, angle = solve(END)
            spent = min(spent, process_time() - start)
        error = np.abs(angle - exact(t))
        table.add(name, *(float(error[t < END * part].max()) for part in (0.01, 0.1, 2.0)), spent)
    return [table]


def exact(t: np.ndarray) -> np.ndarray:
    """Angles (rad) at times t (s)."""
    k = np.sin(START / 2) * E ** np.arange(HITS + 2)  # before the first hit, and after each
    quarter = ellipk(k**2) / OMEGA
    hit = quarter[0] + np.concatenate([[-2 * quarter[0], 0.0], 2 * np.cumsum(quarter[1:-1])])
    swing = np.searchsorted(hit, t, side="right") - 1
    return 2 * np.arcsin(k[swing] * ellipj(OMEGA * (t - hit[swing]), k[swing] ** 2)[0])


def ours(rtol: float) -> Solve:
    """Tolerances rtol and rtol / 10."""
    m = da.Mechanism("pendulum", gravity=(0, -G, 0))
    bob = m.add_body("bob", mass=1.0, com=(0, -1.0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob, limits=(0.0, np.pi), stops=da.Stops(restitution=E))
    system = m.compile()

    def solve(end: float) -> Course:
        run = da.simulate(system, {"A": START}, end, rtol=rtol, atol=rtol / 10, t_eval=np.arange(0.0, end, SAMPLE))
        assert end < END or len(run.switches) == HITS
        return run.t, run["A"]

    return solve


def with_mujoco(method: str, h: float) -> Solve:
    """method: an integrator; h: its step, s."""
    root = np.pi / (6 * h)  # of the stiffness: a contact lasts six steps
    xml = XML.format(h=h, method=method, g=G, stiffness=root**2, damping=2 * ZETA * root)
    model = mujoco.MjModel.from_xml_string(xml)

    def solve(end: float) -> Course:
        data, course = mujoco.MjData(model), []
        data.qpos[0] = START
        for _ in range(int(end / SAMPLE)):
            mujoco.mj_step(model, data, nstep=round(SAMPLE / h))
            course.append((data.time, data.qpos[0]))
        t, angle = np.array(course).T
        return t, angle

    return solve


def with_exudyn(tolerance: float) -> Solve:
    """DOPRI5 in one coordinate."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    node = mbs.AddNode(
        NodeGenericODE2(
            referenceCoordinates=[0.0],
            initialCoordinates=[START],
            initialCoordinates_t=[0.0],
            numberOfODE2Coordinates=1,
        )
    )
    mbs.AddObject(
        ObjectKinematicTree(
            nodeNumber=node,
            gravity=[0, -G, 0],
            jointTypes=[exu.JointType.RevoluteZ],
            linkParents=[-1],
            jointTransformations=exu.Matrix3DList([np.eye(3)]),
            jointOffsets=exu.Vector3DList([[0, 0, 0]]),
            linkInertiasCOM=exu.Matrix3DList([np.zeros((3, 3))]),
            linkCOMs=exu.Vector3DList([[0, -1.0, 0]]),
            linkMasses=[1.0],
        )
    )
    ground = mbs.AddNode(NodePointGround())
    markers = [mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=n, coordinate=0)) for n in (ground, node)]
    mbs.AddObject(
        ObjectConnectorCoordinateSpringDamperExt(
            markerNumbers=markers,
            nodeNumber=mbs.AddNode(NodeGenericData(initialCoordinates=[0, 0, 0], numberOfDataCoordinates=3)),
            useLimitStops=True,
            limitStopsLower=0.0,
            limitStopsUpper=np.pi,
            limitStopsStiffness=STIFF,
            limitStopsDamping=2 * ZETA * np.sqrt(STIFF),
        )
    )
    kind = exu.OutputVariableType.Coordinates
    sensor = mbs.AddSensor(SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind))
    mbs.Assemble()
    s = exu.SimulationSettings()
    s.solution.file.write, s.solution.sensors.writePeriod = False, SAMPLE
    t = s.timeIntegration
    t.verboseMode, t.minimumStepSize = 0, 1e-14
    t.absoluteTolerance = t.relativeTolerance = tolerance

    def solve(end: float) -> Course:
        t.endTime, t.numberOfSteps = end, round(end / 0.01)
        mbs.SolveDynamic(s, solverType=exu.DynamicSolverType.DOPRI5)
        times, angles = mbs.GetSensorStoredData(sensor).T
        return times, angles

    return solve
