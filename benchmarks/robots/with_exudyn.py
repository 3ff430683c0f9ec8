"""A robot in Exudyn's fast module: rigid bodies in absolute coordinates, every joint and closure a constraint."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from benchmarks.peers.with_exudyn import RigidBodyInertia, exu
from benchmarks.robots.files import Robot

FREE = {"revolute": (1, 1, 1, 1, 1, 0), "prismatic": (1, 1, 0, 1, 1, 1), "spherical": (1, 1, 1, 0, 0, 0)}


class Multibody:
    """The bodies and joints of a robot."""

    def __init__(self, robot: Robot):
        twin = robot.twin
        self.data = twin.model.createData()
        pin.forwardKinematics(twin.model, self.data, twin.q, robot.moving.v[twin.order])
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.ground, self.model = self.mbs.CreateGround(), twin.model
        self.bodies = [self.ground, *(self._body(i, robot) for i in range(1, self.model.njoints))]
        for i, link in zip(range(1, self.model.njoints), twin.links):
            kind = twin.tree.links[link].joint.kind
            if kind != "free":
                self._joint(int(self.model.parents[i]), i, self.data.oMi[i], FREE[kind])
        for c in twin.constraints:
            rigid = c.type == pin.ContactType.CONTACT_6D
            place = self.data.oMi[c.joint2_id] * c.joint2_placement
            self._joint(c.joint1_id, c.joint2_id, place, (1, 1, 1, 1, 1, 1) if rigid else FREE["spherical"])
        self.mbs.Assemble()

    def _body(self, i: int, robot: Robot) -> int:
        inertia, place = self.model.inertias[i], self.data.oMi[i]
        twist = pin.getVelocity(self.model, self.data, i, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        centre = place.act(inertia.lever)
        return self.mbs.CreateRigidBody(
            referencePosition=list(centre),
            referenceRotationMatrix=place.rotation,
            initialVelocity=list(twist.linear + np.cross(twist.angular, centre - place.translation)),
            initialAngularVelocity=list(twist.angular),
            inertia=RigidBodyInertia(mass=inertia.mass, inertiaTensor=inertia.inertia, com=[0, 0, 0]),
            gravity=list(robot.system.description.gravity.astype(float)),
            nodeType=exu.NodeType.RotationEulerParameters,
        )

    def _joint(self, a: int, b: int, place: pin.SE3, constrained: tuple[int, ...]) -> None:
        self.mbs.CreateGenericJoint(
            bodyNumbers=[self.bodies[b], self.bodies[a]], position=list(place.translation),
            rotationMatrixAxes=place.rotation, constrainedAxes=list(constrained), useGlobalFrame=True,
        )  # fmt: skip

    def solve(self, index2: bool, steps: int) -> np.ndarray:
        """(links, 3) centres of mass after a second; NaN where it fails."""
        s = exu.SimulationSettings()
        s.solution.file.write = False
        t = s.timeIntegration
        t.numberOfSteps, t.endTime, t.verboseMode, t.adaptiveStep = steps, 1.0, 0, False
        t.newton.useModifiedNewton = True
        t.newton.relativeTolerance = 1e-10
        t.generalizedAlpha.spectralRadius = 0.9
        t.generalizedAlpha.useNewmark = t.generalizedAlpha.useIndex2Constraints = index2
        s.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        nothing = np.full((len(self.bodies) - 1, 3), np.nan)
        try:
            if not self.mbs.SolveDynamic(s):
                return nothing
        except Exception:  # its own error, for steps that do not converge
            return nothing
        position = exu.OutputVariableType.Position
        return np.array([self.mbs.GetObjectOutputBody(b, position) for b in self.bodies[1:]])


def ends(robot: Robot):
    """Both methods over their steps."""
    try:
        body = Multibody(robot)
    except Exception:  # bodies that it does not take
        return
    for steps in (100, 400, 1600, 6400):
        for index2 in (True, False):
            yield f"index {2 if index2 else 3}, h = 1/{steps}", lambda i=index2, n=steps: body.solve(i, n), np.asarray
