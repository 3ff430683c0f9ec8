"""What stands between a law and a machine: sampling, saturation, noise, delay. Each wraps a controller u(t, state).

They compose: `Saturated(Delayed(Noisy(law, ...), ...), ...)`. Those with a memory expect times that do not go back, as
a simulation with a sampling period `hold` gives them; `reset` forgets it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.checks import array, function, number, vector, whole
from dalembert.control.limits import Bounds

Law = Callable[[float, Any], np.ndarray]


class _Wrapper:
    """Passes on what it does not change."""

    def __init__(self, law: Law):
        self.law = function(law, "the law")

    def reset(self) -> None:
        """Forget the past, the law's included."""
        if hasattr(self.law, "reset"):
            self.law.reset()


class Sampled(_Wrapper):
    """Ask the law every `period` (s) only, and hold its answer in between.

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
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._next, self._u = -np.inf, np.zeros(0)

    def __call__(self, t: float, state: Any) -> np.ndarray:
        if t >= self._next - 1e-9 * self.period:
            self._u = self.law(t, state)
            self._next = (t if self._next == -np.inf else self._next) + self.period
            if self._next <= t:
                self._next = t + self.period
        return self._u


class Saturated(_Wrapper):
    """Cut inputs at their limits: one number for all, or {input: bound or (lower, upper)}.

    >>> Saturated(lambda t, state: np.array([3.0, -9.0]), 5.0, ["left", "right"])(0.0, None)
    array([ 3., -5.])
    """

    def __init__(self, law: Law, limits: Mapping[str, Any] | float, names: Any):
        super().__init__(law)
        self.bounds = Bounds.of(list(getattr(names, "u_names", names)), limits, "input")

    def __call__(self, t: float, state: Any) -> np.ndarray:
        return np.clip(self.law(t, state), self.bounds.lower, self.bounds.upper)


class Noisy(_Wrapper):
    """Measure positions and velocities with normal errors of these standard deviations: one number or one a velocity.

    Positions move on the group, q ⊕ δ. The seed makes runs repeatable.
    """

    def __init__(self, law: Law, system: Any, *, position: Any = 0.0, velocity: Any = 0.0, seed: int = 0):
        super().__init__(law)
        self.system, self.seed = system, whole(seed, "seed", least=0)
        self.position, self.velocity = (
            np.broadcast_to(array(x, None, what), (system.nv,)) if np.size(x) == 1 else vector(x, system.nv, what)
            for x, what in ((position, "position"), (velocity, "velocity"))
        )
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._rng = np.random.default_rng(self.seed)

    def __call__(self, t: float, state: Any) -> np.ndarray:
        dq, dv = self._rng.normal(size=(2, self.system.nv))
        q = self.system.plus(state, self.position * dq)
        return self.law(t, self.system.state(q, state.v + self.velocity * dv, state.t))


class Delayed(_Wrapper):
    """Give the answer of a time `delay` (s) ago; zeros, or `before`, until there is one.

    >>> law = Delayed(lambda t, state: np.array([t]), 0.2)
    >>> for t in (0.0, 0.1, 0.2, 0.3):
    ...     print(law(t, None))
    [0.]
    [0.]
    [0.]
    [0.1]
    """

    def __init__(self, law: Law, delay: float, *, before: Any = None):
        super().__init__(law)
        self.delay = number(delay, "the delay", least=0.0)
        self.before = None if before is None else vector(before, None, "before")
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._past: deque[tuple[float, np.ndarray]] = deque()

    def __call__(self, t: float, state: Any) -> np.ndarray:
        u = np.array(self.law(t, state), dtype=float)
        self._past.append((t, u))
        due = t - self.delay + 1e-9 * max(1.0, abs(t))
        while len(self._past) > 1 and self._past[1][0] <= due:
            self._past.popleft()
        at, old = self._past[0]
        if at <= due:
            return old
        return np.zeros_like(u) if self.before is None else self.before
