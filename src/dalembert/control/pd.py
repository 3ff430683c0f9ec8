"""PD control with gravity compensation, on closed chains: Kᵀ B u = Kᵀ (g − Q₀ + Jᵀ (K_P e + K_D ė)).

The weight is held where the mechanism is, by the smallest forces (as in `actuator_forces` at rest); springs of the
task pull it to the reference. With constant references and K_P, K_D > 0 the energy ½vᵀMv + ½eᵀK_P e falls (Takegaki and
Arimoto 1981): stable without a model of inertia, but errors do not obey a linear equation.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.checks import number
from dalembert.control.allocator import Allocator
from dalembert.control.evidence import Verdict
from dalembert.control.native.workspace import FREE
from dalembert.control.plant import Plant
from dalembert.control.references import GainsGiven, MetricGiven, ReferenceGiven, as_reference, gain_matrices
from dalembert.control.task import Task, as_task
from dalembert.errors import ArgumentError, DalembertError
from dalembert.protocols import Parameters
from dalembert.system.state import State
from dalembert.system.system import System


class PDControl:
    """u(t, state) by PD action on a task, with gravity compensation.

    gains = (K_P, K_D) in N/m or N m/rad and N s/m or N m s/rad, numbers, one a row or matrices. system, task,
    reference, actuated, metric, p: as in `motion_control`. It is called with the time t (s) and the `State` of the
    mechanism.

    >>> from dalembert import control, zoo
    >>> system = zoo.slider_crank().compile()
    >>> rest = system.state(*zoo.slider_crank_start(0.5))
    >>> law = control.PDControl(system, control.coordinates("A"), {"A": 0.5}, gains=(50.0, 5.0), actuated=["torque"])
    >>> bool(abs(system.acceleration(rest, u=law(0.0, rest)).vdot).max() < 1e-9)       # held at rest
    True
    """

    def __init__(
        self,
        system: System,
        task: Task,
        reference: ReferenceGiven,
        *,
        gains: GainsGiven,
        actuated: Iterable[str] | None = None,
        metric: MetricGiven = "euclidean",
        p: Parameters = None,
    ):
        if gains is None:
            raise ArgumentError("gains is None; needed: two, of the error and of its rate.")
        self.system = system
        self.plant = Plant(system, actuated, as_task(task), p)
        self.plant.check_inputs("the controller")
        self.allocator = Allocator(self.plant, metric)
        self.gains = gain_matrices(1.0, gains, self.plant.nt)
        self.reference = as_reference(reference, task.names)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a state."""
        t, state = number(t, "t"), self.plant.measured(state)
        a = self.allocator.take()
        if self.allocator.run(a, t, state.replace(v=np.zeros(self.plant.n)), FREE) != 0:
            raise DalembertError(f"no forces were found at t = {t:g} s: {Verdict.UNSOLVED.sentence}.")
        theta, rate, _ = self.reference(t)
        pull = self.gains[0] @ self.plant.short_way(theta - a.theta) + self.gains[1] @ (rate - a.J @ state.v)
        u = self.allocator.forces(a, a.J.T @ pull - a.problem.f)
        self.allocator.give(a)
        return self.plant.inputs(u)
