"""Controllers by name: motion control, force control, both, and computed torque; see `projected`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.control.projected import ProjectedControl
from dalembert.control.task import Task
from dalembert.control.task import coordinates as moving
from dalembert.mechanism.forces import JointForce


def motion_control(system: Any, task: Task, reference: Any, **options: Any) -> ProjectedControl:
    """Follow a trajectory with the smallest forces (Aghili 43-44; with passive joints 60).

    task: `coordinates`, `position`, `orientation`, `pose`, or your own `Task`. reference: a `Trajectory`, a constant
    (array or by name), or a function t → (θ_d, θ̇_d, θ̈_d). rate (1/s): errors die like (1 + ωt) exp(−ωt); or
    gains=(G_P, G_D), numbers, one a row, or matrices. actuated: inputs to use (default all). metric, limits: as in
    `inverse_dynamics`. free_damping (1/s): of motions the task leaves free. active: {constraint: bool}, or a function
    (t, state) → that, for constraints that come and go.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.five_bar().compile()
    >>> start = system.state(*zoo.five_bar_start(0.5))
    >>> ahead = control.quintic({"A": start["A"], "B": start["B"]}, {"A": start["A"] - 0.3, "B": start["B"]}, 1.0)
    >>> law = control.motion_control(system, control.coordinates("A", "B"), ahead)
    >>> run = da.simulate(system, start, 1.0, u=law, hold=0.002)
    >>> bool(abs(law.error(1.0, run.state(-1))[0]).max() < 2e-3)
    True
    """
    return ProjectedControl(system, task, reference, **options)


def force_control(system: Any, forces: Mapping[str, Any], **options: Any) -> ProjectedControl:
    """Set multipliers, and leave the motion as it would be without inputs (Aghili 49-50).

    forces: {"constraint.row": number or function of t}. force_gains=(G_F, G_I), sensor: (t, state, u) → measured
    multipliers, (m,) or by row, such as `force_sensor` makes. Only multipliers that the mechanism determines can be
    set; `explain` says what is reached. For use with a sampling period.
    """
    return ProjectedControl(system, forces=forces, **options)


def hybrid_control(
    system: Any, task: Task, reference: Any, forces: Mapping[str, Any], **options: Any
) -> ProjectedControl:
    """Motion and constraint forces at once, with error equations of their own (Aghili 52).

    All of the paper's cases are among these: with every joint driven all constraint forces can be set, with passive
    joints as many as there are actuators beyond the mobility.
    """
    return ProjectedControl(system, task, reference, forces=forces, **options)


def computed_torque(
    system: Any, reference: Any, *, coordinates: Iterable[str] = (), **options: Any
) -> ProjectedControl:
    """Motion control of the coordinates that motors drive (default), or of those named: computed torque."""
    names = tuple(coordinates) or driven_coordinates(system)
    return ProjectedControl(system, moving(*names), reference, **options)


def driven_coordinates(system: Any) -> tuple[str, ...]:
    """The coordinates of the joints that motors drive, in the order of the inputs."""
    motors = [f for f in system.description.forces if isinstance(f, JointForce) and f.kind == "motor"]
    return tuple(n for f in motors for n in system.layout.q_names[system.layout.q_slice(f.joint.name)])


def force_sensor(plant: Any, *, p: Any = None) -> Callable[[float, Any, np.ndarray], np.ndarray]:
    """A sensor of multipliers: those of a plant, which may have other parameters than the controller's model."""

    def measure(t: float, state: Any, u: np.ndarray) -> np.ndarray:
        return plant.acceleration(plant.state(state.q, state.v, t), u=u, p=p).multipliers

    return measure
