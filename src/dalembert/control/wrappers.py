"""Imperfections between a control law and a machine: sampling, saturation, noise, delay. Each wraps u(t, state).

They compose: `Saturated(Delayed(Noisy(law, ...), ...), ...)`. Those with a memory expect times that do not go back:
`simulate` asks them with a sampling period `period` only, and takes one with an empty memory (`fresh`) for each run. By
hand, `reset` forgets what was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import array, function, name, number, reals, same_period, shown, vector, whole
from dalembert.control.references import LimitsGiven
from dalembert.errors import ArgumentError
from dalembert.protocols import check_system
from dalembert.statics.limits import Bounds
from dalembert.system.state import State
from dalembert.system.system import System

Law = Callable[[float, State], np.ndarray]


class _Wrapper:
    """A law around another one."""

    def __init__(self, law: Law):
        self.law = function(law, "the law")

    @property
    def needs_period(self) -> bool:
        """Whether a run has to ask it once a sampling period, since it remembers its last call."""
        return True

    @property
    def sampling_period(self) -> float | None:
        """The sampling period (s) that the law is made for, if it is for one."""
        return getattr(self.law, "sampling_period", None)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences of the law about its run."""
        return tuple(getattr(self.law, "remarks", ()))

    def reset(self) -> None:
        """Forget the past, the law's included."""
        if hasattr(self.law, "reset"):
            self.law.reset()
        self._forget()

    def fresh(self) -> Self:
        """A copy with fresh memory around a fresh law; `simulate` makes one per run."""
        other = copy(self)
        if hasattr(self.law, "fresh"):
            other.law = self.law.fresh()
        other._forget()
        return other

    def in_phases(self) -> Self:
        """A copy for a run with switches, around a law that is told by `changed` which constraints hold."""
        other = copy(self)
        if hasattr(self.law, "in_phases"):
            other.law = self.law.in_phases()
        other._forget()
        return other

    def changed(self, t: float, active: Mapping[str, bool]) -> None:
        """Tell the law which constraints hold from the time t (s) on, if it wants to know.

        active: {constraint: whether it holds}.
        """
        if hasattr(self.law, "changed"):
            self.law.changed(t, active)

    def _forget(self) -> None:
        """Forget the past, the law's excepted."""

    def _ask(self, t: float, state: State) -> np.ndarray:
        """The answer of the law, (nu,); NaN passes, a run reports it."""
        u = reals(self.law(t, state), "the answer of the law")
        if u.ndim != 1:
            raise ArgumentError(f"the answer of the law has shape {u.shape}; needed: a list of inputs.")
        return u


class Sampled(_Wrapper):
    """Ask the law every `period` (s) only, and hold its answer in between.

    law: a controller u(t, state).

    >>> law = Sampled(lambda t, state: np.array([t]), period=0.1)
    >>> for t in (0.0, 0.05, 0.1, 0.19):
    ...     print(law(t, None))
    [0.]
    [0.]
    [0.1]
    [0.1]
    """

    def __init__(self, law: Law, period: float):
        super().__init__(law)
        self.period = number(period, "the period", above=0.0)
        if not same_period(self.period, super().sampling_period):
            raise ArgumentError(
                f"the law is made for samples every {super().sampling_period:g} s, and the period is {self.period:g} s."
            )
        self._forget()

    @property
    def sampling_period(self) -> None:
        """None: the law is asked every `period`, whenever a run asks."""
        return None

    def _forget(self) -> None:
        self._next, self._u = -np.inf, np.zeros(0)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a `State`."""
        t = number(t, "t")
        if t >= self._next - 1e-9 * self.period:
            self._u = self._ask(t, state)
            self._next = (t if self._next == -np.inf else self._next) + self.period
            if self._next <= t:
                self._next = t + self.period
        return self._u


class Saturated(_Wrapper):
    """Cut inputs at their limits.

    law: a controller u(t, state). limits: one number for all, or {input: bound or (lower, upper)}. names: of the
    inputs, or the system whose inputs they are.

    >>> Saturated(lambda t, state: np.array([3.0, -9.0]), 5.0, ["left", "right"])(0.0, None)
    array([ 3., -5.])
    """

    def __init__(self, law: Law, limits: LimitsGiven, names: System | Sequence[str]):
        super().__init__(law)
        inputs = names.u_names if isinstance(names, System) else names
        if not isinstance(inputs, (list, tuple)):
            raise ArgumentError(f"names is {shown(names)}; needed: a System, or a list of the names of its inputs.")
        self.bounds = Bounds.of([name(n, "the name of an input") for n in inputs], limits, "input")

    @property
    def needs_period(self) -> bool:
        """Whether the law needs it: cutting has no memory."""
        return getattr(self.law, "needs_period", False)

    @property
    def traced(self) -> Callable[[Any, Any], Any] | None:
        """The law as an expression of (t, state), for runs side by side in ensembles; None where it is none."""
        inner = getattr(self.law, "traced", None)
        return None if inner is None else partial(_cut, inner, self.bounds.lower, self.bounds.upper)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a `State`."""
        u, n = self._ask(number(t, "t"), state), len(self.bounds.names)
        if len(u) != n:
            raise ArgumentError(f"the answer of the law has shape {u.shape}; needed: ({n},), one for each input.")
        return np.clip(u, self.bounds.lower, self.bounds.upper)


