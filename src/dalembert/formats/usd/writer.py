"""Writing a stage of USD with UsdPhysics: bodies, joints, those that close loops; what USD cannot say is listed.

Bodies lie as drawn, in which loops are closed. Numbers of masses, joint frames, limits and drives are of single
precision in UsdPhysics, so that a file that is read again agrees to seven digits.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.links import TakenNames
from dalembert.formats.saving import save
from dalembert.formats.sdf.drawing import DrawnPlaces
from dalembert.formats.usd.bodies import MASSLESS
from dalembert.formats.usd.joints import DEGREE, INPUT
from dalembert.formats.usd.stage import NAME, modules
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.forces import CutJointSpring, JointForce
from dalembert.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform, matrix_quaternion
from dalembert.symbols import array

KINDS = {Revolute: "RevoluteJoint", Prismatic: "PrismaticJoint", Spherical: "SphericalJoint", Fixed: "FixedJoint"}
#: what joints with limits on six axes leave free, in the frame whose z is their axis
FREEDOMS: dict[type[Joint], tuple[str, ...]] = {
    Cylindrical: ("transZ", "rotZ"), Planar: ("transX", "transY", "rotZ"), Universal: ("rotX", "rotY"),
}  # fmt: skip
AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism as a stage of USD, .usda; gives what USD cannot say. Needs the extra `usd`.

    mechanism: what to write; its parameters are written as the numbers they are by default. path: the file, which is
    replaced.
    """
    where = checks.path(path, "path", error=ModelFileError)
    writer = _StageWriter(mechanism, where.name)
    text = writer.text()
    save(where, text)
    return writer.notes


