"""PD control with gravity compensation, on closed chains: Kᵀ B u = Kᵀ (g − Q₀ + Jᵀ (K_P e + K_D ė)).

The weight is held where the mechanism is, by the smallest forces (as in `inverse_dynamics` at rest); springs of the
task pull it to the reference. With constant references and K_P, K_D > 0 the energy ½vᵀMv + ½eᵀK_P e falls (Takegaki and
Arimoto 1981): stable without a model of inertia, but errors do not obey a linear equation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.control.inverse_dynamics import Allocator
from dalembert.control.native.law import FREE
from dalembert.control.plant import Plant
from dalembert.control.projected import _gains, _reference
from dalembert.control.task import Task


class PDControl:
    """u(t, state) by PD action on a task, with gravity compensation.

    gains = (K_P, K_D) in N/m or N m/rad and N s/m or N m s/rad, numbers, one a row or matrices. The other arguments are
    those of `motion_control`.

    >>> from dalembert import control, zoo
    >>> system = zoo.slider_crank().compile()
    >>> rest = system.state(*zoo.slider_crank_start(0.5))
    >>> law = control.PDControl(system, control.coordinates("A"), {"A": 0.5}, gains=(50.0, 5.0), actuated=["torque"])
    >>> bool(abs(system.acceleration(rest, u=law(0.0, rest)).vdot).max() < 1e-9)       # held at rest
    True
    """

    def __init__(
        self,
        system: Any,
        task: Task,
        reference: Any,
        *,
        gains: tuple[Any, Any],
        actuated: Iterable[str] | None = None,
        metric: Any = "euclidean",
        p: Any = None,
    ):
        self.system = system
        self.plant = Plant(system, actuated, task, p)
        self.plant.check_inputs("the controller")
        self.solver = Allocator(self.plant, metric)
        self.gains = _gains(1.0, gains, self.plant.nt)
        self.reference = _reference(reference, task.names)

    def __call__(self, t: float, state: Any) -> np.ndarray:
        room = self.solver.room
        self.solver.run(t, state.replace(v=np.zeros(self.plant.n)), FREE)
        theta, rate, _ = self.reference(t)
        pull = self.gains[0] @ (theta - room.theta) + self.gains[1] @ (rate - room.J @ state.v)
        room.need[:] = room.J.T @ pull - room.work.f
        self.solver.allocate()
        return self.plant.inputs(room.u)