def _cut(law: Callable[[Any, Any], Any], lower: np.ndarray, upper: np.ndarray, t: Any, state: Any) -> Any:
    """What a law asks for, as an expression, within bounds."""
    import casadi as ca

    return ca.fmin(ca.fmax(law(t, state), lower), upper)


class Noisy(_Wrapper):
    """Measure positions and velocities with normal errors.

    law: a controller u(t, state). system: the mechanism. position, velocity: standard deviations, one number or one for
    each velocity; positions move on the group, q ⊕ δ. seed: makes runs repeatable.
    """

    def __init__(
        self, law: Law, system: System, *, position: ArrayLike = 0.0, velocity: ArrayLike = 0.0, seed: int = 0
    ):
        super().__init__(law)
        check_system(system)
        self.system, self.seed = system, whole(seed, "seed", least=0)
        self.position = _deviation(position, system.nv, "position")
        self.velocity = _deviation(velocity, system.nv, "velocity")
        self._forget()

    def _forget(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a `State`."""
        t, x = number(t, "t"), self.system.arguments.as_state(state)
        dq, dv = self._rng.normal(size=(2, self.system.nv))
        q = self.system.plus(x, self.position * dq)
        return self._ask(t, x.replace(q=q, v=x.v + self.velocity * dv))


def _deviation(x: ArrayLike, n: int, what: str) -> np.ndarray:
    """(n,) standard deviations."""
    values = array(x, None, what)
    values = np.broadcast_to(values, (n,)) if values.size == 1 and values.ndim < 2 else vector(values, n, what)
    if (values < 0).any():
        raise ArgumentError(f"{what} is {shown(x)}; needed: standard deviations, not negative.")
    return values


class Delayed(_Wrapper):
    """Give the answer of a time `delay` (s) ago; zeros, or `before`, until there is one.

    law: a controller u(t, state). before: inputs, (nu,).

    >>> law = Delayed(lambda t, state: np.array([t]), 0.2)
    >>> for t in (0.0, 0.1, 0.2, 0.3):
    ...     print(law(t, None))
    [0.]
    [0.]
    [0.]
    [0.1]
    """

    def __init__(self, law: Law, delay: float, *, before: ArrayLike | None = None):
        super().__init__(law)
        self.delay = number(delay, "the delay", least=0.0)
        self.before = None if before is None else vector(before, None, "before")
        self._forget()

    def _forget(self) -> None:
        self._past: deque[tuple[float, np.ndarray]] = deque()

    def __call__(self, t: float, state: State) -> np.ndarray:
        """The inputs, (nu,), at the time t (s) and a `State`."""
        t = number(t, "t")
        u = self._ask(t, state).copy()
        self._past.append((t, u))
        due = t - self.delay + 1e-9 * max(1.0, abs(t))
        while len(self._past) > 1 and self._past[1][0] <= due:
            self._past.popleft()
        at, old = self._past[0]
        if at <= due:
            return old
        return np.zeros_like(u) if self.before is None else self.before
