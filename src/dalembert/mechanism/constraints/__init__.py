"""Constraints: one file a kind, all answering the questions of `constraint.Constraint`."""

from dalembert.mechanism.constraints.constraint import MIRRORS, Constraint, Row
from dalembert.mechanism.constraints.coupling import coupling
from dalembert.mechanism.constraints.driver import coordinate_driver, point_driver
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.constraints.loop import LoopJoint
from dalembert.mechanism.constraints.points import PointOn, Rod
from dalembert.mechanism.constraints.pulleys import pulley_rope
from dalembert.mechanism.constraints.rolling import rolling_disc_on_disc, rolling_on_plane, skate

__all__ = [
    "MIRRORS",
    "Constraint",
    "Expressions",
    "LoopJoint",
    "PointOn",
    "Rod",
    "Row",
    "coordinate_driver",
    "coupling",
    "point_driver",
    "pulley_rope",
    "rolling_disc_on_disc",
    "rolling_on_plane",
    "skate",
]
