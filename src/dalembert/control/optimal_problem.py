"""The problem of `optimal_motion`: motions in variational steps along given inputs, their costs and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control import sweeps
from dalembert.control.path_costs import CostOfState, PathCosts
from dalembert.control.stage_costs import Cost, Expansions, StageCost
from dalembert.errors import ArgumentError, DalembertError
from dalembert.lazy import cached_property
from dalembert.linearization.discrete_motion import Steps, followed, slopes_along
from dalembert.linearization.discrete_slopes import StepSlopes
from dalembert.mechanism.constraints.expression import Expression
from dalembert.system.state import State
from dalembert.system.system import System


@dataclass(frozen=True, eq=False)
class CostedMotion:
    """Steps and their cost."""

    taken: Steps
    cost: float

    @property
    def u(self) -> np.ndarray:
        """(N, inputs)."""
        return self.taken.u

    @property
    def x(self) -> np.ndarray:
        """(N + 1, nq + nv) states."""
        return np.vstack([self.taken.before, self.taken.after[-1:]])

    @property
    def t(self) -> np.ndarray:
        """(N + 1,) s."""
        return np.append(self.taken.t, self.taken.t[-1] + self.taken.h)


class StepDerivatives:
    """The derivatives of all steps of a motion."""

    def __init__(self, parts: Sequence[tuple[np.ndarray, StepSlopes]], n: int, inputs: int):
        self.parts, self.n, self.inputs = parts, n, inputs
        self.count = sum(len(index) for index, _ in parts)

    def _gathered(self, each: Callable[[StepSlopes, np.ndarray], np.ndarray]) -> np.ndarray:
        """(N, …) what each part gives, in the order of steps."""
        found = [(index, each(part, index)) for index, part in self.parts]
        out = np.zeros((self.count, *found[0][1].shape[1:]))
        for index, values in found:
            out[index] = values
        return out

    @cached_property
    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """A (N, 2 nv, 2 nv) and B (N, 2 nv, inputs)."""
        D = self._gathered(lambda x, _: np.concatenate([x.first[:, x.places["q"]], x.first[:, x.places["v"]]], axis=1))
        return D[:, :, : self.n], D[:, :, self.n : self.n + self.inputs]

    def bent(self, costates: np.ndarray) -> np.ndarray:
        """(N, 2 nv + inputs, …) Σ p_i ∂²f_i of every step, by (x, u), symmetric; costates (N + 1, 2 nv)."""
        size, nv = self.n + self.inputs, self.n // 2

        def weighted(x: StepSlopes, index: np.ndarray) -> np.ndarray:
            W = np.zeros((len(index), x.rows.count))
            W[:, x.places["q"]], W[:, x.places["v"]] = np.split(costates[1:][index], [nv], axis=1)
            return x.weighted(W)[:, :size, :size]

        H = self._gathered(weighted)
        return 0.5 * (H + H.transpose(0, 2, 1))

    @property
    def momentum(self) -> np.ndarray:
        """(N + 1, nv) M v."""
        before, after = self._gathered(lambda x, _: x.before), self._gathered(lambda x, _: x.after)
        return np.vstack([before[:1], after])

    @property
    def multipliers(self) -> np.ndarray:
        """(N, rows) impulses of the constraints."""
        return self._gathered(lambda x, _: x.known["lam"])


class OptimalProblem:
    """What is asked for, and the motion along given inputs."""

    def __init__(
        self,
        system: System,
        start: State,
        duration: float,
        steps: int,
        cost: Cost,
        final: Callable[[Any], Any],
        limits: tuple[np.ndarray, np.ndarray],
        path: Sequence[tuple[Expression, float, float]],
        p: np.ndarray,
    ):
        self.system, self.start, self.steps, self.h, self.limits = system, start, steps, duration / steps, limits
        self.p, self.nu, self.n = p, len(system.u_names), 2 * system.nv
        self.stage, self.last = StageCost(system, cost, "cost"), StageCost(system, CostOfState(final), "final")
        self.path = PathCosts(system, path, steps)

    @property
    def free(self) -> bool:
        """Whether inputs have no limits."""
        return not any(np.isfinite(x).any() for x in self.limits)

    def _arguments(self, motion: CostedMotion) -> tuple[np.ndarray, ...]:
        """q, v, u, p and t of all states, the last without inputs."""
        q, v = np.split(motion.x, [self.system.nq], axis=1)
        return q, v, np.vstack([motion.u, np.zeros((1, self.nu))]), self.p, motion.t

    def expand(self, motion: CostedMotion) -> tuple[Expansions, Expansions]:
        """The stage costs, times h, and the final one, with those of the path."""
        q, v, u, p, t = self._arguments(motion)
        stage = self.stage.at(q[:-1], v[:-1], u[:-1], p, t[:-1]).times(self.h)
        end = self.last.at(q[-1:], v[-1:], u[-1:], p, t[-1:])
        if self.path:
            way = self.path.at(q, v, u, p, t).times(self.h)
            stage, end = stage.plus(way.only(slice(0, -1))), end.plus(way.only(slice(-1, None)))
        return stage, end

    def excess(self, motion: CostedMotion) -> np.ndarray:
        """(sides, N + 1) how far the limits of the path are exceeded."""
        return self.path.excess(*self._arguments(motion))

    def plain_cost(self, motion: CostedMotion) -> float:
        """The cost without that of the path."""
        q, v, u, p, t = self._arguments(motion)
        stage = self.stage.at(q[:-1], v[:-1], u[:-1], p, t[:-1]).value
        return float(self.h * stage.sum() + self.last.at(q[-1:], v[-1:], u[-1:], p, t[-1:]).value[0])

    def slopes(self, motion: CostedMotion) -> StepDerivatives:
        """Every step with its derivatives."""
        return StepDerivatives(slopes_along(self.system, motion.taken, self.p), self.n, self.nu)

    def moved(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """(N, nq + nv) states x and small changes d of them, (N, 2 nv)."""
        nq, nv = self.system.nq, self.system.nv
        return np.hstack([self.system.kernel("plus").batch(x[:, :nq], d[:, :nv]), x[:, nq:] + d[:, nv:]])

    def costed(self, motion: CostedMotion) -> CostedMotion | None:
        """The motion with its cost; None where it is not finite."""
        l, end = self.expand(motion)
        cost = float(l.value.sum() + end.value[0])
        return CostedMotion(motion.taken, cost) if np.isfinite(cost) else None

    def followed(self, states: np.ndarray, u: np.ndarray, K: np.ndarray) -> CostedMotion | None:
        """The motion of inputs u + K (x less the states wanted); None where a step cannot be taken."""
        try:
            taken = followed(self.system, [self.start], self.h, u, self.p, (K, states, self.limits))
        except DalembertError:
            return None
        return self.costed(CostedMotion(taken, np.nan))

    # --- where to start -------------------------------------------------------------------------------------------

    def by_inputs(self, u: np.ndarray) -> CostedMotion | None:
        """The motion of inputs (N, inputs), as far as the limits let them."""
        states = np.tile([*self.start.q, *self.start.v], (self.steps, 1))
        return self.followed(states, u, np.zeros((self.steps, self.nu, self.n)))

    def first(self) -> CostedMotion | None:
        """The better of no inputs and of following rest at the start."""
        none = np.zeros((self.steps, self.nu))
        found = [self.by_inputs(none)]
        if self._may_rest(self._rest[0]):
            found.append(self.along(self._rest, none))
        return min((x for x in found if x is not None), key=lambda x: x.cost, default=None)

    @property
    def _rest(self) -> list[State]:
        """(N + 1) rest at the start."""
        still = self.start.replace(v=np.zeros(self.system.nv))
        return [still.replace(t=self.start.t + k * self.h) for k in range(self.steps + 1)]

    def along_least_cost(self) -> CostedMotion | None:
        """The motion that follows the states at which the cost of each time, without inputs, is least.

        These are one step of Newton's method from rest at the start, exact for quadratic costs; what the costs do not
        see stays as it is. The mechanism need not be able to move along them. None where it cannot follow.
        """
        system, rest, nq = self.system, self._rest, self.system.nq
        q, v, t = (np.array([getattr(x, name) for x in rest]) for name in ("q", "v", "t"))
        none = np.zeros((self.steps + 1, self.nu))
        stage, end = self.stage.at(q, v, none, self.p, t), self.last.at(q[-1:], v[-1:], none[-1:], self.p, t[-1:])
        H = np.concatenate([stage.hessian[:-1], end.hessian])[:, : self.n, : self.n]
        g = np.concatenate([stage.gradient[:-1], end.gradient])[:, : self.n]
        if not (np.isfinite(H).all() and np.isfinite(g).all()):
            return None
        values, vectors = np.linalg.eigh(0.5 * (H + H.transpose(0, 2, 1)))
        seen = values > 1e-9 * np.abs(values).max(axis=1, keepdims=True)  # where costs are curved upward
        along = np.einsum("kij,ki->kj", vectors, g)
        least = -np.einsum("kij,kj->ki", vectors, np.where(seen, along / np.where(seen, values, 1.0), 0.0))
        if not least.any():
            return None  # rest at the start itself
        try:
            states = [
                system.project(system.state(x[:nq], x[nq:], time), p=self.p)
                for x, time in zip(self.moved(np.hstack([q, v]), least), t)
            ]
            return self.along(states, none[:-1])
        except DalembertError:
            return None

    def _may_rest(self, x: State) -> bool:
        """Whether a state at rest is on the constraints: not where drivers move them."""
        return not self.system.rows.of or bool(np.abs(self.system.speed_residuals(x, p=self.p)).max() < 1e-9)

    def resampled(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray, middle: bool
    ) -> CostedMotion | None:
        """The motion that follows a curve at times t, from 0; u: at these times, or at the middle of steps."""
        ours = self.h * np.arange(self.steps + 1)
        at = ours[:-1] + (0.5 * self.h if middle else 0.0)
        inputs = np.column_stack([np.interp(at, t, x) for x in u.T])
        states = []
        for time in ours:
            k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 2))
            s = float(np.clip((time - t[k]) / (t[k + 1] - t[k]), 0.0, 1.0))
            at_q = self.system.plus(q[k], s * self.system.minus(q[k + 1], q[k]))
            state = self.system.state(at_q, (1 - s) * v[k] + s * v[k + 1], float(self.start.t + time))
            states.append(self.system.project(state, p=self.p))
        return self.along(states, inputs)

    def along(self, states: list[State], u: np.ndarray) -> CostedMotion | None:
        """The motion that follows a curve, with the gains of the cost along it."""
        try:
            taken = followed(self.system, states[: self.steps], self.h, u, self.p)
        except DalembertError as error:
            raise ArgumentError(f"the guess of a motion of '{self.system.name}' cannot be followed: {error}") from None
        motion = CostedMotion(taken, np.nan)
        (A, B), (l, end) = self.slopes(motion).matrices, self.expand(motion)
        found = sweeps.backward(A, B, l, end, None, 1e-12)
        return None if found is None else self.followed(taken.before, u, found.K)
