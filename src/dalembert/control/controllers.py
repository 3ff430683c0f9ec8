"""Controllers by name: motion control, force control, both, and computed torque; see `projected`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from dalembert.checks import keywords, number, shown
from dalembert.control.projected import ProjectedControl
from dalembert.control.references import ReferenceGiven
from dalembert.control.task import Task, as_task
from dalembert.control.task import coordinates as moving
from dalembert.errors import ArgumentError
from dalembert.mechanism.forces import JointForce
from dalembert.protocols import Parameters, check_system
from dalembert.system.state import State
from dalembert.system.system import System

Made = TypeVar("Made", bound=Callable[..., Any])
COMMON = (
    "actuated", "metric", "limits", "reactions", "cones", "measures", "positions", "speeds", "accelerations",
    "limit_rate", "active", "epsilon", "damping", "p", "tolerance",
)  # fmt: skip
MOTION = ("rate", "gains", "stiffness", "integral", "priorities", "weights", "free_damping", "out_of_reach", *COMMON)
FORCES = ("force_gains", "sensor", *COMMON)


def _options(*names: str) -> Callable[[Made], Made]:
    """Give a function with **options the signature that these options of `ProjectedControl` have, for help()."""

    def signed(f: Made) -> Made:
        known, own = (inspect.signature(x, eval_str=False).parameters for x in (ProjectedControl, f))
        plain = [x for x in own.values() if x.kind is not inspect.Parameter.VAR_KEYWORD]
        f.__signature__ = inspect.signature(f).replace(parameters=[*plain, *(known[name] for name in names)])  # type: ignore[attr-defined]
        return f

    return signed


@_options(*MOTION)
def motion_control(system: System, task: Task, reference: ReferenceGiven, **options: Any) -> ProjectedControl:
    """Follow a trajectory with the smallest forces (Aghili 43-44; with passive joints 60).

    system: the mechanism. task: `coordinates`, `position`, `orientation`, `pose`, or your own `Task`. reference: a
    `Trajectory`, a constant (array or by name), or a function t → (θ_d, θ̇_d, θ̈_d). The options are

        rate (1/s)        ω: errors die like (1 + ωt) exp(−ωt); default 10
        gains             (G_P, G_D) instead: numbers, one a row, or matrices
        stiffness         (K_P, K_D) instead, N/m or N m/rad and N s/m or N m s/rad: impedance; see below
        integral          gain of ∫e, a number, one a row, or a matrix; needs a sampling period
        priorities        {row: 1, 2, …}: rows of level 1 come first, each level as far as those before it allow
        weights           {row: w}: errors of rows that cannot all be met count as Σ(w e)²; default: 1 over a length of
                          the mechanism for metres, 1 for radians
        actuated          inputs to use; default: all
        metric, limits    of forces, as in `actuator_forces`
        reactions, cones, measures    bounds, friction cones and combinations of multipliers, as there
        positions         {coordinate: (lower, upper)} that the motion keeps, or True for the limits of the joints
        speeds, accelerations    {velocity: bound or (lower, upper)}, or one bound for all
        limit_rate        1/s: how fast bounds of positions and speeds, and the edge of the workspace, are approached
                          at most; default 40
        free_damping      of motions that the task leaves free, 1/s; default 0
        active            {constraint: bool}, or a function (t, state) → that, for constraints that come and go; by
                          default all, and in a run with switches those that hold
        epsilon           singular values of A up to it are zero (68), in the units of its rows; default 0: rounding
        damping           where the task's or the actuators' map has shrunk to this part, its inverse is damped
        out_of_reach      "follow" a reference beyond the workspace (default), "refuse" it with an error, or "approach"
                          the nearest position, a little inside the edge, slowing down before it; `run.remarks` and
                          `run.summary()` say when. The reference is asked up to 5 / limit_rate before and after t
        p                 parameters of the model
        tolerance         singular values up to this part of the largest count as zero; default 1e-9

    With `stiffness` an outside force F along the task meets Λ ë + K_D ė + K_P e = −F, Λ(q) = (J K KᵀJᵀ)⁻¹ the
    mechanism's own inertia along the task: no force sensor is needed.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.five_bar().compile()
    >>> start = system.state(*zoo.five_bar_start(0.5))
    >>> ahead = control.quintic({"A": start["A"], "B": start["B"]}, {"A": start["A"] - 0.3, "B": start["B"]}, 1.0)
    >>> law = control.motion_control(system, control.coordinates("A", "B"), ahead)
    >>> run = da.simulate(system, start, 1.0, u=law, period=0.002)
    >>> bool(abs(law.error(1.0, run.state(-1))[0]).max() < 2e-3)
    True
    """
    keywords(options, MOTION, "options of motion_control")
    return ProjectedControl(system, as_task(task), reference, **options)


@_options(*FORCES)
def force_control(system: System, forces: Mapping[str, Any], **options: Any) -> ProjectedControl:
    """Set multipliers, and leave the motion as it would be without inputs (Aghili 49-50).

    system: the mechanism. forces: {"constraint.row" or measure: number or function of t}, N or N m. The options are

        force_gains       (G_F, G_I) of the force error and of its integral (1/s); default 0, 0
        sensor            function (t, state, u) → measured multipliers, (m,) or by row, such as `force_sensor` makes
        measures          {name: `combination` or `force_along`}: combinations and chosen axes of constraint forces
        actuated, metric, limits, reactions, cones, positions, speeds, accelerations, limit_rate, active, epsilon,
        damping, p, tolerance    as in `motion_control`

    Only multipliers that the mechanism determines can be set; `explain` reports those that are missed. For use with a
    sampling period.
    """
    keywords(options, FORCES, "options of force_control")
    return ProjectedControl(system, forces=forces, **options)


@_options(*dict.fromkeys((*MOTION, *FORCES)))
def hybrid_control(
    system: System, task: Task, reference: ReferenceGiven, forces: Mapping[str, Any], **options: Any
) -> ProjectedControl:
    """Control motion and constraint forces at once, with error equations of their own (Aghili 52).

    system, task, reference: as in `motion_control`; forces: as in `force_control`. options: those of both. All of the
    paper's cases are among these: with every joint driven all constraint forces can be set, with passive joints as many
    as there are actuators beyond the mobility.
    """
    keywords(options, dict.fromkeys((*MOTION, *FORCES)), "options of hybrid_control")
    return ProjectedControl(system, as_task(task), reference, forces=forces, **options)


@_options(*MOTION)
def computed_torque(
    system: System, reference: ReferenceGiven, *, coordinates: Iterable[str] = (), **options: Any
) -> ProjectedControl:
    """Computed torque: motion control of the coordinates that motors drive, or of others.

    system, reference: as in `motion_control`. coordinates: names; default: those of joints with motors. options: those
    of `motion_control`.
    """
    check_system(system)
    keywords(options, MOTION, "options of computed_torque")
    if not isinstance(coordinates, (list, tuple)):
        raise ArgumentError(f"coordinates is {shown(coordinates)}; needed: a list of names.")
    names = tuple(coordinates) or driven_coordinates(system)
    return ProjectedControl(system, moving(*names), reference, **options)


def driven_coordinates(system: System) -> tuple[str, ...]:
    """The coordinates of the joints that motors drive, in the order of the inputs."""
    motors = [f for f in system.description.forces if isinstance(f, JointForce) and f.kind == "motor"]
    return tuple(n for f in motors for n in system.layout.q_names[system.layout.q_slice(f.joint.name)])


def force_sensor(plant: System, *, p: Parameters = None) -> Callable[[float, State, np.ndarray], np.ndarray]:
    """A sensor of multipliers for `force_control`: those of a plant, which may differ from the controller's model.

    plant: the system that is measured. p: its parameters. Returns a function (t, state, u) → multipliers (m,).
    """
    check_system(plant)
    plant.arguments.parameter_vector(p)

    def measure(t: float, state: State, u: np.ndarray) -> np.ndarray:
        if not isinstance(state, State):
            raise ArgumentError(f"state is {shown(state)}; needed: a State.")
        here = plant.state(state.q, state.v, number(t, "t"))
        return plant.acceleration(here, u=u, p=p).multipliers

    return measure
