"""The result of `sweep_many`: many variants of a mechanism, led through the same values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, animated, state_rows
from dalembert.analysis.motion_columns import motion_columns, position_units
from dalembert.ensembles.assembling import sides
from dalembert.errors import ArgumentError, unknown
from dalembert.lazy import cached_property
from dalembert.rank import angular_velocities, rank_policy, usual_sizes
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns


@dataclass(frozen=True, eq=False)
class Sweeps(AtStates):
    """n variants of a mechanism, led through the same K values; NaN from where a variant does not follow.

    `sweeps["B"]` are the values of a coordinate, (n, K); motion of frames, energies and forces have the names they have
    in a `Sweep`.
    """

    system: System
    values: dict[str, np.ndarray]  # (K,) what is led, by name
    q: np.ndarray  # (n, K, nq)
    v: np.ndarray  # (n, K, nv)
    vdot: np.ndarray  # (n, K, nv)
    p: np.ndarray  # (n, np) parameters
    alone: np.ndarray  # (n,) whether a variant was led by `System.sweep`
    messages: dict[int, str]  # {variant: why it does not reach all values}

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        led = f"{self.q.shape[1]} values of {', '.join(self.values)}"
        return (
            f"<sweeps of {len(self)} variants of '{self.system.name}' through {led}; {len(self.messages)} fall short>"
        )

    def _records(self) -> StateRows:
        return state_rows(self.system, self.q, self.v, p=self.p[:, None])

    @property
    def multipliers(self) -> np.ndarray:
        """(n, K, m) of the constraint rows `system.row_names`, N or N m; the shortest where rows are redundant."""
        return self._forces[..., : len(self.system.row_names)]

    def driving_force(self, name: str) -> np.ndarray:
        """(n, K) force (N) or moment (N m) that drives a coordinate, by its name."""
        name, led = checks.name(name, "the name of what is led"), list(self.values)
        if name not in led:
            raise unknown("coordinate that is led", name, led)
        return self._forces[..., len(self.system.row_names) + led.index(name)]

    def power(self, name: str) -> np.ndarray:
        """(n, K) W that the drive of a coordinate brings in, by its name."""
        return self.driving_force(name) * self.rate(name)

    def animate(self, path: Any, *, k: int = 0, **options: Any) -> Any:
        """The k-th variant's motion as one HTML file at path; options of `dalembert.view.animate`."""
        k = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        one = state_rows(self.system, self.q[k], self.v[k], p=self.p[k])
        return animated(self.system, one, f"variant {k} of {repr(self)[1:-1]}", path, options)

    def _row_forces(self) -> np.ndarray:
        return self.multipliers

    def _accelerations(self) -> np.ndarray:
        return self.vdot

    @cached_property
    def _forces(self) -> np.ndarray:
        """(n, K, rows + led) the shortest (λ; f) with Aᵀ λ + Eᵀ f = M v̇ + h − Q, in the units of the rows."""
        system, shape, led = self.system, self.q.shape[:2], list(self.values)
        load = self._batch("inverse_dynamics", a=self.vdot).reshape(*shape, system.nv)
        A = self._batch("constraints")[1].reshape(*shape, -1, system.nv)
        E = np.eye(system.nv)[[system.v_names.index(name) for name in led]]
        _, units, length = usual_sizes(system, self.p)
        reach = np.where(angular_velocities(system), 1.0, length[:, None])
        along = np.hstack([units, reach[:, [system.v_names.index(name) for name in led]]])
        J = np.concatenate([A, np.broadcast_to(E, (*shape, *E.shape))], axis=2)
        J = J * (reach[:, None, None, :] / along[:, None, :, None])
        known = np.isfinite(J).all(axis=(2, 3)) & np.isfinite(load).all(axis=2)
        out = np.full((*shape, J.shape[2]), np.nan)
        tolerance = rank_policy(system, self.p[0]).tolerance
        inverse = np.linalg.pinv(J[known], rcond=tolerance)
        rank = np.linalg.matrix_rank(J[known], rtol=tolerance).min(initial=system.nv)
        if rank < system.nv:
            raise ArgumentError(
                f"the forces of these sweeps are not determined: {system.nv - rank} freedom(s) of '{system.name}' are "
                "not led. Lead them too."
            )
        out[known] = np.einsum("kij,ki->kj", inverse, (load * reach[:, None])[known])
        return out / along[:, None]

    def state(self, k: int, j: int) -> State:
        """The state of the k-th variant at the j-th value, both from 0; negative numbers count from the end."""
        i = checks.whole(k, "k", least=-len(self), most=len(self) - 1)
        j = checks.whole(j, "j", least=-self.q.shape[1], most=self.q.shape[1] - 1)
        if not np.isfinite(self.q[i, j]).all():
            raise ArgumentError(f"variant {i} does not reach value {j}: {self.messages[i % len(self)]}")
        return self.system.arguments.belonging(self.system.state(self.q[i, j], self.v[i, j]), self.p[i])

    def _columns(self) -> Columns:
        """One row for each variant and value."""
        n, K = self.q.shape[:2]
        motion, units = motion_columns(self.system, *(x.reshape(n * K, -1) for x in (self.q, self.v)))
        led = {name: np.tile(x, n) for name, x in self.values.items()}
        values = {"variant": np.repeat(np.arange(n), K), **led, **motion}
        of = dict(zip(self.system.q_names, position_units(self.system)))
        units |= {name: of.get(name, "") for name in led}
        return Columns(self.system.name, "row", np.arange(n * K), values, units, along=next(iter(led)), by="variant")

    @property
    def side(self) -> np.ndarray:
        """(n,) 1 or −1 where a variant starts, as `Ensemble.side`."""
        return sides(self.system, list(self.values), self.q[:, 0], self.p)

    @property
    def success(self) -> np.ndarray:
        """(n,) whether a variant reaches all values."""
        return np.array([k not in self.messages for k in range(len(self))])
