"""Control of constrained mechanisms: inverse dynamics, motion and force control, trajectories, planning."""

from dalembert.control.along import ForcesAlong, inverse_dynamics_along
from dalembert.control.bounds import Cone
from dalembert.control.controllers import (
    computed_torque,
    force_control,
    force_sensor,
    hybrid_control,
    motion_control,
)
from dalembert.control.evidence import InverseDynamics, Verdict
from dalembert.control.inverse_dynamics import inverse_dynamics
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

__all__ = [
    "Cone",
    "Delayed",
    "ForcesAlong",
    "InverseDynamics",
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
    "combination",
    "computed_torque",
    "constant",
    "coordinates",
    "force_along",
    "force_control",
    "force_sensor",
    "hybrid_control",
    "inverse_dynamics",
    "inverse_dynamics_along",
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
