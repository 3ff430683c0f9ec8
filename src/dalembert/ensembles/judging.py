"""Judge the ends of runs: the energy balance of all, and the closure of those that no `Run` has judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.ensembles.lanes import Batch
from dalembert.errors import ArgumentError
from dalembert.rank import usual_sizes
from dalembert.simulation.results.warnings import OPEN, held_energy, is_wrong
from dalembert.simulation.setup import Setup
from dalembert.simulation.status import Status
from dalembert.system.system import System


class Ends:
    """The runs of a batch at their starts and ends: x (N, nq + nv + works) at times t (N,)."""

    def __init__(self, setup: Setup, batch: Batch, x: np.ndarray, t: np.ndarray) -> None:
        self.setup, self.batch, self.t = setup, batch, t
        self.rtol = None if setup.method.fixed else setup.rtol
        nq, n = setup.system.nq, setup.system.nq + setup.system.nv
        self.q, self.v, self.work = x[:, :nq], x[:, nq:n], x[:, n:]
        kinetic, potential = (self._both(name) for name in ("kinetic_energy", "potential_energy"))
        self.kinetic = np.maximum(*kinetic)  # (N,) J, the larger one
        self.change = np.abs(potential[1] - potential[0])  # (N,) J
        self.size = np.maximum.reduce([*map(abs, kinetic), *map(abs, potential)])
        #: (N,) J: energy at the end, less that of the start and the work done since
        self.energy_error = kinetic[1] + potential[1] - kinetic[0] - potential[0] - self.work.sum(axis=1)

    def _both(self, name: str) -> list[np.ndarray]:
        """(N,) values of an energy at the starts and at the ends."""
        system, batch = self.setup.system, self.batch
        starts = _batched(system, name, batch.q, batch.v, batch.t[:, 0], batch)
        return [starts, _batched(system, name, self.q, self.v, self.t, batch)]

    def judge(
        self, motion: np.ndarray, status: np.ndarray, lengths: np.ndarray, crossed: np.ndarray, share: float = 1.0
    ) -> dict[int, str]:
        """{run: what is wrong}, from (N,) numbers of each run.

        motion: J, largest kinetic energy on the way. lengths: m, of the mechanism. crossed: whether it met singular
        positions. share: of what an error of the energy may be.
        """
        error = self.energy_error
        moved = np.fmax(self.kinetic, motion) + self.change + np.abs(self.work).sum(axis=1)
        wrong = is_wrong(error, moved, self.size, self.rtol, crossed, self._held, share)
        gaps = self._gaps(lengths)
        out = {}
        for k in np.flatnonzero(wrong | ~(gaps <= OPEN)):
            what = f"the energy balance is wrong by {error[k]:.2g} J" if wrong[k] else f"open by {gaps[k]:.2g}"
            out[int(k)] = f"{Status(status[k]).sentence}, but {what}"
        return out

    def _held(self, k: int) -> float:
        """J: how well the energy of a run at rest is known."""
        system = self.setup.system
        try:
            state = system.state(self.q[k], self.v[k], float(self.t[k]))
        except ArgumentError:  # quaternions that steps without landing have spoiled
            return 0.0
        return held_energy(system, state, self.batch.u[k], self.batch.p[k], self.rtol)

    def _gaps(self, lengths: np.ndarray) -> np.ndarray:
        """(N,) largest gap of a constraint at the end, rad or lengths of the mechanism."""
        rows = self.setup.system.rows
        if not rows.of:
            return np.zeros(len(self.t))
        phi = _batched(self.setup.system, "residuals", self.q, self.v, self.t, self.batch)[0]
        units = np.where(rows.angular, 1.0, lengths[:, None])
        if rows.own.any():
            units = usual_sizes(self.setup.system, self.batch.p)[1]
        return np.asarray(np.abs(phi / units).max(axis=1, initial=0.0))


def _batched(system: System, name: str, q: np.ndarray, v: np.ndarray, t: np.ndarray, batch: Batch) -> Any:
    kernel = system.kernel(name)
    known = {"q": q, "v": v, "p": batch.p, "t": t[:, None], "u": batch.u}
    return kernel.batch(*(known[a] for a in kernel.names_in))
