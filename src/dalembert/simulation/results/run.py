"""The result of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.charts import LocalChart
from dalembert.errors import ArgumentError
from dalembert.hints import hinted
from dalembert.lazy import cached_property
from dalembert.rank import rank_policy
from dalembert.simulation.callbacks import expression
from dalembert.simulation.momentum_maps import MomentumMaps, momentum_maps
from dalembert.simulation.results.derived import chart_coordinates, indicator, whitened
from dalembert.simulation.results.histories import Histories
from dalembert.simulation.results.joint_limits import beyond_limits
from dalembert.simulation.results.warnings import Warnings
from dalembert.simulation.run.dense import Dense, DenseSource
from dalembert.simulation.singular.passages import Met, Passage, describe
from dalembert.simulation.status import Status
from dalembert.system.state import State
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.simulation.hybrid.switch import Switched


@hinted
@dataclass(frozen=True, eq=False)
class Run(Histories):
    """States at times t, with the evidence of the simulation. `run["A"]` is the history of coordinate or joint A.

    Histories are arrays with one row for each time: every accepted step, or the times of `t_eval`. Those of frames,
    multipliers, reactions and powers are asked for by name: `run.position("tip")`.
    """

    system: System
    p: np.ndarray  # parameters, in the order of system.p_names
    t: np.ndarray  # (N,) s
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    u: np.ndarray  # (N, nu) inputs: those of the step that ends here
    work: Mapping[str, np.ndarray]  # (N,) J done since the start by "inputs", "forces" without potential, "drivers"
    margin: np.ndarray  # (N,) least squared sine between constraint rows met in the step (1 is best)
    status: Status
    _message: str
    error: BaseException | None  # raised by a callback, or on the way, with its traceback
    steps: int
    rejected: int
    evaluations: int
    corrections: int
    drift: float  # largest ‖Φ‖∞ of a step before it was corrected, m or rad
    speed_drift: float  # largest ‖A v + b‖∞ of a step before it was corrected
    charts: tuple[tuple[float, LocalChart | None], ...]  # (since when, chart); None: all coordinates were integrated
    t_events: Mapping[str, np.ndarray]
    x_events: Mapping[str, np.ndarray]  # (hits, nq + nv)
    rtol: float | None = None  # of the steps; None where they were fixed, or this is not known
    metric: Any = "mass"  # of the formulation, or of its projection: "mass", "euclidean", or weights
    remarks: tuple[str, ...] = ()  # on what the controller did not do, and on what limits the accuracy
    phases: tuple[Run, ...] = ()  # runs of one structure each, where it changes
    switches: tuple[Switched, ...] = ()  # what happened between them
    _met: tuple[Met, ...] = ()  # passages, not yet described
    _between: DenseSource | None = None

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """Singular positions that were met, or passed at a small distance, in the order of time."""
        return tuple(describe(self.system, self.p, met) for met in self._met)

    @property
    def success(self) -> bool:
        """Whether the end, or a terminal event, was reached, with finite states, closed loops and a right balance.

        Of contacts and dry friction also whether their forces keep the laws.
        """
        return self.status in (Status.DONE, Status.EVENT) and self._warnings.sound

    @property
    def message(self) -> str:
        """How the run ended, why that is no success where it is none, and since when its motion is not determined."""
        message = self._message
        if self.status in (Status.DONE, Status.EVENT) and not self._warnings.sound:
            message = f"{message}, but {' and '.join(self._warnings.sentences)}"
        undetermined = next((p for p in self.passages if not p.determined), None)
        if undetermined is not None:
            message = f"{message}; from t = {undetermined.nearest:.6g} s on the motion may be another (see warnings)"
        return message

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences, with times, about what is not to be trusted: open loops, lost energy, passages left to chance.

        Also which coordinates went beyond the limits of their joints, which nothing enforces.
        """
        undetermined = (str(p) for p in self.passages if not p.determined)
        return (*self._warnings.sentences, *undetermined, *beyond_limits(self))

    @cached_property
    def _warnings(self) -> Warnings:
        return Warnings(self)

    def state(self, k: int = -1) -> State:
        """State number k; the last by default."""
        k = checks.whole(k, "k", least=-len(self.t), most=len(self.t) - 1)
        return self._state(self.q[k], self.v[k], self.t[k], self.u[k])

    def __call__(self, t: Any) -> Any:
        """The state at time t, or (q, v) as arrays (N, nq), (N, nv) at several times t (N,): dense output.

        It is a step of the method itself from the record before: of its order, and on the manifold.
        """
        nq, n = self.system.nq, self.system.nq + self.system.nv
        if t.__class__ is float and self._dense is not None and self.t[0] <= t <= self.t[-1]:
            (row,) = self._dense.rows(np.array([t]))
            return self._state(row[:nq], row[nq:n], t, row[-1 - self.u.shape[1] : -1])
        rows = self._rows(t)
        q, v = rows[:, :nq], rows[:, nq:n]
        return (q, v) if np.ndim(t) else self._state(q[0], v[0], float(t), rows[0, -1 - self.u.shape[1] : -1])

    def inputs(self, t: Any) -> np.ndarray:
        """(inputs,) in the order of `system.u_names` at time t (s), or (N, inputs) at several times: dense output.

        At a time at which a held input changes it is the one before.
        """
        rows = self._rows(t)[:, -1 - self.u.shape[1] : -1]
        return rows if np.ndim(t) else rows[0]

    def resampled(self, times: Any, changes: bool = False) -> Run:
        """The run with records at other times, (N,) s, increasing: energies, frames and forces at these.

        As exact as run(t); what lies between the new records is not known any more. changes: where the structure
        changes, with further records on both sides of every change.
        """
        t = checks.increasing(times, "times")
        rows, widths = self._rows(t), [self.q.shape[1], self.v.shape[1], len(self.work), self.u.shape[1]]
        q, v, work, u, margin = np.split(rows, np.cumsum(widths), axis=1)
        works = dict(zip(self.work, work.T))
        return replace(self, t=t, q=q, v=v, u=u, work=works, margin=margin[:, 0], _between=None)

    @property
    def is_known_between(self) -> bool:
        """Whether run(t) follows from the records alone; False also where it would ask a Python controller again."""
        if self._between is None or self._dense is None:
            return False
        setup = self._between.layout.setup
        return setup.controller is None or setup.period > 0.0 or isinstance(setup.controller, expression)

    def _rows(self, t: Any) -> np.ndarray:
        """(N, width) records at times that were not recorded."""
        times = np.atleast_1d(checks.array(t, None, "t"))
        if self._dense is None:
            raise ArgumentError(
                "only the recorded times are known: this run was made with t_eval (leave it out to ask for other times "
                "later), comes from a file, or from another process with a controller of its own."
            )
        if times.ndim != 1 or not len(times) or times.min() < self.t[0] or times.max() > self.t[-1]:
            raise ArgumentError(f"t is {t!r}; the run goes from {self.t[0]:g} to {self.t[-1]:g} s.")
        order = np.argsort(times, kind="stable")
        rows = np.empty((len(times), self._dense.states.shape[1]))
        rows[order] = self._dense.rows(times[order])
        return rows

    @cached_property
    def _dense(self) -> Dense | None:
        """Dense output between the records; made when first needed."""
        if self._between is None or len(self.t) < 2:
            return None
        return self._between.dense(
            self.t, np.hstack([self.q, self.v, *(w[:, None] for w in self.work.values()), self.u, self.margin[:, None]])
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without what was computed on demand; dense output stays where no controller is needed for it."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        if self._between is not None and self._between.layout.controller is not None:
            known["_between"] = None
        return known

    def __setstate__(self, known: dict[str, Any]) -> None:
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def phase(self, t: float) -> Run:
        """The phase at a time t (s), at a change the one after it; the run itself where its structure stays."""
        checks.number(t, "t")
        return self

    def summary(self) -> str:
        """What happened, in a paragraph: how far the run came, switches, impacts, stick and slip, passages, limits.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -10.0))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
        >>> m.add_contact("floor", "ball", restitution=0.5)
        >>> print(da.simulate(m.compile(), {"z": 5.0}, 1.5).summary().replace(". ", ".\\n"))
        'ball' moved from t = 0 s to 1.5 s: the end was reached.
        floor was hit at t = 1 s, which took 37.5 J.
        """
        from dalembert.simulation.results.summary import summary

        return summary(self)

    def save(self, path: Any) -> None:
        """Write the run into one file (extra `files`); `da.read_run(path, system)` reads it. See docs/files.md."""
        from dalembert.simulation.files.saving import save

        save(self, path)

    def plot(
        self,
        names: Any = None,
        path: Any = None,
        panels: Sequence[str] = ("positions", "velocities", "energy", "evidence"),
    ) -> Any:
        """Coordinates, energy and evidence as a Matplotlib figure (extra `view`), as `dalembert.view.plot` draws them.

        names: joints or coordinates, by default all. path: a file to write to. panels: from top to bottom.
        """
        from dalembert.view import plot

        return plot(self, names, panels, path)

    # --- energy -------------------------------------------------------------------------------------------------

    @property
    def dissipated(self) -> np.ndarray:
        """(N,) J lost so far to dampers, friction and other forces without potential."""
        return -self.work.get("forces", np.zeros(len(self.t)))

    @property
    def energy_error(self) -> np.ndarray:
        """(N,) energy, less that of the first state and the work done since, J: what the integration made up."""
        work = sum(self.work.values(), np.zeros(len(self.t)))
        return self.energy - self.energy[:1] - (work - work[:1])

    # --- momentum -----------------------------------------------------------------------------------------------

    @cached_property
    def momentum(self) -> np.ndarray:
        """(N, nv) M v: the momenta p of the coordinates, N s along a slide, N m s about an angle."""
        return self._batch("mass_times", dq=self.v)

    @cached_property
    def momentum_maps(self) -> MomentumMaps:
        """Momenta along and about axes of space that the mechanism keeps (Noether), and how well the run kept them.

        A twist of space counts if every body can follow it by the joints on the ground alone, and neither weight,
        forces, inputs nor constraints notice it. `method="variational"` keeps these momenta to rounding.

        >>> import dalembert as da
        >>> m = da.Mechanism("top", gravity=(0, 0, -9.81))
        >>> top = m.add_body("top", mass=1.0, com=(0, 0, 0.3), inertia=(1, 1, 2))
        >>> m.add_joint("tip", da.Spherical(), m.ground, top)
        >>> system = m.compile()
        >>> start = system.state({"tip": da.rotation("x", 0.4)}, {"tip.wz": 9.0})
        >>> run = da.simulate(system, start, 1.0, method="variational", step=0.01)
        >>> run.momentum_maps.names, bool(run.momentum_maps.change.max() < 1e-12)
        (('about z',), True)
        """
        return momentum_maps(self)

    # --- charts -------------------------------------------------------------------------------------------------

    def chart(self, k: int = -1) -> LocalChart | None:
        """The chart that state number k was computed in; None where all coordinates were integrated."""
        k = checks.whole(k, "k", least=-len(self.t), most=len(self.t) - 1)
        before = [chart for t, chart in self.charts if t <= self.t[k]]
        return before[-1] if before else None

    @property
    def y(self) -> np.ndarray:
        """(N, dof) independent coordinates of each state in its `chart(k)`, whose names are `chart(k).names`.

        NaN where all coordinates were integrated; no columns where no chart was asked for.
        """
        return self._local[0]

    @property
    def y_rate(self) -> np.ndarray:
        """(N, speeds) independent velocities of each state, `chart(k).speed_names`: ẏ, or those in its place."""
        return self._local[1]

    @cached_property
    def _local(self) -> tuple[np.ndarray, np.ndarray]:
        return chart_coordinates(self)

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
        """(N, min(m, nv)) of A in the metric of the run, falling."""
        return np.linalg.svd(whitened(self)[0], compute_uv=False)

    @cached_property
    def rank(self) -> np.ndarray:
        """(N,) of the constraints."""
        sigma = self.singular_values
        if not sigma.shape[1]:
            return np.zeros(len(self.t), dtype=int)
        policy, floor = rank_policy(self.system, self.p), whitened(self)[1]
        return (sigma > np.maximum(policy.tolerance * sigma[:, :1], floor[:, None])).sum(axis=1)

    @cached_property
    def indicator(self) -> np.ndarray:
        """(N,) ‖v_m u_mᵀ γ‖ (Spencer 3.7), in the metric of the run.

        Divided by the smallest singular value it is the acceleration that the constraint nearest to being lost asks
        for: where a motion leads through a singular position in harmony with it, both go to zero together.
        """
        return indicator(self)

    @cached_property
    def condition(self) -> np.ndarray:
        """(N,) largest over smallest singular value of A, metric of the run, of those that are ever non-zero."""
        usual = int(self.rank.max(initial=0))
        sigma = self.singular_values
        return sigma[:, 0] / np.maximum(sigma[:, usual - 1], 1e-300) if usual else np.ones(len(self.t))

    # --- helpers ------------------------------------------------------------------------------------------------

    @cached_property
    def _constraints(self) -> Any:
        return self._batch("constraints")

    def _state(self, q: np.ndarray, v: np.ndarray, t: Any, u: np.ndarray) -> State:
        return self.system.arguments.belonging(self.system.state(q, v, float(t)), self.p, u)

    def _largest(self, rows: np.ndarray) -> np.ndarray:
        return np.abs(rows).max(axis=1, initial=0.0)

    def __repr__(self) -> str:
        reached = f"to t = {self.t[-1]:g} s" if len(self.t) else "without records"
        return (
            f"<run of '{self.system.name}' {reached}: {self.message}; {self.steps} steps, "
            f"{self.rejected} rejected, {self.evaluations} evaluations, {len(self.passages)} singular passages>"
        )


def continuation(run: Run) -> DenseSource | None:
    """How a run answers between its records; None where only its recorded times are known."""
    return run._between if run._dense is not None else None


def positions_met(run: Run) -> tuple[Met, ...]:
    """The singular positions that a run passed, not yet described (`run.passages` describes them)."""
    return run._met
