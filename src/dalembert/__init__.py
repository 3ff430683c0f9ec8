"""Constrained multibody systems: describe, compile, evaluate."""

from dalembert.errors import (
    ArgumentError,
    AssemblyError,
    CompileError,
    DalembertError,
    DescriptionError,
    FileError,
    MissingExtra,
    UnknownName,
)
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.inertia import box, cylinder, disc, point, rod, sphere
from dalembert.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.mechanism.mechanism import Mechanism
from dalembert.simulation.callbacks import expression
from dalembert.simulation.events import Event
from dalembert.simulation.local import Chart
from dalembert.simulation.saving import load
from dalembert.simulation.simulate import simulate
from dalembert.simulation.stabilization import Baumgarte, Projection
from dalembert.spatial import rotation
from dalembert.system.state import State
from dalembert.system.system import System

__all__ = [
    "ArgumentError",
    "AssemblyError",
    "Baumgarte",
    "Body",
    "Chart",
    "CompileError",
    "Cylindrical",
    "DalembertError",
    "DescriptionError",
    "Event",
    "FileError",
    "Fixed",
    "Frame",
    "Free",
    "Mechanism",
    "MissingExtra",
    "Planar",
    "Prismatic",
    "Projection",
    "Revolute",
    "Screw",
    "Spherical",
    "State",
    "System",
    "Universal",
    "UnknownName",
    "box",
    "cylinder",
    "disc",
    "expression",
    "load",
    "point",
    "rod",
    "rotation",
    "simulate",
    "sphere",
]
