"""The result of a run by time stepping."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.contacts.stop import Stops
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.results.contact_evidence import ContactRun
from dalembert.simulation.results.result import result
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import Context
from dalembert.simulation.run.dense import Dense
from dalembert.simulation.status import Status
from dalembert.simulation.time_stepping.layout import OWN, SteppingLayout
from dalembert.tables import Tabular


@dataclass(frozen=True, eq=False, repr=False)
class SteppedRun(ContactRun):
    """A run by time stepping (method "moreau"): forces of contacts and friction are means over the step that ends.

    `run.multiplier("floor")` has the forces of a contact, `run.gaps` how far its elements are apart,
    `run.penetration` how deep they overlap at most, `run.contact_residuals` how well contact problems were solved.
    """

    force_names: tuple[str, ...] = ()  # rows of contacts, stops, ropes and joint friction
    contact_forces: Any = None  # (N, rows) N or N m, in the order of force_names
    contact_residuals: Any = None  # (N,) of the contact problem of the step, over its speeds
    _stops: Stops | None = None  # of joints that have none of their own

    @property
    def _changeable(self) -> Changeable:
        return Changeable.of(self.system, self._stops)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Contacts, ropes and stops of the run."""
        return tuple(self._changeable.contacts)

    def multiplier(self, name: str) -> np.ndarray:
        """History of the multiplier of a row ("C.x", "floor.gap"), (N,), or of the k rows of a constraint, (N, k).

        Those of contacts and friction are means over the step that ends.
        """
        rows = self._changeable.everything.rows
        of = dict(zip(rows.names, rows.of))
        found = [k for k, row in enumerate(self.force_names) if name in (row, of[row])]
        if found:
            out = self.contact_forces[:, found]
            return out[:, 0] if len(found) == 1 else out
        if isinstance(name, str) and name in (*self.system.rows.names, *self.system.rows.of):
            return super().multiplier(name)
        known = [*self.system.rows.names, *self.system.rows.of, *self.force_names, *(of[n] for n in self.force_names)]
        raise unknown("row or constraint", name, dict.fromkeys(known))

    def reactions(self, joint: str) -> np.ndarray:
        raise ArgumentError(
            f"reactions in joint '{joint}' are not known of a run by time stepping; needed: an event-driven run, "
            "method='dop853'. Forces of contacts are run.multiplier(name)."
        )

    def summary(self) -> str:
        """What happened, in a paragraph, and how well contacts were kept."""
        text = super().summary()
        if not self.contact_names or not len(self.t):
            return text
        return (
            f"{text} Contacts overlapped by at most {self.penetration.max():.2g} (m or rad); the contact problems of "
            f"steps were solved to {self.contact_residuals.max():.1g} of their speeds."
        )

    def save(self, path: Any) -> None:
        """Write the columns of `to_pandas` into a NumPy archive; path ends in .npz. Run files hold other runs."""
        if checks.path(path, "path").suffix != ".npz":
            raise ArgumentError(
                "a run by time stepping is not written to files of runs; needed: a path that ends in .npz, for its "
                "table, or an event-driven run, method='dop853'."
            )
        Tabular.save(self, path)

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ of loops with the forces of contacts, by elimination."""
        vdot, multipliers, *_ = self._batch("answer", tau=self._contact_load)
        return vdot, multipliers

    @cached_property
    def _contact_load(self) -> np.ndarray:
        """(N, nv) forces of contacts and friction along the velocities."""
        whole, row = self._changeable.everything, self._changeable.row_index
        if not self.force_names:
            return np.zeros_like(self.v)
        lam = np.zeros((len(self.t), len(whole.rows.names) + len(whole.rows.left_out)))
        lam[:, [row[n] for n in self.force_names]] = self.contact_forces
        count = len(whole.rows.names)
        kernel = whole.kernels.custom(
            ("row_load",), ("q", "v", "p", "t", "lam"), lambda s: s.rows.sparse.transposed_times(s.lam[:count])
        )
        known = {"q": self.q, "v": self.v, "p": self.p, "t": self.t[:, None], "lam": lam}
        return np.asarray(kernel.batch(*(known[n] for n in kernel.names_in)))

    def resampled(self, times: Any, changes: bool = False) -> Run:
        t = checks.increasing(times, "times")
        return _of_columns(self, t, self._rows(t))

    @cached_property
    def _dense(self) -> Dense | None:
        if self._between is None or len(self.t) < 2:
            return None
        works = [w[:, None] for w in self.work.values()]
        own = [self.contact_residuals[:, None], self.contact_forces]
        return self._between.dense(self.t, np.hstack([self.q, self.v, *works, *own, self.u, self.margin[:, None]]))


def _of_columns(run: SteppedRun, t: np.ndarray, X: np.ndarray) -> SteppedRun:
    widths = [run.q.shape[1], run.v.shape[1], len(run.work), 1, len(run.force_names), run.u.shape[1]]
    q, v, work, residuals, forces, u, margin = np.split(X, np.cumsum(widths), axis=1)
    known = {f.name: getattr(run, f.name) for f in fields(run)}
    known |= {"t": t, "q": q, "v": v, "u": u, "margin": margin[:, 0], "work": dict(zip(run.work, work.T))}
    known |= {"contact_residuals": residuals[:, 0], "contact_forces": forces, "_between": None}
    return SteppedRun(**known)


def stepped_result(ctx: Context, status: Status) -> SteppedRun:
    """Everything up to now."""
    plain, layout = result(ctx, status), ctx.layout
    assert isinstance(layout, SteppingLayout)
    _, X = ctx.history.whole()
    first = ctx.system.nq + ctx.system.nv + len(ctx.system.work_names)
    columns = X[:, first : first + layout.works - len(ctx.system.work_names)]
    known = {f.name: getattr(plain, f.name) for f in fields(Run)}
    known["work"] = {**plain.work, "contacts": columns[:, 0]}
    lowered = ctx.record.method.lowered
    if lowered:
        known["remarks"] += (f"in {lowered} steps restitution was lowered, as it would have made energy",)
    return SteppedRun(
        **known,
        force_names=layout.force_rows,
        contact_residuals=columns[:, 1],
        contact_forces=columns[:, OWN:],
        _stops=layout.changeable.stops,
    )
