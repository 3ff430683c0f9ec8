"""Kernels that only pages ask for: poses and twists of all bodies at once, places of anchors, and energies."""

from __future__ import annotations

import numpy as np

from dalembert.compiler import Kernel
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.linkage import Linkage
from dalembert.recursions.momentum import kinetic_energy
from dalembert.symbols import array
from dalembert.system.functions import FRAME_FUNCTIONS, potential
from dalembert.system.system import System
from dalembert.system.trace import Trace


def poses(system: System) -> Kernel:
    """(q, p) → for each body its rotation, row by row, and its place: (12 bodies,)."""

    def value(s: Trace) -> np.ndarray:
        placed = [s.state.pose(body.frame) for body in system.layout.bodies.values()]
        return np.concatenate([x for T in placed for x in (array(T.R).reshape(-1), array(T.p))])

    return system.kernels.custom(("poses",), ("q", "p"), value)


def anchors(system: System) -> list[tuple[int, str, Frame]]:
    """Where parts are joined, (place of the body, name, frame): frames of joints, of a linkage's pins, named ones."""
    index = {body.name: k for k, body in enumerate(system.layout.bodies.values())}
    found: list[tuple[str, Frame]] = []
    for a in system.layout.joints.values():
        found += [(a.name, a.parent), (a.name, a.child)]
    for c in system.description.constraints:
        if isinstance(c, LoopJoint):
            found += [(c.name, c.a), (c.name, c.b)]
    m = system.layout.mechanism
    if isinstance(m, Linkage):
        found += [(pin, m.bodies[body].at(pin)) for pin, bodies in m.holders.items() for body in bodies]
    found += list(system.layout.frames.items())
    return [(index[frame.body.name], name, frame) for name, frame in found if frame.body.name in index]


def places(system: System) -> Kernel:
    """(q, p) → where the anchors are in the ground, m: (3 anchors,)."""

    def value(s: Trace) -> np.ndarray:
        return np.concatenate([array(s.state.pose(frame).p) for *_, frame in anchors(system)])

    return system.kernels.custom(("anchors",), ("q", "p"), value)


def twists(system: System) -> Kernel:
    """(q, v, p) → for each body its twist in the axes of the ground, (ω; velocity of its origin): (6 bodies,)."""
    twist = FRAME_FUNCTIONS["twist"][1]

    def value(s: Trace) -> np.ndarray:
        return np.concatenate([array(twist(s, body.frame, "world")) for body in system.layout.bodies.values()])

    return system.kernels.custom(("twists",), ("q", "v", "p"), value)


def energies(system: System) -> Kernel:
    """(q, v, p) → kinetic and potential energy."""
    return system.kernels.custom(("energies",), ("q", "v", "p"), lambda s: array([kinetic_energy(s.at), potential(s)]))
