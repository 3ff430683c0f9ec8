"""What a simulation returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.outcome import Spoken


class Status(Spoken):
    """How a run ended."""

    DONE = 0, "the end was reached"
    STEP_TOO_SMALL = 1, "the step became too small: the motion is too stiff or too fast here; try looser tolerances"
    NOT_FINITE = 2, "the state became infinite or NaN: a force is unbounded here"
    DRIFTED = 3, "the constraints could not be restored after a step; try smaller steps or tighter tolerances"
    SINGULAR = 4, "a singular configuration was reached and on_singularity='stop' was asked for"
    CALLBACK = 5, "the controller raised an error"
    INTERRUPTED = 6, "the run was interrupted"
    STEPS = 7, "the largest number of steps was reached; raise max_steps"
    UNSOLVED = 8, "no formulation could solve for the acceleration here"


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the run on which the constraints were dependent, or nearly so, and the rank had to be revealed."""

    start: float  # s
    end: float
    rank: int  # the smallest used
    steps: int


@dataclass(frozen=True, eq=False)
class Solution:
    """States at times t, with the evidence of the run. `run["A"]` is the history of coordinate or joint A.

    t (N,), q (N, nq), v (N, nv). The residuals are the largest ones found before each step was corrected: how far the
    integrator alone drifted in one step.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    status: Status
    message: str
    steps: int
    rejected: int
    evaluations: int
    corrections: int
    drift: float  # largest ‖Φ‖∞ of a step before correction, m or rad
    speed_drift: float
    health: float  # least squared sine between constraint rows met on the way (1 is best)
    passages: tuple[Passage, ...]
    system: Any
    p: Any

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == Status.DONE

    def __getitem__(self, name: str) -> np.ndarray:
        names = self.system.q_names
        return self.q[:, names.index(name)] if name in names else self.q[:, self.system.layout.q_slice(name)]

    def rate(self, name: str) -> np.ndarray:
        """History of a velocity, or of a joint's velocities."""
        names = self.system.v_names
        return self.v[:, names.index(name)] if name in names else self.v[:, self.system.layout.v_slice(name)]

    def state(self, k: int = -1) -> Any:
        """The k-th state; the last by default."""
        return self.system.state(self.q[k], self.v[k], float(self.t[k]))

    def _batch(self, name: str) -> np.ndarray:
        kernel = self.system.kernel(name, lanes=8 if self.system.backend == "native" else 1)
        known = {"q": self.q, "v": self.v, "p": self.system._p(self.p)}
        return kernel.batch(*(known[n] for n in kernel.names_in))

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """(N,), J."""
        return self._batch("kinetic_energy")

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """(N,), J."""
        return self._batch("potential_energy")

    @property
    def energy(self) -> np.ndarray:
        """(N,) kinetic and potential energy, J."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def residuals(self) -> np.ndarray:
        """(N,) largest ‖Φ‖ of each recorded state, m or rad."""
        if not self.system.rows.of:
            return np.zeros(len(self.t))
        return np.array(
            [np.abs(self.system.residuals(self.state(k), p=self.p)).max(initial=0.0) for k in range(len(self.t))]
        )

    def __repr__(self) -> str:
        return (
            f"<run of '{self.system.name}' to t = {self.t[-1]:g} s: {self.message}; {self.steps} steps, "
            f"{self.rejected} rejected, {self.evaluations} evaluations, {len(self.passages)} singular passages>"
        )
