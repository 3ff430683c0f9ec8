"""Linear models of constrained mechanisms: exact, in the coordinates the user chooses."""

from dalembert.linearization.discrete import DiscreteStep, discrete_step
from dalembert.linearization.equilibrium import Equilibrium, equilibrium
from dalembert.linearization.full import FullLinearization, linearize_full, parameter_slopes, second_derivatives
from dalembert.linearization.linearize import linearize
from dalembert.linearization.lqr import Regulator, Tracker, lqr, lqr_along
from dalembert.linearization.many import LinearModels, linearize_many
from dalembert.linearization.model import LinearModel
from dalembert.linearization.steps import step_map
from dalembert.linearization.structure import Hidden, Mode
from dalembert.linearization.trajectory import LinearTrajectory, linearize_along

__all__ = [
    "DiscreteStep",
    "Equilibrium",
    "FullLinearization",
    "Hidden",
    "LinearModel",
    "LinearModels",
    "LinearTrajectory",
    "Mode",
    "Regulator",
    "Tracker",
    "discrete_step",
    "equilibrium",
    "linearize",
    "linearize_along",
    "linearize_full",
    "linearize_many",
    "lqr",
    "lqr_along",
    "parameter_slopes",
    "second_derivatives",
    "step_map",
]
