"""USD Physics to mechanisms: rigid bodies, joints, drives, limits, shapes.

A stage is composed first: references, payloads, variants and instances are resolved, and prims inside instances count.
Joints are prims of their own and may form loops; those with `physics:excludeFromArticulation` close one in any case.
Articulation roots say how a solver groups bodies, and have no meaning here, nested ones neither.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.at_limits import checked_stops, stop_at_limits
from dalembert.formats.drawn import add_drawn
from dalembert.formats.folder import Folder
from dalembert.formats.graph import build
from dalembert.formats.links import WORLD, Edge, Graph, TakenNames
from dalembert.formats.notes import Notes
from dalembert.formats.usd.bodies import link_of
from dalembert.formats.usd.joints import INPUT, edge_of
from dalembert.formats.usd.stage import NAME, UsdStage
from dalembert.mechanism.joints import Fixed
from dalembert.mechanism.mechanism import Mechanism

EARTH = 9.81
BODY, SHAPE = "PhysicsRigidBodyAPI", "PhysicsCollisionAPI"


def read_usd(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    base: str | None = None,
    merge_fixed: bool = True,
    folder: str | os.PathLike[str] | None = None,
    stops: Any = None,
) -> Mechanism:
    """The mechanism of a USD stage with UsdPhysics: .usda, .usd or .usdc. Needs the extra `usd`.

    path: the file. Every layer that the stage refers to is in the folder of the file or below, or in `folder`, one
    around it that you trust it with. strict=True refuses a file with anything that is not read exactly, which is
    otherwise listed in `notes`. base: "fixed" fixes parts that no joint holds to the world; by default they float.
    merge_fixed=False keeps a body for every rigid body. stops: what stops joints at their limits, "rigid" or a
    `da.Stops`; None keeps limits as data.

    Lengths and masses are converted to m and kg; the up axis says where gravity points, axes stay as they are. Joints
    with a drive get its spring and damper, and an input of the joint's name. Where joints are not at zero as drawn, the
    state "drawn" has their coordinates.
    """
    checks.flag(strict, "strict")
    checks.flag(merge_fixed, "merge_fixed")
    if base is not None:
        checks.choice(base, ("fixed", "free"), "base")
    stops = checked_stops(stops)
    where = checks.path(path, "path", error=ModelFileError)
    stage, notes = UsdStage(where, Folder.of(where, folder)), Notes(strict)
    with stage.sound():
        first = stage.stage.GetDefaultPrim()
        title = str(stage.value(first, NAME, where.stem)) if first else where.stem
        m = _StageReader(stage, notes).read(title, base or "free", merge_fixed)
    m.notes.extend(notes.done())
    return stop_at_limits(m, stops)


class _StageReader:
    """One stage on its way to a mechanism."""

    def __init__(self, stage: UsdStage, notes: Notes):
        self.stage, self.notes = stage, notes
        self.prims = list(stage.prims())
        self.names, self.ties = TakenNames(WORLD), TakenNames()
        self.links: dict[str, str] = {}  # name of each rigid body, by its path
        self.inputs: dict[str, str] = {}  # names of inputs by the names of their joints
        for prim in self.prims:
            if BODY in stage.applied(prim) and stage.value(prim, "physics:rigidBodyEnabled", True):
                self.links[str(prim.GetPath())] = self.names.fresh(stage.name(prim))

    def read(self, title: str, base: str, merge_fixed: bool) -> Mechanism:
        graph = Graph(title, gravity=self._gravity())
        owned = self._shapes()
        for prim in self.prims:
            name = self.links.get(str(prim.GetPath()))
            if name is None:
                continue
            graph.links.append(link_of(self.stage, prim, name, owned.get(name, []), self.notes))
            if self.stage.value(prim, "physics:kinematicEnabled", False):
                self.notes.add(graph.links[-1].origin, "is kinematic: moved by animation; it stays where it is drawn")
                edge = Edge(self.ties.fresh(f"{name} static"), graph.links[-1].origin, Fixed(), WORLD, name)
                edge.at_parent = graph.links[-1].pose
                graph.edges.append(edge)
        if not graph.links:
            raise ModelFileError("has no rigid body (PhysicsRigidBodyAPI); there is nothing to read.", self.stage.file)
        for prim in self.prims:
            kind = str(prim.GetTypeName())
            if kind.startswith("Physics") and kind.endswith("Joint"):
                self._joint(prim, graph)
        m = build(graph, self.notes, base=base, merge_fixed=merge_fixed)
        for e in graph.edges:
            if e.driven and e.name in m.joints:
                m.add_motor(self.inputs.get(e.name, e.name), e.name)
        add_drawn(m, graph)
        return m

    def _joint(self, prim: Any, graph: Graph) -> None:
        if not self.stage.value(prim, "physics:jointEnabled", True):
            self.notes.add(self.stage.origin(prim), "is a joint that is not enabled; it is left out")
            return
        edge = edge_of(self.stage, prim, self.ties.fresh(self.stage.name(prim)), self.links, self.notes)
        if edge is None:
            return
        if edge.parent == edge.child == WORLD:
            self.notes.add(edge.origin, "connects no rigid body; it is left out")
            return
        graph.edges.append(edge)
        given = self.stage.value(prim, INPUT)
        if isinstance(given, str) and given.strip():
            self.inputs[edge.name] = given

    def _gravity(self) -> Any:
        """By the first physics scene, or 9.81 m/s² against the up axis."""
        scenes = [p for p in self.prims if str(p.GetTypeName()) == "PhysicsScene"]
        down = -np.eye(3)["XYZ".index(self.stage.up)]
        for other in scenes[1:]:
            self.notes.add(self.stage.origin(other), "only the gravity of the first scene is read")
        if not scenes:
            return (EARTH * down).tolist()
        size = self.stage.number(scenes[0], "physics:gravityMagnitude", -np.inf)
        along = self.stage.numbers(scenes[0], "physics:gravityDirection", [0.0] * 3)
        length = float(np.linalg.norm(along))
        if not np.isfinite(length) or size == np.inf:
            raise self.stage.origin(scenes[0]).error("has a gravity that is not finite.")
        n = along / length if length > 0.0 else down
        return ((size * self.stage.length if size >= 0.0 else EARTH) * n).tolist()

    def _shapes(self) -> dict[str, list[Any]]:
        """Prims of collision shapes by the body that carries them."""
        owned: dict[str, list[Any]] = {}
        for prim in self.prims:
            if SHAPE not in self.stage.applied(prim):
                continue
            body = prim
            while body and str(body.GetPath()) not in self.links:
                body = body.GetParent()
            if body:
                owned.setdefault(self.links[str(body.GetPath())], []).append(prim)
            else:
                self.notes.add(self.stage.origin(prim), "is a collision shape of the ground, which is not kept")
        return owned
