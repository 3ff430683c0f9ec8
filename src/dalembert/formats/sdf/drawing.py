"""The position in which a mechanism is drawn in a file: neutral, or assembled where loops are open there.

SDF measures joints from the position as drawn, in which every loop is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import AssemblyError
from dalembert.formats.graph import gap
from dalembert.formats.links import IDENTITY
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.joints import Free, Joint, Screw
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform
from dalembert.symbols import array


class DrawnPlaces:
    """Places of bodies as drawn (`place`), and the coordinates of joints and loops there (`position`)."""

    def __init__(self, m: Mechanism, note: Callable[[str, str], None]):
        self.m = m
        self.loops = [c for c in m.constraints.values() if isinstance(c, LoopJoint)]
        self.position = {a.name: a.joint.neutral() for a in m.joints.values()}
        self.place = self._neutral()
        self.open: list[str] = []
        if self._gaps():
            self._assemble()
        self.open = self._gaps()
        for name in self.open:
            note(f"loop '{name}'", "does not close, and SDF draws loops closed; it is left out")
        for loop in self.loops:
            self.position[loop.name] = located(self.joint(loop.joint), self.between(loop))

    def numbers(self, T: Transform) -> Transform:
        """A place of the description with its parameters at their defaults."""
        number = self.m.parameters.number
        return Transform(number(T.R, "a rotation"), number(T.p, "a position"))

    def joint(self, joint: Joint) -> Joint:
        """A joint with its parameters at their defaults."""
        if not isinstance(joint, Screw):
            return joint
        return Screw(joint.axis, pitch=float(self.m.parameters.number(array([joint.pitch]), "a pitch")[0]))

    def between(self, loop: LoopJoint) -> Transform:
        """Frame b of a loop in its frame a, as drawn."""
        a, b = (self.place[f.body.name] @ self.numbers(f.T) for f in (loop.a, loop.b))
        return a.inverse() @ b

    def in_world(self, frame: Frame) -> Transform:
        """Place of a frame in the world, as drawn."""
        return self.place[frame.body.name] @ self.numbers(frame.T)

    def _neutral(self) -> dict[str, Transform]:
        place = {self.m.ground.name: IDENTITY}
        for body in self.m.bodies:
            chain = []
            while body not in place and body in self.m.carriers:
                chain.append(self.m.carriers[body])
                body = chain[-1].parent.body.name
            for a in reversed(chain):
                step = self.numbers(a.parent.T) @ self.numbers(a.child.T).inverse()
                place[a.child.body.name] = place[a.parent.body.name] @ step
        return place

    def _gaps(self) -> list[str]:
        return [loop.name for loop in self.loops if max(gap(self.joint(loop.joint), self.between(loop))) > 1e-7]

    def _assemble(self) -> None:
        """The closed position nearest the neutral one, floating bodies where they are if that is possible."""
        system = self.m.compile(backend="casadi")
        held = {a.name: a.joint.neutral() for a in self.m.joints.values() if isinstance(a.joint, Free)}
        for q in (held, None) if held else (None,):
            try:
                x = system.assemble(q)
            except AssemblyError:
                continue
            self.position = {name: x.q[x.layout.q_slice(name)] for name in self.m.joints}
            poses = {n: system.pose(x, n) for n in self.m.bodies}  # with the parameters at their defaults
            self.place = {n: Transform(T[:3, :3], T[:3, 3]) for n, T in poses.items()}
            return


def located(joint: Joint, T: Transform) -> np.ndarray:
    """The coordinates at which a joint has its child at T of its parent."""
    C = joint.orientation.astype(float)
    return np.array(joint.locate(Transform(C.T @ T.R @ C, C.T @ T.p)), dtype=float)


def displaced(joint: Joint, q: Any) -> Transform:
    """The child frame in the parent frame of a joint at q."""
    C = joint.orientation.astype(float)
    T = joint.transform(np.asarray(q, dtype=float))
    return Transform(C @ T.R.astype(float) @ C.T, C @ T.p.astype(float))
