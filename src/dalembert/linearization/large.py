"""Linear models of large mechanisms: dense algebra on the rows of `system.equation_rows`, not straight-line code.

The equations are those of `traced`, with v̇_q, v̇_v, v̇_u and v̇_t from all coordinates in place of its (2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.blas import one_thread
from dalembert.charts.leaders import Coordinate
from dalembert.system.equation_rows import EquationRows
from dalembert.system.rows import RowChoice
from dalembert.system.system import System


@one_thread()
def large_model(
    system: System,
    given: Mapping[str, Any],
    velocities: Sequence[Coordinate],
    more: Sequence[Coordinate] = (),
    rows: RowChoice = None,
) -> tuple[np.ndarray, ...]:
    """The outputs `traced.NAMES` for given q, v, u, p and t."""
    positions, n = [*velocities, *more], system.nv
    functions = [(c.key, c.row) for c in positions if c.row is not None]
    equations = EquationRows(system, rows, functions)
    t = np.atleast_1d(given["t"])
    found = equations.solved({**given, "t": t})
    known, J, m = found.known, found.J, equations.m
    places, columns = equations.places, equations.columns
    value_rates, value_speeds = (found.e[places[f"coordinate_{x}"]] for x in ("rates", "speeds"))
    place = {key: k for k, (key, _) in enumerate(functions)}
    C = J[places["coordinate_rates"], columns["a"]]
    A, M = J[places["rates"], columns["a"]], J[places["forces"], columns["a"]]
    weights = 1.0 / np.maximum(np.abs(np.diag(M)), 1e-300)

    def of(chosen: Sequence[Coordinate], values: np.ndarray, units: bool = False) -> np.ndarray:
        """A row for each coordinate: of those that are functions from `values`, of others zeros or unit vectors."""
        out = np.zeros((len(chosen), *values.shape[1:]))
        for k, c in enumerate(chosen):
            if c.row is not None:
                out[k] = values[place[c.key]]
            elif units:
                out[k, c.index] = 1.0
        return out

    def by(name: str, x: str) -> np.ndarray:
        """∂/∂x of the functions, from the rows `name` of the equations."""
        return J[places[f"coordinate_{name}"], columns[x]]

    holonomic = (system.rows if rows is None else system.rows.only(rows)).holonomic if m else np.zeros(0, dtype=bool)
    v = _Frame(of(velocities, C, units=True), A, [c.index for c in velocities], weights)
    q = v if not more and holonomic.all() else _Frame(
        of(positions, C, units=True), A[holonomic], [c.index for c in positions], weights
    )  # fmt: skip
    Kq, Kv = q.motions, v.motions
    speed_q, speed_t = (J[places["speeds"], columns[x]] for x in ("q", "t"))
    Dv = v.dependent(-of(velocities, by("speeds", "q")) @ Kq, -speed_q @ Kq)
    b, coordinates_b = (found.moved_by_time(x)[:, None] for x in ("speeds", "coordinate_speeds"))
    Kt = q.dependent(-of(positions, coordinates_b), -b[holonomic])
    Dt = v.dependent(
        -(of(velocities, by("speeds", "q")) @ Kt + of(velocities, by("speeds", "t"))), -(speed_q @ Kt + speed_t)
    )

    def along(x_q: np.ndarray, x_v: np.ndarray, x_u: np.ndarray, x_t: np.ndarray) -> np.ndarray:
        return np.hstack([x_q @ Kq + x_v @ Dv, x_v @ Kv, x_u, x_t + x_q @ Kt + x_v @ Dt])

    slopes = along(*(found.Z[:n, columns[x]] for x in ("q", "v", "u", "t")))
    direct = along(*(by("rates", x) for x in ("q", "v", "u", "t")))
    lower = of(velocities, C, units=True) @ slopes + of(velocities, direct)
    turn = np.zeros((n, n))
    for link in system.layout.tree.links:
        if link.joint.nq != link.joint.nv:
            turn[link.v, link.v] = link.joint.transport(given["v"][link.v]).astype(float)
    rows_q, speeds_q = of(positions, C, units=True), of(positions, by("speeds", "q"))
    still = [c.index if c.index is not None else -1 for c in positions]
    turned = np.where(np.array(still)[:, None] >= 0, turn[still], 0.0)
    upper = np.hstack([rows_q @ Dv + speeds_q @ Kq - turned @ Kq, rows_q @ Kv])
    upper_t = rows_q @ Dt + speeds_q @ Kt + of(positions, by("speeds", "t")) - turned @ Kt
    size, inputs = Kq.shape[1] + Kv.shape[1], len(system.u_names)
    B = np.vstack([np.zeros((len(positions), inputs)), lower[:, size : size + inputs]])
    time = np.concatenate([upper_t, lower[:, size + inputs :]]).reshape(-1)
    rate = [known["v"][c.index] if c.row is None else value_speeds[place[c.key]] for c in positions]
    rate += [known["a"][c.index] if c.row is None else value_rates[place[c.key]] for c in velocities]
    margin = np.array([*found.margin, v.margin, q.margin])
    return (
        np.vstack([upper, lower[:, :size]]), B, time, np.array(rate), Kq, Kv, Dv, Kt[:, 0], Dt[:, 0],
        known["a"], known["lam"], margin,
    )  # fmt: skip


class _Frame:
    """Motions with given rates of chosen coordinates: [C; A] motion = [rates; right]."""

    def __init__(self, C: np.ndarray, A: np.ndarray, indices: Sequence[int | None], weights: np.ndarray):
        self.split = len(C)
        rest = [k for k in range(C.shape[1]) if k not in indices]
        left = np.vstack([C, A])
        try:
            with one_thread():
                self.inverse = np.linalg.inv(left)
        except np.linalg.LinAlgError:
            self.inverse = np.full(left.shape, np.nan)
        N = np.vstack([C[[k for k, index in enumerate(indices) if index is None]], A])[:, rest] * np.sqrt(weights[rest])
        self.margin = _least_sine(N)

    @property
    def motions(self) -> np.ndarray:
        """(nv, coordinates) with each coordinate at rate 1."""
        return self.inverse[:, : self.split]

    def dependent(self, coordinates: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(nv, …) with given rates of the coordinates and right-hand sides of the rows."""
        return self.inverse @ np.vstack([coordinates, rows])


def _least_sine(N: np.ndarray) -> float:
    """The least squared sine between a row and those before it."""
    lengths = np.linalg.norm(N, axis=1)
    if not len(N):
        return 1.0
    if not lengths.min() > 0.0 or not np.isfinite(N).all():
        return 0.0
    with one_thread():
        return float((np.abs(np.diag(np.linalg.qr((N / lengths[:, None]).T, mode="r"))) ** 2).min())
