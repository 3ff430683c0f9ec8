"""Links and joints as a graph: what readers of URDF and SDF fill, and `formats.graph.build` makes a mechanism of."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, sin
from typing import Any, Protocol

import numpy as np

from dalembert.mechanism.joints import Joint
from dalembert.spatial import Transform

WORLD = "world"
IDENTITY = Transform(np.eye(3), np.zeros(3))  # shared, so nobody may write to it
IDENTITY.R.flags.writeable = IDENTITY.p.flags.writeable = False


class NoteTaker(Protocol):
    """The part of `formats.notes.Notes` used here."""

    def add(self, element: Any, text: str) -> None:
        """Say something about an element."""


@dataclass(slots=True)
class FileLink:
    """A link: its inertia (about the centre of mass, in the link's axes), and its place in the world as drawn."""

    name: str
    origin: Any  # the element that describes it
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    pose: Transform = IDENTITY  # used where the link is the root of a part that stands alone
    shapes: list[Any] = field(default_factory=list)
    colliders: list[Any] = field(default_factory=list)  # shapes that may touch
    frames: dict[str, Transform] = field(default_factory=dict)  # further frames of the link, by name
    weightless: bool = False  # gravity does not act on it

    @property
    def light(self) -> bool:
        """Whether it has neither mass nor inertia."""
        return self.mass == 0.0 and not self.inertia.any()


@dataclass(slots=True)
class Edge:
    """A joint between two links (or `WORLD`): its frame in each of them, and what acts along it."""

    name: str
    origin: Any
    joint: Joint
    parent: str
    child: str
    at_parent: Transform = IDENTITY
    at_child: Transform = IDENTITY
    stiffness: Any = 0.0
    rest: Any = None
    damping: Any = 0.0
    armature: Any = 0.0
    limits: Any = None
    friction: Any = 0.0  # dry
    driven: bool = False  # belongs into the tree: motors, couplings or initial values need its coordinate
    cut: bool = False  # closes a loop in any case

    @property
    def acted(self) -> list[str]:
        """Names of the forces along the joint, which are lost if it is cut."""
        values = {n: getattr(self, n) for n in ("stiffness", "damping", "armature", "friction")}
        return [n for n, x in values.items() if (x != 0.0 if isinstance(x, float) else np.any(x))]


@dataclass(slots=True)
class Coupling:
    """Σ cᵢ qᵢ = offset, by the names of edges (and of their coordinates: "wrist.first")."""

    name: str
    origin: Any
    coefficients: dict[str, float]
    offset: float = 0.0


@dataclass(slots=True)
class Graph:
    """Links, joints and couplings of a model; `roots` are the links that may best stand for a part that floats."""

    name: str
    links: list[FileLink] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    gravity: Any = (0.0, 0.0, -9.81)
    roots: list[str] = field(default_factory=list)
    frames: dict[str, Transform] = field(default_factory=dict)  # of the world


def pose(xyz: Any = (0.0, 0.0, 0.0), rpy: Any = (0.0, 0.0, 0.0)) -> Transform:
    """The place at xyz (m), turned by roll, pitch and yaw (rad) about the fixed axes x, y, z: R = Rz Ry Rx.

    >>> pose((1, 0, 0), (0, 0, np.pi / 2)).R.round(12) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    x, y, z = (float(e) for e in xyz)
    r, p, w = (float(e) for e in rpy)
    if r == p == w == 0.0:
        return IDENTITY if x == y == z == 0.0 else Transform(IDENTITY.R, np.array([x, y, z]))
    cr, cp, cy, sr, sp, sy = cos(r), cos(p), cos(w), sin(r), sin(p), sin(w)
    R = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return Transform(R, np.array([x, y, z]))


class TakenNames:
    """Names that are taken; a name that is taken already becomes name_2, name_3 and so on.

    >>> names = TakenNames("ground")
    >>> names.fresh("arm"), names.fresh("arm"), names.fresh("ground")
    ('arm', 'arm_2', 'ground_2')
    """

    def __init__(self, *taken: str):
        self.count = dict.fromkeys(taken, 1)

    def fresh(self, name: str) -> str:
        """The name, or one made of it that is not taken; it is taken from now on."""
        new = name
        while new in self.count:
            self.count[name] += 1
            new = f"{name}_{self.count[name]}"
        self.count[new] = 1
        return new
