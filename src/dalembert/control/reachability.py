"""The nearest position: where a task comes nearest to its reference, Φ(q) = 0 and θ(q) near θ_d.

With e = (θ_d − θ)/s, s the size of each row, and S = (∂θ/∂z)/s the slopes of the task along the motions z that the
constraints leave, the position is the minimum along the constraints of

    g²(√(1 + ‖e‖²/g²) − 1) + ½ μ² max(0, log(c/ρ))²,    ρ = 1/‖S⁺‖.                                  (1)

The first part grows with the distance and pulls by g at most. The second applies only if a margin is asked for. It is
zero where the task moves freely, ρ ≥ c, and keeps the position off the edge of the workspace, where S loses rank and a
finite velocity of the task would need an infinite one of the joints. A reference inside is reached exactly, and the
position depends continuously on the reference. How fast it may move to the edge is the governor's matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dalembert.control.plant import Plant
from dalembert.control.task import row_units
from dalembert.lazy import cached_property
from dalembert.rank import angular_velocities, rank_policy
from dalembert.system.state import State

ITERATIONS = 60
ACCURACY = 1e-8  # relative, of θ
PULL = 0.05  # g of (1), in sizes of the rows
PUSH = 0.05  # μ of (1)
CLEAR = 0.5  # c of (1), of the largest ρ at random positions
SAMPLES = 15  # of these
STEP = 1e-5  # of differences, along motions of unit size


@dataclass(frozen=True, eq=False)
class NearestPosition:
    """The position of a mechanism in which a task comes nearest to its reference."""

    q: np.ndarray  # (nq,)
    theta: np.ndarray  # (nt,) the task there
    distance: float  # ‖e‖ there
    reached: bool  # whether that is nothing but rounding
    message: str  # what is missed


@dataclass(frozen=True, eq=False)
class _KnownPosition:
    """What is known at a position."""

    q: np.ndarray  # (nq,)
    closed: float  # largest error of the constraints, in their units
    theta: np.ndarray  # (nt,)
    slopes: np.ndarray  # (nt, nv) by scaled velocities, in sizes of the rows
    K: np.ndarray  # (nv, k) orthonormal motions of the scaled velocities that the constraints leave

    @cached_property
    def S(self) -> np.ndarray:
        """(nt, k) slopes along these motions."""
        return self.slopes @ self.K

    @cached_property
    def rho(self) -> float:
        """1/‖S⁺‖: about the smallest singular value of S, and smooth."""
        sigma = np.linalg.svd(self.S, compute_uv=False)
        return float(np.sum(np.maximum(sigma, 1e-12) ** -2.0) ** -0.5) if len(sigma) else np.inf


class PositionSearch:
    """Positions of a plant in search of those where its task takes given values.

    plant: the mechanism with its task. weights: (nt,) of errors of rows; default: lengths count in lengths of the
    mechanism, angles in radians, other rows by how much they change at random positions.
    """

    def __init__(self, plant: Plant, weights: np.ndarray | None = None):
        self.plant, self.system = plant, plant.system
        policy = rank_policy(self.system, plant.p)
        self.units, self.length = policy.units, policy.length
        self.reach = np.where(angular_velocities(self.system), 1.0, policy.length)  # of unit velocities
        self._weights = weights

    @cached_property
    def sizes(self) -> np.ndarray:
        """(nt,) s of (1)."""
        if self._weights is not None:
            return np.asarray(1.0 / self._weights)
        out = row_units(self.plant.task, self.system.layout, self.length)
        if np.isnan(out).any():
            rows = [np.linalg.norm(v[7] * self.reach, axis=1) for v in self._anywhere()]
            out = np.where(np.isnan(out), np.maximum(np.median(rows, axis=0), 1e-300), out)
        return out

    @cached_property
    def clear(self) -> float:
        """c of (1)."""
        every = np.ones(len(self.system.rows.of), dtype=bool)
        return CLEAR * max(self._place(v, every).rho for v in self._anywhere())

    def _anywhere(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Values of the plant at random positions, whether closed or not."""
        rng, start = np.random.default_rng(0), self.system.state()
        for _ in range(SAMPLES):
            q = self.system.plus(start, rng.uniform(-1, 1, self.plant.n) * self.reach)
            yield self.plant.values(start.t, self.system.state(q, np.zeros(self.plant.n), start.t))

    def _place(self, values: tuple[np.ndarray, ...], rows: np.ndarray, q: np.ndarray | None = None,
               closed: float = 0.0) -> _KnownPosition:  # fmt: skip
        A, theta, J = values[2][rows] * self.reach / self.units[rows][:, None], values[5], values[7]
        _, sigma, Vt = np.linalg.svd(A)
        rank = int((sigma > 1e-8 * sigma.max(initial=0.0)).sum())
        return _KnownPosition(
            np.zeros(0) if q is None else q, closed, theta, J * self.reach / self.sizes[:, None], Vt[rank:].T
        )

    def nearest(
        self, state: State, guess: np.ndarray | None, t: float, target: np.ndarray, active: np.ndarray,
        margin: bool = False,
    ) -> NearestPosition:  # fmt: skip
        """The nearest position, by Newton's method along the constraints, found from one position.

        guess: q to start from, if not that of the state. target: θ_d, (nt,). active: (m,), which rows of the
        constraints count. margin: whether to keep off the edge of the workspace.
        """
        return _Search(self, t, target, self.system.rows.holonomic & (active != 0), margin).run(
            state.q if guess is None else guess
        )