class _StageWriter:
    """One mechanism on its way to a file."""

    def __init__(self, m: Mechanism, file: str):
        self.m, self.file, self.pxr = m, file, modules()
        self.notes: list[Note] = []
        self.stage = self.pxr["Usd"].Stage.CreateInMemory()
        self.names = TakenNames()
        self.root = "/" + self.name(m.name)
        self.names = TakenNames()
        self.drawing = DrawnPlaces(m, self.note)
        self.said: set[str] = set()  # forces that are in the file
        self.bodies = {b: f"{self.root}/{self.name(b)}" for b in m.bodies if b != m.ground.name}

    def note(self, what: str, text: str) -> None:
        """Say that something is not in the file as it is in the mechanism."""
        self.notes.append(Note(self.file, 0, what, text))

    def name(self, name: str) -> str:
        """An identifier of USD that is not taken; the name itself goes into an attribute (`_named`)."""
        new = re.sub(r"\W", "_", name, flags=re.ASCII)
        return self.names.fresh(f"_{new}" if not new or new[0].isdigit() else new)

    def _named(self, prim: Any, name: str, always: bool = False) -> None:
        """Keep a name that is no identifier of USD."""
        if always or name != str(prim.GetName()):
            prim.CreateAttribute(NAME, self.pxr["Sdf"].ValueTypeNames.String).Set(name)

    def number(self, x: Any) -> np.ndarray:
        """Numbers with the parameters at their defaults."""
        return np.asarray(self.m.parameters.number(array(x), "a number"), dtype=float)

    def text(self) -> str:
        Geom, Physics, stage = self.pxr["UsdGeom"], self.pxr["UsdPhysics"], self.stage
        Geom.SetStageMetersPerUnit(stage, 1.0)
        Geom.SetStageUpAxis(stage, "Z")
        Physics.SetStageKilogramsPerUnit(stage, 1.0)
        world = Geom.Xform.Define(stage, self.root).GetPrim()
        self._named(world, self.m.name, always=True)
        stage.SetDefaultPrim(world)
        g = self.number(self.m.gravity)
        scene = Physics.Scene.Define(stage, f"{self.root}/{self.names.fresh('scene')}")
        size = float(np.linalg.norm(g))
        scene.CreateGravityMagnitudeAttr(size)
        scene.CreateGravityDirectionAttr(tuple(g / size) if size else (0.0, 0.0, -1.0))
        for body in self.m.bodies.values():
            if body.name in self.bodies:
                self._body(body)
        for a in self.m.joints.values():
            given = {k: self.number(getattr(a, k)) for k in ("stiffness", "damping", "rest", "armature")}
            self._joint(a.name, a.joint, a.parent, a.child, given, a.limits, cut=False)
            if any(f is not None for f in a.friction) or a.stops is not None:
                self.note(f"joint '{a.name}'", "has dry friction or stops, which USD cannot say")
        for loop in self.drawing.loops:
            if loop.name not in self.drawing.open:
                self._joint(loop.name, loop.joint, loop.a, loop.b, self._cut(loop), None, cut=True)
        self._not_said()
        return str(stage.GetRootLayer().ExportToString())

    # --- bodies ---------------------------------------------------------------------------------------------------

    def _body(self, body: Body) -> None:
        Gf, Physics = self.pxr["Gf"], self.pxr["UsdPhysics"]
        prim = self._placed("Xform", self.bodies[body.name], self.drawing.place[body.name])
        self._named(prim, body.name)
        Physics.RigidBodyAPI.Apply(prim)
        api = Physics.MassAPI.Apply(prim)
        mass, com, J = (self.number(x) for x in ([body.mass], body.com, body.inertia))
        moments, axes = np.linalg.eigh((J + J.T) / 2)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        if np.allclose(J, np.diag(np.diag(J)), rtol=0.0, atol=1e-15 * np.abs(J).max(initial=0.0)):
            moments, axes = np.diag(J), np.eye(3)
        api.CreateMassAttr(float(mass[0]))
        api.CreateCenterOfMassAttr(Gf.Vec3f(*com.tolist()))
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*np.maximum(moments, 0.0).tolist()))
        api.CreatePrincipalAxesAttr(self._quaternion(axes, single=True))
        if not mass[0] > 0.0:
            prim.CreateAttribute(MASSLESS, self.pxr["Sdf"].ValueTypeNames.Bool).Set(True)
            self.note(f"body '{body.name}'", "has no mass; other programs give a body without mass one of their own")
        inner = TakenNames()
        for shape in body.shapes:
            self._shape(body, shape, inner)

    def _shape(self, body: Body, shape: Shape, names: TakenNames) -> None:
        kind = {"box": "Cube", "sphere": "Sphere", "ellipsoid": "Sphere", "cylinder": "Cylinder", "capsule": "Capsule"}
        if shape.kind not in kind:
            self.note(f"body '{body.name}'", f"has a picture of the kind {shape.kind}, which is not written")
            return
        size = self.number(list(shape.size))
        path = f"{self.bodies[body.name]}/{names.fresh(re.sub(r'[^A-Za-z0-9_]', '_', shape.name) or shape.kind)}"
        scale = size if shape.kind in ("box", "ellipsoid") else None
        prim = self._placed(kind[shape.kind], path, self.drawing.numbers(shape.pose), scale)
        if shape.kind == "box":
            prim.GetAttribute("size").Set(1.0)
        elif shape.kind in ("sphere", "ellipsoid"):
            prim.GetAttribute("radius").Set(float(size[0]) if shape.kind == "sphere" else 1.0)
        else:
            prim.GetAttribute("radius").Set(float(size[0]))
            prim.GetAttribute("height").Set(float(size[1]))
            prim.GetAttribute("axis").Set("Z")
        self.pxr["UsdPhysics"].CollisionAPI.Apply(prim)

    def _placed(self, kind: str, path: str, T: Transform, scale: Any = None) -> Any:
        """A prim at T of its parent."""
        Gf, Geom = self.pxr["Gf"], self.pxr["UsdGeom"]
        prim = getattr(Geom, kind).Define(self.stage, path).GetPrim()
        ops = Geom.Xformable(prim)
        ops.AddTranslateOp().Set(Gf.Vec3d(*T.p.tolist()))
        ops.AddOrientOp(Geom.XformOp.PrecisionDouble).Set(self._quaternion(T.R))
        if scale is not None:
            ops.AddScaleOp(Geom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*scale.tolist()))
        return prim

    def _quaternion(self, R: np.ndarray, single: bool = False) -> Any:
        Gf = self.pxr["Gf"]
        w, x, y, z = (float(c) for c in matrix_quaternion(R))
        return Gf.Quatf(w, x, y, z) if single else Gf.Quatd(w, x, y, z)

    # --- joints ---------------------------------------------------------------------------------------------------

    def _joint(
        self, name: str, joint: Joint, a: Frame, b: Frame, given: dict[str, Any], limits: Any, *, cut: bool
    ) -> None:
        Gf, Physics = self.pxr["Gf"], self.pxr["UsdPhysics"]
        what = f"joint '{name}'"
        if isinstance(joint, Free):
            if any(given[k].any() for k in ("stiffness", "damping")):
                self.note(what, "is free; its spring or damper cannot be said in USD")
            return
        kind = KINDS.get(type(joint), "Joint")
        if kind == "Joint" and type(joint) not in FREEDOMS:
            self.note(what, f"is a {joint.kind} joint, which USD cannot say; it is left out")
            return
        made = getattr(Physics, kind).Define(self.stage, f"{self.root}/{self.name(name)}")
        prim = made.GetPrim()
        self._named(prim, name)
        turn = Transform(np.asarray(joint.orientation, dtype=float), np.zeros(3))
        for k, frame in enumerate((a, b)):
            T = self.drawing.numbers(frame.T) @ turn
            if frame.body.name in self.bodies:
                prim.GetRelationship(f"physics:body{k}").SetTargets([self.bodies[frame.body.name]])
            prim.GetAttribute(f"physics:localPos{k}").Set(Gf.Vec3f(*T.p.tolist()))
            prim.GetAttribute(f"physics:localRot{k}").Set(self._quaternion(T.R, single=True))
        made.CreateExcludeFromArticulationAttr(cut)
        if kind in ("RevoluteJoint", "PrismaticJoint"):
            made.CreateAxisAttr("Z")
            self._along(name, made, isinstance(joint, Revolute), given, limits)
        elif any(np.any(x) for key, x in given.items() if key != "rest"):
            self.note(what, "has springs, dampers or armature along several axes, which are not written")
        for axis in AXES if kind == "Joint" else ():
            if axis not in FREEDOMS[type(joint)]:
                lock = Physics.LimitAPI.Apply(prim, axis)
                lock.CreateLowAttr(1.0)
                lock.CreateHighAttr(-1.0)

    def _along(self, name: str, made: Any, turning: bool, given: dict[str, Any], limits: Any) -> None:
        """Limits, drive and armature of a joint with one axis."""
        Sdf, unit, prim = self.pxr["Sdf"], DEGREE if turning else 1.0, made.GetPrim()
        if limits is not None and np.isfinite(limits).any():
            made.CreateLowerLimitAttr(float(limits[0, 0]) / unit)
            made.CreateUpperLimitAttr(float(limits[0, 1]) / unit)
        motors = [f for f in self.m.forces.values() if isinstance(f, JointForce) and f.kind == "motor"]
        own = [f for f in motors if f.joint.name == name]
        self.said |= {f.name for f in own}
        if own and own[0].name != name:
            prim.CreateAttribute(INPUT, Sdf.ValueTypeNames.String).Set(own[0].name)
        k, d = (float(given[n][0]) if n in given else 0.0 for n in ("stiffness", "damping"))
        if own or k or d:
            drive = self.pxr["UsdPhysics"].DriveAPI.Apply(prim, "angular" if turning else "linear")
            drive.CreateStiffnessAttr(k * (DEGREE if turning else 1.0))
            drive.CreateDampingAttr(d * (DEGREE if turning else 1.0))
            rest = np.ravel(given.get("rest", [0.0]))
            drive.CreateTargetPositionAttr(float(rest[0] if rest.size else 0.0) / unit)
        if "armature" in given and given["armature"].any():
            prim.CreateAttribute("physxJoint:armature", Sdf.ValueTypeNames.Float).Set(float(given["armature"][0]))

    def _cut(self, loop: LoopJoint) -> dict[str, Any]:
        """The spring and damper along a cut joint."""
        found = [f for f in self.m.forces.values() if isinstance(f, CutJointSpring) and f.loop is loop]
        self.said |= {f.name for f in found[:1]}
        return {k: self.number(getattr(found[0], k)) for k in ("stiffness", "damping", "rest")} if found else {}

    def _not_said(self) -> None:
        for f in self.m.forces.values():
            if f.name not in self.said:
                self.note(f"{f.kind} '{f.name}'", "cannot be said in USD")
        for c in self.m.constraints.values():
            if not isinstance(c, LoopJoint):
                self.note(f"{c.kind} '{c.name}'", "cannot be said in USD")
        for n in self.m.frames:
            self.note(f"frame '{n}'", "is not written")
