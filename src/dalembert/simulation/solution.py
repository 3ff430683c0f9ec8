"""What a simulation returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.outcome import Spoken
from dalembert.simulation.passages import Passage


class Status(Spoken):
    """How a run ended."""

    DONE = 0, "the end was reached"
    STEP_TOO_SMALL = 1, "the step became too small: the motion is too stiff or too fast here; try method='sdirk4'"
    NOT_FINITE = 2, "the state became infinite or NaN: a force is unbounded here"
    DRIFTED = 3, "the constraints could not be restored after a step; try smaller steps or tighter tolerances"
    SINGULAR = 4, "a singular configuration was reached and on_singularity='stop' was asked for"
    CALLBACK = 5, "a controller or event gave something that is not a finite number"
    INTERRUPTED = 6, "the run was interrupted"
    STEPS = 7, "the largest number of steps was reached; raise max_steps"
    UNSOLVED = 8, "no formulation could solve for the acceleration here"
    EVENT = 9, "a terminal event ended the run"
    FORMULATION = (
        10,
        ("the constraints became dependent and this formulation cannot go on; use formulation='nullspace' or 'auto'"),
    )
    STEP_UNSOLVED = 11, "the equations of an implicit step could not be solved; try a smaller step"
    NOT_COMPILED = 12, "what goes on from here could not be compiled"


@dataclass(frozen=True, eq=False)
class Solution:
    """States at times t, with the evidence of the run. `run["A"]` is the history of coordinate or joint A.

    Histories are arrays with one row for each time: every accepted step, or the sample times asked for.
    """

    t: np.ndarray  # (N,) s
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    u: np.ndarray  # (N, nu) inputs: those of the step that ends here
    work: Mapping[str, np.ndarray]  # (N,) J done since the start by "inputs", "forces" without potential, "drivers"
    health: np.ndarray  # (N,) least squared sine between constraint rows met in the step (1 is best)
    status: Status
    message: str
    steps: int
    rejected: int
    evaluations: int
    corrections: int
    drift: float  # largest ‖Φ‖∞ of a step before it was corrected, m or rad
    speed_drift: float  # the same of A v + b
    careful: tuple[Passage, ...]  # singular positions passed by careful steps
    charts: tuple[tuple[float, tuple[str, ...]], ...]  # (time, coordinates) of each chart taken
    t_events: Mapping[str, np.ndarray]
    x_events: Mapping[str, np.ndarray]  # (hits, nq + nv)
    system: Any
    p: Any
    dense: Any = None
    more_passages: Any = None

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """Singular positions that were passed, or nearly met, in time."""
        more = self.more_passages(self.dense) if self.more_passages is not None else ()
        return tuple(sorted([*self.careful, *more], key=lambda p: p.start))

    @property
    def success(self) -> bool:
        """Whether the end, or a terminal event, was reached."""
        return self.status in (Status.DONE, Status.EVENT)

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

    def __call__(self, t: Any) -> Any:
        """The state at time t, or (q, v) as arrays (N, nq), (N, nv) at several times: dense output.

        It is a step of the method itself from the record before: of its order, and on the manifold.
        """
        if self.dense is None:
            raise ArgumentError(
                "only the recorded times are known: this run was made at sample times (give t as a span to ask for "
                "others) or comes from a file."
            )
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if times.ndim != 1 or times.min() < self.t[0] or times.max() > self.t[-1]:
            raise ArgumentError(f"t is {t!r}; the run goes from {self.t[0]:g} to {self.t[-1]:g} s.")
        order = np.argsort(times, kind="stable")
        rows = np.empty((len(times), self.dense.states.shape[1]))
        rows[order] = self.dense.rows(times[order])
        q, v = rows[:, : self.system.nq], rows[:, self.system.nq : self.system.nq + self.system.nv]
        return (q, v) if np.ndim(t) else self.system.state(q[0], v[0], float(times[0]))

    def save(self, path: Any) -> None:
        """Write the run into one file (extra `files`); `da.load(path, system)` reads it. See docs/files.md."""
        from dalembert.simulation.saving import save

        save(self, path)

    def plot(self, **options: Any) -> Any:
        """Coordinates, energy and evidence as a Matplotlib figure (extra `view`); see `dalembert.view.plot`."""
        from dalembert.view import plot

        return plot(self, **options)

    def animate(self, path: Any, **options: Any) -> Any:
        """The motion as one HTML file that works offline; see `dalembert.view.animate`."""
        from dalembert.view import animate

        return animate(self, path, **options)

    # --- energy -------------------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """(N,), J."""
        return self._batch("kinetic_energy")

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """(N,), J: of weight and springs."""
        return self._batch("potential_energy")

    @property
    def energy(self) -> np.ndarray:
        """(N,) kinetic and potential energy, J."""
        return self.kinetic_energy + self.potential_energy

    @property
    def dissipated(self) -> np.ndarray:
        """(N,) J lost so far to dampers, friction and other forces without potential."""
        return -self.work.get("forces", np.zeros(len(self.t)))

    @property
    def energy_error(self) -> np.ndarray:
        """(N,) energy, less that of the start and the work done since, J: what the integration made up."""
        return self.energy - self.energy[0] - sum(self.work.values(), np.zeros(len(self.t)))

    # --- constraints --------------------------------------------------------------------------------------------

    @cached_property
    def residuals(self) -> np.ndarray:
        """(N,) largest ‖Φ‖ of each recorded state, m or rad."""
        return self._largest(self._constraints[0])

    @cached_property
    def speed_residuals(self) -> np.ndarray:
        """(N,) largest ‖A v + b‖ of each recorded state."""
        _, A, b = self._constraints
        return self._largest(np.einsum("kij,kj->ki", A, self.v) + b)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """(N, min(m, nv)) of A in the mass metric, falling."""
        _, A, _ = self._constraints
        M = self._batch("mass_matrix")
        white = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(A, 1, 2))
        return np.linalg.svd(white, compute_uv=False)

    @cached_property
    def rank(self) -> np.ndarray:
        """(N,) of the constraints."""
        sigma = self.singular_values
        if not sigma.shape[1]:
            return np.zeros(len(self.t), dtype=int)
        return (sigma > np.maximum(1e-9 * sigma[:, :1], self.system.constraint_floor)).sum(axis=1)

    @cached_property
    def condition(self) -> np.ndarray:
        """(N,) largest over smallest singular value of A, mass metric, of those that are ever non-zero."""
        usual = int(self.rank.max(initial=0))
        sigma = self.singular_values
        return sigma[:, 0] / np.maximum(sigma[:, usual - 1], 1e-300) if usual else np.ones(len(self.t))

    @cached_property
    def multipliers(self) -> np.ndarray:
        """(N, m) of the constraint rows `system.row_names`; the shortest where rows depend on each other."""
        if not self.system.rows.of:
            return np.zeros((len(self.t), 0))
        return np.array([self._acceleration(k).multipliers for k in range(len(self.t))])

    def reactions(self, joint: str) -> np.ndarray:
        """(N, 6) moment and force in a joint, tree or cut; see `System.constraint_forces`."""
        out = []
        for k in range(len(self.t)):
            r = self.system.constraint_forces(self.state(k), u=self._u(k), p=self.p)
            out.append({**r.joints, **r.loops}[joint])
        return np.array(out)

    # --- helpers ------------------------------------------------------------------------------------------------

    @cached_property
    def _constraints(self) -> Any:
        return self._batch("constraints")

    def _largest(self, rows: np.ndarray) -> np.ndarray:
        return np.abs(rows).max(axis=1, initial=0.0)

    def _batch(self, name: str) -> Any:
        kernel = self.system.kernel(name, lanes=8 if self.system.backend == "native" else 1)
        known = {"q": self.q, "v": self.v, "p": self.system._p(self.p), "t": self.t}
        return kernel.batch(*(known[n] for n in kernel.names_in))

    def _u(self, k: int) -> Any:
        return self.u[k] if self.u.shape[1] else None

    def _acceleration(self, k: int) -> Any:
        return self.system.acceleration(self.state(k), u=self._u(k), p=self.p)

    def __repr__(self) -> str:
        return (
            f"<run of '{self.system.name}' to t = {self.t[-1]:g} s: {self.message}; {self.steps} steps, "
            f"{self.rejected} rejected, {self.evaluations} evaluations, {len(self.passages)} singular passages>"
        )