class _Search:
    """One search of `PositionSearch.nearest`."""

    def __init__(self, space: PositionSearch, t: float, target: np.ndarray, rows: np.ndarray, margin: bool):
        self.space, self.t, self.target, self.rows = space, t, target, rows
        self.still = np.zeros(space.plant.n)
        self.clear = space.clear if margin else 0.0

    def at(self, q: np.ndarray) -> _KnownPosition:
        space = self.space
        x = space.system.state(q, self.still, self.t)
        phi = space.system.residuals(x, p=space.plant.p)[self.rows] / space.units[self.rows]
        return space._place(space.plant.values(self.t, x), self.rows, q, float(np.abs(phi).max(initial=0.0)))

    def moved(self, q: np.ndarray, z: np.ndarray) -> np.ndarray:
        """q moved by z (nv,), in scaled velocities."""
        return self.space.system.plus(self.space.system.state(q), self.space.reach * z)

    def close(self, q: np.ndarray) -> _KnownPosition:
        """The position on the constraints next to q."""
        space, rows = self.space, self.rows
        for _ in range(8):
            x = space.system.state(q, self.still, self.t)
            phi = space.system.residuals(x, p=space.plant.p)[rows] / space.units[rows]
            if np.abs(phi).max(initial=0.0) < 1e-12:
                break
            A = space.plant.values(self.t, x)[2][rows] * space.reach / space.units[rows][:, None]
            q = self.moved(q, -np.linalg.lstsq(A, phi, 1e-8)[0])
        return self.at(q)

    def error(self, x: _KnownPosition) -> np.ndarray:
        return self.space.plant.short_way(self.target - x.theta) / self.space.sizes

    def lack(self, x: _KnownPosition) -> float:
        """log(c/ρ), 0 where the task moves freely."""
        return max(0.0, float(np.log(self.clear / x.rho))) if self.clear > 0.0 else 0.0

    def cost(self, x: _KnownPosition) -> float:
        """(1)."""
        e = self.error(x)
        square = float(e @ e)
        return square / (1 + np.sqrt(1 + square / PULL**2)) + 0.5 * PUSH**2 * self.lack(x) ** 2

    def pull(self, x: _KnownPosition) -> tuple[float, np.ndarray]:
        """w = 1/√(1 + ‖e‖²/g²) and the force w e of the first part."""
        e = self.error(x)
        w = float(1 / np.sqrt(1 + e @ e / PULL**2))
        return w, w * e

    def slope(self, x: _KnownPosition, curved: bool) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (k,) and Hessian (k, k) of the cost along K; curved: with how the slopes of the task change."""
        w, force = self.pull(x)
        gradient, lack = -x.S.T @ force, self.lack(x)
        if not (curved or lack > 0.0):
            return gradient, w * x.S.T @ x.S
        H, rise = np.zeros((x.K.shape[1], x.K.shape[1])), np.zeros(x.K.shape[1])
        for k, direction in enumerate(x.K.T):
            a, b = (self.at(self.moved(x.q, h * direction)) for h in (STEP, -STEP))
            H[:, k] = -x.K.T @ (a.K @ (a.S.T @ self.pull(a)[1]) - b.K @ (b.S.T @ self.pull(b)[1])) / (2 * STEP)
            rise[k] = np.log(a.rho / b.rho) / (2 * STEP)
        if lack > 0.0:  # ρ is about linear where it is small, so that −∇²log ρ is ∇log ρ (∇log ρ)ᵀ
            gradient = gradient - PUSH**2 * lack * rise
            H += PUSH**2 * (1 + lack) * np.outer(rise, rise)
        return gradient, 0.5 * (H + H.T)

    def run(self, q: np.ndarray) -> NearestPosition:
        x = self._off_the_edge(self.close(q))
        cost = self.cost(x)
        for k in range(ITERATIONS):
            gradient, H = self.slope(x, curved=k > 4)
            values, vectors = np.linalg.eigh(H)
            floor = 1e-12 + 1e-10 * np.abs(values).max(initial=0.0)
            step = -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), floor))
            step *= min(1.0, 0.5 / max(float(np.linalg.norm(step)), 1e-300))
            if np.linalg.norm(x.S @ step) < 1e-11 or -gradient @ step < 1e-22:
                break
            for _ in range(30):
                tried = self.close(self.moved(x.q, x.K @ step))
                other = self.cost(tried)
                if tried.closed < 1e-9 and other < cost + 1e-4 * gradient @ step:
                    break
                step = 0.5 * step
            else:
                break
            x, cost = tried, other
        return self._found(x)

    def _off_the_edge(self, x: _KnownPosition) -> _KnownPosition:
        """A position beside x where that is on the edge: there the cost has no slope."""
        if not x.rho < 1e-3 * self.clear:
            return x
        least = x.K @ np.linalg.svd(x.S)[2][min(x.S.shape) - 1]
        beside = [self.close(self.moved(x.q, h * least)) for h in (0.1, -0.1)]
        return min((b for b in beside if b.closed < 1e-9), key=self.cost, default=x)

    def _found(self, x: _KnownPosition) -> NearestPosition:
        names = self.space.plant.task.names
        e = self.error(x)
        distance = float(np.linalg.norm(e))
        reached = distance < 10 * ACCURACY
        off = [k for k in range(len(names)) if abs(e[k]) > ACCURACY]
        said = ", ".join(f"{names[k]} comes to {x.theta[k]:.4g} of {self.target[k]:.4g}" for k in off)
        return NearestPosition(x.q, x.theta, distance, reached, said)
