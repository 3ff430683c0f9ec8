"""Exudyn's fast module: rigid bodies in absolute coordinates, every joint a constraint.

Generalized-alpha (index 3, spectral radius 0.9) and the trapezoidal rule (index 2). Planar problems use its planar
bodies, P3 spatial ones with rotation vectors. Errors are measured on a second run with sensors, which the timed one
does without: the largest change of Σ ½ m v² + ½ ωᵀJω − m g·r, and the largest gap of all joints and closures.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial

import numpy as np
import pinocchio as pin

sys.exudynFast = True  # type: ignore[attr-defined]

with redirect_stdout(None):  # it says that it is the fast one
    import exudyn as exu
from exudyn.itemInterface import (  # noqa: E402
    LoadForceVector,
    MarkerBodyPosition,
    NodeRigidBody2D,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    SensorBody,
)
from exudyn.rigidBodyUtilities import RigidBodyInertia  # noqa: E402

from benchmarks.description import AXES, WORLD  # noqa: E402
from benchmarks.motions import NOWHERE, Motion, Outcome  # noqa: E402
from benchmarks.peers import Families, Setting  # noqa: E402

exu.config.printToConsole = False
STEPS = [1 / n for n in (20, 40, 80, 160, 320, 640, 1280, 2500, 5000, 10000, 20000)]
SAMPLE = 0.02  # s, of the sensors


def families(motion: Motion) -> Families:
    """Both methods over their steps."""
    silent, watched = Multibody(motion), Multibody(motion, sensors=True)

    def solve(trapezoidal: bool, h: float, duration: float):
        return trapezoidal, h, duration, silent.solve(trapezoidal, h, duration)

    def judge(run) -> Outcome:
        trapezoidal, h, duration, success = run
        return watched.outcome() if success and watched.solve(trapezoidal, h, duration) else NOWHERE

    return [
        [Setting(f"{name}, h = {h:g}", partial(solve, trapezoidal, h), judge) for h in STEPS]
        for name, trapezoidal in (("trapezoidal", True), ("generalized-alpha", False))
    ]


class Multibody:
    """The model in Exudyn, with or without sensors."""

    def __init__(self, motion: Motion, sensors: bool = False):
        self.motion, self.model = motion, motion.pinocchio
        self.planar = all(link.axis == "z" for link in motion.model.links)
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.ground = self.mbs.AddObject(ObjectGround())
        self.data = self.model.createData()
        pin.forwardKinematics(self.model, self.data, motion.q, motion.v)
        self.bodies = [self._body(k + 1) for k in range(len(motion.model.links))]
        self.points = [self._joint(k, link) for k, link in enumerate(motion.model.links)]
        self.points += [p for c in motion.model.closures for p in self._closure(c)]
        self.sensors = self._sensors() if sensors else None
        self.mbs.Assemble()

    # --- building -----------------------------------------------------------------------------------------------

    def _body(self, joint: int):
        """A link (with what it carries), its frame in its centre of mass."""
        inertia, place = self.model.inertias[joint], self.data.oMi[joint]
        twist = pin.getVelocity(self.model, self.data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        r = place.act(inertia.lever)
        v = twist.linear + np.cross(twist.angular, r - place.translation)
        weight = inertia.mass * np.array(self.motion.model.gravity)
        if self.planar:
            angle = float(np.arctan2(place.rotation[1, 0], place.rotation[0, 0]))
            node = self.mbs.AddNode(
                NodeRigidBody2D(referenceCoordinates=[*r[:2], angle], initialVelocities=[*v[:2], twist.angular[2]])
            )
            body = self.mbs.AddObject(
                ObjectRigidBody2D(mass=inertia.mass, inertia=inertia.inertia[2, 2], nodeNumber=node)
            )
            marker = self.mbs.AddMarker(MarkerBodyPosition(bodyNumber=body))
            self.mbs.AddLoad(LoadForceVector(markerNumber=marker, loadVector=list(weight)))
            return body
        return self.mbs.CreateRigidBody(
            referencePosition=list(r),
            referenceRotationMatrix=place.rotation,
            initialVelocity=list(v),
            initialAngularVelocity=list(twist.angular),
            inertia=RigidBodyInertia(mass=inertia.mass, inertiaTensor=inertia.inertia, com=[0, 0, 0]),
            gravity=list(self.motion.model.gravity),
            nodeType=exu.NodeType.RotationRotationVector,
        )

    def _on(self, link: int, at) -> tuple:
        """(body, place in its own frame) of a point of a link."""
        if link == WORLD:
            return self.ground, np.array(at)
        return self.bodies[link], np.array(at) - self.model.inertias[link + 1].lever

    def _pin(self, a: tuple, b: tuple, axis: str) -> tuple:
        if self.planar:
            markers = [self.mbs.AddMarker(MarkerBodyPosition(bodyNumber=i, localPosition=list(x))) for i, x in (a, b)]
            self.mbs.AddObject(ObjectJointRevolute2D(markerNumbers=markers))
        else:
            self.mbs.CreateRevoluteJoint(
                itemNumbers=[b[0], a[0]], position=list(b[1]), axis=list(AXES[axis]), useGlobalFrame=False
            )
        return a, b

    def _joint(self, k: int, link) -> tuple:
        return self._pin(self._on(link.parent, link.at), self._on(k, (0.0, 0.0, 0.0)), link.axis)

    def _closure(self, c) -> list[tuple]:
        a, b = self._on(c.a, c.at_a), self._on(c.b, c.at_b)
        if c.kind != "fixed":
            return [self._pin(a, b, c.kind)]
        self.mbs.CreateGenericJoint(
            itemNumbers=[b[0], a[0]], position=list(b[1]), constrainedAxes=[1] * 6, useGlobalFrame=False
        )
        # points a metre away show what it turns
        return [((a[0], a[1] + c.rotation_a @ e), (b[0], b[1] + e)) for e in (np.zeros(3), *np.eye(3))]

    def _sensors(self) -> dict:
        kinds = exu.OutputVariableType

        def add(body, kind, at=(0.0, 0.0, 0.0)):
            return self.mbs.AddSensor(
                SensorBody(bodyNumber=body, localPosition=list(at), storeInternal=True, outputVariableType=kind)
            )

        out = {"gaps": [tuple(add(b, kinds.Position, at) for b, at in pair) for pair in self.points]}
        for name, kind in (
            ("r", kinds.Position), ("v", kinds.Velocity), ("omega", kinds.AngularVelocityLocal),
            ("R", kinds.RotationMatrix),
        ):  # fmt: skip
            out[name] = [add(body, kind) for body in self.bodies]
        return out

    # --- running ------------------------------------------------------------------------------------------------

    def solve(self, trapezoidal: bool, h: float, duration: float) -> bool:
        """A run; whether it came to its end."""
        s = exu.SimulationSettings()
        s.solution.file.write, s.solution.sensors.writePeriod = False, SAMPLE
        s.solution.sensors.active = self.sensors is not None
        t = s.timeIntegration
        t.numberOfSteps, t.endTime, t.verboseMode = round(duration / h), duration, 0
        t.adaptiveStep = False
        t.newton.useModifiedNewton = True
        t.newton.relativeTolerance = 1e-10
        t.generalizedAlpha.spectralRadius = 0.9
        t.generalizedAlpha.useNewmark = t.generalizedAlpha.useIndex2Constraints = trapezoidal
        large = len(self.bodies) > 10
        s.linearSolver.solverType = exu.LinearSolverType.EigenSparse if large else exu.LinearSolverType.EXUdense
        try:
            return bool(self.mbs.SolveDynamic(s))
        except Exception:  # its own error, for steps that do not converge
            return False

    def outcome(self) -> Outcome:
        """Of the run just done with sensors."""

        def read(i):
            return self.mbs.GetSensorStoredData(i)[:, 1:]

        energy, gravity = 0.0, np.array(self.motion.model.gravity)
        for k in range(len(self.bodies)):
            r, v, omega = (read(self.sensors[name][k]) for name in ("r", "v", "omega"))
            body = self.model.inertias[k + 1]
            turning = np.einsum("ti,ij,tj->t", omega, body.inertia, omega)
            energy = energy + 0.5 * body.mass * (v**2).sum(1) + 0.5 * turning - body.mass * (r @ gravity)
        closure = max(np.linalg.norm(read(a) - read(b), axis=1).max() for a, b in self.sensors["gaps"])
        R = read(self.sensors["R"][0])[-1]
        return Outcome(float(np.abs(energy - energy[0]).max()), float(closure), float(np.arctan2(R[3], R[0])))
