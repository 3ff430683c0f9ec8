"""Control of constrained mechanisms: inverse dynamics, motion and force control, trajectories, planning."""

from typing import Any

from dalembert.control.actuator_forces import actuator_forces
from dalembert.control.along import ActuatorForcesAlong, actuator_forces_along
from dalembert.control.bounds import Cone
from dalembert.control.controllers import (
    computed_torque,
    force_control,
    force_sensor,
    hybrid_control,
    motion_control,
)
from dalembert.control.evidence import ActuatorForces, Verdict
from dalembert.control.lead import Lead, lead
from dalembert.control.measures import Measure, combination, force_along
from dalembert.control.observed import Observed
from dalembert.control.optimal import OptimalMotion, optimal_motion
from dalembert.control.pd import PDControl
from dalembert.control.plan import MotionPlan
from dalembert.control.planning import plan_motion, straight_motion
from dalembert.control.predictive import Prediction, PredictiveControl
from dalembert.control.projected import ProjectedControl
from dalembert.control.task import Task, coordinates, orientation, pose, position
from dalembert.control.total_rates import PoseRegulation, TotalRateFeedback
from dalembert.control.trajectories import Trajectory, constant, piecewise, quintic, trapezoid, waypoints
from dalembert.control.wrappers import Delayed, Noisy, Sampled, Saturated
from dalembert.hints import MissingAttribute

__all__ = [
    "ActuatorForces",
    "ActuatorForcesAlong",
    "Cone",
    "Delayed",
    "Lead",
    "Measure",
    "MotionPlan",
    "Noisy",
    "Observed",
    "OptimalMotion",
    "PDControl",
    "PoseRegulation",
    "Prediction",
    "PredictiveControl",
    "ProjectedControl",
    "Sampled",
    "Saturated",
    "Task",
    "TotalRateFeedback",
    "Trajectory",
    "Verdict",
    "actuator_forces",
    "actuator_forces_along",
    "combination",
    "computed_torque",
    "constant",
    "coordinates",
    "force_along",
    "force_control",
    "force_sensor",
    "hybrid_control",
    "lead",
    "motion_control",
    "optimal_motion",
    "orientation",
    "piecewise",
    "plan_motion",
    "pose",
    "position",
    "quintic",
    "straight_motion",
    "trapezoid",
    "waypoints",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # what Python itself looks for
        raise AttributeError(f"module 'control' has no attribute '{name}'")
    raise MissingAttribute("control", name, lambda: __all__)
