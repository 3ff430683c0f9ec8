"""Constrained multibody systems: describe, compile, simulate, linearize, control.

Every public name is in `_HOMES`, under the module that defines it, and is imported when it is first used: `import
dalembert` itself loads neither NumPy nor CasADi. The packages `analysis`, `control`, `view` and `zoo` are attributes
too.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dalembert.forks import undisturbed as _undisturbed

if TYPE_CHECKING:
    from dalembert import analysis as analysis
    from dalembert import control as control
    from dalembert import view as view
    from dalembert import zoo as zoo
    from dalembert.analysis.assembly import Assembly as Assembly
    from dalembert.analysis.mobility import Report as Report
    from dalembert.analysis.modes import AssemblyModes as AssemblyModes
    from dalembert.analysis.special_points import SpecialPoint as SpecialPoint
    from dalembert.analysis.subspaces import Subspaces as Subspaces
    from dalembert.analysis.sweep import Sweep as Sweep
    from dalembert.charts import Chart as Chart
    from dalembert.charts import LocalChart as LocalChart
    from dalembert.compiler.kernel import Kernel as Kernel
    from dalembert.ensembles.ensemble import ensemble as ensemble
    from dalembert.ensembles.many import assemble_many as assemble_many
    from dalembert.ensembles.many import inverse_dynamics_many as inverse_dynamics_many
    from dalembert.ensembles.many import sweep_many as sweep_many
    from dalembert.ensembles.result import Ensemble as Ensemble
    from dalembert.ensembles.sensitivities import RunSensitivities as RunSensitivities
    from dalembert.ensembles.starts import States as States
    from dalembert.ensembles.summary import Extremes as Extremes
    from dalembert.ensembles.sweeps import Sweeps as Sweeps
    from dalembert.errors import ArgumentError as ArgumentError
    from dalembert.errors import AssemblyError as AssemblyError
    from dalembert.errors import CompileError as CompileError
    from dalembert.errors import DalembertError as DalembertError
    from dalembert.errors import DescriptionError as DescriptionError
    from dalembert.errors import FileError as FileError
    from dalembert.errors import MissingExtra as MissingExtra
    from dalembert.errors import ModelFileError as ModelFileError
    from dalembert.errors import UnknownName as UnknownName
    from dalembert.formats import read as read
    from dalembert.formats.adams import read_adams as read_adams
    from dalembert.formats.mjcf.reader import read_mjcf as read_mjcf
    from dalembert.formats.model.reader import read_model as read_model
    from dalembert.formats.rbdl import read_rbdl as read_rbdl
    from dalembert.formats.sdf import read_sdf as read_sdf
    from dalembert.formats.urdf import read_urdf as read_urdf
    from dalembert.formats.usd import read_usd as read_usd
    from dalembert.kinematics.result import Workspace as Workspace
    from dalembert.kinematics.workspace import workspace as workspace
    from dalembert.learning.environments import environment as environment
    from dalembert.learning.environments import environments as environments
    from dalembert.linearization.discrete import DiscreteStep as DiscreteStep
    from dalembert.linearization.discrete import discrete_step as discrete_step
    from dalembert.linearization.equilibrium import Equilibrium as Equilibrium
    from dalembert.linearization.equilibrium import equilibrium as equilibrium
    from dalembert.linearization.full import FullLinearization as FullLinearization
    from dalembert.linearization.full import linearize_full as linearize_full
    from dalembert.linearization.full import parameter_slopes as parameter_slopes
    from dalembert.linearization.full import second_derivatives as second_derivatives
    from dalembert.linearization.kalman import Estimator as Estimator
    from dalembert.linearization.kalman import kalman as kalman
    from dalembert.linearization.linearize import linearize as linearize
    from dalembert.linearization.lqr import Regulator as Regulator
    from dalembert.linearization.lqr import Tracker as Tracker
    from dalembert.linearization.lqr import lqr as lqr
    from dalembert.linearization.lqr import lqr_along as lqr_along
    from dalembert.linearization.many import LinearModels as LinearModels
    from dalembert.linearization.many import linearize_many as linearize_many
    from dalembert.linearization.margins import Margins as Margins
    from dalembert.linearization.model import LinearModel as LinearModel
    from dalembert.linearization.steps import step_map as step_map
    from dalembert.linearization.structure import Hidden as Hidden
    from dalembert.linearization.structure import Mode as Mode
    from dalembert.linearization.trajectory import LinearTrajectory as LinearTrajectory
    from dalembert.linearization.trajectory import linearize_along as linearize_along
    from dalembert.mechanism.body import Body as Body
    from dalembert.mechanism.body import Frame as Frame
    from dalembert.mechanism.contacts import Friction as Friction
    from dalembert.mechanism.contacts import Stops as Stops
    from dalembert.mechanism.curves import Curve as Curve
    from dalembert.mechanism.inertia import box_inertia as box_inertia
    from dalembert.mechanism.inertia import cylinder_inertia as cylinder_inertia
    from dalembert.mechanism.inertia import disc_inertia as disc_inertia
    from dalembert.mechanism.inertia import planar_inertia as planar_inertia
    from dalembert.mechanism.inertia import point_inertia as point_inertia
    from dalembert.mechanism.inertia import rod_inertia as rod_inertia
    from dalembert.mechanism.inertia import sphere_inertia as sphere_inertia
    from dalembert.mechanism.joints import Cylindrical as Cylindrical
    from dalembert.mechanism.joints import Fixed as Fixed
    from dalembert.mechanism.joints import Free as Free
    from dalembert.mechanism.joints import Joint as Joint
    from dalembert.mechanism.joints import Planar as Planar
    from dalembert.mechanism.joints import Prismatic as Prismatic
    from dalembert.mechanism.joints import Revolute as Revolute
    from dalembert.mechanism.joints import Screw as Screw
    from dalembert.mechanism.joints import Spherical as Spherical
    from dalembert.mechanism.joints import Universal as Universal
    from dalembert.mechanism.joints.attachment import Attachment as Attachment
    from dalembert.mechanism.linkage import Linkage as Linkage
    from dalembert.mechanism.machinery import Pulley as Pulley
    from dalembert.mechanism.mechanism import Mechanism as Mechanism
    from dalembert.mechanism.motions import Table as Table
    from dalembert.mechanism.notes import Note as Note
    from dalembert.mechanism.shapes import Shape as Shape
    from dalembert.mechanism.solids import Solid as Solid
    from dalembert.mechanism.solids import solid as solid
    from dalembert.mechanism.states import NamedState as NamedState
    from dalembert.mechanism.traced import UserState as UserState
    from dalembert.outcome import Outcome as Outcome
    from dalembert.sensitivity.quantities import Integral as Integral
    from dalembert.sensitivity.regressor import BaseParameters as BaseParameters
    from dalembert.sensitivity.regressor import Regressor as Regressor
    from dalembert.sensitivity.regressor import regressor as regressor
    from dalembert.sensitivity.residuals import Residuals as Residuals
    from dalembert.sensitivity.result import Sensitivities as Sensitivities
    from dalembert.sensitivity.sensitivities import sensitivities as sensitivities
    from dalembert.simulation.callbacks import expression as expression
    from dalembert.simulation.events import Event as Event
    from dalembert.simulation.files.saving import read_run as read_run
    from dalembert.simulation.hybrid.switch import Switch as Switch
    from dalembert.simulation.hybrid.switch import Switched as Switched
    from dalembert.simulation.momentum_maps import MomentumMaps as MomentumMaps
    from dalembert.simulation.results.run import Run as Run
    from dalembert.simulation.simulate import simulate as simulate
    from dalembert.simulation.singular.passages import Passage as Passage
    from dalembert.simulation.stabilization import Baumgarte as Baumgarte
    from dalembert.simulation.stabilization import Projection as Projection
    from dalembert.simulation.stabilized import StabilizedLinearization as StabilizedLinearization
    from dalembert.simulation.stabilized import linearize_stabilized as linearize_stabilized
    from dalembert.simulation.status import Status as Status
    from dalembert.spatial import rotation as rotation
    from dalembert.statics.static_forces import StaticForces as StaticForces
    from dalembert.statics.static_forces import static_forces as static_forces
    from dalembert.statics.stiffness import Stiffness as Stiffness
    from dalembert.statics.stiffness import stiffness as stiffness
    from dalembert.studies.design import Design as Design
    from dalembert.studies.fit import fit as fit
    from dalembert.studies.fitted import Fit as Fit
    from dalembert.studies.optimize import optimize as optimize
    from dalembert.studies.studied import Study as Study
    from dalembert.studies.study import study as study
    from dalembert.system.constraints import Acceleration as Acceleration
    from dalembert.system.diagonal import Diagonal as Diagonal
    from dalembert.system.reactions import Reactions as Reactions
    from dalembert.system.second_order import FrameDerivatives as FrameDerivatives
    from dalembert.system.second_order import Lagrangian as Lagrangian
    from dalembert.system.state import State as State
    from dalembert.system.system import System as System

__version__ = "0.1.0"

_PACKAGES = ("analysis", "control", "view", "zoo")
#: module: the names it defines
_HOMES = {
    "analysis.assembly": "Assembly",
    "analysis.mobility": "Report",
    "analysis.modes": "AssemblyModes",
    "analysis.special_points": "SpecialPoint",
    "analysis.subspaces": "Subspaces",
    "analysis.sweep": "Sweep",
    "charts": "Chart LocalChart",
    "compiler.kernel": "Kernel",
    "ensembles.ensemble": "ensemble",
    "ensembles.many": "assemble_many inverse_dynamics_many sweep_many",
    "ensembles.result": "Ensemble",
    "ensembles.starts": "States",
    "ensembles.sensitivities": "RunSensitivities",
    "ensembles.summary": "Extremes",
    "ensembles.sweeps": "Sweeps",
    "errors": "ArgumentError AssemblyError CompileError DalembertError DescriptionError FileError MissingExtra "
    "ModelFileError UnknownName",
    "formats": "read",
    "formats.model.reader": "read_model",
    "formats.mjcf.reader": "read_mjcf",
    "formats.adams": "read_adams",
    "formats.rbdl": "read_rbdl",
    "formats.sdf": "read_sdf",
    "formats.urdf": "read_urdf",
    "formats.usd": "read_usd",
    "kinematics.result": "Workspace",
    "kinematics.workspace": "workspace",
    "learning.environments": "environment environments",
    "linearization.discrete": "DiscreteStep discrete_step",
    "linearization.equilibrium": "Equilibrium equilibrium",
    "linearization.full": "FullLinearization linearize_full parameter_slopes second_derivatives",
    "linearization.linearize": "linearize",
    "linearization.kalman": "Estimator kalman",
    "linearization.lqr": "Regulator Tracker lqr lqr_along",
    "linearization.many": "LinearModels linearize_many",
    "linearization.model": "LinearModel",
    "linearization.steps": "step_map",
    "linearization.margins": "Margins",
    "linearization.structure": "Hidden Mode",
    "linearization.trajectory": "LinearTrajectory linearize_along",
    "mechanism.body": "Body Frame",
    "mechanism.contacts": "Friction Stops",
    "mechanism.curves": "Curve",
    "mechanism.inertia": "box_inertia cylinder_inertia disc_inertia planar_inertia point_inertia rod_inertia "
    "sphere_inertia",
    "mechanism.joints": "Cylindrical Fixed Free Joint Planar Prismatic Revolute Screw Spherical Universal",
    "mechanism.joints.attachment": "Attachment",
    "mechanism.linkage": "Linkage",
    "mechanism.machinery": "Pulley",
    "mechanism.mechanism": "Mechanism",
    "mechanism.motions": "Table",
    "mechanism.notes": "Note",
    "mechanism.shapes": "Shape",
    "mechanism.solids": "Solid solid",
    "mechanism.states": "NamedState",
    "mechanism.traced": "UserState",
    "outcome": "Outcome",
    "sensitivity.quantities": "Integral",
    "sensitivity.regressor": "BaseParameters Regressor regressor",
    "sensitivity.residuals": "Residuals",
    "sensitivity.result": "Sensitivities",
    "sensitivity.sensitivities": "sensitivities",
    "simulation.callbacks": "expression",
    "simulation.events": "Event",
    "simulation.momentum_maps": "MomentumMaps",
    "simulation.singular.passages": "Passage",
    "simulation.hybrid.switch": "Switch Switched",
    "simulation.files.saving": "read_run",
    "simulation.simulate": "simulate",
    "simulation.results.run": "Run",
    "simulation.stabilized": "StabilizedLinearization linearize_stabilized",
    "simulation.status": "Status",
    "simulation.stabilization": "Baumgarte Projection",
    "spatial": "rotation",
    "statics.static_forces": "StaticForces static_forces",
    "statics.stiffness": "Stiffness stiffness",
    "studies.design": "Design",
    "studies.fit": "fit",
    "studies.fitted": "Fit",
    "studies.optimize": "optimize",
    "studies.studied": "Study",
    "studies.study": "study",
    "system.constraints": "Acceleration",
    "system.diagonal": "Diagonal",
    "system.reactions": "Reactions",
    "system.second_order": "FrameDerivatives Lagrangian",
    "system.state": "State",
    "system.system": "System",
}
_HOME = {name: f"dalembert.{module}" for module, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_PACKAGES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        with _undisturbed():
            return import_module(f"dalembert.{name}")  # which makes it an attribute of this module
    if name.startswith("__") or find_spec(f"dalembert.{name}") is not None:  # what Python itself looks for
        raise AttributeError(f"module 'dalembert' has no attribute '{name}'")
    if name not in _HOME:
        from dalembert.hints import MissingAttribute

        raise MissingAttribute("dalembert", name, lambda: __all__)
    with _undisturbed():
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
