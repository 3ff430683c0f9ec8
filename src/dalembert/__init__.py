"""Constrained multibody systems: describe, compile, evaluate."""

from dalembert.charts import Chart
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
from dalembert.linearization import (
    LinearModel,
    equilibrium,
    linearize,
    linearize_along,
    linearize_full,
    lqr,
    lqr_along,
    parameter_slopes,
    second_derivatives,
    step_map,
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
    "LinearModel",
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
    "equilibrium",
    "expression",
    "linearize",
    "linearize_along",
    "linearize_full",
    "load",
    "lqr",
    "lqr_along",
    "parameter_slopes",
    "point",
    "rod",
    "rotation",
    "second_derivatives",
    "simulate",
    "sphere",
    "step_map",
]
